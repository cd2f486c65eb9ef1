"""Vertical profiles averaged over intervals, over time, in NetCDF."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, Unpack

import numpy as np

from eagre.contract import Model
from eagre.fields import TIME_BOUNDS, Variable, time_bounds
from eagre.io.cf import level_attributes, variable_attributes
from eagre.io.records.writer import Manner, Writer, WriterSetup

_TIMES_A_CHUNK = 64


class Averaging(Protocol):
    """Interface of a model component that accumulates profiles."""

    heights: np.ndarray
    share: np.ndarray
    every: int
    start: float

    @property
    def variables(self) -> Sequence[Variable]:
        """Averaged variables."""
        ...

    def take(self, time: float) -> dict[str, np.ndarray]:
        """Return the averages of each variable from `start` to `time`, s, (n,), and begin the next interval."""
        ...


class ProfileWriter(Writer):
    """Write profiles of a model, one record per interval.

    Parameters
    ----------
    path : path-like
        The ``.nc`` file: dimensions (time, z); ``time_bounds`` are the start and end of each interval.
    model : Model
        Read: `grid`, `levels`, `kind`, `precision`, `device`, `settings()`, `time`.
    averages : Averaging
        Profiles of the model.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the file cannot be used.
    WriteError
        If the disk is full; the message states which records are on disk.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: Model, averages: Averaging, **manner: Unpack[Manner]
    ) -> None:
        self._averages = averages
        setup = WriterSetup(**manner)
        full = setup.output_path(path, ".nc", what="profile file")
        written = [replace(one, cell_methods="area: mean time: mean") for one in averages.variables]
        self._file, goes_on = setup.records(full, model, written)
        if goes_on:
            self._file.check_holds("profiles", {"z": averages.heights}, [one.name for one in averages.variables])
        else:
            self._declare(model, written)

    def _declare(self, model: Model, written: Sequence[Variable]) -> None:
        file, averages = self._file, self._averages
        file.attribute("featureType", "timeSeriesProfile")
        file.attribute("averages", f"over the horizontal, of every {averages.every} steps, over time_bounds")
        hill = model.levels is not None and model.levels.terrain_height is not None
        about = level_attributes() | ({"standard_name": "altitude", "long_name": "height over z = 0"} if hill else {})
        file.dimension("z", averages.heights.size)
        file.variable("z", ("z",), np.dtype(np.float64), about, data=averages.heights)
        fraction = {"long_name": "share of the plane that is in the air", "units": "1"}
        file.variable("air_share", ("z",), np.dtype(np.float64), fraction, data=averages.share)
        chunks = (_TIMES_A_CHUNK, averages.heights.size)
        for one in written:
            about = variable_attributes(one)
            file.variable(one.name, ("time", "z"), np.dtype(np.float64), about, chunks=chunks, fill=True)
        file.ready()

    def write(self, model: Model) -> None:
        """Append the averages of the interval that ends at `model.time`; do nothing if its length is 0."""
        start, time = self._averages.start, float(model.time)
        if time > start:
            self._file.append(time, self._averages.take(time) | {TIME_BOUNDS: time_bounds(start, time)})
