"""One cell from the terms of a run: what a kernel calls, which knows no term by name.

The cell is text that is written when a run is set up. It reads a number where a quantity is the same everywhere, a
column where it varies with y alone and a map elsewhere, and multiplies by a factor only where that changes with time.

A quantity that moves (`eagre.terms.moving`) is read from the nodes of its record, or from a map of it.

A kernel takes the tuple `terms` (values of the series, (rows, slots), double; slot of the first factor; then numbers,
columns, maps and records in the precision of the run), and makes from it
``forcing = (terms, TERM_FACTORS(terms, row))`` before its loops. Where it calls `WATER` and a force it says where it
is: `row`, the index into a column, and `at`, a tuple that the kernel's own `MAP_AT` understands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import Cell, cell, real, switch, written
from eagre.backend.device import Device
from eagre.grid import Grid
from eagre.terms.blended import OF_TABLE, Blend
from eagre.terms.collect import ROLES, Part, Terms
from eagre.terms.moving import READERS, WHERE, Moving, Records


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
WHERE_IS = ("cell_row", "cell_column")  # of the cell, in a composed cell that reads records
ARGUMENTS = {"WATER": "rate", **dict.fromkeys(("FORCE", "FORCE_X", "FORCE_Y"), f"start, {STATE}")}


class Bound(NamedTuple):
    """The terms as a kernel takes them."""

    arguments: tuple[Any, ...]
    switches: dict[str, Any]
    records: Records
    blend: Blend | None  # what has to be launched before each step


class Places(NamedTuple):
    """Where a kernel reads: how it lays out a column, (ny,), and a map, (ny, nx), of a role, each on the device.

    device : where records lie; pitch : of a row, for `WHERE`; at_faces : whether forces act at the low faces of cells;
    blended : whether records are read from tables (`eagre.terms.blended`).
    """

    column: Callable[[str, np.ndarray], Any]
    map: Callable[[str, np.ndarray], Any]
    device: Device | None = None
    pitch: int = 0
    at_faces: bool = False
    blended: bool = False


class _Reading(NamedTuple):
    """What the readings of a program's quantities add to."""

    arguments: list[Any]
    slots: list[int]
    known: dict[Any, int]  # place among the arguments of what several quantities read
    records: Records
    kind: Any
    places: Places
    grid: Grid
    blend: Blend | None

    def place(self, key: Any, *values: Any) -> int:
        """Place of the first of some arguments, which are added once for a key."""
        if key not in self.known:
            self.known[key] = len(self.arguments)
            self.arguments.extend(values)
        return self.known[key]


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
    records = Records(places.device, kind)
    blend = Blend(terms, wanted.values(), values, first, records) if places.blended and terms.fields else None
    reading = _Reading([values, np.int64(first)], [], {}, records, kind, places, terms.grid, blend)
    switches: dict[str, Any] = {"TERMS": any(getattr(terms, role) for role in wanted.values())}
    for name, role in wanted.items():
        assert role in ROLES
        parts = getattr(terms, role)
        sums = [_sum_of(part, terms, role, reading) for part in parts]
        if sums:
            moving = not records.in_maps and any(isinstance(one, Moving) for part in parts for one in part.quantities)
            pitch = reading.place("pitch", np.uint32(places.pitch)) if moving else None
            switches[name] = _composed(ARGUMENTS[name], parts, sums, pitch)
    if reading.slots:
        factors = ", ".join(f"real(values[row, first + {slot}])" for slot in reading.slots)
        text = f"def term_factors(terms, row):\n    values, first = terms[0], terms[1]\n    return ({factors},)\n"
        switches["TERM_FACTORS"] = written(text, {"real": real})
    return Bound(tuple(reading.arguments), switches, records, blend)


