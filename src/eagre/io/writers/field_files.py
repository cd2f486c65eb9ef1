"""Fields over time in CF NetCDF or Zarr, the output of `eagre run`; xarray, QGIS and Panoply open it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from eagre.contract import Model, field_type
from eagre.errors import InputError, do_all
from eagre.fields import STAGGERED, TIME_BOUNDS, Variable, time_bounds
from eagre.grid import Grid, Levels
from eagre.io.cf import (
    axis_attributes,
    grid_mapping,
    level_attributes,
    variable_attributes,
)
from eagre.io.records.records import RecordFile
from eagre.io.records.store_zarr import SUFFIX
from eagre.io.records.writer import BackgroundWriter, Manner, Writer, WriterSetup
from eagre.names import field_names


@dataclass(frozen=True)
class Subset:
    """Every `stride`-th cell of rows j0 .. j1 - 1 and columns i0 .. i1 - 1.

    The value is that of the middle cell of `stride` cells (for an even number, the cell before the middle).
    """

    j0: int
    j1: int
    i0: int
    i1: int
    stride: int = 1

    @classmethod
    def of(cls, grid: Grid, extent: Sequence[float] | None = None, stride: int = 1) -> Subset:
        """Return the cells whose centres are in `extent` = [west, east, south, north], m. Default: all cells.

        Raises
        ------
        InputError
            If the extent is not inside the domain or contains no centre, or `stride` is longer than a side.
        """
        j0, j1, i0, i1 = 0, grid.ny, 0, grid.nx
        if extent is not None:
            west, east, south, north = extent
            domain = grid.extent
            slack_x, slack_y = 1e-6 * grid.dx, 1e-6 * grid.dy
            over = (domain[0] - west, east - domain[1], domain[2] - south, north - domain[3])
            inside = [f"{edge:.10g}" for edge in domain]
            if max(over[:2]) > slack_x or max(over[2:]) > slack_y:
                fix = f"extent = [{', '.join(inside)}]"
                raise InputError(
                    f"extent = {list(extent)}",
                    allowed="an extent inside the domain",
                    fix=fix,
                    problem="The extent is not inside the domain.",
                )
            i0, i1 = (int(n) for n in np.searchsorted(grid.x, [west - slack_x, east + slack_x]))
            j0, j1 = (int(n) for n in np.searchsorted(grid.y, [south - slack_y, north + slack_y]))
            if i0 == i1 or j0 == j1:
                allowed = f"an extent that contains centres of the cells of {grid.dx:g} m x {grid.dy:g} m"
                raise InputError(
                    f"extent = {list(extent)}", allowed=allowed, problem="The extent contains no cell centre."
                )
        max_stride = max(j1 - j0, i1 - i0)
        if not 1 <= stride <= max_stride:
            raise InputError(f"stride = {stride!r}", allowed=f"an integer from 1 to {max_stride}", fix="stride = 2")
        return cls(j0, j1, i0, i1, stride)

    def _index(self, low: int, high: int, staggered: bool) -> slice:
        if staggered:
            return slice(low, high + 1, self.stride)
        return slice(low + min(self.stride - 1, high - low - 1) // 2, high, self.stride)

    def select(self, values: np.ndarray, location: str = "centre") -> np.ndarray:
        """Return the subset of values at a location, (..., rows, columns)."""
        axes = STAGGERED[location]
        rows, columns = self._index(self.j0, self.j1, -2 in axes), self._index(self.i0, self.i1, -1 in axes)
        return np.ascontiguousarray(values[..., rows, columns])

    def along(self, axis: str, values: np.ndarray) -> np.ndarray:
        """Return the subset of a coordinate ``x``, ``y``, ``x_corner`` or ``y_corner``."""
        low, high = (self.i0, self.i1) if axis.startswith("x") else (self.j0, self.j1)
        return values[self._index(low, high, axis.endswith("_corner"))]

    def shape(self, grid: Grid, location: str = "centre") -> tuple[int, int]:
        """Return rows and columns of a field at a location."""
        ny, nx = self.select(np.broadcast_to(np.int8(0), grid.shape_of(location)), location).shape
        return ny, nx


_DIMENSIONS = {
    "centre": ("y", "x"),
    "face_x": ("y", "x_corner"),
    "face_y": ("y_corner", "x"),
    "corner": ("y_corner", "x_corner"),
}
MAX_CHUNK = 1024
_MAPPING = "crs"


class FieldWriter(Writer):
    """Write fields of a model, one time record per call.

    Parameters
    ----------
    path : path-like
        The ``.nc`` file, or the ``.zarr`` store.
    model : Model
        Read: `grid`, `variables`, `kind`, `precision`, `device`, `settings()`, `field(name)`, `time`; with `beside`
        `snapshot(names)`; with statistics over time among the variables `statistics_start`.
    variables : sequence of str
        Names of the fields in every record; ``"velocity"`` stands for its components. Static fields of the model (the
        bed) are always written, once.
    compression : int
        Compression level 1 (fast) to 9 after a byte shuffle, zlib in NetCDF and zstd in Zarr; 0 is no compression.
    beside : bool or BackgroundWriter
        Write records to disk concurrently with the model: `write` waits for the last record, starts to copy the fields
        and returns. Errors are raised by the next `write`, or by `close`. Writers of one model can share a
        `BackgroundWriter`, which then writes their records sequentially; the caller closes it.
    part : Subset, optional
        Cells to write. Default: all cells.
    **manner
        Arguments of `eagre.io.WriterSetup`.

    Raises
    ------
    InputError
        If the file exists without `overwrite` or `append`, the folder is missing or not writable, a variable is
        unknown, or (`append`) the file is not output of the same run or holds later records.
    WriteError
        If the disk is full; the message states which records are on disk.

    Notes
    -----
    Coordinates ``x`` and ``y`` are cell centres, ``x_corner`` and ``y_corner`` cell edges, m, with y northwards; ``z``
    are the levels of a model with levels, upward, with CF formula terms if the levels follow the terrain.
    A killed run leaves a file with all records that were written.

    Examples
    --------
    >>> with FieldWriter("out.nc", model, ["surface_elevation"]) as writer:  # doctest: +SKIP
    ...     writer.write(model)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Model,
        variables: Sequence[str],
        *,
        compression: int = 1,
        beside: bool | BackgroundWriter = False,
        part: Subset | None = None,
        **manner: Unpack[Manner],
    ) -> None:
        if compression not in range(10):
            raise InputError(f"compression = {compression!r}", allowed="an integer from 0 to 9", fix="compression = 1")
        names = field_names(variables, model.variables)
        self._names = [name for name in names if not model.variables[name].static]
        self._own_writer = BackgroundWriter() if beside is True else None
        self._behind = self._own_writer if isinstance(beside, bool) else beside
        self._part = part if part is not None else Subset.of(model.grid)
        self._locations = {name: model.variables[name].location for name in self._names}
        setup = WriterSetup(**manner)
        self.path = setup.output_path(path, ".nc", SUFFIX)
        written = [model.variables[name] for name in self._names]
        self._over_time = any(one.over_time for one in written)
        self._file, goes_on = setup.records(self.path, model, written)
        with _closing_on_error(self._file):
            if goes_on:
                _check_same(self._file, model, self._names, self._part)
            else:
                _declare(self._file, model, self._names, self._part, compression)
                self._file.ready()

    def write(self, model: Model) -> None:
        """Append the fields at `model.time`; do nothing if the last record has this time.

        Raises
        ------
        InputError
            If `model.time` is before the last record.
        WriteError
            If the disk is full.
        """
        do_all((self.finish, lambda: self._begin(model)))

    def _begin(self, model: Model) -> None:
        """Begin the record at `model.time`, unless the file has this record or a write has failed."""
        if self._file.failed or self._file.last_time == model.time:
            return
        time = float(model.time)
        bounds = {TIME_BOUNDS: time_bounds(model.statistics_start, time)} if self._over_time else {}
        if self._behind is None:
            self._append(time, bounds, lambda: {name: model.field(name) for name in self._names})
        else:
            self._behind.do(self._append, time, bounds, model.snapshot(self._names))

    def _append(self, time: float, bounds: dict[str, np.ndarray], fields: Callable[[], dict[str, np.ndarray]]) -> None:
        """Write a record to disk when its fields have been copied."""
        values = {name: self._part.select(field, self._locations[name]) for name, field in fields().items()}
        self._file.append(time, values | bounds)

    def finish(self) -> None:
        """Wait until every record is on disk."""
        if self._behind is not None:
            self._behind.wait()

    def close(self) -> None:
        """Finish the last record and close the file."""
        do_all((self.finish if self._own_writer is None else self._own_writer.close, self._file.close))


