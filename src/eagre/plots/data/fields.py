"""Fields over time on a grid, as read from a result file: maps, volumes, vorticity, surface, depth and wet cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.io.files import read_values
from eagre.names import components
from eagre.plots.data.selection import known_variable, nearest_record
from eagre.plots.drawing.style import (
    arrival_threshold,
    date_of,
    is_statistic,
    period_of,
    short_label,
    start_of,
    time_unit,
    with_units,
)

if TYPE_CHECKING:
    import xarray as xr

AXES = ("z", "y", "x")
VORTICITY = "vorticity"
_WIND = ("u", "v", "w")
_ATTRIBUTES = {"units": "s-1", "long_name": "vorticity magnitude"}
SURFACE, DEPTH, MAX_SURFACE = "surface_elevation", "depth", "max_surface_elevation"


@dataclass
class Volume:
    """Fields over z, y and x of which a plane is drawn.

    Parameters
    ----------
    path : Path
    dataset : xarray.Dataset
        Dataset with the dimensions time, z, y and x; times undecoded.
    axis : {"x", "y", "z"}
        Axis normal to the plane.
    index : int
        Index of the plane along this axis.
    """

    path: Path
    dataset: xr.Dataset
    axis: str
    index: int

    @property
    def variables(self) -> list[str]:
        """Names of the stored fields over z, y and x."""
        return [str(name) for name, item in self.dataset.data_vars.items() if item.dims[-3:] == AXES]

    @property
    def derivable(self) -> list[str]:
        """Names of the fields that can be computed from stored ones: the vorticity, from the wind over flat terrain."""
        known = self.variables
        flat = "height_b" not in self.dataset.variables
        return [VORTICITY] if flat and VORTICITY not in known and set(_WIND) <= set(known) else []

    @property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates of the points along z, y and x, m."""
        z, y, x = (np.asarray(self.dataset[axis].values, dtype=np.float64) for axis in AXES)
        return z, y, x

    def check_variable(self, name: str) -> str:
        """Return `name` if the field is stored or derivable, or raise `InputError` with the possible names."""
        return known_variable(name, self.variables, self.path, self.derivable, fix="--isosurface {}=LEVEL")

    def attributes(self, name: str) -> Mapping[Any, Any]:
        """Return the attributes of a stored or derived field."""
        return self.dataset[name].attrs if name in self.variables else _ATTRIBUTES

    def values(self, name: str, record: int) -> np.ndarray:
        """Return a stored or derived field at a record, (nz, ny, nx), float64."""
        if name not in self.variables:
            u, v, w = (self.values(component, record) for component in _WIND)
            return vorticity_magnitude(u, v, w, *self.coordinates)
        item = self.dataset[name]
        item = item.isel(time=record) if "time" in item.dims else item
        return read_values(item, self.path, "result file").astype(np.float64)

    def plane(self, name: str, record: int) -> np.ndarray:
        """Return the plane of a field at a record: (ny, nx), (nz, nx) or (nz, ny)."""
        return np.take(self.values(name, record), self.index, AXES.index(self.axis))


