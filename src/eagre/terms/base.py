"""What a term is: cells with its physics, and the quantities that they read at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from eagre.backend.cells import Cell
from eagre.errors import InputError
from eagre.given import own_array
from eagre.grid import Grid
from eagre.series import Series

ONE = Series.constant(1.0)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A factor in time times a number, a column of one value a row, or a map.

    Parameters
    ----------
    values : (), (ny,) or (ny, nx) array
        At centres. `of` makes it as small as the values allow.
    series : Series
        The factor.
    """

    values: np.ndarray
    series: Series = ONE

    @classmethod
    def of(cls, values: Any, series: Series = ONE) -> Quantity:
        """A quantity that is read from a map only if it varies along x, and from a column only if along y."""
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 2 and (array == array[:, :1]).all():
            array = array[:, 0]
        if array.ndim == 1 and (array == array[0]).all():
            array = array[0]
        return cls(np.array(array), series)

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 everywhere and always."""
        return not self.values.any() or not self.series.values.any()

    def rows(self, low: int, high: int) -> Quantity:
        """The quantity in rows low .. high - 1."""
        return self if self.values.ndim == 0 else replace(self, values=self.values[low:high])

    def map(self, grid: Grid) -> np.ndarray:
        """The values at all centres, without the factor."""
        values = self.values[:, None] if self.values.ndim == 1 else self.values
        return np.broadcast_to(values, grid.shape)

    def total(self, grid: Grid, where: np.ndarray | None = None) -> float:
        """Sum of the map over all cells, or those of a mask."""
        return float((self.map(grid) if where is None else self.map(grid) * where).sum())


class Term:
    """Base of all terms: frozen dataclasses whose fields are the user's arguments.

    A subclass gives a cell and its quantities for what it adds, to one of two equations or to both:

    * water, ``dh/dt = .. + water_cell(*water(grid))``, m s-1;
    * momentum along a line, ``dU/dt = .. + force_cell(h, along, across, *force(along, grid))``, m2 s-2, where h is
      the depth, m, and `along` and `across` are the unit discharges along the line and across it, m2 s-1: hu and hv
      for the line along x, hv and hu for the one along y.

    A cell is called at centres by the explicit model and at faces (`force_cell`) by the implicit one; each argument
    is a number in the precision of the run. It may depend on h, along and across in any way, but is evaluated with
    what is known at the start of a stage or a sweep: explicit. Quantities that are 0 everywhere leave the cell out.
    """

    water_cell: ClassVar[Cell | None] = None
    force_cell: ClassVar[Cell | None] = None
    one_by_one: ClassVar[bool] = False
    """Whether the cell takes one quantity, and what it gives is summed over all of them."""

    def water(self, grid: Grid) -> tuple[Quantity, ...]:
        """What `water_cell` reads at a centre; raises `InputError` for values that cannot be."""
        return ()

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        """What `force_cell` reads on a line along "x" or "y"."""
        return ()

    def for_members(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The term for an ensemble, whose maps are those of a member `stacked`; refused where it is none."""
        maps = {f.name: getattr(self, f.name) for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)}  # type: ignore[arg-type]
        return replace(self, **{name: stacked(values) for name, values in maps.items()})  # type: ignore[type-var]

    def refuse_members(self, why: str) -> None:
        """Raise `InputError`: the term cannot act on the members of an ensemble."""
        raise InputError(
            f"{type(self).__name__} in an ensemble",
            allowed="source terms that do not couple the members",
            fix="one ShallowWaterADI per member",
            problem=f"Ensembles do not support this source term: {why}.",
        )


def checked_map(values: Any, grid: Grid, name: str) -> np.ndarray:
    """A finite map of the grid's shape."""
    array = own_array(name, values)
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


def checked_pattern(pattern: np.ndarray | None, grid: Grid, name: str) -> np.ndarray:
    """A map that multiplies a rate, 1 where there is none."""
    return np.ones(()) if pattern is None else checked_map(pattern, grid, name)
