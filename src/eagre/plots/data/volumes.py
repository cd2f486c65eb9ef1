"""Fields on levels of a result file as volumes, and the vorticity that is computed from the wind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.io.files import read_values
from eagre.plots.data.selection import known_variable

if TYPE_CHECKING:
    import xarray as xr

AXES = ("z", "y", "x")
VORTICITY = "vorticity"
_WIND = ("u", "v", "w")
_ATTRIBUTES = {"units": "s-1", "long_name": "vorticity magnitude"}


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
