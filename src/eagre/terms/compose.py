"""Generation of one kernel function from the source terms of a run, and interpolation of records before each step.

The source code of the function is generated when a run is set up. The function reads a scalar where a quantity is
uniform, a column where it varies with y only and a map elsewhere. It multiplies by a factor only where the factor
varies with time. A time-varying field (`RecordQuantity`) is read from the nodes of its record, or from a table of
interpolated records (`Blend`): two numbers per quantity instead of eight for two records.

A kernel takes the tuple `terms` (values of the series, (rows, slots), double; slot of the first factor; then scalars,
columns, maps and records in the precision of the run). Before its loops it computes
``forcing = (terms, TERM_FACTORS(terms, row))``. It calls `WATER` and a force with the position: `row`, the index into a
column, and `index`, a tuple that `MAP_AT` of the kernel interprets.

A table contains, for each field and each slope that kernel functions read, the rows of nodes at the columns of cells:
the sum of both records times their factors, linear between nodes along x. The kernel function interpolates between
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell, cell, real, switch, written
from eagre.backend.device import Device, Launch
from eagre.grid import Grid
from eagre.terms.base import READERS, WHERE, RecordQuantity, Records, node_below
from eagre.terms.collect import ROLES, Contribution, Terms
from eagre.time_varying.fields import NodeGrid


@cell
def value_in_line(record, m, n, a):
    """Value of a record on row m of nodes, at the fraction `a` between node n and the next."""
    return record[m, n] + a * (record[m, n + 1] - record[m, n])


@cell
def slope_along(record, m, n, a):
    """Difference from node to node along x; exactly 0 for equal nodes."""
    return record[m, n + 1] - record[m, n]


@cell
def slope_across(record, m, n, a):
    """Difference from row m of nodes to the next; the result at the last row is unused."""
    m = node_below(m, record.shape[0])
    low, high = record[m + 1, n] - record[m, n], record[m + 1, n + 1] - record[m, n + 1]
    return low + a * (high - low)


@cell
def table_value(table, plane, row, column, step_y, first_y):
    """Value of a table plane, linear between rows of nodes; row, column, step_y, first_y : see `node_value`."""
    y = real(row) * step_y + first_y
    m = node_below(y, table.shape[1])
    low = table[plane, m, column]
    return low + (y - real(m)) * (table[plane, m + 1, column] - low)


@cell
def table_step(table, plane, row, column, step_y, first_y):
    """Value of a table plane that is constant between rows of nodes, such as a slope along y."""
    return table[plane, node_below(real(row) * step_y + first_y, table.shape[1]), column]


@cell
def always(clock, parity):
    """Return True."""
    return True


BEGINS = switch("BEGINS", always)
"""BEGINS(clock, parity): whether a step begins, so that its records must be interpolated."""

IN_LINE = {"value": value_in_line, "x": slope_along, "y": slope_across}
OF_TABLE = {"value": table_value, "x": table_value, "y": table_step}


class Plane(NamedTuple):
    """Records of a plane of a table; slots : indices of the factors of the even and the odd record."""

    pair: tuple[RecordQuantity, RecordQuantity]
    slots: tuple[int, int]


class Table(NamedTuple):
    """Planes of fields on the same nodes, for rows of cells from `first_row`; array : (planes, rows, nx)."""

    nodes: NodeGrid
    first_row: int
    planes: list[tuple[Any, Plane]]
    array: Any

    @property
    def low(self) -> int:
        """First row of nodes."""
        return self.first_row // self.nodes.step_y


class Blend:
    """Interpolated tables of a run, filled by one launch per table before each step.

    Parameters
    ----------
    terms : Terms
    roles : iterable of str
        Roles that read from tables.
    values : (1, slots) device array
        Values of the series. The series of `terms` start at slot `first`.
    first : int
    records : Records
    """

    def __init__(self, terms: Terms, roles: Iterable[str], values: Any, first: int, records: Records) -> None:
        self._grid, self._values, self._records = terms.grid, values, records
        pairs: dict[Any, dict[int, tuple[RecordQuantity, int]]] = {}
        for role in roles:
            quantities = [one for item in getattr(terms, role) for one in item.quantities]
            for one in (one for one in quantities if isinstance(one, RecordQuantity)):
                slot = terms.slot(role, one)
                assert slot is not None, "the factor of a record changes with time"
                pairs.setdefault(_key(one), {}).setdefault(one.slot, (one, first + slot))
        planes: dict[tuple[NodeGrid, int], list[tuple[Any, Plane]]] = {}
        for key, ((even, even_slot), (odd, odd_slot)) in ((key, (both[0], both[1])) for key, both in pairs.items()):
            of_nodes = planes.setdefault((even.field.nodes, even.first_row), [])
            of_nodes.append((key, Plane((even, odd), (even_slot, odd_slot))))
        assert records.device is not None
        self.tables = [
            Table(*where, of_nodes, records.device.zeros((len(of_nodes), *_shape(*where, terms.grid)), records.kind))
            for where, of_nodes in planes.items()
        ]

    def table_and_plane(self, quantity: RecordQuantity) -> tuple[Table, int]:
        """Return the table and the plane index of a quantity."""
        key = _key(quantity)
        return next((table, k) for table in self.tables for k, (other, _) in enumerate(table.planes) if other == key)

    def launches(self, precision: str, clock: Any, parity: int, begins: Any) -> list[Launch]:
        """Return the launches that fill the tables for the next step, if `begins` (see `BEGINS`)."""
        return [self._launch(table, precision, clock, parity, begins) for table in self.tables]

    def _launch(self, table: Table, precision: str, clock: Any, parity: int, begins: Any) -> Launch:
        kind, device, grid = self._records.kind, self._records.device, self._grid
        inputs, lines = [], []
        for k, (_, plane) in enumerate(table.planes):
            even, way = plane.pair[0], plane.pair[0].way
            read = [
                f"real(values[0, {slot}]) * {IN_LINE[way].name}(inputs[{len(inputs) + n}], m, n, a)"
                for n, slot in enumerate(plane.slots)
            ]
            inputs += [self._records.nodes(one) for one in plane.pair]
            total = " + ".join(read)
            if way != "value":
                total = f"inputs[{len(inputs)}] * ({total})"
                inputs.append(kind(even.scale / _size(even, grid)))
            lines.append(f"        table[{k}, j, i] = {total}\n")
        text = (
            "def blended(j, i, table, values, inputs, low, step_x, first_x, clock, parity):\n"
            "    if BEGINS(clock, parity):\n"
            "        m, x = np.uint32(j + low), real(i) * step_x + first_x\n"
            "        n = node_below(x, inputs[0].shape[1])\n"
            "        a = x - real(n)\n" + "".join(lines)
        )
        scope = {one.name: one for one in IN_LINE.values()}
        blended = written(text, {**scope, "np": np, "real": real, "node_below": node_below, "BEGINS": BEGINS})
        numbers = (np.uint32(table.low), kind(1.0 / table.nodes.step_x), kind(0.5 / table.nodes.step_x))
        arguments = (table.array, self._values, tuple(inputs), *numbers, clock, parity)
        assert device is not None
        return device.over(device.loop(blended, precision, {"BEGINS": begins}), table.array.shape[1:], arguments)


def _key(quantity: RecordQuantity) -> Any:
    return id(quantity.field), quantity.way, quantity.scale, quantity.first_row


def _shape(nodes: NodeGrid, first_row: int, grid: Grid) -> tuple[int, int]:
    """Return the number of rows of nodes that enclose the rows of cells of a grid, and the number of columns."""
    return (first_row + grid.ny - 1) // nodes.step_y - first_row // nodes.step_y + 2, grid.nx


def _size(quantity: RecordQuantity, grid: Grid) -> float:
    """Return the distance between nodes along the direction of a slope, m."""
    nodes = quantity.field.nodes
    return grid.dx * nodes.step_x if quantity.way == "x" else grid.dy * nodes.step_y


@cell
def no_water(rate, forcing, row, index):
    """Return `rate`: no mass source."""
    return rate


@cell
def no_force(start, h, along, across, forcing, row, index):
    """Return `start`: no force."""
    return start


@cell
def no_infiltration(depth, h, soil, dt, forcing, row, index):
    """Return `depth`: no infiltration."""
    return depth


@cell
def no_factors(terms, row):
    """Return 1: no factor varies with time."""
    return real(1.0)


@cell
def element(array, index):
    """Element of a map at `index` = (j, i)."""
    return array[index[0], index[1]]


TERMS = switch("TERMS", False)
"""True if a run has source terms. Without source terms a kernel omits the calls."""
WATER = switch("WATER", no_water)
"""WATER(rate, forcing, row, index): the rate plus all mass sources, m s-1."""
FORCE_X = switch("FORCE_X", no_force)
"""FORCE_X(start, h, along, across, forcing, row, index): start plus all forces along x, m2 s-2."""
FORCE_Y = switch("FORCE_Y", no_force)
FORCE = switch("FORCE", no_force)
"""FORCE(start, h, along, across, forcing, row, index): start plus all forces along the lines of a sweep, m2 s-2."""
SOIL = switch("SOIL", no_infiltration)
"""SOIL(depth, h, soil, dt, forcing, row, index): depth plus the potential infiltration of a step, m."""
TERM_FACTORS = switch("TERM_FACTORS", no_factors)
"""TERM_FACTORS(terms, row): the factors at the time of `row` of the values."""
MAP_AT = switch("MAP_AT", element)

STATE = "h, along, across"
STATES = {"water": "", "x": f"{STATE}, ", "y": f"{STATE}, ", "soil": "h, soil, dt, "}  # arguments before the quantities
WHERE_IS = ("cell_row", "cell_column")  # indices of the cell in a generated function that reads records
ARGUMENTS = {
    "WATER": "rate",
    **dict.fromkeys(("FORCE", "FORCE_X", "FORCE_Y"), f"start, {STATE}"),
    "SOIL": "depth, h, soil, dt",
}


class Bound(NamedTuple):
    """Source terms in the form that a kernel takes."""

    arguments: tuple[Any, ...]
    switches: dict[str, Any]
    records: Records
    blend: Blend | None  # launched before each step


class TermArrays(NamedTuple):
    """Memory layout of the columns, (ny,), and maps, (ny, nx), of a role on the device of a kernel.

    device : device of the records; pitch : row pitch, for `WHERE`; at_faces : whether forces act at the low faces of
    cells; blended : whether records are read from tables (`eagre.terms.compose`).
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
    arrays: TermArrays
    grid: Grid
    blend: Blend | None

    def index_of(self, key: Any, *values: Any) -> int:
        """Return the index of the first of some arguments, which are added once per key."""
        if key not in self.known:
            self.known[key] = len(self.arguments)
            self.arguments.extend(values)
        return self.known[key]


