"""Field metadata for allocation, output and documentation, and the memory layout of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.errors import InputError

if TYPE_CHECKING:  # files know fields, and no device
    from eagre.backend.device import Device

STAGGERED = {"centre": (), "face_x": (-1,), "face_y": (-2,), "face_z": (-3,), "corner": (-2, -1)}
"""Axes, counted from the last (x), along which a location has one more point than the grid has cells."""


def points_at(location: str, cells: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of a field at a location of a grid of (ny, nx) or (nz, ny, nx) cells."""
    if location not in STAGGERED or any(axis < -len(cells) for axis in STAGGERED[location]):
        allowed = [name for name, axes in STAGGERED.items() if all(axis >= -len(cells) for axis in axes)]
        raise InputError(
            f"location {location!r}", allowed=", ".join(allowed), problem="The location does not exist on this grid."
        )
    return tuple(n + (axis - len(cells) in STAGGERED[location]) for axis, n in enumerate(cells))


@dataclass(frozen=True)
class Layout:
    """Memory layout of fields: index order `[k, j, i]`, i fastest, with halos and padded rows.

    Parameters
    ----------
    cells : tuple of int
        (ny, nx) or (nz, ny, nx).
    leading : tuple of int
        Number of elements before the first point along each axis; 0 by default.
    trailing : tuple of int
        Minimum number of elements after the last cell along each axis; `leading` by default. Fields at faces need 1.
    pitch : int
        Row lengths are rounded up to a multiple of this number of elements.

    Notes
    -----
    Point (j, i) of a field at any location is element ``[leading[0] + j, leading[1] + i]``.
    """

    cells: tuple[int, ...]
    leading: tuple[int, ...] = ()
    trailing: tuple[int, ...] = ()
    pitch: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array, including halos and padding."""
        none = (0,) * len(self.cells)
        leading, trailing = self.leading or none, self.trailing or self.leading or none
        *rows, length = (n + low + high for n, low, high in zip(self.cells, leading, trailing, strict=True))
        return (*rows, -(-length // self.pitch) * self.pitch)

    def interior(self, location: str = "centre") -> tuple[Any, ...]:
        """Return the index of the points at a location; other axes are not sliced."""
        points = points_at(location, self.cells)
        leading = self.leading or (0,) * len(points)
        return (..., *(slice(low, low + n) for low, n in zip(leading, points, strict=True)))

    def padded(self, values: np.ndarray, real: Any, outside: float = 0.0) -> np.ndarray:
        """Return an array of this layout with values at the points of any location and `outside` elsewhere."""
        leading = self.leading or (0,) * len(self.cells)
        shape = values.shape[-len(self.cells) :]
        array = np.full((*values.shape[: -len(self.cells)], *self.shape), outside, real)
        array[(..., *(slice(low, low + n) for low, n in zip(leading, shape, strict=True)))] = values
        return array

    def unpadded(self, array: np.ndarray, location: str = "centre") -> np.ndarray:
        """Return a copy of the values at a location of a host array."""
        return array[self.interior(location)].copy()

    def zeros(self, device: Device, real: Any, *components: int) -> Any:
        """Return a device array of zeros; component axes come before the grid axes."""
        return device.zeros((*components, *self.shape), real)

    def fill(self, device: Device, array: Any, values: np.ndarray, outside: float = 0.0) -> None:
        """Overwrite a device array with values at points and `outside` elsewhere."""
        device.fill(array, self.padded(values, array.dtype, outside))

    def host(self, device: Device, array: Any, location: str = "centre") -> np.ndarray:
        """Return a host copy of the values at a location of a device array."""
        return self.unpadded(device.host(array), location)


@dataclass(frozen=True)
class Variable:
    """Metadata of a model field.

    Parameters
    ----------
    name : str
        Name in files and in the Python interface.
    units : str
        UDUNITS string, for example ``"m2 s-1"``.
    long_name : str
        Description in one line.
    standard_name : str, optional
        CF standard name, if the CF table has one.
    location : str
        ``"centre"``, ``"face_x"``, ``"face_y"``, ``"corner"`` (see `eagre.grid`), or in 3-D ``"face_z"``.
    static : bool
        True for fields that do not change with time (bed elevation).
    levels : bool
        True for fields on the vertical levels of the model, (nz, ny, nx); see `eagre.grid.Levels`.
    cell_methods : str
        CF cell methods: statistic over the time interval.
    flags : tuple of str
        Meanings of the values 1, 2, ... of a categorical field.
    gauged : bool
        False for fields that gauges cannot record.
    """

    name: str
    units: str
    long_name: str
    standard_name: str | None = None
    location: str = "centre"
    static: bool = False
    levels: bool = False
    cell_methods: str = "time: point"
    flags: tuple[str, ...] = ()
    gauged: bool = True

    @property
    def over_time(self) -> bool:
        """True if values are statistics over a time interval, so that records need time bounds."""
        return "time: point" not in self.cell_methods


def sampled_names(variables: Mapping[str, Variable]) -> list[str]:
    """Return the names of the fields whose values at points can be sampled."""
    return [name for name, one in variables.items() if one.gauged]


TIME_BOUNDS = "time_bounds"
"""Name of the variable with the time interval of each record, (time, 2), s."""


def time_bounds(start: float, times: float | np.ndarray) -> np.ndarray:
    """Return the intervals from `start` to each time, (..., 2), s; they are empty for times before `start`."""
    return np.stack([np.minimum(start, times), times], axis=-1)


WATER_VARIABLES = (
    Variable(
        "surface_elevation",
        "m",
        "water surface elevation; bed elevation in dry cells",
        "water_surface_height_above_reference_datum",
    ),
    Variable("depth", "m", "water depth", "sea_floor_depth_below_sea_surface"),
    Variable("discharge_x", "m2 s-1", "x-component of unit discharge"),
    Variable("discharge_y", "m2 s-1", "y-component of unit discharge"),
    Variable("velocity_x", "m s-1", "x-component of depth-averaged velocity", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "y-component of depth-averaged velocity", "sea_water_y_velocity"),
    Variable("speed", "m s-1", "depth-averaged speed", "sea_water_speed"),
    Variable("bed", "m", "cell-mean bed elevation", "ground_level_altitude", static=True),
)
"""Output fields of the shallow-water models, at cell centres."""
