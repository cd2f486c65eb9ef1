"""Comparison of two runs: norms of the difference of their fields."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

COORDINATE_TOLERANCE = 1e-6  # relative to the smallest spacing, in addition to the rounding of the coordinates


@dataclass(frozen=True)
class Difference:
    """Norms of first - second at the points where both have a value, in the unit of the field.

    After K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture (2014), equations
    4 to 6. Its third norm is the maximum difference divided by the number of points; the maximum itself is also given.
    """

    l1: float  # mean absolute value
    l2: float  # root mean square
    largest: float  # maximum absolute value
    size: float  # mean absolute value of the second field
    points: int
    alone: int  # number of points where only one field has a value

    @property
    def largest_over_points(self) -> float:
        """Linf of equation 6: the maximum absolute value divided by the number of points."""
        return self.largest / self.points if self.points else math.nan

    @property
    def relative(self) -> float:
        """L1 divided by the mean absolute value of the second field; 0 for zero fields, NaN if only the second is 0."""
        if self.l1 == self.size == 0.0:
            return 0.0
        return self.l1 / self.size if self.size > 0.0 else math.nan


def difference(first: np.ndarray, second: np.ndarray) -> Difference:
    """Compare two fields of the same shape point by point, in double precision; NaN counts as missing.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    a, b = (np.asarray(one, np.float64) for one in (first, second))
    if a.shape != b.shape:
        raise ValueError(f"The fields have different shapes, {a.shape} and {b.shape}; allowed: the same points.")
    both = ~np.isnan(a) & ~np.isnan(b)
    apart, alone = np.abs(a[both] - b[both]), int(np.sum(np.isnan(a) != np.isnan(b)))
    if not apart.size:
        return Difference(math.nan, math.nan, math.nan, math.nan, 0, alone)
    l2 = math.sqrt(float(np.mean(apart**2)))
    return Difference(float(apart.mean()), l2, float(apart.max()), float(np.abs(b[both]).mean()), apart.size, alone)


def differing_axis(first: Path, a: xr.Dataset, second: Path, b: xr.Dataset, name: str) -> str | None:
    """Return the first coordinate of a field in which two files differ, or None.

    The coordinates of the dimensions, the time (as a date if both files have dates) and the coordinate reference system
    (if both files have one) are compared. Coordinates are equal within rounding and a millionth of their spacing.

    Parameters
    ----------
    first, second : Path
        Files, for messages.
    a, b : xarray.Dataset
        One record of each, with undecoded times.
    name : str
        Field that both have.
    """
    from eagre.io.netcdf_attributes import crs_of

    if a[name].dims != b[name].dims:
        return "the dimensions " + " and ".join(str(data[name].dims) for data in (a, b))
    axes = [str(axis) for axis in a[name].dims] + ["time"] * ("time" in a[name].coords)
    for axis in axes:
        if (axis in a.variables) != (axis in b.variables):
            return axis
        if axis in a.variables and not _same_axis(a[axis], b[axis]):
            return axis
    systems = [crs_of(data, data[name], path) for data, path in ((a, first), (b, second))]
    return "the coordinate system" if None not in systems and systems[0] != systems[1] else None


def _same_axis(one: xr.DataArray, other: xr.DataArray) -> bool:
    """Return whether two coordinates are equal within rounding."""
    if one.dtype.kind not in "iuf" or other.dtype.kind not in "iuf":
        return bool(np.array_equal(one.values, other.values))
    x, y = (np.atleast_1d(np.asarray(axis.values, np.float64)) for axis in (one, other))
    if x.shape != y.shape:
        return False
    precision = max((float(np.finfo(axis.dtype).eps) for axis in (one, other) if axis.dtype.kind == "f"), default=0.0)
    size = float(max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0)))
    spacing = float(np.abs(np.diff(x)).min(initial=math.inf))
    slack = COORDINATE_TOLERANCE * spacing if math.isfinite(spacing) else 1e-9 * size
    tolerance = 2.0 * precision * size + slack
    return bool(np.all(np.abs(x - (y + _date_shift(one, other))) <= tolerance))


def _date_shift(one: xr.DataArray, other: xr.DataArray) -> float:
    """Return the seconds by which the reference date of `other` is later; 0 unless both have a reference date."""
    from eagre.plots.drawing.style import date_of_zero

    dates = [date_of_zero(str(axis.attrs.get("units", ""))) for axis in (one, other)]
    return 0.0 if dates[0] is None or dates[1] is None else (dates[1] - dates[0]).total_seconds()