class _closing_on_error:
    """Close a file if the block fails."""

    def __init__(self, file: RecordFile) -> None:
        self._file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *details: object) -> None:
        if kind is not None:
            self._file.close()


def write_axes(file: RecordFile, grid: Grid, subset: Subset, locations: set[str]) -> None:
    """Declare and write the coordinates of fields at `locations` of a subset of a grid."""
    needed = {name for location in locations for name in _DIMENSIONS[location]}
    axes = {
        "x": (grid.x, "x of the cell centres"),
        "y": (grid.y, "y of the cell centres"),
        "x_corner": (grid.x_corner, "x of the cell edges"),
        "y_corner": (grid.y_corner, "y of the cell edges"),
    }
    for name in sorted(needed):
        values, long_name = subset.along(name, axes[name][0]), axes[name][1]
        file.dimension(name, values.size)
        file.variable(name, (name,), values.dtype, axis_attributes(name[0], long_name), data=values)


def write_levels(file: RecordFile, levels: Levels, subset: Subset, mapping: Mapping[str, str]) -> None:
    """Declare and write the vertical coordinate ``z``, with the terms of its formula where the terrain is not flat."""
    file.dimension("z", levels.height.size)
    follows_terrain = levels.terrain_height is not None and levels.share is not None
    attributes = level_attributes("height_a", "height_b", "surface_altitude") if follows_terrain else level_attributes()
    file.variable("z", ("z",), np.dtype(np.float64), attributes, data=levels.height)
    if levels.terrain_height is None or not follows_terrain:
        return
    terrain = subset.select(levels.terrain_height)
    variables = (
        ("height_a", ("z",), levels.height, "m", "height of the level above flat terrain", None),
        ("height_b", ("z",), levels.share, "1", "fraction of the terrain height in the height of the level", None),
        ("surface_altitude", ("y", "x"), terrain, "m", "terrain height", "surface_altitude"),
    )
    for name, dimensions, values, units, long_name, standard in variables:
        about = {"units": units, "long_name": long_name} | ({"standard_name": standard} if standard else {})
        about |= mapping if "x" in dimensions else {}
        file.variable(name, dimensions, np.dtype(np.float64), about, data=values)


