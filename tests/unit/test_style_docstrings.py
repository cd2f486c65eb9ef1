"""Every public class, function and method says what it does, itself or through the class that it extends."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

OPTIONAL = ("cupy",)
SOURCE = Path(__file__).resolve().parents[2] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCE / "eagre").rglob("*.py")
    if path.name != "__main__.py"
)


def _text_of(name: str) -> str:
    """Source of a module."""
    path = SOURCE / name.replace(".", "/")
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def has_docstring(owner: type, name: str) -> bool:
    """Tell whether a method, or the one that it replaces in a base class, has a docstring."""
    return any(vars(base)[name].__doc__ for base in owner.__mro__ if name in vars(base))


def undocumented(module: ModuleType) -> list[str]:
    """Qualified names of what lacks a docstring."""
    missing = []
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            methods = [item for item, method in vars(value).items() if inspect.isfunction(method) and item[0] != "_"]
            missing += [f"{name}.{item}" for item in methods if not has_docstring(value, item)]
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__:
            missing.append(name)
    return missing


@pytest.mark.parametrize("name", MODULES)
def test_public_names_have_docstrings(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in OPTIONAL:
            pytest.skip(f"needs {error.name}")
        raise
    assert undocumented(module) == []


@pytest.mark.parametrize("name", [name for name in MODULES if ">>> " in _text_of(name)])
def test_examples_in_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_missing_docstring_is_found():
    class Documented:
        """One."""

        def inherits(self):
            """Two."""

        def lacks(self):
            pass

    class Child(Documented):
        """Three."""

        def inherits(self):
            pass

    module = ModuleType("example")
    for value in (Documented, Child):
        value.__module__ = "example"
        setattr(module, value.__name__, value)
    assert undocumented(module) == ["Documented.lacks"]
