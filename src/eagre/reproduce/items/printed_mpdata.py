"""Figures 2 and 3 of Rojek et al. (2015) in NumPy, as printed: the donor cell and the pseudo velocities of MPDATA.

K. A. Rojek et al., Concurrency Computat.: Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417. Arrays are periodic,
(nz, ny, nx); velocity ``v[axis]`` is defined at the face between a point and the previous point along the axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def shifted(values: np.ndarray, axis: int, steps: int) -> np.ndarray:
    """Return the values `steps` points further along an axis."""
    return np.roll(values, -steps, axis)


def donor_cell(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray) -> np.ndarray:
    """Return x after the donor cell (figure 2)."""
    net = 0.0
    for axis in range(3):
        right = np.maximum(0.0, shifted(v[axis], axis, 1)) * x + np.minimum(0.0, shifted(v[axis], axis, 1)) * shifted(
            x, axis, 1
        )
        left = np.maximum(0.0, v[axis]) * shifted(x, axis, -1) + np.minimum(0.0, v[axis]) * x
        net = net + right - left
    return x - net / h


def pseudo_velocity(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray, axis: int) -> np.ndarray:
    """Return the pseudo velocity along an axis (figure 3 for v1, the others by permutation of the axes)."""
    u, left, m, n = v[axis], shifted(x, axis, -1), (axis + 1) % 3, (axis + 2) % 3
    along = (0.5 * np.abs(u) - u * u / (shifted(h, axis, -1) + h)) * (x - left)
    return along - 0.0625 * u / (shifted(h, axis, -1) + h) * (
        _across(x, left, v, axis, m) + _across(x, left, v, axis, n)
    )


def _across(x: np.ndarray, left: np.ndarray, v: Sequence[np.ndarray], axis: int, other: int) -> np.ndarray:
    """Return the sum of four faces of another axis times the difference of four points along this axis."""
    previous = shifted(v[other], axis, -1)
    faces = previous + shifted(previous, other, 1) + shifted(v[other], other, 1) + v[other]
    return faces * (shifted(x, other, 1) + shifted(left, other, 1) - shifted(x, other, -1) - shifted(left, other, -1))


def step(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray) -> np.ndarray:
    """Return x after the donor cell and the corrective pass, whose pseudo velocities are the fluxes."""
    xp = donor_cell(x, v, h)
    fluxes = [pseudo_velocity(xp, v, h, axis) for axis in range(3)]
    return xp - sum(shifted(fluxes[axis], axis, 1) - fluxes[axis] for axis in range(3)) / h
