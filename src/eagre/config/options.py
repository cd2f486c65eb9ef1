"""Options of a model, declared once as fields of a class with pydantic types.

A section of the case file that inherits from a declaration, after `Section`, has its fields as keys. The set-up of the
model inherits from it too. `checked` checks the arguments of the constructor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

from eagre.checks import checked_count, checked_number, checked_switch, one_of
from eagre.config.section import elements_of

T = TypeVar("T")
BOUNDS = {"gt": "above", "ge": "low", "le": "high"}  # attributes of metadata; arguments of `checked_number`


class Range(NamedTuple):
    """Metadata: bounds in the constructor, if they differ from the bounds of the key."""

    ge: float
    le: float


def declaration(kind: type[T]) -> type[T]:
    """Make a class of options a dataclass that sections and set-ups can inherit from."""
    return dataclass(frozen=True, eq=False, kw_only=True)(kind)


@cache
def declared(*kinds: type) -> dict[str, Any]:
    """Return the types of the options of declarations, by name."""
    return {name: hint for kind in kinds for name, hint in get_type_hints(kind, include_extras=True).items()}


def checked(arguments: Mapping[str, Any], *kinds: type) -> dict[str, Any]:
    """Return the options of declarations from the arguments of a constructor; raise `InputError` for a wrong value."""
    return {name: _checked(name, arguments[name], [*elements_of(hint)]) for name, hint in declared(*kinds).items()}


def attributes(setup: Any, *kinds: type) -> dict[str, str | float | int]:
    """Return the options of declarations that are not None, as attributes of output files."""
    values = {name: getattr(setup, name) for name in declared(*kinds)}
    return {name: int(one) if isinstance(one, bool) else one for name, one in values.items() if one is not None}


def _checked(name: str, value: Any, elements: list[Any]) -> Any:
    if type(None) in elements and value is None:
        return None
    if choices := tuple(one for one in elements if isinstance(one, str)):
        return one_of(name, value, choices)
    if bool in elements:
        return checked_switch(name, value)
    pairs = [(argument, getattr(one, bound, None)) for one in elements for bound, argument in BOUNDS.items()]
    bounds = {argument: bound for argument, bound in pairs if bound is not None}
    return (checked_count if int in elements else checked_number)(name, value, **bounds)
