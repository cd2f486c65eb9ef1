"""Types of values in a table of launch parameters: description and check."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

PRECISIONS = ("single", "double")


class Problem(NamedTuple):
    """Value that is not allowed; `key` : path below the parameter."""

    key: str
    value: Any
    allowed: str


class Kind(NamedTuple):
    """Type of a value: description of the allowed values, and a function that returns the first problem."""

    allowed: str
    problem: Callable[[Any, str], Problem | None]


def whole(low: int, high: int, multiple: int = 1) -> Kind:
    """Return the type of integers."""
    words = f"a whole number from {low} to {high}" + (f", a multiple of {multiple}" if multiple > 1 else "")

    def problem(value: Any, key: str) -> Problem | None:
        good = isinstance(value, int) and not isinstance(value, bool)
        good = good and low <= value <= high and value % multiple == 0
        return None if good else Problem(key, value, words)

    return Kind(words, problem)


def number(low: float, high: float) -> Kind:
    """Return the type of numbers."""
    words = f"a number from {low:g} to {high:g}"

    def problem(value: Any, key: str) -> Problem | None:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if good else Problem(key, value, words)

    return Kind(words, problem)


def flag() -> Kind:
    """Return the type of booleans."""
    words = "true or false"
    return Kind(words, lambda value, key: None if isinstance(value, bool) else Problem(key, value, words))


def listed(*kinds: Kind) -> Kind:
    """Return the type of lists with one value of each type."""
    words = f"[{', '.join(kind.allowed for kind in kinds)}]"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, list) or len(value) != len(kinds):
            return Problem(key, value, words)
        found = (kind.problem(one, f"{key}[{n}]") for n, (kind, one) in enumerate(zip(kinds, value, strict=True)))
        return next(filter(None, found), None)

    return Kind(words, problem)


def some(kind: Kind, least: int = 1) -> Kind:
    """Return the type of lists of `least` or more values."""
    words = f"a list{' of one or more' if least else ''}, each {kind.allowed}"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, list) or len(value) < least:
            return Problem(key, value, words)
        return next(filter(None, (kind.problem(one, f"{key}[{n}]") for n, one in enumerate(value))), None)

    return Kind(words, problem)


def descending(kind: Kind, last: int) -> Kind:
    """Return the type of decreasing lists that end with `last`."""
    words, inner = f"a list of decreasing numbers that ends with {last}, each {kind.allowed}", some(kind)

    def problem(value: Any, key: str) -> Problem | None:
        if (found := inner.problem(value, key)) is not None:
            return found
        falls = all(one > other for one, other in pairwise(value))
        return None if falls and value[-1] == last else Problem(key, value, words)

    return Kind(words, problem)


def named(**kinds: Kind) -> Kind:
    """Return the type of objects with one value per name."""
    words = f"{{{', '.join(f'{name}: {kind.allowed}' for name, kind in kinds.items())}}}"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, dict) or value.keys() != kinds.keys():
            return Problem(key, value, words)
        return next(filter(None, (kind.problem(value[name], f"{key}.{name}") for name, kind in kinds.items())), None)

    return Kind(words, problem)


def by_precision(kind: Kind) -> Kind:
    """Return the type of one value for single and one for double precision."""
    words, inner = f"for single and double precision, each {kind.allowed}", named(**dict.fromkeys(PRECISIONS, kind))

    def problem(value: Any, key: str) -> Problem | None:
        found = inner.problem(value, key)
        return Problem(key, value, words) if found is not None and found.key == key else found

    return Kind(words, problem)


def rising(**kinds: Kind) -> Kind:
    """Return the type of lists of rows with increasing upper bounds; the first sufficient row applies."""
    first, inner = next(iter(kinds)), some(named(**kinds))
    words = f"rows with increasing {first}, each {named(**kinds).allowed}"

    def problem(value: Any, key: str) -> Problem | None:
        if (found := inner.problem(value, key)) is not None:
            return found
        bounds = [row[first] for row in value]
        return None if bounds == sorted(set(bounds)) else Problem(key, value, words)

    return Kind(words, problem)


def row_for(rows: list[dict[str, Any]], size: int) -> dict[str, Any] | None:
    """Return the first row of a `rising` list whose bound `up_to` is `size` or more; None if there is none."""
    return next((row for row in rows if size <= row["up_to"]), None)
