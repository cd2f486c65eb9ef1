"""Plain Python stand-ins of the compilers' decorators: programs run as the text says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave the function as it is."""
    return function


driver = formula
serial_driver = formula
prange = range


def flush_subnormals() -> int:
    """Nothing: plain Python computes with subnormal numbers."""
    return 0


def put_back(before: int) -> None:
    """Nothing."""


def prefetch(array: Any, k: int, j: int, i: int) -> None:
    """Nothing."""
