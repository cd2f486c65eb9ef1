"""One cell from the terms of a run: what a kernel calls, which knows no term by name.

The cell is text that is written when a run is set up. It reads a number where a quantity is the same everywhere, a
column where it varies with y alone and a map elsewhere, and multiplies by a factor only where that changes with time.

A kernel takes the tuple `terms` (values of the series, (rows, slots), double; slot of the first factor; then numbers,
columns and maps in the precision of the run), and makes from it ``forcing = (terms, TERM_FACTORS(terms, row))``
before its loops. Where it calls `WATER` and a force it says where it is: `row`, the index into a column, and `at`, a
tuple that the kernel's own `MAP_AT` understands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import Cell, cell, real, switch, written
from eagre.terms.collect import ROLES, Part, Terms


@cell
def no_water(rate, forcing, row, at):
    """`rate`: nothing comes in."""
    return rate


@cell
def no_force(start, h, along, across, forcing, row, at):
    """`start`: nothing pushes."""
    return start


@cell
def no_factors(terms, row):
    """No factor changes with time."""
    return real(1.0)


@cell
def element(array, at):
    """The element of a map at `at` = (j, i)."""
    return array[at[0], at[1]]


TERMS = switch("TERMS", False)
"""Whether a run has any: without them a kernel leaves the calls out, and its bits are those of no term."""
WATER = switch("WATER", no_water)
"""WATER(rate, forcing, row, at): the rate with all water added that comes in, m s-1."""
FORCE_X = switch("FORCE_X", no_force)
"""FORCE_X(start, h, along, across, forcing, row, at): start with all forces added, m2 s-2."""
FORCE_Y = switch("FORCE_Y", no_force)
FORCE = switch("FORCE", no_force)
"""As `FORCE_X`, along the lines of a sweep."""
TERM_FACTORS = switch("TERM_FACTORS", no_factors)
"""TERM_FACTORS(terms, row): the factors at the time that `row` of the values belongs to."""
MAP_AT = switch("MAP_AT", element)

STATE = "h, along, across"
ARGUMENTS = {"WATER": "rate", **dict.fromkeys(("FORCE", "FORCE_X", "FORCE_Y"), f"start, {STATE}")}


class Bound(NamedTuple):
    """The terms as a kernel takes them."""

    arguments: tuple[Any, ...]
    switches: dict[str, Any]


class Places(NamedTuple):
    """Where a kernel reads: how it lays out a column, (ny,), and a map, (ny, nx), of a role, each on the device."""

    column: Callable[[str, np.ndarray], Any]
    map: Callable[[str, np.ndarray], Any]


def bind(terms: Terms, wanted: Mapping[str, str], values: Any, first: int, kind: Any, places: Places) -> Bound:
    """The arguments and switches of a program.

    Parameters
    ----------
    terms : Terms
    wanted : mapping
        Role of each switch that the kernel has: ``{"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}``.
    values : (rows, slots) device array
        Of the series, double; those of `terms` from slot `first` on.
    first : int
    kind : type
        Of the run's numbers.
    places : Places
    """
    arguments: list[Any] = [values, np.int64(first)]
    switches: dict[str, Any] = {"TERMS": any(getattr(terms, role) for role in wanted.values())}
    slots: list[int] = []
    for name, role in wanted.items():
        assert role in ROLES
        sums = [_sum_of(part, terms, role, kind, places, arguments, slots) for part in getattr(terms, role)]
        if sums:
            switches[name] = _composed(ARGUMENTS[name], getattr(terms, role), sums)
    if slots:
        factors = ", ".join(f"real(values[row, first + {slot}])" for slot in slots)
        text = f"def term_factors(terms, row):\n    values, first = terms[0], terms[1]\n    return ({factors},)\n"
        switches["TERM_FACTORS"] = written(text, {"real": real})
    return Bound(tuple(arguments), switches)


def _sum_of(
    part: Part, terms: Terms, role: str, kind: Any, places: Places, arguments: list[Any], slots: list[int]
) -> str:
    """The call of a part's cell, as text; what it reads is added to the arguments and slots."""
    readings = []
    for quantity in part.quantities:
        slot, factor = terms.slot(role, quantity), ""
        if slot is not None:
            if slot not in slots:
                slots.append(slot)
            factor = f"factors[{slots.index(slot)}]"
        values = quantity.values * (quantity.series.values[0] if slot is None else 1.0)
        if values.ndim == 0 and values == 1.0 and factor:
            readings.append(factor)
            continue
        place = {0: f"terms[{len(arguments)}]", 1: f"terms[{len(arguments)}][row]"}
        text = place.get(values.ndim, f"MAP_AT(terms[{len(arguments)}], at)")
        readings.append(f"{factor} * {text}" if factor else text)
        if values.ndim == 0:
            arguments.append(kind(values))
        else:
            arguments.append((places.column if values.ndim == 1 else places.map)(role, values))
    state = "" if role == "water" else f"{STATE}, "
    return f"{part.cell.name}({state}{', '.join(readings)})"


def _composed(arguments: str, parts: tuple[Part, ...], sums: list[str]) -> Cell:
    total = arguments.split(",")[0]
    lines = [f"    {total} = {total} + {one}\n" for one in sums]
    text = f"def composed({arguments}, forcing, row, at):\n    terms, factors = forcing\n{''.join(lines)}"
    scope = {part.cell.name: part.cell for part in parts}
    return written(f"{text}    return {total}\n", {**scope, "MAP_AT": MAP_AT})
