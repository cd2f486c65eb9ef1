"""The ground as a model can bear it: ends that meet, slopes that are not too steep, and where the steepest is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid

Array = np.ndarray
MOST_SWEEPS = 1000
CLIFF = 2.0  # times the steepest slope elsewhere: a seam that is steeper was not meant


class Steepest(NamedTuple):
    """The steepest slope between two neighbouring points."""

    slope: float
    axis: str  # "x" or "y"
    cell: tuple[int, int]  # (j, i) of the first of both
    seam: bool  # whether they are the last and the first of a periodic axis
    inside: float  # the steepest slope across no seam

    @property
    def cliff(self) -> bool:
        """Whether it is a step between both ends of a periodic axis, which a ground of its own has."""
        return self.seam and self.slope > CLIFF * self.inside


def steepest(ground: Array, grid: Grid, wraps: tuple[bool, bool]) -> Steepest:
    """Where the ground, (ny, nx), m, is steepest; wraps : whether y and x are periodic."""
    found, inside = Steepest(0.0, "x", (0, 0), False, 0.0), 0.0
    for n, (axis, spacing) in enumerate((("y", grid.dy), ("x", grid.dx))):
        slopes = np.abs(np.roll(ground, -1, n) - ground) / spacing
        last = ground.shape[n] - 1
        inner = np.delete(slopes, last, n)
        inside = max(inside, float(inner.max(initial=0.0)))
        known = slopes if wraps[n] else inner
        if known.size and known.max() > found.slope:
            j, i = (int(one) for one in np.unravel_index(int(known.argmax()), known.shape))
            found = Steepest(float(known[j, i]), axis, (j, i), (j, i)[n] == last, 0.0)
    return found._replace(inside=inside)


def blended(ground: Array, grid: Grid, meets: tuple[bool, bool], width: float) -> Array:
    """The ground with ends that are as high as each other.

    Over a width, m, from both ends of an axis it goes over, by cos^2, to the mean of what it is at the two ends.

    Parameters
    ----------
    ground : (ny, nx) array, m
    grid : Grid
    meets : pair of bool
        Whether the ends of y and of x have to meet.
    width : float, m
        Up to half of the axis.

    Raises
    ------
    InputError
        For another width, and where no ends have to meet.
    """
    axes = [n for n in (0, 1) if meets[n] and ground.shape[n] > 1]
    if not axes:
        raise InputError("blend where no sides are periodic or open", allowed="one pair of such sides, or both")
    for n in axes:
        points = (grid.y, grid.x)[n]
        half = 0.5 * float(points[-1] - points[0])
        checked_number("blend", width, 0.0, half)
        from_end = half - np.abs(points - points[0] - half)
        share = np.where(from_end < width, np.cos(0.5 * np.pi * from_end / max(width, 1e-300)) ** 2, 0.0)
        share[[0, -1]] = 1.0
        low, high = ground.take([0], n), ground.take([-1], n)
        first = np.arange(points.size) < 0.5 * points.size
        along = (-1, 1) if n == 0 else (1, -1)
        own = np.where(first.reshape(along), low, high)
        ground = ground + share.reshape(along) * (0.5 * (low + high) - own)
    return ground


def smoothed(ground: Array, grid: Grid, wraps: tuple[bool, bool], slope: float) -> Array:
    """The ground after as many sweeps of (1, 2, 1) / 4 along x and y as make no slope between neighbours steeper.

    Parameters
    ----------
    ground : (ny, nx) array, m
    grid : Grid
    wraps : pair of bool
        Whether y and x are periodic; other ends are mirrored.
    slope : float
        Rise over run.

    Raises
    ------
    InputError
        If `MOST_SWEEPS` of them are not enough.
    """
    most = checked_number("steepest", slope, 1e-6, 1e6)
    first = steepest(ground, grid, wraps).slope
    for _ in range(MOST_SWEEPS):
        if steepest(ground, grid, wraps).slope <= most:
            return ground
        for n in (0, 1):
            around = np.pad(ground, [(int(n == 0),) * 2, (int(n == 1),) * 2], mode="wrap" if wraps[n] else "edge")
            count = ground.shape[n]
            low, here, high = (np.take(around, np.arange(shift, shift + count), n) for shift in range(3))
            ground = 0.25 * low + 0.5 * here + 0.25 * high
    raise InputError(
        f"steepest = {slope:g} for ground with slopes of {first:.3g}, still {steepest(ground, grid, wraps).slope:.3g} "
        f"after {MOST_SWEEPS} sweeps",
        allowed="a slope that the ground has when it is smoothed",
        fix=f"steepest = {1.1 * steepest(ground, grid, wraps).slope:.2g}",
    )
