"""Launch parameters: declaration, and types of their values with description and check."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from eagre.layouts.gpu_properties import GpuProperties

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
    description = f"a whole number from {low} to {high}" + (f", a multiple of {multiple}" if multiple > 1 else "")

    def problem(value: Any, key: str) -> Problem | None:
        good = isinstance(value, int) and not isinstance(value, bool)
        good = good and low <= value <= high and value % multiple == 0
        return None if good else Problem(key, value, description)

    return Kind(description, problem)


def number(low: float, high: float) -> Kind:
    """Return the type of numbers."""
    description = f"a number from {low:g} to {high:g}"

    def problem(value: Any, key: str) -> Problem | None:
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if good else Problem(key, value, description)

    return Kind(description, problem)


def flag() -> Kind:
    """Return the type of booleans."""
    description = "true or false"
    return Kind(description, lambda value, key: None if isinstance(value, bool) else Problem(key, value, description))


def listed(*kinds: Kind) -> Kind:
    """Return the type of lists with one value of each type."""
    description = f"[{', '.join(kind.allowed for kind in kinds)}]"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, list) or len(value) != len(kinds):
            return Problem(key, value, description)
        problems = (kind.problem(one, f"{key}[{n}]") for n, (kind, one) in enumerate(zip(kinds, value, strict=True)))
        return next(filter(None, problems), None)

    return Kind(description, problem)


def some(kind: Kind, min_count: int = 1) -> Kind:
    """Return the type of lists of `min_count` or more values."""
    description = f"a list{' of one or more' if min_count else ''}, each {kind.allowed}"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, list) or len(value) < min_count:
            return Problem(key, value, description)
        return next(filter(None, (kind.problem(one, f"{key}[{n}]") for n, one in enumerate(value))), None)

    return Kind(description, problem)


def descending(kind: Kind, last: int) -> Kind:
    """Return the type of decreasing lists that end with `last`."""
    description, inner = f"a list of decreasing numbers that ends with {last}, each {kind.allowed}", some(kind)

    def problem(value: Any, key: str) -> Problem | None:
        if (nested := inner.problem(value, key)) is not None:
            return nested
        falls = all(one > other for one, other in pairwise(value))
        return None if falls and value[-1] == last else Problem(key, value, description)

    return Kind(description, problem)


def named(**kinds: Kind) -> Kind:
    """Return the type of objects with one value per name."""
    description = f"{{{', '.join(f'{name}: {kind.allowed}' for name, kind in kinds.items())}}}"

    def problem(value: Any, key: str) -> Problem | None:
        if not isinstance(value, dict) or value.keys() != kinds.keys():
            return Problem(key, value, description)
        return next(filter(None, (kind.problem(value[name], f"{key}.{name}") for name, kind in kinds.items())), None)

    return Kind(description, problem)


def by_precision(kind: Kind) -> Kind:
    """Return the type of one value for single and one for double precision."""
    description = f"for single and double precision, each {kind.allowed}"
    inner = named(**dict.fromkeys(PRECISIONS, kind))

    def problem(value: Any, key: str) -> Problem | None:
        nested = inner.problem(value, key)
        return Problem(key, value, description) if nested is not None and nested.key == key else nested

    return Kind(description, problem)


def rising(**kinds: Kind) -> Kind:
    """Return the type of lists of rows with increasing upper bounds; the first sufficient row applies."""
    first, inner = next(iter(kinds)), some(named(**kinds))
    description = f"rows with increasing {first}, each {named(**kinds).allowed}"

    def problem(value: Any, key: str) -> Problem | None:
        if (nested := inner.problem(value, key)) is not None:
            return nested
        bounds = [row[first] for row in value]
        return None if bounds == sorted(set(bounds)) else Problem(key, value, description)

    return Kind(description, problem)


def row_for(rows: list[dict[str, Any]], size: int) -> dict[str, Any] | None:
    """Return the first row of a `rising` list whose bound `up_to` is `size` or more; None without such a row."""
    return next((row for row in rows if size <= row["up_to"]), None)


Rule = Callable[[GpuProperties, Any, GpuProperties], Any]


def as_measured(gpu: GpuProperties, value: Any, on: GpuProperties) -> Any:
    """Return the measured value: it depends on the number of registers, which is the same on all devices."""
    return value


def by_multiprocessors(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the measured value per multiprocessor times the number of multiprocessors."""
    return max(1, round(value * gpu.multiprocessors / on.multiprocessors))


class Parameter(NamedTuple):
    """Launch parameter.

    Attributes
    ----------
    key : str
        Path in a table: model or solver, kernel, name, separated by dots.
    kind : Kind
        Allowed values.
    unit : str
        Unit.
    neutral : bool
        Whether results are bitwise independent of the value.
    meaning : str
    rule : callable (gpu, value, on)
        Value for a device without measurements, from the value measured on another device.
    fits : callable (value, gpu), optional
        Reason why a device cannot have the value, or "".
    """

    key: str
    kind: Kind
    unit: str
    neutral: bool
    meaning: str
    rule: Rule = as_measured
    fits: Callable[[Any, GpuProperties], str] = lambda value, gpu: ""
