"""Files of in-run measurements on separate axes: slices, spectra, series of numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, Unpack

import numpy as np

from eagre.contract import Model, field_type
from eagre.fields import TIME_BOUNDS, Variable
from eagre.io.cf import variable_attributes
from eagre.io.records.records import RecordFile
from eagre.io.records.store_zarr import SUFFIX
from eagre.io.records.writer import Manner, Writer, WriterSetup
from eagre.io.tables.csv_rows import RowFile
from eagre.io.writers.field_files import MAX_CHUNK, write_mapping

_VALUES_A_CHUNK, _TIMES_A_CHUNK = 4096, 64  # of a chunk: records of few values share one


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
