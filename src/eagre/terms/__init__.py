"""Terms that a case may add to the shallow-water equations: rain, rotation, wind, air pressure, body forces.

One file a term. The class has the file's name in capitals (`wind_stress.py` holds `WindStress`), its section in a
case file has the file's own, and both are found by that: a new file is a new term. What all terms share is in
`base` (what a term is), `collect` (the terms of a run), `compose` (the one cell that a kernel calls), `moving`
(what changes in space and time) and `blended` (its tables on a device).
"""

from __future__ import annotations

import importlib
from pkgutil import iter_modules
from typing import Any

_SHARED = {"base", "blended", "collect", "compose", "moving"}


def class_name(module: str) -> str:
    """Name of the class in a term's module, which is also the name of its section."""
    return module.title().replace("_", "")


NAMES = {class_name(found.name): found.name for found in iter_modules(__path__) if found.name not in _SHARED}
"""Module of each term by the name of its class."""

__all__ = ["NAMES", "class_name", *sorted(NAMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A term's class, imported at first use."""
    if name in NAMES:
        return getattr(importlib.import_module(f"eagre.terms.{NAMES[name]}"), name)
    raise AttributeError(f"module 'eagre.terms' has no attribute {name!r}")
