"""Source terms of the shallow-water equations: rain, infiltration, rotation, wind, air pressure and body forces.

Each file defines one term. The class has the name of the file in capitals (`wind_stress.py` holds `WindStress`), and
the section in a case file has the name of the file. Both are found by the file name: a new file adds a new term.
Modules that terms share are in `assembly`: `base` (base class), `collect` (the terms of a run), `compose` (generation
of the kernel function), `record_quantities` (time-varying fields), `blended` (interpolated tables on a device) and
`soil` (cumulative infiltration).
"""

from __future__ import annotations

import importlib
from pkgutil import iter_modules
from typing import Any


def class_name(module: str) -> str:
    """Return the class name of the module of a term, which is also the name of its section."""
    return module.title().replace("_", "")


NAMES = {class_name(info.name): info.name for info in iter_modules(__path__) if not info.ispkg}
"""Module of each term by the name of its class."""

__all__ = ["NAMES", "class_name", *sorted(NAMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import the class of a term at first use."""
    if name in NAMES:
        return getattr(importlib.import_module(f"eagre.terms.{NAMES[name]}"), name)
    raise AttributeError(f"module 'eagre.terms' has no attribute {name!r}")
