"""Time interpolation of records on a device before each step.

A kernel function then reads two numbers per quantity instead of eight for two records. A table contains, for each field
and each slope that kernel functions read, the rows of nodes at the columns of cells: the sum of both records times
their factors, linear between nodes along x. The kernel function interpolates between rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch, written
from eagre.backend.device import Launch
from eagre.grid import Grid
from eagre.terms.assembly.collect import Terms
from eagre.terms.assembly.record_quantities import RecordQuantity, Records, node_below
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
