"""Files of in-run measurements: slices, spectra, series of numbers, vertical profiles, particle tracks."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, Unpack

import numpy as np

from eagre.contract import Model, field_type
from eagre.errors import InputError
from eagre.fields import TIME_BOUNDS, Variable, time_bounds
from eagre.io.cf import axis_attributes, level_attributes, variable_attributes
from eagre.io.records.records import RecordFile
from eagre.io.records.store_zarr import SUFFIX
from eagre.io.records.writer import Manner, Writer, WriterSetup
from eagre.io.tables.csv_rows import RowFile
from eagre.io.writers.field_files import MAX_CHUNK, write_mapping

_VALUES_A_CHUNK = 4096  # records of few values share a chunk
_TIMES_A_CHUNK = 64


class Axis(NamedTuple):
    """Coordinate, or other values constant in time: values on dimensions, and attributes."""

    name: str
    dimensions: tuple[str, ...]
    values: np.ndarray
    attributes: Mapping[str, str]


class Measured(Protocol):
    """Interface of a model component that measures."""

    @property
    def variables(self) -> Sequence[Variable]:
        """Measured variables."""
        ...

    @property
    def axes(self) -> Sequence[Axis]:
        """Coordinates and other values that do not change in time."""
        ...

    @property
    def dimensions(self) -> Mapping[str, tuple[str, ...]]:
        """Dimensions of each variable, without time; they are among `axes`."""
        ...

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current values of each variable; dimensions of length 1 may be missing.

        If a variable is a statistic over time (`Variable.over_time`), `TIME_BOUNDS` is the interval of the record, s.
        """
        ...