def bind(terms: Terms, roles: Mapping[str, str], values: Any, first: int, kind: Any, term_arrays: TermArrays) -> Bound:
    """Return the arguments and switches of a kernel.

    Parameters
    ----------
    terms : Terms
    roles : mapping
        Role of each switch of the kernel: ``{"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}``.
    values : (rows, slots) device array
        Values of the series, double. The series of `terms` start at slot `first`.
    first : int
    kind : type
        Floating-point type of the run.
    term_arrays : TermArrays
    """
    records = Records(term_arrays.device, kind)
    blend = Blend(terms, roles.values(), values, first, records) if term_arrays.blended and terms.fields else None
    reading = _Reading([values, np.int64(first)], [], {}, records, kind, term_arrays, terms.grid, blend)
    switches: dict[str, Any] = {"TERMS": any(getattr(terms, role) for role in roles.values())}
    for name, role in roles.items():
        assert role in ROLES
        contributions = getattr(terms, role)
        sums = [_sum_of(contribution, terms, role, reading) for contribution in contributions]
        if sums:
            quantities = [one for contribution in contributions for one in contribution.quantities]
            reads_nodes = not records.in_maps and any(isinstance(one, RecordQuantity) for one in quantities)
            pitch = reading.index_of("pitch", np.uint32(term_arrays.pitch)) if reads_nodes else None
            switches[name] = _composed(ARGUMENTS[name], contributions, sums, pitch)
    if reading.slots:
        factors = ", ".join(f"real(values[row, first + {slot}])" for slot in reading.slots)
        text = f"def term_factors(terms, row):\n    values, first = terms[0], terms[1]\n    return ({factors},)\n"
        switches["TERM_FACTORS"] = written(text, {"real": real})
    return Bound(tuple(reading.arguments), switches, records, blend)


