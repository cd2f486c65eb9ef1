"""Base class of the source terms, and the quantities that they read: numbers, maps, series and time-varying fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.compilation.cells import Cell, cell, real, switch
from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible, plausible_number
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series

ONE = Series.constant(1.0)


@dataclass(frozen=True, eq=False)
class Quantity:
    """Product of a factor in time and a scalar, a column (one value per row) or a map.

    Parameters
    ----------
    values : (), (ny,) or (ny, nx) array
        Values at centres. `of` reduces the array to the smallest sufficient shape.
    series : Series
        Factor in time.
    """

    values: np.ndarray
    series: Series = ONE

    @classmethod
    def of(cls, values: Any, series: Series = ONE) -> Quantity:
        """Return a quantity with a map only if it varies along x, and with a column only if it varies along y."""
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 2 and (array == array[:, :1]).all():
            array = array[:, 0]
        if array.ndim == 1 and (array == array[0]).all():
            array = array[0]
        return cls(np.array(array), series)

    @property
    def is_zero(self) -> bool:
        """True if the quantity is 0 everywhere and at all times."""
        return not self.values.any() or not self.series.values.any()

    def rows(self, low: int, high: int) -> Quantity:
        """Return the quantity in rows low .. high - 1."""
        return self if self.values.ndim == 0 else replace(self, values=self.values[low:high])

    def map(self, grid: Grid) -> np.ndarray:
        """Return the values at all centres, without the factor in time."""
        values = self.values[:, None] if self.values.ndim == 1 else self.values
        return np.broadcast_to(values, grid.shape)

    def total(self, grid: Grid, where: np.ndarray | None = None) -> float:
        """Return the sum of the map over all cells, or over the cells of a mask."""
        return float((self.map(grid) if where is None else self.map(grid) * where).sum())


class Term:
    """Base class of the source terms: frozen dataclasses whose fields are the user's arguments.

    A subclass defines a kernel function and its quantities for the mass equation, the momentum equations or the
    infiltration:

    * mass, ``dh/dt = .. + water_cell(*water(grid))``, m s-1;
    * momentum along a line, ``dU/dt = .. + force_cell(h, along, across, *force(along, grid))``, m2 s-2, where h is the
      depth, m, and `along` and `across` are the unit discharges along the line and across it, m2 s-1: hu and hv for a
      line along x, hv and hu for a line along y;
    * infiltration: the potential depth of a step of dt, s, is ``soil_cell(h, soil, dt, *infiltration(grid))``, m, where
      `soil` is the cumulative infiltration, m (`eagre.terms.infiltration`). Models limit it to the water in the cell.

    The explicit model calls the kernel function at centres. The ADI model calls `force_cell` at faces. Each argument is
    a number in the precision of the run. The term can be any function of h, along and across. It is evaluated
    explicitly, from the values at the start of a stage or sweep. A term whose quantities are 0 everywhere is omitted.
    """

    water_cell: ClassVar[Cell | None] = None
    force_cell: ClassVar[Cell | None] = None
    soil_cell: ClassVar[Cell | None] = None
    one_by_one: ClassVar[bool] = False
    """True if the kernel function takes one quantity; its results are then summed over all quantities."""

    def water(self, grid: Grid) -> tuple[Quantity, ...]:
        """Return the quantities of `water_cell` at centres; raise `InputError` for invalid values."""
        return ()

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        """Return the quantities of `force_cell` on a line along "x" or "y"."""
        return ()

    def infiltration(self, grid: Grid) -> tuple[Quantity, ...]:
        """Return the quantities of `soil_cell` at centres; they are constant in time."""
        return ()

    def in_domain(self, periodic: Sequence[str]) -> Term:
        """Return the term for a domain that is periodic along some axes, "x" or "y"."""
        return self

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Return the term for an ensemble, with maps that `stacked` stacks.

        Raise `InputError` if it is not supported.
        """
        maps = {f.name: getattr(self, f.name) for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)}  # type: ignore[arg-type]
        return replace(self, **{name: stacked(values) for name, values in maps.items()})  # type: ignore[type-var]

    def reject_ensemble(self, why: str) -> None:
        """Raise `InputError`: ensembles do not support the term."""
        raise InputError(
            f"{type(self).__name__} in an ensemble",
            allowed="source terms that do not couple the members",
            fix="one ShallowWaterADI per member",
            problem=f"Ensembles do not support this source term: {why}.",
        )


def checked_map(values: Any, grid: Grid, name: str) -> np.ndarray:
    """Return a map of finite values with the shape of the grid."""
    array = array_copy(name, values)
    if array.shape != grid.shape:
        raise InputError(
            f"{name} of shape {array.shape}", allowed=f"shape (ny, nx) = {grid.shape}",
            problem=f"The map of {name} has the wrong shape.",
        )  # fmt: skip
    if not np.isfinite(array).all():
        raise InputError(
            f"{name} with NaN or infinite values", allowed="finite numbers",
            problem=f"The map of {name} has values that are not finite.",
        )  # fmt: skip
    return array


