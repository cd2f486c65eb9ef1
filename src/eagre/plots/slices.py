"""Slices through fields on levels, for maps and animations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.plots.data.fields import FieldFile
from eagre.plots.data.volumes import Volume

if TYPE_CHECKING:
    import xarray as xr

AXES = ("x", "y", "z")


def sliced(dataset: xr.Dataset, where: str | None, path: Path) -> FieldFile:
    """Return a plane of a dataset with the dimension z, with its position and the volume.

    Parameters
    ----------
    dataset : xarray.Dataset
        Dataset with fields over (time, z, y, x).
    where : str or None
        Position such as ``"z = 500 m"``, ``"y = 0"`` or ``"x = 2 km"``, whose nearest plane of points is used. Without
        it the only row or column of a two-dimensional run, or else the middle level.
    path : Path
        Path of the file.
    """
    axis, value = _plane(dataset, where)
    if axis not in dataset.dims:
        raise InputError(
            f"--slice {where}", allowed=f"one of the axes {', '.join(one for one in AXES if one in dataset.dims)}",
            problem=f"The fields of {path.name} do not depend on {axis}.",
        )  # fmt: skip
    points = np.asarray(dataset[axis].values, dtype=np.float64)
    if value is None:
        value = float(points[points.size // 2])
    slack = 0.5 * float(np.ptp(points)) / max(points.size - 1, 1) + 1e-9
    if not points.min() - slack <= value <= points.max() + slack:
        raise InputError(
            f"--slice {where}", allowed=f"{axis} from {points.min():g} to {points.max():g} m in {path.name}",
            fix=f'--slice "{axis} = {points[points.size // 2]:g}"', problem="The slice is outside the domain.",
        )  # fmt: skip
    nearest = int(np.argmin(np.abs(points - value)))
    plane = dataset.isel({axis: nearest}, drop=True)
    others = [one for one in AXES if one != axis]
    plane = plane.drop_vars([name for name in plane.data_vars if not set(others) <= set(plane[name].dims)])
    if axis != "z":
        plane = plane.rename({old: new for old, new in zip(others, ("x", "y"), strict=True) if old != new})
    position, volume = f"{axis} = {points[nearest]:g} m", Volume(path, dataset, axis, nearest)
    return FieldFile(path, plane, (others[0], others[1]), position, volume=volume)


def _plane(dataset: xr.Dataset, where: str | None) -> tuple[str, float | None]:
    """Return the axis and the position, m, of a slice."""
    if where is None:
        return next((axis for axis in ("y", "x") if dataset.sizes.get(axis) == 1), "z"), None
    axis, sign, text = (item.strip() for item in where.partition("="))
    if axis not in AXES or not sign:
        raise InputError(
            f"--slice {where}", allowed='an axis and a position, such as "z = 500 m"', fix='--slice "y = 0"',
            problem="The slice has no axis and position.",
        )  # fmt: skip
    try:
        number: float | str = float(text)
    except ValueError:
        number = text
    return axis, parse_quantity(number, "length", "--slice")