def _sum_of(part: Part, terms: Terms, role: str, reading: _Reading) -> str:
    """The call of a part's cell, as text; what it reads is added to the arguments and slots."""
    arguments, places, readings = reading.arguments, reading.places, []
    for quantity in part.quantities:
        if reading.blend is not None and isinstance(quantity, Moving):
            readings.append(_of_table(quantity, reading, reading.blend))
            continue
        slot, factor = terms.slot(role, quantity), ""
        if slot is not None:
            if slot not in reading.slots:
                reading.slots.append(slot)
            factor = f"factors[{reading.slots.index(slot)}]"
        if isinstance(quantity, Moving):
            readings.append(f"{factor} * {_of_record(quantity, role, reading)}")
            continue
        values = quantity.values * (quantity.series.values[0] if slot is None else 1.0)
        if values.ndim == 0 and values == 1.0 and factor:
            readings.append(factor)
            continue
        place = {0: f"terms[{len(arguments)}]", 1: f"terms[{len(arguments)}][row]"}
        text = place.get(values.ndim, f"MAP_AT(terms[{len(arguments)}], at)")
        readings.append(f"{factor} * {text}" if factor else text)
        if values.ndim == 0:
            arguments.append(reading.kind(values))
        else:
            arguments.append((places.column if values.ndim == 1 else places.map)(role, values))
    state = "" if role == "water" else f"{STATE}, "
    return f"{part.cell.name}({state}{', '.join(readings)})"


def _of_table(quantity: Moving, reading: _Reading, blend: Blend) -> str:
    """The reading of the blend of two records, as text: the odd one is with the even one."""
    if quantity.slot == 1:
        return "real(0.0)"
    table, plane = blend.place(quantity)
    step, nodes = 1.0 / table.nodes.step_y, table.nodes
    array = reading.place(("table", id(table.array)), table.array)
    numbers = step, (table.first_row + 0.5) * step - table.low
    first = reading.place(("rows", nodes, *numbers), *map(reading.kind, numbers))
    given = f"terms[{array}], {plane}, {', '.join(WHERE_IS)}, terms[{first}], terms[{first + 1}]"
    return f"{OF_TABLE[quantity.way].name}({given})"


def _of_record(quantity: Moving, role: str, reading: _Reading) -> str:
    """The reading of a record, from its map or between its nodes, as text."""
    nodes, kind, places, way = quantity.field.nodes, reading.kind, reading.places, quantity.way
    if reading.records.in_maps:
        array = reading.records.map(quantity, reading.grid, role, places.map, places.at_faces)
        return f"MAP_AT(terms[{reading.place(('map', id(array)), array)}], at)"
    array, at_face = reading.records.nodes(quantity), places.at_faces and role in ("x", "y")
    record = reading.place(("record", id(array)), array)
    shifts = (0.5,) if not at_face else (0.0,) if way == "value" else (-0.25, 0.25)  # a slope at a face: of both sides
    found = []
    for shift in shifts:
        y, x = (shift if role == "y" else 0.5), (shift if role == "x" else 0.5)
        y, x = (quantity.first_row + y) / nodes.step_y, x / nodes.step_x
        numbers = (1.0 / nodes.step_y, y, 1.0 / nodes.step_x, x)
        first = reading.place(("nodes", *numbers), *map(kind, numbers))
        given = [f"terms[{record}]", *WHERE_IS, *(f"terms[{first + n}]" for n in range(4))]
        if way != "value":
            size = reading.grid.dx * nodes.step_x if way == "x" else reading.grid.dy * nodes.step_y
            scale = quantity.scale / (size * len(shifts))
            given.append(f"terms[{reading.place(('scale', scale), kind(scale))}]")
        found.append(f"{READERS[way].name}({', '.join(given)})")
    return found[0] if len(found) == 1 else f"({' + '.join(found)})"


def _composed(arguments: str, parts: tuple[Part, ...], sums: list[str], pitch: int | None) -> Cell:
    total = arguments.split(",")[0]
    lines = [f"    {total} = {total} + {one}\n" for one in sums]
    if pitch is not None:
        lines.insert(0, f"    {', '.join(WHERE_IS)} = WHERE(row, at, terms[{pitch}])\n")
    text = f"def composed({arguments}, forcing, row, at):\n    terms, factors = forcing\n{''.join(lines)}"
    readers = {one.name: one for one in (*READERS.values(), *OF_TABLE.values())}
    scope = {part.cell.name: part.cell for part in parts} | readers
    return written(f"{text}    return {total}\n", {**scope, "MAP_AT": MAP_AT, "WHERE": WHERE, "real": real})
