"""Stubs of the packages whose names are imported at first use: what type checkers and editors see of them."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

HEAD = "# Made by tools/make_reference.py (make reference); change the source, not this file."
PLACES = {
    f"src/{package.replace('.', '/')}/__init__.pyi": package for package in ("eagre", "eagre.boundaries", "eagre.terms")
}
"""Stubs by their place below the repository."""


def stub(package: str) -> str:
    """The text of the stub of a package: where each of its public names comes from."""
    module = importlib.import_module(package)
    imports, rest = [], []
    for name in sorted(module.__all__):
        value = getattr(module, name)
        home = _home(module, name, value)
        if home:
            imports.append((home, not name.isupper(), name))
        elif inspect.isfunction(value):
            rest.append(f"\ndef {name}{inspect.signature(value)}: ...".replace("'", ""))
        else:
            rest.append(f"{name}: {_type(value)}")
    imports += [(package, True, name) for name in vars(module).get("_PACKAGES", ())]
    lines = [f"from {home} import {name} as {name}" for home, _, name in sorted(imports)]
    return "\n".join([HEAD, "", *lines, "", "__all__: list[str]", *rest]) + "\n"


def _home(package: ModuleType, name: str, value: Any) -> str:
    """The module that a name of a package comes from; empty if it is the package's own."""
    home = getattr(value, "__module__", None) or package.__name__
    if home == package.__name__ and name in vars(package).get("_HOME", {}):
        home = f"{package.__name__}.{vars(package)['_HOME'][name]}"
    return "" if home == package.__name__ else home


def _type(value: Any) -> str:
    """The type of a constant: of a text, or a table of texts."""
    return "dict[str, str]" if isinstance(value, dict) else type(value).__name__