def dimensions_of(variable: Variable) -> tuple[str, ...]:
    """Return the dimensions of a variable in a file, without time."""
    return ("z",) * variable.levels + _DIMENSIONS[variable.location]


def write_mapping(file: RecordFile, crs: str | None) -> dict[str, str]:
    """Write the grid-mapping variable; return the attribute by which data variables refer to it."""
    mapping = grid_mapping(crs)
    if mapping is None:
        return {}
    file.variable(_MAPPING, (), np.dtype(np.int32), mapping, data=0)
    return {"grid_mapping": _MAPPING}


def _declare(file: RecordFile, model: Model, names: Sequence[str], subset: Subset, compression: int) -> None:
    """Declare coordinates and variables; write the static ones."""
    static = [name for name, variable in model.variables.items() if variable.static]
    write_axes(file, model.grid, subset, {"centre"} | {model.variables[name].location for name in [*static, *names]})
    mapping = write_mapping(file, model.grid.crs)
    if model.levels is not None:
        write_levels(file, model.levels, subset, mapping)
    for name in [*static, *names]:
        variable = model.variables[name]
        shape = subset.shape(model.grid, variable.location)
        chunks = (1,) * variable.levels + tuple(min(size, MAX_CHUNK) for size in shape)
        dimensions = dimensions_of(variable)
        data = subset.select(model.field(name), variable.location) if variable.static else None
        file.variable(
            name,
            dimensions if variable.static else ("time", *dimensions),
            field_type(model) if data is None else data.dtype,
            variable_attributes(variable) | mapping,
            data=data,
            chunks=chunks if variable.static else (1, *chunks),
            compression=compression,
            fill=not variable.static,
        )


def _check_same(file: RecordFile, model: Model, names: Sequence[str], subset: Subset) -> None:
    """Raise `InputError` if the fields cannot be appended to the file."""
    axes = [("x", subset.along("x", model.grid.x)), ("y", subset.along("y", model.grid.y))]
    axes += [] if model.levels is None else [("z", model.levels.height)]
    for axis, values in axes:
        if axis not in file.variables or not np.array_equal(file.variables[axis][...], values):
            raise InputError(
                f"{file.path}: another grid ({axis} differs)",
                allowed="the grid of this run",
                problem=f"Cannot append to {file.path}: its grid differs from the grid of this run.",
            )
    for name in names:
        expected = (("time", *dimensions_of(model.variables[name])), field_type(model))
        variable = file.variables.get(name)
        if variable is None or (tuple(variable.dimensions), np.dtype(variable.dtype)) != expected:
            raise InputError(
                f"{file.path}: no variable {name} of {expected[1]} on {expected[0]}",
                allowed="the variables and the precision of this run",
                fix="another file name",
                problem=f"Cannot append to {file.path}: its variables differ from the variables of this run.",
            )
    stored = {name for name in model.variables if name in file.variables and not model.variables[name].static}
    if stored - set(names):
        missing = ", ".join(sorted(stored - set(names)))
        raise InputError(
            f"{file.path}: it also holds {missing}",
            allowed="the variables of this run",
            problem=f"Cannot append to {file.path}: it holds variables that this run does not write.",
        )
