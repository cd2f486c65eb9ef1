"""Generation of one kernel function from the source terms of a run.

The source code of the function is generated when a run is set up. The function reads a scalar where a quantity is
uniform, a column where it varies with y only and a map elsewhere. It multiplies by a factor only where the factor
varies with time. A time-varying field (`eagre.terms.moving`) is read from the nodes of its record, or from a map of the
record.

A kernel takes the tuple `terms` (values of the series, (rows, slots), double; slot of the first factor; then scalars,
columns, maps and records in the precision of the run). Before its loops it computes
``forcing = (terms, TERM_FACTORS(terms, row))``. It calls `WATER` and a force with the position: `row`, the index into a
column, and `at`, a tuple that `MAP_AT` of the kernel interprets.
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
    """Return `rate`: no mass source."""
    return rate


@cell
def no_force(start, h, along, across, forcing, row, at):
    """Return `start`: no force."""
    return start


@cell
def no_factors(terms, row):
    """Return 1: no factor varies with time."""
    return real(1.0)


@cell
def element(array, at):
    """Element of a map at `at` = (j, i)."""
    return array[at[0], at[1]]


TERMS = switch("TERMS", False)
"""True if a run has source terms. Without source terms a kernel omits the calls."""
WATER = switch("WATER", no_water)
"""WATER(rate, forcing, row, at): the rate plus all mass sources, m s-1."""
FORCE_X = switch("FORCE_X", no_force)
"""FORCE_X(start, h, along, across, forcing, row, at): start plus all forces along x, m2 s-2."""
FORCE_Y = switch("FORCE_Y", no_force)
FORCE = switch("FORCE", no_force)
"""FORCE(start, h, along, across, forcing, row, at): start plus all forces along the lines of a sweep, m2 s-2."""
TERM_FACTORS = switch("TERM_FACTORS", no_factors)
"""TERM_FACTORS(terms, row): the factors at the time of `row` of the values."""
MAP_AT = switch("MAP_AT", element)

STATE = "h, along, across"
WHERE_IS = ("cell_row", "cell_column")  # indices of the cell in a generated function that reads records
ARGUMENTS = {"WATER": "rate", **dict.fromkeys(("FORCE", "FORCE_X", "FORCE_Y"), f"start, {STATE}")}


class Bound(NamedTuple):
    """Source terms in the form that a kernel takes."""

    arguments: tuple[Any, ...]
    switches: dict[str, Any]
    records: Records
    blend: Blend | None  # launched before each step


class Places(NamedTuple):
    """Memory layout of the columns, (ny,), and maps, (ny, nx), of a role on the device of a kernel.

    device : device of the records; pitch : row pitch, for `WHERE`; at_faces : whether forces act at the low faces of
    cells; blended : whether records are read from tables (`eagre.terms.blended`).
    """

    column: Callable[[str, np.ndarray], Any]
    map: Callable[[str, np.ndarray], Any]
    device: Device | None = None
    pitch: int = 0
    at_faces: bool = False
    blended: bool = False


class _Reading(NamedTuple):
    """Arguments and slots that the readings of the quantities add to a kernel."""

    arguments: list[Any]
    slots: list[int]
    known: dict[Any, int]  # index of arguments that several quantities share
    records: Records
    kind: Any
    places: Places
    grid: Grid
    blend: Blend | None

    def place(self, key: Any, *values: Any) -> int:
        """Return the index of the first of some arguments, which are added once per key."""
        if key not in self.known:
            self.known[key] = len(self.arguments)
            self.arguments.extend(values)
        return self.known[key]


def bind(terms: Terms, wanted: Mapping[str, str], values: Any, first: int, kind: Any, places: Places) -> Bound:
    """Return the arguments and switches of a kernel.

    Parameters
    ----------
    terms : Terms
    wanted : mapping
        Role of each switch of the kernel: ``{"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}``.
    values : (rows, slots) device array
        Values of the series, double. The series of `terms` start at slot `first`.
    first : int
    kind : type
        Floating-point type of the run.
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
    """Return the source code of the call of a part; its arguments and slots are added to `reading`."""
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
    """Return the source code that reads the time-interpolated table; the even record includes the odd one."""
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
    """Return the source code that reads a record from its map or between its nodes."""
    nodes, kind, places, way = quantity.field.nodes, reading.kind, reading.places, quantity.way
    if reading.records.in_maps:
        array = reading.records.map(quantity, reading.grid, role, places.map, places.at_faces)
        return f"MAP_AT(terms[{reading.place(('map', id(array)), array)}], at)"
    array, at_face = reading.records.nodes(quantity), places.at_faces and role in ("x", "y")
    record = reading.place(("record", id(array)), array)
    shifts = (0.5,) if not at_face else (0.0,) if way == "value" else (-0.25, 0.25)  # slope at a face: both sides
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
