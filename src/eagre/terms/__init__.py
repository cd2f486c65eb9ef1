"""Source terms of the shallow-water equations: rain, infiltration, rotation, wind, air pressure and body forces.

`MODULES` lists the terms. The class of a term has the name of its section in a case file in capitals: the section
``wind_stress`` has the class `WindStress`. The other modules are shared by all terms: `base` (base class and
quantities), `collect` (the terms of a run) and `compose` (generation of the kernel function).
"""

from __future__ import annotations

import importlib
from typing import Any


def class_name(section: str) -> str:
    """Return the class name of a term from the name of its section."""
    return section.title().replace("_", "")


MODULES = {
    "atmospheric_pressure": "pressure",
    "body_force": "body_force",
    "coriolis": "coriolis",
    "green_ampt": "infiltration",
    "infiltration": "infiltration",
    "rain": "rain",
    "weather_pressure": "pressure",
    "weather_rain": "rain",
    "weather_wind": "wind",
    "wind_stress": "wind",
    "zone_rain": "rain",
}
"""Module of each term by the name of its section."""

NAMES = {class_name(section): module for section, module in MODULES.items()}
"""Module of each term by the name of its class."""

__all__ = ["NAMES", "class_name", *sorted(NAMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import the class of a term at first use."""
    if name in NAMES:
        return getattr(importlib.import_module(f"eagre.terms.{NAMES[name]}"), name)
    raise AttributeError(f"module 'eagre.terms' has no attribute {name!r}")
