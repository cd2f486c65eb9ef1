"""Terrain preparation: blending at periodic and open boundaries, smoothing to a maximum slope."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid

Array = np.ndarray
MAX_SWEEPS = 1000
CLIFF = 2.0  # ratio to the maximum slope elsewhere above which a step at a periodic end is unintended


class MaxSlope(NamedTuple):
    """Maximum slope between two neighbouring points."""

    slope: float
    axis: str  # "x" or "y"
    cell: tuple[int, int]  # (j, i) of the first of the two points
    periodic_end: bool  # True for the last and the first point of a periodic axis
    inside: float  # maximum slope without periodic ends

    @property
    def cliff(self) -> bool:
        """True for a terrain step between the two ends of a periodic axis."""
        return self.periodic_end and self.slope > CLIFF * self.inside


def max_slope(ground: Array, grid: Grid, periodic: tuple[bool, bool]) -> MaxSlope:
    """Find the maximum slope of the terrain, (ny, nx), m; periodic : whether y and x are periodic."""
    maximum, inside = MaxSlope(0.0, "x", (0, 0), False, 0.0), 0.0
    for n, (axis, spacing) in enumerate((("y", grid.dy), ("x", grid.dx))):
        slopes = np.abs(np.roll(ground, -1, n) - ground) / spacing
        last = ground.shape[n] - 1
        inner = np.delete(slopes, last, n)
        inside = max(inside, float(inner.max(initial=0.0)))
        known = slopes if periodic[n] else inner
        if known.size and known.max() > maximum.slope:
            j, i = (int(one) for one in np.unravel_index(int(known.argmax()), known.shape))
            maximum = MaxSlope(float(known[j, i]), axis, (j, i), (j, i)[n] == last, 0.0)
    return maximum._replace(inside=inside)


def blended(ground: Array, grid: Grid, meets: tuple[bool, bool], width: float) -> Array:
    """Blend the terrain to equal heights at both ends of an axis.

    Within `width` of the ends, cos^2 weights blend the terrain to the mean of the two end values.

    Parameters
    ----------
    ground : (ny, nx) array, m
    grid : Grid
    meets : pair of bool
        True for y and x if the terrain at the two ends must be equal.
    width : float, m
        At most half the length of the axis.

    Raises
    ------
    InputError
        For a width outside this range, or if no axis is periodic or open.
    """
    axes = [n for n in (0, 1) if meets[n] and ground.shape[n] > 1]
    if not axes:
        raise InputError(
            "blend without a periodic or open axis",
            allowed="periodic or open boundaries of x or y",
            problem="The terrain is blended along periodic or open axes only.",
        )
    for n in axes:
        points = (grid.y, grid.x)[n]
        half = 0.5 * float(points[-1] - points[0])
        checked_number("blend", width, 0.0, half)
        from_end = half - np.abs(points - points[0] - half)
        weight = np.where(from_end < width, np.cos(0.5 * np.pi * from_end / max(width, 1e-300)) ** 2, 0.0)
        weight[[0, -1]] = 1.0
        low, high = ground.take([0], n), ground.take([-1], n)
        first = np.arange(points.size) < 0.5 * points.size
        along = (-1, 1) if n == 0 else (1, -1)
        end_value = np.where(first.reshape(along), low, high)
        ground = ground + weight.reshape(along) * (0.5 * (low + high) - end_value)
    return ground


def smoothed(ground: Array, grid: Grid, periodic: tuple[bool, bool], slope: float) -> Array:
    """Smooth the terrain by sweeps of (1, 2, 1) / 4 along x and y until no slope exceeds `slope`.

    Parameters
    ----------
    ground : (ny, nx) array, m
    grid : Grid
    periodic : pair of bool
        True for y and x if periodic; other ends are extended by their last value.
    slope : float
        Maximum slope between neighbouring points.

    Raises
    ------
    InputError
        If `MAX_SWEEPS` sweeps are not sufficient.
    """
    max_allowed = checked_number("steepest", slope, 1e-6, 1e6)
    first = max_slope(ground, grid, periodic).slope
    for _ in range(MAX_SWEEPS):
        if max_slope(ground, grid, periodic).slope <= max_allowed:
            return ground
        for n in (0, 1):
            around = np.pad(ground, [(int(n == 0),) * 2, (int(n == 1),) * 2], mode="wrap" if periodic[n] else "edge")
            count = ground.shape[n]
            low, here, high = (np.take(around, np.arange(shift, shift + count), n) for shift in range(3))
            ground = 0.25 * low + 0.5 * here + 0.25 * high
    raise InputError(
        f"steepest = {slope:g} for terrain with slopes up to {first:.3g}, still "
        f"{max_slope(ground, grid, periodic).slope:.3g} after {MAX_SWEEPS} sweeps",
        allowed="a slope that smoothing can reach",
        fix=f"steepest = {1.1 * max_slope(ground, grid, periodic).slope:.2g}",
        problem="Smoothing does not reduce the slope of the terrain to steepest.",
    )
