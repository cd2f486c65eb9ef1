"""Plain stand-ins for what Numba's CUDA simulator lacks."""

from __future__ import annotations

from typing import Any


def early_load(array: Any, plane: int, j: int, i: int) -> Any:
    """array[plane, j, i]."""
    return array[plane, j, i]