def _sum_of(contribution: Contribution, terms: Terms, role: str, reading: _Reading) -> str:
    """Return the source code of the call of a contribution; its arguments and slots are added to `reading`."""
    arguments, term_arrays, readings = reading.arguments, reading.arrays, []
    for quantity in contribution.quantities:
        if reading.blend is not None and isinstance(quantity, RecordQuantity):
            readings.append(_of_table(quantity, reading, reading.blend))
            continue
        slot, factor = terms.slot(role, quantity), ""
        if slot is not None:
            if slot not in reading.slots:
                reading.slots.append(slot)
            factor = f"factors[{reading.slots.index(slot)}]"
        if isinstance(quantity, RecordQuantity):
            readings.append(f"{factor} * {_of_record(quantity, role, reading)}")
            continue
        values = quantity.values * (quantity.series.values[0] if slot is None else 1.0)
        if values.ndim == 0 and values == 1.0 and factor:
            readings.append(factor)
            continue
        reads = {0: f"terms[{len(arguments)}]", 1: f"terms[{len(arguments)}][row]"}
        text = reads.get(values.ndim, f"MAP_AT(terms[{len(arguments)}], index)")
        readings.append(f"{factor} * {text}" if factor else text)
        if values.ndim == 0:
            arguments.append(reading.kind(values))
        else:
            arguments.append((term_arrays.column if values.ndim == 1 else term_arrays.map)(role, values))
    return f"{contribution.cell.name}({STATES[role]}{', '.join(readings)})"


