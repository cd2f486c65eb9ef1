"""A parameter of a layout: declared once, with its meaning, its unit and the value for a card that nobody measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from eagre.layouts.facts import Facts
from eagre.layouts.kinds import Kind

Rule = Callable[[Facts, Any, Facts], Any]


def as_measured(card: Facts, value: Any, on: Facts) -> Any:
    """As measured: it follows from the number of registers, which is the same on all cards."""
    return value


def by_multiprocessors(card: Facts, value: int, on: Facts) -> int:
    """As many as measured for each multiprocessor."""
    return max(1, round(value * card.multiprocessors / on.multiprocessors))


class Parameter(NamedTuple):
    """One parameter.

    Attributes
    ----------
    key : str
        Where it stands in a table: model or solver, kernel, name, with dots between them.
    kind : Kind
        Allowed values.
    unit : str
        What is counted.
    neutral : bool
        Whether another value leaves every bit of a result as it is.
    meaning : str
    rule : callable (card, value, on)
        The value for a card that nobody measured, from the one that was measured on another.
    fits : callable (value, card), optional
        Why a card cannot have that value, or "".
    """

    key: str
    kind: Kind
    unit: str
    neutral: bool
    meaning: str
    rule: Rule = as_measured
    fits: Callable[[Any, Facts], str] = lambda value, card: ""