class MeasuredWriter(Writer):
    """Write measurements of a model, one time record per call.

    Parameters
    ----------
    path : path-like
        The ``.nc`` file or ``.zarr`` store, or ``.csv`` if all variables are single numbers: one column per
        variable, with its unit.
    model : Model
        Read: `kind`, `precision`, `device`, `settings()`, `time`.
    measured : Measured
        Component of the model that measures.
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
        self, path: str | os.PathLike[str], model: Model, measured: Measured, **manner: Unpack[Manner]
    ) -> None:
        self._measured = measured
        self._sizes = {axis.name: axis.values.size for axis in measured.axes if axis.dimensions == (axis.name,)}
        numbers = not any(measured.dimensions.values())
        setup = WriterSetup(**manner)
        full = setup.output_path(path, ".nc", SUFFIX, *([".csv"] if numbers else []))
        self._file: RecordFile | RowFile
        if full.suffix.lower() == ".csv":
            columns = [f"{one.name} ({one.units or '1'})" for one in measured.variables]
            self._file = setup.rows(full, model, columns)
            return
        self._file, goes_on = setup.records(full, model, measured.variables)
        if goes_on:
            positions = {axis.name: axis.values for axis in measured.axes}
            self._file.check_holds("variables or positions", positions, [one.name for one in measured.variables])
        else:
            self._declare(self._file, model)

    def _declare(self, file: RecordFile, model: Model) -> None:
        measured = self._measured
        for axis in measured.axes:
            if axis.dimensions == (axis.name,):
                file.dimension(axis.name, axis.values.size)
        positions = {name for axes in measured.dimensions.values() for name in axes}
        mapping = write_mapping(file, model.grid.crs) if {"x", "y"} <= positions else {}
        for axis in measured.axes:
            about = {**axis.attributes, **(mapping if {"x", "y"} <= set(axis.dimensions) else {})}
            file.variable(axis.name, axis.dimensions, np.dtype(np.float64), about, data=axis.values)
        for one in measured.variables:
            axes = measured.dimensions[one.name]
            auxiliary = [axis.name for axis in measured.axes if axis.dimensions != (axis.name,) and not axis.dimensions]
            about = variable_attributes(one) | ({"coordinates": " ".join(auxiliary)} if auxiliary else {})
            about |= mapping if {"x", "y"} <= set(axes) else {}
            shape = tuple(self._sizes[name] for name in axes)
            chunk = tuple(min(size, MAX_CHUNK) for size in shape)
            times = min(max(1, _VALUES_A_CHUNK // math.prod(shape)), _TIMES_A_CHUNK)
            dtype = field_type(model) if axes else np.dtype(np.float64)
            packed = int(times == 1)  # compressed chunks of several records are rewritten, and a kill could lose them
            file.variable(
                one.name, ("time", *axes), dtype, about, chunks=(times, *chunk), compression=packed, fill=True
            )
        file.ready()

    def write(self, model: Model) -> None:
        """Append the values at `model.time`; do nothing if the last record has this time."""
        if self._file.last_time == model.time:
            return
        values, sizes = self._measured.sample(), self._sizes
        if isinstance(self._file, RowFile):
            values = {name: np.atleast_1d(value) for name, value in values.items()}
        else:
            shapes = {name: [sizes[one] for one in axes] for name, axes in self._measured.dimensions.items()}
            shapes[TIME_BOUNDS] = [2]
            values = {name: np.reshape(value, shapes[name]) for name, value in values.items()}
        self._file.append(float(model.time), values)


class ParticleWriter(Writer):
    """Write the positions of the particles of a model, one time record per call.

    Parameters
    ----------
    path : path-like
        ``.nc``: x and y with dimensions (time, particle), m, CF feature type ``trajectory``. ``.csv``: the columns
        ``"0 x (m)"``, ``"0 y (m)"``, ... of the particles in the order of the model.
    model : Model
        Read: `particle_positions` (n, 2), `grid`, `kind`, `precision`, `device`, `settings()`, `time`.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the model has no particles, or the file cannot be used.
    WriteError
        If the disk is full; the message states which records are on disk.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        **manner: Unpack[Manner],
    ) -> None:
        count = len(model.particle_positions)
        if count == 0:
            raise InputError(
                "a particle file of a model without particles",
                allowed="a model with particles",
                problem="The model has no particles.",
            )
        setup = WriterSetup(**manner)
        full = setup.output_path(path, ".nc", ".csv", what="particle file")
        self._file: RecordFile | RowFile
        if full.suffix.lower() == ".csv":
            self._file = setup.rows(full, model, [f"{k} {axis} (m)" for k in range(count) for axis in "xy"])
            return
        self._file, goes_on = setup.records(full, model, ())
        if goes_on:
            held = self._file.variables
            if "particle" not in held or held["particle"].shape != (count,):
                self._file.close()
                what = f"{full}: other particles"
                raise InputError(
                    what,
                    allowed="the particles of this run",
                    fix="another file name",
                    problem=f"Cannot append to {full}: its particles differ from the particles of this run.",
                )
        else:
            self._declare(self._file, model, count)

    @staticmethod
    def _declare(file: RecordFile, model: Model, count: int) -> None:
        """Declare the tracks as CF trajectories (section H.4) with common times."""
        file.attribute("featureType", "trajectory")
        file.dimension("particle", count)
        identity = {"long_name": "number of the particle", "cf_role": "trajectory_id"}
        file.variable("particle", ("particle",), np.int32, identity, data=np.arange(count, dtype=np.int32))
        mapping = write_mapping(file, model.grid.crs)
        for axis in "xy":
            attributes = axis_attributes(axis, f"{axis} of the particle") | mapping
            chunks = (_TIMES_A_CHUNK, count)
            file.variable(axis, ("time", "particle"), np.float64, attributes, chunks=chunks, fill=True)
        file.ready()

    def write(self, model: Model) -> None:
        """Append the positions at `model.time`; do nothing if the last record has this time."""
        if self._file.last_time != model.time:
            x, y = model.particle_positions.T
            self._file.append(float(model.time), {"x": x, "y": y})


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
