"""Source terms of a run: checked, in a fixed order, with the series that drive them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.terms import NAMES
from eagre.terms.base import Quantity, RecordQuantity, Term, fields_of
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series

ROLES = ("water", "x", "y", "soil")
INFILTRATION = "one of Infiltration and GreenAmpt"
FIRST = ("Rain", "WindStress", "AtmosphericPressure", "Coriolis")
"""Order of summation; the other terms follow by name. The order of the user's list does not affect the results."""


class TermError(InputError):
    """Invalid value of a source term; kind : class name of the term."""

    def __init__(self, kind: str, error: InputError) -> None:
        super().__init__(error.what, allowed=error.allowed, fix=error.fix, problem=error.problem)
        self.kind = kind


class Contribution(NamedTuple):
    """Contribution of one term to one equation."""

    name: str
    cell: Cell
    quantities: tuple[Quantity, ...]
    source_name: str = ""  # name of an internal discharge in the water balance


@dataclass(frozen=True, eq=False)
class Terms:
    """Source terms of a run.

    Attributes
    ----------
    grid : Grid
    water, x, y : tuple of Contribution
        Contributions to the mass equation and to the momentum equations along x and y.
    soil : tuple of Contribution
        Infiltration; empty or one.
    """

    grid: Grid
    water: tuple[Contribution, ...] = ()
    x: tuple[Contribution, ...] = ()
    y: tuple[Contribution, ...] = ()
    soil: tuple[Contribution, ...] = ()

    @property
    def sources(self) -> list[Quantity]:
        """Quantities of the mass sources, m s-1."""
        return [quantity for item in self.water for quantity in item.quantities]

    @property
    def source_names(self) -> list[str]:
        """Name of each of `sources` in the water balance; empty for rain."""
        return [item.source_name for item in self.water for _ in item.quantities]

    @property
    def series(self) -> list[Series]:
        """Factors in time that a run evaluates: of all mass sources, then of the time-varying forces."""
        return [quantity.series for quantity in self.sources] + self._of_forces

    @property
    def _of_forces(self) -> list[Series]:
        series: dict[int, Series] = {}
        for item in (*self.x, *self.y):
            for one in item.quantities:
                if not one.series.is_constant:
                    series.setdefault(id(one.series), one.series)
        return list(series.values())

    @property
    def fields(self) -> list[TimeVaryingField]:
        """Time-varying fields of all quantities, each once."""
        return fields_of([one for role in ROLES for item in getattr(self, role) for one in item.quantities])

    def use(self, time: float) -> None:
        """Load the records for `time`, s."""
        for field in self.fields:
            field.use(time)

    def end(self, time: float) -> float:
        """Return the end of the records in use at `time`, s, which no step passes.

        Without time-varying fields the end is infinity.
        """
        return min([math.inf, *(field.instants.end(time) for field in self.fields)])

    def slot(self, role: str, quantity: Quantity) -> int | None:
        """Return the index of the factor of a quantity in `series`; None if the factor is constant."""
        if quantity.series.is_constant:
            return None
        if role == "water":
            return next(k for k, one in enumerate(self.sources) if one is quantity)
        return len(self.sources) + next(k for k, one in enumerate(self._of_forces) if one is quantity.series)

    @property
    def wettest(self) -> float:
        """Upper bound of the mass source in any cell at any time, m s-1."""
        rates = [one.series.values.max() * (one.values[:, None] if one.values.ndim == 1 else one.values)
                 for one in self.sources]  # fmt: skip
        return float(np.max(sum(rates, np.zeros(()))))

    def maps(self, role: str) -> int:
        """Return the number of maps that the kernels of a role read."""
        return sum(one.values.ndim == 2 for item in getattr(self, role) for one in item.quantities)

    def record_maps(self, kind: str, roles: Sequence[str] = ROLES) -> int:
        """Return the number of maps of records that a device stores (`eagre.terms.base.Records`).

        Only a CPU stores such maps.
        """
        records = {
            (id(one.field), one.slot, one.way)
            for role in roles
            for item in getattr(self, role)
            for one in item.quantities
            if isinstance(one, RecordQuantity)
        }
        return len(records) if kind == "cpu" else 0

    def rows(self, low: int, high: int, grid: Grid) -> Terms:
        """Return the terms in rows low .. high - 1, whose grid is `grid`."""

        def clipped(contributions: tuple[Contribution, ...]) -> tuple[Contribution, ...]:
            rows = [tuple(q.rows(low, high) for q in item.quantities) for item in contributions]
            return tuple(item._replace(quantities=one) for item, one in zip(contributions, rows, strict=True))

        return Terms(grid, *(clipped(getattr(self, role)) for role in ROLES))

    def force(
        self, along: str, time: float, h: Any, flux: Any, across: Any,
        interpolate: Callable[[np.ndarray], np.ndarray] = np.array,
    ) -> np.ndarray:  # fmt: skip
        """Return the sum of the forces along "x" or "y" at `time`, s, m2 s-2, computed with NumPy.

        h, flux, across : depth and unit discharges along and across the line, at centres or at the points to which
        `interpolate` interpolates a map.
        """
        total = np.zeros_like(h)
        for item in getattr(self, along):
            read = [interpolate(one.map(self.grid)) * one.series(time) for one in item.quantities]
            try:
                total += item.cell(h, flux, across, *read)
            except (TypeError, ValueError):  # kernel functions for scalars only: roots, branches
                total += np.vectorize(item.cell, otypes=[float])(h, flux, across, *read)
        return total