def checked_amount(values: Any, grid: Grid, name: str, quantity: str) -> np.ndarray:
    """Return a number or a map of a quantity of `eagre.plausible.QUANTITIES`, checked."""
    if np.ndim(values) == 0:
        return np.asarray(plausible_number(quantity, values, name))
    array = checked_map(values, grid, name)
    check_plausible(quantity, array, name)
    return array


def checked_pattern(pattern: np.ndarray | None, grid: Grid, name: str) -> np.ndarray:
    """Return a map of factors for a rate; 1 if no map is given."""
    return np.ones(()) if pattern is None else checked_map(pattern, grid, name)


@cell
def row_and_column(row, index, pitch):
    """Row and column of the cell at `index` = (j, i)."""
    return row, index[1]


WHERE = switch("WHERE", row_and_column)
"""WHERE(row, index, pitch): row and column of the cell, from the `index` that `MAP_AT` of the kernel takes."""


@cell
def node_below(coordinate, nodes):
    """Index of the node at or before a coordinate among `nodes` nodes, at most the second to last."""
    last = np.int32(nodes - 2)  # 32 bits: vector units convert and compare 32-bit integers
    return np.uint32(min(max(np.int32(coordinate), np.int32(0)), last))


@cell
def node_value(record, row, column, step_y, first_y, step_x, first_x):
    """Value of a record between its nodes, bilinear.

    row, column : indices of the cell; step_y, step_x : 1 / number of cells between nodes; first_y, first_x : coordinate
    of cell 0 in node spacings (multiples of a power of two, so that the coordinate is exact).
    """
    y, x = real(row) * step_y + first_y, real(column) * step_x + first_x
    m, n = node_below(y, record.shape[0]), node_below(x, record.shape[1])
    b, a = y - real(m), x - real(n)
    low = record[m, n] + a * (record[m, n + 1] - record[m, n])
    high = record[m + 1, n] + a * (record[m + 1, n + 1] - record[m + 1, n])
    return low + b * (high - low)


@cell
def node_slope_x(record, row, column, step_y, first_y, step_x, first_x, scale):
    """`scale` times the difference of `node_value` from node to node along x; exactly 0 for equal nodes."""
    y, x = real(row) * step_y + first_y, real(column) * step_x + first_x
    m, n = node_below(y, record.shape[0]), node_below(x, record.shape[1])
    low, high = record[m, n + 1] - record[m, n], record[m + 1, n + 1] - record[m + 1, n]
    return scale * (low + (y - real(m)) * (high - low))


@cell
def node_slope_y(record, row, column, step_y, first_y, step_x, first_x, scale):
    """`scale` times the difference of `node_value` from node to node along y; see `node_slope_x`."""
    y, x = real(row) * step_y + first_y, real(column) * step_x + first_x
    m, n = node_below(y, record.shape[0]), node_below(x, record.shape[1])
    low, high = record[m + 1, n] - record[m, n], record[m + 1, n + 1] - record[m, n + 1]
    return scale * (low + (x - real(n)) * (high - low))


READERS = {"value": node_value, "x": node_slope_x, "y": node_slope_y}


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordQuantity(Quantity):
    """Record of a field times the factor of its slot, or its slope along "x" or "y" times `scale`.

    `values` is an upper bound of the field, because its records are not known yet.
    """

    field: TimeVaryingField
    slot: int
    way: str = "value"
    scale: float = 1.0
    first_row: int = 0

    @classmethod
    def pair(
        cls, field: TimeVaryingField, way: str = "value", scale: float = 1.0
    ) -> tuple[RecordQuantity, RecordQuantity]:
        """Return the two records in use; their sum is the interpolated field."""
        bound = np.array(field.most * abs(scale))
        even, odd = (
            cls(values=bound, series=factor, field=field, slot=slot, way=way, scale=scale)
            for slot, factor in enumerate(field.instants.hats)
        )
        return even, odd

    def rows(self, low: int, high: int) -> RecordQuantity:
        return replace(self, first_row=self.first_row + low)

    def map(self, grid: Grid, at_faces: str = "") -> np.ndarray:
        """Return the record in use at centres, or at the faces across "x" or "y".

        A slope at a face is the mean of the slopes on both sides.
        """
        shape = grid.ny + (at_faces == "y"), grid.nx + (at_faces == "x")
        low = [0.5, 0.5]
        if not at_faces:
            return self._values(grid, shape, low)
        along = 1 if at_faces == "x" else 0
        if self.way == "value":
            low[along] = 0.0
            return self._values(grid, shape, low)
        sides = []
        for shift in (-0.25, 0.25):
            low[along] = shift
            sides.append(self._values(grid, shape, low))
        return 0.5 * (sides[0] + sides[1])

    def _values(self, grid: Grid, shape: tuple[int, int], low: Sequence[float]) -> np.ndarray:
        """Return values at points one cell apart.

        low : position (y, x) of the first point, in cells from the corner.
        """
        nodes, record = self.field.nodes, self.field.in_use(self.slot)
        m, b = nodes.locate(0, self.first_row + low[0], shape[0])
        n, a = nodes.locate(1, low[1], shape[1])
        if self.way == "x":
            slope = np.diff(record, axis=1)[:, n]
            return (slope[m] + b[:, None] * (slope[m + 1] - slope[m])) * (self.scale / (nodes.step_x * grid.dx))
        if self.way == "y":
            slope = np.diff(record, axis=0)[m]
            return (slope[:, n] + a * (slope[:, n + 1] - slope[:, n])) * (self.scale / (nodes.step_y * grid.dy))
        along = record[:, n] + a * (record[:, n + 1] - record[:, n])
        return along[m] + b[:, None] * (along[m + 1] - along[m])

    def total(self, grid: Grid, where: np.ndarray | None = None) -> float:
        """Return the sum of the record in use over all cells, or over the cells of a mask.

        The sum is computed from the weights of the nodes.
        """
        nodes, record = self.field.nodes, self.field.in_use(self.slot)
        m, b = nodes.locate(0, self.first_row + 0.5, grid.ny)
        n, a = nodes.locate(1, 0.5, grid.nx)
        if where is None:
            counts = np.outer(_weight_sums(np.ones(grid.ny), m, b), _weight_sums(np.ones(grid.nx), n, a))
        else:
            counts = _weight_sums(_weight_sums(where.astype(np.float64), n, a).T, m, b).T
        first = int(m[0])
        return float((counts * record[first : first + len(counts)]).sum())


