"""Mass balance of the normal velocities at open boundaries.

Centred differences over two grid spacings connect every second point. Points are in separate classes (even or odd along
each axis, except periodic axes with an odd number of points). Inflow and outflow must balance in each class.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.models.anelastic.metric import Metric


class Balance(NamedTuple):
    """Correction of the normal velocities at open boundaries: maximum, m/s, and ratio to the maximum velocity."""

    largest: float
    share: float


def parities(metric: Metric) -> list[list[slice]]:
    """Return the classes along each axis."""
    found = []
    for n, side in zip(metric.shape, metric.sides, strict=True):
        is_split = n > 1 and not (side == "periodic" and n % 2)
        found.append([slice(0, None, 2), slice(1, None, 2)] if is_split else [slice(None)])
    return found


def balanced(metric: Metric, rho: np.ndarray, given: tuple[Any, Any, Any]) -> tuple[list[np.ndarray], Balance]:
    """Return the normal velocities x (2, nz, ny), y (2, nz, nx), z (2, ny, nx) with the minimum balancing correction.

    The correction is constant for each boundary and class of points; walls have none.
    """
    values = [_checked(metric, name, axis, value) for name, axis, value in zip("xyz", (2, 1, 0), given, strict=True)]
    density = np.broadcast_to(rho, metric.shape)
    areas = {axis: _areas(metric, density, axis) for axis in range(3) if _is_open(metric, axis)}
    if not areas:
        return values, Balance(0.0, 0.0)
    classes = parities(metric)
    unknowns: dict[tuple[int, ...], int] = {}
    for axis in areas:
        for key in product([axis], range(2), *(range(len(classes[k])) for k in range(3) if k != axis)):
            unknowns[key] = len(unknowns)
    scale = max(float(np.abs(value).max()) for value in values)
    rows, right = [], []
    for key in product(*(range(len(one)) for one in classes)):
        row, total = np.zeros(len(unknowns)), 0.0
        for axis, area in areas.items():
            rest = [k for k in range(3) if k != axis]
            where = tuple(classes[k][key[k]] for k in rest)
            for end, sign in ((0, -1.0), (1, 1.0)):
                part = area[(end, *where)]
                row[unknowns[(axis, end, *(key[k] for k in rest))]] = sign * part.sum()
                total += sign * float((part * values[2 - axis][(end, *where)]).sum())
        rows.append(row)
        right.append(total)
    change = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    for (axis, end, *key), n in unknowns.items():
        rest = [k for k in range(3) if k != axis]
        values[2 - axis][(end, *(classes[k][c] for k, c in zip(rest, key, strict=True)))] -= change[n]
    largest = float(np.abs(change).max())
    return values, Balance(largest, largest / scale if scale > 0.0 else 0.0)


def _is_open(metric: Metric, axis: int) -> bool:
    return metric.sides[axis] == "open" and metric.shape[axis] > 1


def _checked(metric: Metric, name: str, axis: int, value: Any) -> np.ndarray:
    """Return the normal velocities at the two ends of an axis, 0 by default."""
    shape = (2, *(n for k, n in enumerate(metric.shape) if k != axis))
    if value is not None and not _is_open(metric, axis):
        raise InputError(
            f"normal velocities along {name}",
            allowed=f'boundaries that are "open", not "{metric.sides[axis]}"',
            problem=f"The boundaries along {name} are not open.",
        )
    found = np.zeros(shape) if value is None else np.array(value, float)
    if found.shape != shape or not np.isfinite(found).all():
        raise InputError(
            f"{name} of shape {found.shape}",
            allowed=f"finite numbers, {shape}",
            problem=f"The shape or a value of {name} is not allowed.",
        )
    return found


def _areas(metric: Metric, density: np.ndarray, axis: int) -> np.ndarray:
    """Return rho* times the area of each boundary point."""
    ends = np.take(metric.weights * density, [0, -1], axis=axis) * 2.0
    return np.moveaxis(ends, axis, 0) / metric.spacing[axis] * float(np.prod(metric.spacing))