def checked_sources(sources: Any) -> list[Term]:
    """Return the source terms as a list; raise `InputError` if `sources` is not a list of source terms."""
    if isinstance(sources, (Term, str)) or not isinstance(sources, Iterable):
        shown = f"{type(sources).__name__}(...)" if isinstance(sources, Term) else repr(sources)
        raise InputError(
            f"sources = {shown}", allowed="a list", fix="sources=[...]", problem="The argument sources is not a list."
        )
    terms = list(sources)
    for term in terms:
        if not isinstance(term, Term):
            raise InputError(
                f"{term!r} in sources", allowed=", ".join(sorted(NAMES)), problem="The object is not a source term."
            )
    return terms


def terms_of(sources: Sequence[Term], grid: Grid, start: float = 0.0, periodic: Sequence[str] = ()) -> Terms:
    """Collect the terms of a run that starts at `start`, s; periodic : axes along which the domain is periodic.

    Raises
    ------
    InputError
        If `sources` is not a list, an object is not a term, or two terms have the same class.
    TermError
        If a term rejects its values.
    """
    sources = [term.in_domain(periodic) for term in checked_sources(sources)]
    kinds = [type(term).__name__ for term in sources]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise InputError(
                f"{kinds.count(kind)} source terms of the class {kind}", allowed="at most one source term per class",
                problem="The same kind of source term is given more than once.",
            )  # fmt: skip
    ordered = sorted(sources, key=lambda term: (_summation_rank(term), type(term).__name__))
    terms = Terms(grid, *(_parts(ordered, role, grid) for role in ROLES))
    if len(terms.soil) > 1:
        names = " and ".join(item.name for item in terms.soil)
        raise InputError(f"{names} in sources", allowed=INFILTRATION, problem="Infiltration is given more than once.")
    terms.use(start)
    return terms


def _summation_rank(term: Term) -> int:
    name = type(term).__name__
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _parts(terms: Sequence[Term], role: str, grid: Grid) -> tuple[Contribution, ...]:
    """Return the contributions of the terms to an equation, without sources that are 0 everywhere."""
    contributions = []
    for term in terms:
        cell = {"water": term.water_cell, "soil": term.soil_cell}.get(role, term.force_cell)
        if cell is None:
            continue
        try:
            quantities = _quantities(term, role, grid)
        except InputError as error:
            raise TermError(type(term).__name__, error) from None
        for group in [(one,) for one in quantities] if term.one_by_one else [quantities]:
            if role == "soil" or not all(one.is_zero for one in group):
                contributions.append(Contribution(type(term).__name__, cell, group))
    return tuple(contributions)


def _quantities(term: Term, role: str, grid: Grid) -> tuple[Quantity, ...]:
    if role == "soil":
        return term.infiltration(grid)
    return term.water(grid) if role == "water" else term.force(role, grid)
