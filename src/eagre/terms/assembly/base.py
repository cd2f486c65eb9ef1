"""Base class of the source terms, and the quantities that their kernel functions read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from eagre.arguments import array_copy
from eagre.backend.compilation.cells import Cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible, plausible_number
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
      `soil` is the cumulative infiltration, m (`eagre.terms.assembly.soil`). Models limit it to the water in the cell.

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
