"""Checks of what a user gives to the implicit model."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid


def checked_land(land: Any, grid: Grid) -> np.ndarray:
    """The mask of cells that are never wet, (ny, nx); none if not given."""
    mask = np.zeros(grid.shape, bool) if land is None else np.asarray(land)
    if mask.shape != grid.shape or mask.dtype != bool:
        raise InputError(
            f"land of shape {mask.shape} and type {mask.dtype}",
            allowed=f"an array of bool of shape {grid.shape}",
            fix="land = bed > 5.0",
        )
    return mask


def depth_of_dry_faces(given: float | None, thickness: np.ndarray) -> float:
    """Depth below which a face is closed, m: as given, or a thousandth of the greatest depth at the start."""
    if given is not None:
        return checked_number("dry_depth", given, 1e-6, 1e3)
    deepest = float(thickness.max())
    return max(1e-3 * min(1.0, deepest), 1e-6) if deepest > 0 else 1e-3


def check_wet(thickness: np.ndarray, land: np.ndarray) -> None:
    """Refuse dry cells that are not land: of a run without drying."""
    dry = ~land & (thickness <= 0.0)
    if dry.any():
        j, i = np.argwhere(dry)[0]
        raise InputError(
            f"a dry cell (j, i) = ({j}, {i}) with drying = 'off'",
            allowed="water in every cell that is not land",
            fix='drying = "on", or land = depth <= 0',
        )
