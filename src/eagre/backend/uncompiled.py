"""Replacements of the decorators of the compilers: programs run as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function unchanged."""
    return function


driver = formula
serial_driver = formula
prange = range


def flush_subnormals() -> int:
    """Do nothing: plain Python supports subnormal numbers."""
    return 0


def put_back(previous: int) -> None:
    """Do nothing."""


def prefetch(array: Any, k: int, j: int, i: int) -> None:
    """Do nothing."""