def _of_table(quantity: RecordQuantity, reading: _Reading, blend: Blend) -> str:
    """Return the source code that reads the time-interpolated table; the even record includes the odd one."""
    if quantity.slot == 1:
        return "real(0.0)"
    table, plane = blend.table_and_plane(quantity)
    step, nodes = 1.0 / table.nodes.step_y, table.nodes
    array = reading.index_of(("table", id(table.array)), table.array)
    numbers = step, (table.first_row + 0.5) * step - table.low
    first = reading.index_of(("rows", nodes, *numbers), *map(reading.kind, numbers))
    read = f"terms[{array}], {plane}, {', '.join(WHERE_IS)}, terms[{first}], terms[{first + 1}]"
    return f"{OF_TABLE[quantity.way].name}({read})"


def _of_record(quantity: RecordQuantity, role: str, reading: _Reading) -> str:
    """Return the source code that reads a record from its map or between its nodes."""
    nodes, kind, term_arrays, way = quantity.field.nodes, reading.kind, reading.arrays, quantity.way
    if reading.records.in_maps:
        array = reading.records.map(quantity, reading.grid, role, term_arrays.map, term_arrays.at_faces)
        return f"MAP_AT(terms[{reading.index_of(('map', id(array)), array)}], index)"
    array, at_face = reading.records.nodes(quantity), term_arrays.at_faces and role in ("x", "y")
    record = reading.index_of(("record", id(array)), array)
    shifts = (0.5,) if not at_face else (0.0,) if way == "value" else (-0.25, 0.25)  # slope at a face: both sides
    readings = []
    for shift in shifts:
        y, x = (shift if role == "y" else 0.5), (shift if role == "x" else 0.5)
        y, x = (quantity.first_row + y) / nodes.step_y, x / nodes.step_x
        numbers = (1.0 / nodes.step_y, y, 1.0 / nodes.step_x, x)
        first = reading.index_of(("nodes", *numbers), *map(kind, numbers))
        read = [f"terms[{record}]", *WHERE_IS, *(f"terms[{first + n}]" for n in range(4))]
        if way != "value":
            size = reading.grid.dx * nodes.step_x if way == "x" else reading.grid.dy * nodes.step_y
            scale = quantity.scale / (size * len(shifts))
            read.append(f"terms[{reading.index_of(('scale', scale), kind(scale))}]")
        readings.append(f"{READERS[way].name}({', '.join(read)})")
    return readings[0] if len(readings) == 1 else f"({' + '.join(readings)})"


def _composed(arguments: str, contributions: tuple[Contribution, ...], sums: list[str], pitch: int | None) -> Cell:
    total = arguments.split(",")[0]
    lines = [f"    {total} = {total} + {one}\n" for one in sums]
    if pitch is not None:
        lines.insert(0, f"    {', '.join(WHERE_IS)} = WHERE(row, index, terms[{pitch}])\n")
    text = f"def composed({arguments}, forcing, row, index):\n    terms, factors = forcing\n{''.join(lines)}"
    readers = {one.name: one for one in (*READERS.values(), *OF_TABLE.values())}
    scope = {contribution.cell.name: contribution.cell for contribution in contributions} | readers
    return written(f"{text}    return {total}\n", {**scope, "MAP_AT": MAP_AT, "WHERE": WHERE, "real": real})
