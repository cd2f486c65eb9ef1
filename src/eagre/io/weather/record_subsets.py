"""A quantity in one file or in consecutive files, as one field read record by record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.io.weather.record_times import record_times
from eagre.io.weather.weather_units import Units
from eagre.plausible import QUANTITIES
from eagre.time_varying import NodeGrid, RecordTimeAxis, TimeVaryingField

MIN_RAIN = 3e-8
"""Largest negative rain that is treated as a rounding error: 0.1 mm/h, m s-1."""
MAX_GAP_STEPS = 1.5
"""Maximum gap between consecutive files, in record intervals; months have different lengths."""


class Kind(NamedTuple):
    """A quantity as stored in files."""

    what: str
    names: tuple[str, ...]  # names of variables: ERA5, old and new, and common names
    standard_names: tuple[str, ...]
    units: Units
    quantity: str  # key of `eagre.plausible.QUANTITIES`
    rounding: float = 0.0  # negative values down to minus this are rounding errors of 0


class RecordSeries(NamedTuple):
    """A quantity in one file."""

    path: Path
    variable: str
    times: np.ndarray  # (n,), s of the model
    bounds: np.ndarray | None  # (n, 2), s, for amounts and means with bounds
    amounts: bool
    means: bool
    nodes: NodeGrid
    read: Callable[[int, float], np.ndarray]  # a record of the file times a factor, at the nodes


def joined(series: Sequence[RecordSeries], kind: Kind) -> TimeVaryingField:
    """Return the field of the series, sorted by time.

    Raises
    ------
    InputError
        If a file has no records, or files overlap in time, have a gap or differ in grid or kind; see `record_times`.
    """
    for one_series in series:
        if not one_series.times.size:
            raise InputError(
                f"{one_series.path}: {one_series.variable} without records",
                allowed="one or more records",
                problem=f"The variable {one_series.variable} in {one_series.path} has no records.",
            )
    series = sorted(series, key=lambda one: (one.times[0], one.times[-1]))
    for previous, following in itertools.pairwise(series):
        _check_alike(previous, following, kind)
        _check_follow(previous, following, kind, _step(previous, following, series))
    times = np.concatenate([one_series.times for one_series in series])
    bounds = [one_series.bounds for one_series in series if one_series.bounds is not None]
    name = ", ".join(str(one_series.path) for one_series in series)
    first = series[0]
    counted = record_times(times, np.concatenate(bounds) if bounds else None, first.amounts, first.means, name)
    starts = np.cumsum([0, *(one_series.times.size for one_series in series)])
    file = np.searchsorted(starts, counted.records, side="right") - 1

    def read(k: int) -> np.ndarray:
        one_series = series[file[k]]
        values = one_series.read(int(counted.records[k] - starts[file[k]]), float(counted.factors[k]))
        return np.where((values < 0.0) & (values >= -kind.rounding), 0.0, values)

    time_axis = RecordTimeAxis(counted.times, name, tuple(str(series[number].path) for number in file))
    known = QUANTITIES[kind.quantity]
    bound = max(abs(known.minimum), abs(known.maximum))
    return TimeVaryingField(time_axis, first.nodes, read, kind.what, bound, known.unit, kind.quantity)


def _step(previous: RecordSeries, following: RecordSeries, series: Sequence[RecordSeries]) -> float:
    """Return the record interval of two files, s: the longest in them, or the shortest between single-record files."""
    steps = [one_series.times for one_series in (previous, following) if one_series.times.size > 1]
    if steps:
        return max(float(np.diff(times).max()) for times in steps)
    return float(np.diff([one_series.times[0] for one_series in series]).min())


def _check_follow(previous: RecordSeries, following: RecordSeries, kind: Kind, step: float) -> None:
    """Raise `InputError` for files that overlap in time or have a gap between them."""
    if previous.bounds is not None and following.bounds is not None:
        end, begin = float(previous.bounds[-1, 1]), float(following.bounds[0, 0])
        slack = 1e-6 * float(following.bounds[0, 1] - following.bounds[0, 0])
        overlap, gap = begin < end - slack, begin > end + slack
    else:
        end, begin = float(previous.times[-1]), float(following.times[0])
        overlap, gap = begin <= end, begin - end > MAX_GAP_STEPS * step
    if overlap or gap:
        got = f"{kind.what} in {previous.path} and in {following.path}: to t = {end:g} s and from t = {begin:g} s"
        raise InputError(
            got + (", which overlap" if overlap else f", a gap longer than the interval of {step:g} s"),
            allowed="consecutive files, or one file and the name of its variable",
            problem=f"The files of {kind.what} {'overlap in time' if overlap else 'have a gap in time'}.",
        )


def _check_alike(previous: RecordSeries, following: RecordSeries, kind: Kind) -> None:
    """Raise `InputError` for files whose values have different kinds of periods or different grids."""
    sorts = [_sort(one) for one in (previous, following)]
    if sorts[0] != sorts[1]:
        got = f"{kind.what} as {sorts[0]} in {previous.path} and as {sorts[1]} in {following.path}"
        raise InputError(
            got,
            allowed="files with records of one kind",
            problem=f"The records of the files of {kind.what} differ in kind (instantaneous values, amounts or means).",
        )
    if previous.nodes != following.nodes:
        got = f"{kind.what} on grids of different spacings in {previous.path} and in {following.path}"
        raise InputError(
            got, allowed="files with the same grid", problem=f"The files of {kind.what} have different grids."
        )


def _sort(one_series: RecordSeries) -> str:
    """Return the kind of period of the values of a file."""
    kind_name = "amounts" if one_series.amounts else "means" if one_series.means else "instantaneous values"
    return kind_name if one_series.bounds is None else f"{kind_name} with bounds"
