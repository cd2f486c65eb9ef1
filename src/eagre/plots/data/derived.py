"""Fields that are computed on reading from components that a result file stores."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from eagre.constants import GRAVITY


class Derived(NamedTuple):
    """Field computed from other fields of the same record.

    Attributes
    ----------
    components : tuple of str
        Names of the fields that the formula takes, stored or derived.
    formula : callable
        Function of one (ny, nx) array per component; it returns an array of the same shape.
    units : str
    long_name : str
    """

    components: tuple[str, ...]
    formula: Callable[..., np.ndarray]
    units: str
    long_name: str


def _over_depth(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return values divided by the depth, NaN where it is dry."""
    return values / np.where(depth > 0.0, depth, np.nan)


def _froude(speed: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return speed / sqrt(g depth), NaN where it is dry."""
    return speed / np.sqrt(GRAVITY * np.where(depth > 0.0, depth, np.nan))


DERIVED: dict[str, tuple[Derived, ...]] = {
    "speed": (
        Derived(("velocity_x", "velocity_y"), np.hypot, "m s-1", "speed"),
        Derived(("u", "v"), np.hypot, "m s-1", "horizontal wind speed"),
        Derived(
            ("discharge_x", "discharge_y", "depth"),
            lambda x, y, depth: _over_depth(np.hypot(x, y), depth),
            "m s-1",
            "depth-averaged speed",
        ),
    ),
    "discharge": (
        Derived(("discharge_x", "discharge_y"), np.hypot, "m2 s-1", "magnitude of the unit discharge"),
        Derived(("speed", "depth"), np.multiply, "m2 s-1", "magnitude of the unit discharge"),
    ),
    "froude": (Derived(("speed", "depth"), _froude, "1", "Froude number"),),
}
"""Derived fields by name; of several formulas the first whose components the file has is used."""


def derivation(name: str, stored: Collection[str]) -> Derived | None:
    """Return the formula of a derived field in a file with the fields `stored`, or None if components are missing."""
    for one in DERIVED.get(name, ()):
        if all(component in stored or derivation(component, stored) is not None for component in one.components):
            return one
    return None
