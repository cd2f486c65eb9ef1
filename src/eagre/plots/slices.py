"""Slices through fields on levels, as planes that maps and animations can draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagre.config.units import parse_quantity
from eagre.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

AXES = ("x", "y", "z")


def sliced(dataset: xr.Dataset, where: str | None, path: Path) -> tuple[xr.Dataset, tuple[str, str], str]:
    """A plane of a dataset with the dimension z.

    Parameters
    ----------
    dataset : xarray.Dataset
        Fields over (time, z, y, x), and others.
    where : str or None
        ``"z = 500 m"``, ``"y = 0"`` or ``"x = 2 km"``: the nearest plane of points; without it the only row or column
        of a plane, else the level in the middle.
    path : Path
        For messages.

    Returns
    -------
    Dataset
        Fields over (time, y, x), whatever axes these are.
    pair of str
        The axes of the picture.
    str
        Which plane it is.
    """
    axis, value = _plane(dataset, where)
    if axis not in dataset.dims:
        raise InputError(f"--slice {where}", allowed=f"one of the axes {', '.join(_own(dataset))}, in {path.name}")
    points = np.asarray(dataset[axis].values, dtype=np.float64)
    if value is None:
        value = float(points[points.size // 2])
    slack = 0.5 * float(np.ptp(points)) / max(points.size - 1, 1) + 1e-9
    if not points.min() - slack <= value <= points.max() + slack:
        raise InputError(
            f"--slice {where}", allowed=f"{axis} from {points.min():g} to {points.max():g} m in {path.name}",
            fix=f'--slice "{axis} = {points[points.size // 2]:g}"',
        )  # fmt: skip
    nearest = int(np.argmin(np.abs(points - value)))
    plane = dataset.isel({axis: nearest}, drop=True)
    rest = [one for one in AXES if one != axis]
    plane = plane.drop_vars([name for name in plane.data_vars if not set(rest) <= set(plane[name].dims)])
    if axis != "z":
        plane = plane.rename({old: new for old, new in zip(rest, ("x", "y"), strict=True) if old != new})
    return plane, (rest[0], rest[1]), f"{axis} = {points[nearest]:g} m"


def _plane(dataset: xr.Dataset, where: str | None) -> tuple[str, float | None]:
    """Axis and place that a text names."""
    if where is None:
        return next((axis for axis in ("y", "x") if dataset.sizes.get(axis) == 1), "z"), None
    axis, sign, text = (part.strip() for part in where.partition("="))
    if axis not in AXES or not sign:
        raise InputError(f"--slice {where}", allowed='an axis and a place, such as "z = 500 m"', fix='--slice "y = 0"')
    try:
        number: float | str = float(text)
    except ValueError:
        number = text
    return axis, parse_quantity(number, "length", "--slice")


def _own(dataset: xr.Dataset) -> list[str]:
    return [axis for axis in AXES if axis in dataset.dims]
