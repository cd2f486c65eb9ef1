"""Spaces of layouts to search: what may vary in the kernels of a model, and what need not be tried.

A model or a solver declares its spaces (`eagre.tuning.spaces`); nothing else knows its parameters. A choice gives
values to some axes of a space; the others keep what is shipped, so that ``{}`` is the untuned default.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from eagre.layouts.declared import PARAMETERS
from eagre.layouts.facts import MOST_REGISTERS, Facts
from eagre.layouts.store import SIZES

Choice = Mapping[str, Any]
Values = dict[str, Any]


class Card(NamedTuple):
    """Where a space is searched."""

    kind: str  # "cuda" or "cpu"
    facts: Facts
    threads: int  # of a CPU; 0 of a GPU


def as_it_is(value: Any, precision: str) -> Any:
    """A value."""
    return value


def nothing_refused(choice: Choice, card: Card, precision: str) -> str:
    """Every choice is tried."""
    return ""


@dataclass(frozen=True)
class Axis:
    """One thing that varies.

    Attributes
    ----------
    name : str
        What people read: "registers of the first stage".
    places : tuple of str
        Where its value stands in a table, "shallow-water.march.registers#{precision}.first": a key, and after the #
        the way into its value, in a list by number.
    values : callable (card, precision)
        What is tried.
    made : callable (value, precision)
        What is written there; the value itself unless given.
    """

    name: str
    places: tuple[str, ...]
    values: Callable[[Card, str], Sequence[Any]]
    made: Callable[[Any, str], Any] = as_it_is


@dataclass(frozen=True)
class Space:
    """Axes that are searched together, because they act on the same kernels.

    Attributes
    ----------
    name : str
        Of the space: "shallow-water.march".
    model : str
        Kind of the model whose steps are timed.
    variant : str
        Of the model's benchmark (`eagre.bench`).
    axes : tuple of Axis
    scheme : str
        Scheme that the result is for, where a model's schemes have kernels of their own; "" for all.
    kinds, sizes : tuple of str
        Kinds of devices, and classes of sizes, whose kernels it has.
    refused : callable (choice, card, precision)
        Why a choice need not be tried (a constraint, or a rule that prunes), or "".
    checked : int
        Cells or points a side, at most, of the grid on which variants are compiled and verified.
    covering : callable (choice), optional
        Whether a choice is one of those that have all programs of the space among them: they are compiled at once,
        before the search. Without it what is tried next is compiled, side by side.
    """

    name: str
    model: str
    variant: str
    axes: tuple[Axis, ...]
    scheme: str = ""
    kinds: tuple[str, ...] = ("cuda",)
    sizes: tuple[str, ...] = SIZES
    refused: Callable[[Choice, Card, str], str] = nothing_refused
    checked: int = 1024
    covering: Callable[[Choice], bool] | None = None

    def values(self, choice: Choice, shipped: Mapping[str, Any], precision: str) -> Values:
        """Values of layouts by key: the shipped ones with what is chosen in them."""
        made: Values = {}
        for axis in self.axes:
            if axis.name in choice:
                for place in axis.places:
                    key, _, way = place.partition("#")
                    parts = [part.format(precision=precision) for part in way.split(".") if part]
                    whole = made.setdefault(key, copy.deepcopy(shipped[key]))
                    made[key] = _put(whole, parts, axis.made(choice[axis.name], precision))
        return {key: value for key, value in made.items() if value != shipped[key]}

    def problem(self, choice: Choice, values: Values, card: Card, precision: str) -> str:
        """Why a choice, which makes these values, is not tried, or ""."""
        for key, value in values.items():
            found = PARAMETERS[key].kind.problem(value, key)
            if found is not None:
                return f"{found.key}: {found.allowed}"
            if misfit := PARAMETERS[key].fits(value, card.facts):
                return f"{key}: {misfit}"
        return self.refused(choice, card, precision)

    def count(self, card: Card, precision: str) -> int:
        """Choices of all axes, before any is left out."""
        return prod(1 + len(axis.values(card, precision)) for axis in self.axes)

    def choices(self, shipped: Mapping[str, Any], card: Card, precision: str) -> list[Choice]:
        """All choices that are worth a trial, the untuned one first; of choices with the same values one."""
        found: dict[str, Choice] = {identity({}): {}}
        lists = [[None, *axis.values(card, precision)] for axis in self.axes]
        for chosen in itertools.product(*lists):
            names = (axis.name for axis in self.axes)
            choice = {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
            values = self.values(choice, shipped, precision)
            if (key := identity(values)) not in found and not self.problem(choice, values, card, precision):
                found[key] = choice
        return list(found.values())


def identity(values: Mapping[str, Any]) -> str:
    """Values in one form."""
    return json.dumps(values, sort_keys=True)


def words(choice: Choice) -> str:
    """A choice for people."""
    return ", ".join(f"{name} {_short(value)}" for name, value in choice.items()) or "as shipped"


def always(*values: Any) -> Callable[[Card, str], Sequence[Any]]:
    """The same values on all cards."""
    return lambda card, precision: values


def by_precision(single: Sequence[Any], double: Sequence[Any]) -> Callable[[Card, str], Sequence[Any]]:
    """Values of either precision."""
    return lambda card, precision: single if precision == "single" else double


def registers(low: Mapping[str, int], high: int = MOST_REGISTERS) -> Callable[[Card, str], Sequence[int]]:
    """Limits of registers a thread worth a trial: of those that leave room for as many warps, the largest.

    Registers are dealt to warps; a limit that admits no more warps only makes values spill. `low` : least by precision.
    """

    def values(card: Card, precision: str) -> Sequence[int]:
        part = card.facts.part
        most = min(high, MOST_REGISTERS) // 8 * 8
        return [r for r in range(low[precision], most + 1, 8) if r + 8 > most or part // (r + 8) < part // r]

    return values


def _put(whole: Any, way: Sequence[str], value: Any) -> Any:
    """A value with another one in a place in it."""
    if not way:
        return value
    place: Any = int(way[0]) if isinstance(whole, list) else way[0]
    whole[place] = _put(whole[place], way[1:], value)
    return whole


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "x".join(map(str, value))
    return "/".join(map(str, value.values())) if isinstance(value, dict) else str(value)
