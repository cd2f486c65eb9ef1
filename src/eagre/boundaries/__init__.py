"""Boundary conditions, one per file of `conditions`, and the code that they share.

The class has the name of the file in capitals (`stage.py` holds `Stage`). The kind in a case file is the name of the
file. Both are found by the file name: a new file adds a condition to every model for which it has a kernel function
(see `base`).
"""

from __future__ import annotations

import importlib
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from eagre.boundaries import conditions

if TYPE_CHECKING:
    from eagre.boundaries.barometer import with_static_level
    from eagre.boundaries.base import Condition
    from eagre.boundaries.internal import InternalArea, InternalLine
    from eagre.boundaries.sides import SIDES, Boundaries, BoundarySegment, FaceRange, checked_boundaries

NAMES = {info.name.title().replace("_", ""): info.name for info in iter_modules(conditions.__path__)}
"""Module of each condition by class name. The module name is also the kind in a case file."""
_HOME = {
    "Condition": "base",
    "with_static_level": "barometer",
    **dict.fromkeys(("InternalArea", "InternalLine"), "internal"),
    **dict.fromkeys(("SIDES", "Boundaries", "BoundarySegment", "FaceRange", "checked_boundaries"), "sides"),
    **{name: f"conditions.{module}" for name, module in NAMES.items()},
}

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "NAMES",
    "SIDES",
    "InternalArea",
    "Boundaries",
    "Condition",
    "InternalLine",
    "BoundarySegment",
    "FaceRange",
    "checked_boundaries",
    "with_static_level",
    *sorted(NAMES),
]


def __getattr__(name: str) -> Any:
    """Import a condition class or a shared name at first use."""
    if name in _HOME:
        return getattr(importlib.import_module(f"eagre.boundaries.{_HOME[name]}"), name)
    raise AttributeError(f"module 'eagre.boundaries' has no attribute {name!r}")
