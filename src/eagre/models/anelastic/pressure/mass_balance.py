"""Mass balance of the normal velocities at open boundaries.

Centred differences over two grid spacings connect every second point. Points are in separate classes (even or odd along
each axis, except periodic axes with an odd number of points). Inflow and outflow must balance in each class.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.models.anelastic.base.metric import Metric


class Balance(NamedTuple):
    """Correction of the normal velocities at open boundaries: maximum, m/s, and ratio to the maximum velocity."""

    max_correction: float
    relative_correction: float


def parities(metric: Metric) -> list[list[slice]]:
    """Return the classes along each axis."""
    classes = []
    for n, side in zip(metric.shape, metric.sides, strict=True):
        is_split = n > 1 and not (side == "periodic" and n % 2)
        classes.append([slice(0, None, 2), slice(1, None, 2)] if is_split else [slice(None)])
    return classes


def balanced(metric: Metric, rho: np.ndarray, velocities: tuple[Any, Any, Any]) -> tuple[list[np.ndarray], Balance]:
    """Return the normal velocities x (2, nz, ny), y (2, nz, nx), z (2, ny, nx) with the minimum balancing correction.

    The correction is constant for each boundary and class of points; walls have none.
    """
    each = zip("xyz", (2, 1, 0), velocities, strict=True)
    values = [_checked(metric, name, axis, value) for name, axis, value in each]
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
            other_axes = [k for k in range(3) if k != axis]
            where = tuple(classes[k][key[k]] for k in other_axes)
            for end, sign in ((0, -1.0), (1, 1.0)):
                class_area = area[(end, *where)]
                row[unknowns[(axis, end, *(key[k] for k in other_axes))]] = sign * class_area.sum()
                total += sign * float((class_area * values[2 - axis][(end, *where)]).sum())
        rows.append(row)
        right.append(total)
    change = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    for (axis, end, *key), n in unknowns.items():
        other_axes = [k for k in range(3) if k != axis]
        values[2 - axis][(end, *(classes[k][c] for k, c in zip(other_axes, key, strict=True)))] -= change[n]
    max_correction = float(np.abs(change).max())
    return values, Balance(max_correction, max_correction / scale if scale > 0.0 else 0.0)


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
    velocities = np.zeros(shape) if value is None else np.array(value, float)
    if velocities.shape != shape or not np.isfinite(velocities).all():
        raise InputError(
            f"{name} of shape {velocities.shape}",
            allowed=f"finite numbers, {shape}",
            problem=f"The shape or a value of {name} is not allowed.",
        )
    return velocities


def _areas(metric: Metric, density: np.ndarray, axis: int) -> np.ndarray:
    """Return rho* times the area of each boundary point."""
    ends = np.take(metric.weights * density, [0, -1], axis=axis) * 2.0
    return np.moveaxis(ends, axis, 0) / metric.spacing[axis] * float(np.prod(metric.spacing))