def _weight_sums(values: np.ndarray, node: np.ndarray, fraction: np.ndarray) -> np.ndarray:
    """Sum the weights of each node over values at cells, along the last axis, from the first node to the last."""
    starts = np.flatnonzero(np.diff(node, prepend=node[0] - 1))
    low, high = (np.add.reduceat(values * weight, starts, axis=-1) for weight in (1.0 - fraction, fraction))
    sums = np.zeros((*values.shape[:-1], starts.size + 1))
    sums[..., :-1] += low
    sums[..., 1:] += high
    return sums


def checked_field(field: Any, grid: Grid, name: str) -> TimeVaryingField:
    """Return a checked field on the nodes of this grid."""
    if not isinstance(field, TimeVaryingField):
        raise InputError(
            f"{name} = {field!r}", allowed="a TimeVaryingField", fix=f"{name}=weather.{name}",
            problem=f"The argument {name} is not a time-varying field.",
        )  # fmt: skip
    if (field.nodes.ny, field.nodes.nx) != grid.shape:
        got = f"{name} for a grid of {field.nodes.ny} rows of {field.nodes.nx} cells"
        raise InputError(
            got, allowed=f"a field on the grid of the model, (ny, nx) = {grid.shape}",
            problem=f"The field {name} belongs to another grid.",
        )  # fmt: skip
    return field


class Records:
    """Records in use of the time-varying fields of a run, on a device: on their nodes, or as maps.

    Maps are faster on a CPU: a loop that reads from nodes does not vectorise.

    Parameters
    ----------
    device : Device
    kind : type
        Floating-point type of the run.
    """

    def __init__(self, device: Device | None, kind: Any) -> None:
        self.device, self.kind = device, kind
        self._arrays: dict[Any, tuple[TimeVaryingField, int, Any, Callable[[], np.ndarray]]] = {}
        self._held: dict[Any, int] = {}

    @property
    def in_maps(self) -> bool:
        """True if records are stored as maps."""
        return self.device is not None and self.device.kind == "cpu"

    def nodes(self, quantity: RecordQuantity) -> Any:
        """Return the device array of the record of a quantity on its nodes, shared by all quantities that read it."""
        field, slot = quantity.field, quantity.slot
        return self._array((id(field), slot), quantity, lambda: field.in_use(slot).astype(self.kind))

    def map(
        self,
        quantity: RecordQuantity,
        grid: Grid,
        role: str,
        laid_out: Callable[[str, np.ndarray], Any],
        at_faces: bool,
    ) -> Any:
        """Return the array of a quantity as a map; laid_out : creates the map for a role."""
        faces = role if at_faces and role != "water" else ""
        key = id(quantity.field), quantity.slot, quantity.way, faces if at_faces else "centre"
        return self._array(key, quantity, lambda: laid_out(role, quantity.map(grid, faces)))

    def _array(self, key: Any, quantity: RecordQuantity, values: Callable[[], np.ndarray]) -> Any:
        if key not in self._arrays:
            assert self.device is not None, "terms that move need places on a device"
            self._arrays[key] = quantity.field, quantity.slot, self.device.array(values()), values
            self._held[key] = quantity.field.used[quantity.slot]
        return self._arrays[key][2]

    def load(self) -> None:
        """Copy the records in use to the device arrays."""
        for key, (field, slot, array, values) in self._arrays.items():
            if self._held[key] != field.used[slot]:
                assert self.device is not None
                self.device.fill(array, values())
                self._held[key] = field.used[slot]


def fields_of(quantities: Sequence[Quantity]) -> list[TimeVaryingField]:
    """Return the fields of quantities, each once."""
    time_varying = {id(one.field): one.field for one in quantities if isinstance(one, RecordQuantity)}
    return list(time_varying.values())
