"""A quantity in one file or in consecutive files, as one field read record by record."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.io.record_times import record_times
from eagre.io.weather_units import Units
from eagre.moving import NodeGrid, RecordTimeAxis, TimeVaryingField
from eagre.plausible import QUANTITIES

LEAST_RAIN = 3e-8
"""Largest negative rain that is treated as a rounding error: 0.1 mm/h, m s-1."""
MOST_STEPS = 1.5
"""Maximum gap between consecutive files, in record intervals; months have different lengths."""


class Kind(NamedTuple):
    """A quantity as stored in files."""

    what: str
    names: tuple[str, ...]  # names of variables: ERA5, old and new, and common names
    standard_names: tuple[str, ...]
    units: Units
    quantity: str  # key of `eagre.plausible.QUANTITIES`
    rounding: float = 0.0  # negative values down to minus this are rounding errors of 0


class Part(NamedTuple):
    """A quantity in one file."""

    path: Path
    variable: str
    times: np.ndarray  # (n,), s of the model
    bounds: np.ndarray | None  # (n, 2), s, for amounts and means with bounds
    amounts: bool
    means: bool
    nodes: NodeGrid
    read: Callable[[int, float], np.ndarray]  # a record of the file times a factor, at the nodes


def joined(parts: Sequence[Part], kind: Kind) -> TimeVaryingField:
    """Return the field of the parts, sorted by time.

    Raises
    ------
    InputError
        If a file has no records, or files overlap in time, have a gap or differ in grid or kind; see `record_times`.
    """
    for part in parts:
        if not part.times.size:
            raise InputError(
                f"{part.path}: {part.variable} without records",
                allowed="one or more records",
                problem=f"The variable {part.variable} in {part.path} has no records.",
            )
    parts = sorted(parts, key=lambda part: (part.times[0], part.times[-1]))
    for before, after in itertools.pairwise(parts):
        _check_alike(before, after, kind)
        _check_follow(before, after, kind, _step(before, after, parts))
    times = np.concatenate([part.times for part in parts])
    bounds = [part.bounds for part in parts if part.bounds is not None]
    name = ", ".join(str(part.path) for part in parts)
    first = parts[0]
    counted = record_times(times, np.concatenate(bounds) if bounds else None, first.amounts, first.means, name)
    starts = np.cumsum([0, *(part.times.size for part in parts)])
    file = np.searchsorted(starts, counted.records, side="right") - 1

    def read(k: int) -> np.ndarray:
        part = parts[file[k]]
        values = part.read(int(counted.records[k] - starts[file[k]]), float(counted.factors[k]))
        return np.where((values < 0.0) & (values >= -kind.rounding), 0.0, values)

    instants = RecordTimeAxis(counted.times, name, tuple(str(parts[number].path) for number in file))
    known = QUANTITIES[kind.quantity]
    bound = max(abs(known.minimum), abs(known.maximum))
    return TimeVaryingField(instants, first.nodes, read, kind.what, bound, known.unit, kind.quantity)


def _step(before: Part, after: Part, parts: Sequence[Part]) -> float:
    """Return the record interval of two files, s: the longest in them, or the shortest between single-record files."""
    steps = [part.times for part in (before, after) if part.times.size > 1]
    if steps:
        return max(float(np.diff(times).max()) for times in steps)
    return float(np.diff([part.times[0] for part in parts]).min())


def _check_follow(before: Part, after: Part, kind: Kind, step: float) -> None:
    """Raise `InputError` for files that overlap in time or have a gap between them."""
    if before.bounds is not None and after.bounds is not None:
        end, begin = float(before.bounds[-1, 1]), float(after.bounds[0, 0])
        slack = 1e-6 * float(after.bounds[0, 1] - after.bounds[0, 0])
        overlap, gap = begin < end - slack, begin > end + slack
    else:
        end, begin = float(before.times[-1]), float(after.times[0])
        overlap, gap = begin <= end, begin - end > MOST_STEPS * step
    if overlap or gap:
        got = f"{kind.what} in {before.path} and in {after.path}: to t = {end:g} s and from t = {begin:g} s"
        raise InputError(
            got + (", which overlap" if overlap else f", a gap longer than the interval of {step:g} s"),
            allowed="consecutive files, or one file and the name of its variable",
            problem=f"The files of {kind.what} {'overlap in time' if overlap else 'have a gap in time'}.",
        )


def _check_alike(before: Part, after: Part, kind: Kind) -> None:
    """Raise `InputError` for files whose values have different kinds of periods or different grids."""
    sorts = [_sort(one) for one in (before, after)]
    if sorts[0] != sorts[1]:
        got = f"{kind.what} as {sorts[0]} in {before.path} and as {sorts[1]} in {after.path}"
        raise InputError(
            got,
            allowed="files with records of one kind",
            problem=f"The records of the files of {kind.what} differ in kind (instantaneous values, amounts or means).",
        )
    if before.nodes != after.nodes:
        got = f"{kind.what} on grids of different spacings in {before.path} and in {after.path}"
        raise InputError(
            got, allowed="files with the same grid", problem=f"The files of {kind.what} have different grids."
        )


def _sort(part: Part) -> str:
    """Return the kind of period of the values of a file."""
    words = "amounts" if part.amounts else "means" if part.means else "instantaneous values"
    return words if part.bounds is None else f"{words} with bounds"
