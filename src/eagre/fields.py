"""Fields: what a variable is, declared once for allocation, output and documentation, and how one lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.errors import InputError

if TYPE_CHECKING:  # files know fields, and no device
    from eagre.backend.device import Device

STAGGERED = {"centre": (), "face_x": (-1,), "face_y": (-2,), "face_z": (-3,), "corner": (-2, -1)}
"""Axes along which a location has a point more than there are cells, counted from the last, x."""


def points_at(location: str, cells: Sequence[int]) -> tuple[int, ...]:
    """Points of a field at a location of a grid of (ny, nx) or (nz, ny, nx) cells."""
    if location not in STAGGERED or any(axis < -len(cells) for axis in STAGGERED[location]):
        allowed = [name for name, axes in STAGGERED.items() if all(axis >= -len(cells) for axis in axes)]
        raise InputError(f"location {location!r}", allowed=", ".join(allowed))
    return tuple(n + (axis - len(cells) in STAGGERED[location]) for axis, n in enumerate(cells))


@dataclass(frozen=True)
class Layout:
    """How fields of a grid lie in memory: `[k, j, i]`, i fastest, with halos around and rows of a length that suits.

    Parameters
    ----------
    cells : tuple of int
        (ny, nx) or (nz, ny, nx).
    before : tuple of int
        Elements before the first point along each axis; none if not given.
    after : tuple of int
        Elements behind the last cell along each axis, at least: `before` if not given. A field at faces needs one.
    pitch : int
        A row is a multiple of so many elements long.

    Notes
    -----
    Point (j, i) of a field at any location is element ``[before[0] + j, before[1] + i]``.
    """

    cells: tuple[int, ...]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    pitch: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array."""
        none = (0,) * len(self.cells)
        before, after = self.before or none, self.after or self.before or none
        *rows, length = (n + low + high for n, low, high in zip(self.cells, before, after, strict=True))
        return (*rows, -(-length // self.pitch) * self.pitch)

    def interior(self, location: str = "centre") -> tuple[Any, ...]:
        """Index of the points at a location; axes before those of the grid stay whole."""
        points = points_at(location, self.cells)
        before = self.before or (0,) * len(points)
        return (..., *(slice(low, low + n) for low, n in zip(before, points, strict=True)))

    def padded(self, values: np.ndarray, real: Any, outside: float = 0.0) -> np.ndarray:
        """Values at the points of any location in an array of this layout, with `outside` around."""
        before = self.before or (0,) * len(self.cells)
        own = values.shape[-len(self.cells) :]
        array = np.full((*values.shape[: -len(self.cells)], *self.shape), outside, real)
        array[(..., *(slice(low, low + n) for low, n in zip(before, own, strict=True)))] = values
        return array

    def unpadded(self, array: np.ndarray, location: str = "centre") -> np.ndarray:
        """A copy of the values at a location of an array on the host."""
        return array[self.interior(location)].copy()

    def zeros(self, device: Device, real: Any, *components: int) -> Any:
        """An array on a device, with axes for components before those of the grid."""
        return device.zeros((*components, *self.shape), real)

    def fill(self, device: Device, array: Any, values: np.ndarray, outside: float = 0.0) -> None:
        """Overwrite an array on a device with values at points, and `outside` around them."""
        device.fill(array, self.padded(values, array.dtype, outside))

    def host(self, device: Device, array: Any, location: str = "centre") -> np.ndarray:
        """A copy on the host of the values at a location of an array on a device."""
        return self.unpadded(device.host(array), location)


@dataclass(frozen=True)
class Variable:
    """What a model's field is.

    Parameters
    ----------
    name : str
        Name in files and in the Python interface.
    units : str
        UDUNITS string, for example ``"m2 s-1"``.
    long_name : str
        One line for people.
    standard_name : str, optional
        CF standard name, where the table has one.
    location : str
        ``"centre"``, ``"face_x"``, ``"face_y"``, ``"corner"`` (see `eagre.grid`), or in 3-D ``"face_z"``.
    static : bool
        True for fields that do not change with time (bed elevation).
    levels : bool
        True for fields with a value on each of the model's levels, (nz, ny, nx); see `eagre.grid.Levels`.
    cell_methods : str
        What a value stands for in time, in CF's words.
    flags : tuple of str
        Meanings of the values 1, 2 .. of a field of classes.
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


WATER_VARIABLES = (
    Variable(
        "surface_elevation",
        "m",
        "surface elevation; the bed where dry",
        "water_surface_height_above_reference_datum",
    ),
    Variable("depth", "m", "water depth", "sea_floor_depth_below_sea_surface"),
    Variable("discharge_x", "m2 s-1", "unit discharge, x-component"),
    Variable("discharge_y", "m2 s-1", "unit discharge, y-component"),
    Variable("velocity_x", "m s-1", "velocity averaged over depth, x-component", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "velocity averaged over depth, y-component", "sea_water_y_velocity"),
    Variable("speed", "m s-1", "speed, averaged over depth", "sea_water_speed"),
    Variable("bed", "m", "bed elevation, mean of the cell", "ground_level_altitude", static=True),
)
"""What the shallow-water models show of their state, at centres."""