def vorticity_magnitude(
    u: np.ndarray, v: np.ndarray, w: np.ndarray, z: np.ndarray, y: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Return the magnitude of the vorticity (w_y - v_z, u_z - w_x, v_x - u_y), s-1.

    Second-order differences, one-sided at the ends of each axis, also of a periodic one; zero along an axis of a
    single point.

    Parameters
    ----------
    u, v, w : (nz, ny, nx) array, m/s
        Velocity along x, y and z.
    z, y, x : (nz,), (ny,), (nx,) array, m

    Returns
    -------
    (nz, ny, nx) array
    """
    points = {"z": z, "y": y, "x": x}

    def slope(values: np.ndarray, axis: str) -> np.ndarray:
        count = points[axis].size
        if count < 2:
            return np.zeros_like(values)
        return np.gradient(values, points[axis], axis=AXES.index(axis), edge_order=2 if count > 2 else 1)

    along_x, along_y = slope(w, "y") - slope(v, "z"), slope(u, "z") - slope(w, "x")
    return np.sqrt(along_x**2 + along_y**2 + (slope(v, "x") - slope(u, "y")) ** 2)


class Derived(NamedTuple):
    """Field computed from other fields of the same record.

    Attributes
    ----------
    components : tuple of str
        Names of the fields that the formula takes, stored or derived.
    formula : callable
        Function of one (ny, nx) array per component; it returns an array of the same shape.
    units : str
    long_name : str
    """

    components: tuple[str, ...]
    formula: Callable[..., np.ndarray]
    units: str
    long_name: str


def _over_depth(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return values divided by the depth, NaN where it is dry."""
    return values / np.where(depth > 0.0, depth, np.nan)


def _froude(speed: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return speed / sqrt(g depth), NaN where it is dry."""
    return speed / np.sqrt(GRAVITY * np.where(depth > 0.0, depth, np.nan))


DERIVED: dict[str, tuple[Derived, ...]] = {
    "speed": (
        Derived(("velocity_x", "velocity_y"), np.hypot, "m s-1", "speed"),
        Derived(("u", "v"), np.hypot, "m s-1", "horizontal wind speed"),
        Derived(
            ("discharge_x", "discharge_y", "depth"),
            lambda x, y, depth: _over_depth(np.hypot(x, y), depth),
            "m s-1",
            "depth-averaged speed",
        ),
    ),
    "discharge": (
        Derived(("discharge_x", "discharge_y"), np.hypot, "m2 s-1", "magnitude of the unit discharge"),
        Derived(("speed", "depth"), np.multiply, "m2 s-1", "magnitude of the unit discharge"),
    ),
    "froude": (Derived(("speed", "depth"), _froude, "1", "Froude number"),),
}
"""Derived fields by name; of several formulas the first whose components the file has is used."""


def derivation(name: str, stored: Collection[str]) -> Derived | None:
    """Return the formula of a derived field in a file with the fields `stored`, or None if components are missing."""
    for one in DERIVED.get(name, ()):
        if all(component in stored or derivation(component, stored) is not None for component in one.components):
            return one
    return None


WET_DEPTH = 0.01
"""Default depth above which a cell is drawn as wet, m."""
VELOCITIES = {"x": ("velocity_x", "u"), "y": ("velocity_y", "v"), "z": ("velocity_z", "w")}
"""Names of the velocity component along each axis; files of statistics store their means."""


@dataclass
class FieldFile:
    """Fields over time on a grid.

    Parameters
    ----------
    path : Path
    dataset : xarray.Dataset
        Dataset with the dimensions time, y and x; times undecoded.
    axes : pair of str
        Names of the axes of the picture; they differ from x and y if the fields are a vertical slice.
    place : str
        Position of the slice, such as ``"z = 500 m"``.
    wet_depth : float, m
        Depth above which a cell is drawn as wet.
    units : str
        Unit of the coordinates, ``"m"`` or ``"degrees"``.
    volume : Volume, optional
        Fields on levels of which the fields are a slice.
    """

    path: Path
    dataset: xr.Dataset
    axes: tuple[str, str] = ("x", "y")
    place: str = ""
    wet_depth: float = WET_DEPTH
    units: str = "m"
    volume: Volume | None = None
    title: str = field(init=False)
    times: np.ndarray = field(init=False)
    x: np.ndarray = field(init=False)
    y: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.title = str(self.dataset.attrs.get("title") or self.path.stem) + (f", {self.place}" if self.place else "")
        self.times = np.asarray(self.dataset["time"].values, dtype=np.float64)
        self.x = np.asarray(self.dataset["x"].values, dtype=np.float64)
        self.y = np.asarray(self.dataset["y"].values, dtype=np.float64)
        if self.times.size == 0:
            raise InputError(
                f"{self.path} without a record", allowed="a file with at least one time",
                problem="The file has no record.",
            )  # fmt: skip

    @property
    def variables(self) -> list[str]:
        """Names of the stored fields that change with time."""
        return [str(name) for name, item in self.dataset.data_vars.items() if item.dims == ("time", "y", "x")]

    @property
    def fixed(self) -> list[str]:
        """Names of the stored fields that do not change with time."""
        return [str(name) for name, item in self.dataset.data_vars.items() if item.dims == ("y", "x")]

    @property
    def derivable(self) -> list[str]:
        """Names of the fields that are not stored and can be computed from stored ones (`eagre.plots.data.fields`)."""
        stored = [*self.variables, *self.fixed]
        pointwise = [name for name in DERIVED if name not in stored and derivation(name, stored) is not None]
        return [*pointwise, *([] if self.volume is None else self.volume.derivable)]

    def has(self, name: str) -> bool:
        """Return whether the file stores a field over y and x."""
        return name in self.variables or name in self.fixed

    def changes(self, name: str) -> bool:
        """Return whether a stored or derived field changes with time."""
        if self.has(name):
            return name in self.variables
        return self._in_volume(name) is not None or any(
            self.changes(component) for component in self._derivation(name).components
        )

    def _in_volume(self, name: str) -> Volume | None:
        """Return the volume if a field that is not stored can be computed from its fields, else None."""
        computed = self.volume is not None and not self.has(name) and name in self.volume.derivable
        return self.volume if computed else None

    def _derivation(self, name: str) -> Derived:
        """Return the formula of a derived field."""
        derived = derivation(name, [*self.variables, *self.fixed])
        if derived is None:
            raise KeyError(name)
        return derived

    def attributes(self, name: str) -> Mapping[Any, Any]:
        """Return the attributes of a stored or derived field."""
        if self.has(name):
            return self.dataset[name].attrs
        if (volume := self._in_volume(name)) is not None:
            return volume.attributes(name)
        one = self._derivation(name)
        return {"units": one.units, "long_name": one.long_name}

    def check_variable(self, name: str) -> str:
        """Return `name` if the field is stored or derivable, or raise `InputError` with the possible names."""
        return known_variable(name, [*self.variables, *self.fixed], self.path, self.derivable)

    def check_variables(self, names: list[str]) -> list[str]:
        """Return the fields that `names` select, with components instead of a vector, or raise `InputError`."""
        known = [*self.variables, *self.fixed]
        selected = [self.check_variable(one) for name in names for one in components(name, known) or [name]]
        return list(dict.fromkeys(selected))

    def default_variable(self) -> str:
        """Return the depth, the maximum depth or the surface elevation, else the first field of the file."""
        for name in ("depth", self.max_depth_name(), "surface_elevation", *self.variables, *self.fixed):
            if name is not None and self.has(name):
                return name
        raise InputError(
            f"{self.path} without a field over y and x", allowed="an output file of eagre run",
            problem="The file has no fields to draw.",
        )  # fmt: skip

    def record_at(self, time: str | None) -> int:
        """Return the index of the record nearest to a time such as ``"2 h"``, or to a date; None is the last one."""
        return nearest_record(self.path, self.times, time, self._since)

    def values(self, name: str, record: int) -> np.ndarray:
        """Return a stored or derived field at a record, (ny, nx), float64, south in row 0."""
        one = None if self.has(name) else derivation(name, [*self.variables, *self.fixed])
        if one is not None:
            return one.formula(*(self.values(component, record) for component in one.components))
        if (volume := self._in_volume(name)) is not None:
            values = volume.plane(name, record)
        else:
            item = self.dataset[name]
            item = item.isel(time=record) if "time" in item.dims else item
            values = read_values(item, self.path, "result file").astype(np.float64)
        return values if self.y.size < 2 or self.y[0] < self.y[-1] else values[::-1]

    def bed(self) -> np.ndarray | None:
        """Return the bed elevation at centres, (ny, nx), m, or None if the file has no bed.

        Potential-flow waves store the still-water depth instead; their bed is its negative.
        """
        if "bed" in self.fixed:
            return self.values("bed", 0)
        if "still_water_depth" in self.fixed:
            return -self.values("still_water_depth", 0)
        if "bed_elevation" not in self.dataset or self.dataset["bed_elevation"].ndim != 2:
            return None
        values = self.values("bed_elevation", 0)
        if values.shape == (self.y.size + 1, self.x.size + 1):
            values = 0.25 * (values[:-1, :-1] + values[:-1, 1:] + values[1:, :-1] + values[1:, 1:])
        return values

    def surface(self, record: int) -> np.ndarray | None:
        """Return the surface elevation, (ny, nx), m, or None if the file does not determine it."""
        if "surface_elevation" in self.variables:
            return self.values("surface_elevation", record)
        bed = self.bed()
        return bed + self.values("depth", record) if bed is not None and "depth" in self.variables else None

    def wet(self, record: int) -> np.ndarray | None:
        """Return the cells deeper than `wet_depth`, (ny, nx), or None if the file does not determine the depth."""
        depth = self.depth(record)
        return None if depth is None else depth > self.wet_depth

    def depth_of(self, name: str, record: int) -> np.ndarray | None:
        """Return the depth that decides where a field is masked as dry, (ny, nx), m.

        It is the depth at the same record, or in files of statistics the maximum depth. None for the bed, and if the
        file does not determine the depth.
        """
        depth = self.depth(record) if self.changes(name) else None
        max_depth = self.max_depth_name()
        if depth is not None or max_depth is None or name in ("bed", "bed_elevation"):
            return depth
        return np.nan_to_num(self.values(max_depth, record))

    def flooded(self, name: str, record: int) -> np.ndarray | None:
        """Return the cells in which a field is drawn, (ny, nx), or None to draw it everywhere.

        These are the wet cells at the record, or in files of statistics the cells whose maximum depth exceeds
        `wet_depth`. None for fields that do not change, and if the file does not determine the depth.
        """
        depth = self.depth_of(name, record) if self.changes(name) else None
        return None if depth is None else depth > self.wet_depth

    def max_depth_name(self) -> str | None:
        """Return the name of the maximum depth, or None if the file does not have it."""
        for name in (*self.variables, *self.fixed):
            about = self.dataset[name].attrs
            if "time: maximum" in str(about.get("cell_methods", "")) and "depth" in name and about.get("units") == "m":
                return name
        return None

    def depth(self, record: int) -> np.ndarray | None:
        """Return the water depth, (ny, nx), m, or None if the file does not determine it."""
        if "depth" in self.variables:
            return np.nan_to_num(self.values("depth", record))
        bed = self.bed()
        if bed is None or "surface_elevation" not in self.variables:
            return None
        return np.nan_to_num(self.values("surface_elevation", record) - bed)

    def velocity_components(self) -> tuple[str, str]:
        """Return the names of the velocity components along the axes of the picture.

        Raises
        ------
        InputError
            If the file does not have both.
        """
        for stem in ("", "mean_"):
            for pair in zip(*(VELOCITIES.get(axis, ()) for axis in self.axes), strict=True):
                names = (stem + pair[0], stem + pair[1])
                if all(self.has(name) for name in names):
                    return names
        expected = [" and ".join(pair) for pair in zip(*(VELOCITIES[axis] for axis in self.axes), strict=True)]
        raise InputError(
            f"--vectors for {self.path.name} with {', '.join([*self.variables, *self.fixed])}",
            allowed=f"a file with {', or '.join(expected)}", fix='variables = ["velocity"] in [output] of the case',
            problem="The file has no velocity components.",
        )  # fmt: skip

    def shown(self, name: str, record: int) -> np.ndarray:
        """Return the values of a field in the unit of `label`."""
        return self.values(name, record) * self._unit(name)[1]

    def label(self, name: str, record: int | None = None) -> str:
        """Return the long name and unit of a field, with the period of a statistic up to `record`."""
        about = self.attributes(name)
        label = short_label(name, about, self._unit(name)[0])
        period = "" if record is None else period_of(about, self.bounds(name, record))
        return f"{label}, {period}" if period else label

    def bounds(self, name: str, record: int) -> tuple[float, float] | None:
        """Return the period of a statistic over time up to a record, s, or None for instantaneous values."""
        if not (self.changes(name) and is_statistic(self.attributes(name))):
            return None
        bounds = str(self.dataset["time"].attrs.get("bounds", ""))
        if bounds in self.dataset.variables:
            first, last = np.asarray(self.dataset[bounds].values, dtype=np.float64)[record]
            return start_of(self.attributes(name), float(first)), float(last)
        return start_of(self.attributes(name)), float(self.times[record])

    def _unit(self, name: str) -> tuple[str, float]:
        """Return the unit that a field is drawn in, and its factor; the last record selects the unit of times."""
        units = str(self.attributes(name).get("units", ""))
        if units != "s":
            return units, 1.0
        values = np.abs(self.values(name, self.times.size - 1))
        return time_unit(float(np.max(values, initial=0.0, where=np.isfinite(values))))

    def classes(self, name: str) -> dict[float, str]:
        """Return the meanings of the values of a field of classes, in order; empty for other fields."""
        about = self.attributes(name)
        meanings = str(about.get("flag_meanings", "")).split()
        return dict(sorted(zip(map(float, np.atleast_1d(about.get("flag_values", []))), meanings, strict=False)))

    def date(self, record: int) -> str:
        """Return the date of a record, or an empty string if times have no reference date."""
        return date_of(self._since, float(self.times[record]))

    @property
    def _since(self) -> str:
        """Units of the times."""
        return str(self.dataset["time"].attrs.get("units", ""))


class Water(NamedTuple):
    """Surface elevation and depth of water over time, or their maxima.

    Attributes
    ----------
    surface, depth : callable
        Functions of a record that return (ny, nx) arrays, m.
    initial : (ny, nx) array of bool
        Cells that are wet at the start.
    name : str
        Stored field with the period of the values.
    maxima : bool
        Values are maxima over time.
    labels : tuple of str
        Labels of the surface elevation of `initial` cells and of the depth of the other cells.
    """

    surface: Callable[[int], np.ndarray]
    depth: Callable[[int], np.ndarray]
    initial: np.ndarray
    name: str
    maxima: bool
    labels: tuple[str, str]


def water_of(fields: FieldFile) -> Water | None:
    """Return the water of a file of fields, or None if it does not determine the cells that are wet at the start.

    Files of maxima determine them if they have the maximum surface elevation, the maximum depth and an arrival time of
    a depth: cells that exceed the depth at the start have the start as arrival time.
    """
    wet = fields.wet(0)
    if wet is not None and fields.surface(0) is not None:
        name = SURFACE if fields.has(SURFACE) else DEPTH
        labels = with_units("surface elevation", "m"), with_units("flood depth on initially dry land", "m")
        return Water(fields.surface, fields.depth, wet, name, False, labels)  # type: ignore[arg-type]
    max_depth = fields.max_depth_name()
    arrivals = {threshold: name for name in fields.variables if (threshold := arrival_threshold(name)) is not None}
    if max_depth is None or MAX_SURFACE not in fields.variables or not arrivals:
        return None
    threshold = min(arrivals)
    bounds = fields.bounds(max_depth, fields.times.size - 1)
    initial = fields.values(arrivals[threshold], fields.times.size - 1) <= (bounds[0] if bounds is not None else 0.0)
    if not initial.any():
        return None
    text = f"flood depth, initially < {threshold:g} m"
    return Water(
        lambda record: fields.values(MAX_SURFACE, record),
        lambda record: np.nan_to_num(fields.values(max_depth, record)),
        initial,
        max_depth,
        True,
        (with_units("surface elevation", "m"), with_units(text, "m")),
    )
