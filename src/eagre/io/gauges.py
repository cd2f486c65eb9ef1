"""Time series at points: NetCDF (CF discrete sampling geometry) or CSV."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from eagre.contract import Model, field_type
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.cf import axis_attributes, global_attributes, time_attributes, variable_attributes
from eagre.io.files import choose, output_file
from eagre.io.netcdf import write_mapping
from eagre.io.records import RecordFile
from eagre.io.rows import RowFile, header_line

_TIMES_A_CHUNK = 256


class GaugeWriter:
    """Write variables of a model at points, one time record a call.

    Parameters
    ----------
    path : path-like
        ``.nc``: dimensions (time, station), CF feature type ``timeSeries``. ``.csv``: one column a point and
        variable, with the unit in the header (``"pier surface_elevation (m)"``); `eagre.io.read_series` reads it.
    model : Model
        Read: `grid`, `variables`, `kind`, `precision`, `device`, `settings()`, `sample(names, cells)`, `time`.
    points : mapping of str to (x, y)
        Name and position of each gauge, m. Values are those of the cell that holds the point. With no point
        nothing is written, not even the file.
    variables : sequence of str
        What to write at each of them.
    attributes, start_date, overwrite, append, until
        As for `eagre.io.FieldWriter`.

    Raises
    ------
    InputError
        If a point lies outside the grid, a variable is unknown or static, or the file cannot be used.
    WriteError
        If the disk is full; the message says what is safe.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        points: Mapping[str, tuple[float, float]],
        variables: Sequence[str],
        *,
        attributes: Mapping[str, Any] | None = None,
        start_date: str | date | None = None,
        overwrite: bool = False,
        append: bool = False,
        until: float = -math.inf,
    ) -> None:
        self._names = list(dict.fromkeys(variables))
        self._cells = _cells(model.grid, points)
        self._file: RecordFile | RowFile | None = None
        if not points:
            return
        moving = [name for name, variable in model.variables.items() if not variable.static]
        for name in self._names:
            choose(name, moving, "gauge variable", 'variables = ["{}"]')
        full = output_file(path, suffixes=(".nc", ".csv"), overwrite=overwrite or append, what="gauge file")
        time = time_attributes(start_date)
        resume, until = append and full.exists(), math.inf if overwrite else until
        if full.suffix.lower() == ".csv":
            header = header_line(_columns(model, points, self._names, time["units"]))
            self._file = RowFile(full, header, float(model.time) if resume else None, until)
        elif resume:
            self._file = RecordFile.resume(full, model, time, until=until)
            _check_same(self._file, points, self._names)
        else:
            self._file = RecordFile.create(full, global_attributes(model, attributes), time)
            _declare(self._file, model, points, self._names)

    def write(self, model: Model) -> None:
        """Append the values at `model.time`; nothing happens if that time is the last record's.

        Raises
        ------
        InputError
            If `model.time` lies before the last record.
        WriteError
            If the disk is full.
        """
        if self._file is None or self._file.last_time == model.time:
            return
        sampled = model.sample(self._names, self._cells)
        self._file.append(float(model.time), {name: np.asarray(sampled[name]) for name in self._names})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> GaugeWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _cells(grid: Grid, points: Mapping[str, tuple[float, float]]) -> list[tuple[int, int]]:
    """Cells (j, i) of the points."""
    cells = []
    for name, point in points.items():
        if len(point) != 2:
            raise InputError(
                f"gauge {name!r} at {point!r}", allowed="two numbers, x and y in m", fix=f"{name} = [x, y]"
            )
        try:
            cells.append(grid.cell_of(float(point[0]), float(point[1])))
        except InputError as error:
            raise InputError(f"gauge {name!r}: {error.what}", allowed=error.allowed, fix=error.fix) from None
    return cells


def _declare(file: RecordFile, model: Model, points: Mapping[str, tuple[float, float]], names: Sequence[str]) -> None:
    """Declare the stations and the variables, after CF 1.11 section H.2.1 (orthogonal time series)."""
    file.attribute("featureType", "timeSeries")
    file.dimension("station", len(points))
    station = {"long_name": "name of the gauge", "cf_role": "timeseries_id"}
    file.variable("station_name", ("station",), str, station, data=np.array(list(points), dtype=object))
    positions = np.array(list(points.values()), dtype=np.float64)
    for k, axis in enumerate("xy"):
        attributes = axis_attributes(axis, f"{axis} of the gauge")
        del attributes["axis"]
        file.variable(axis, ("station",), positions.dtype, attributes, data=positions[:, k])
    mapping = write_mapping(file, model.grid.crs)
    dtype = field_type(model)
    for name in names:
        attributes = variable_attributes(model.variables[name]) | mapping | {"coordinates": "x y station_name"}
        attributes["comment"] = "value of the grid cell that holds the point"
        chunks = (_TIMES_A_CHUNK, len(points))
        file.variable(name, ("time", "station"), dtype, attributes, chunks=chunks, fill=True)
    file.ready()


def _check_same(file: RecordFile, points: Mapping[str, tuple[float, float]], names: Sequence[str]) -> None:
    """Refuse to append series of other points or variables."""
    held = file.variables
    if all(name in held for name in ("station_name", "x", "y", *names)):
        stations = [_text(name) for name in held["station_name"][...]]
        positions = np.stack([held["x"][...], held["y"][...]], axis=1)
        if stations == list(points) and np.array_equal(positions, np.array(list(points.values()), float)):
            return
    file.close()
    raise InputError(
        f"{file.path}: it holds other gauges or variables",
        allowed="those of the run that goes on",
        fix="another file name",
    )


def _text(value: Any) -> str:
    """A string from HDF5, which may come as bytes."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _columns(model: Model, points: Mapping[str, tuple[float, float]], names: Sequence[str], time: str) -> list[str]:
    """Column names of the CSV file, with units."""
    units = {name: model.variables[name].units or "1" for name in names}
    time = time.replace("seconds", "s", 1)
    return [f"time ({time})", *(f"{point} {name} ({units[name]})" for point in points for name in names)]
