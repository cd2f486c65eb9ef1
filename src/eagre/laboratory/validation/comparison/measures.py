"""Run a case and compute its errors: functions shared by validations and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.contract import Model
from eagre.laboratory.cases.water import Water, WaterCase
from eagre.laboratory.validation.comparison.norms import Norms, observed_orders, relative_norms


class Outcome(NamedTuple):
    """Finished run: model, final state, and errors of depth and unit discharge relative to the exact solution."""

    model: Model
    water: Water
    depth: Norms
    discharge: Norms

    @property
    def detail(self) -> str:
        """Description of grid, end time and steps."""
        grid = self.model.grid
        return f"{grid.nx} x {grid.ny} cells, t = {self.model.time:.4g} s, {self.model.steps} steps"


def water_of(model: Model) -> Water:
    """Return the current state of the model in double precision."""
    names = ("depth", "discharge_x", "discharge_y")
    return Water(*(np.asarray(model.field(name), np.float64) for name in names))


def run_case(case: WaterCase, **options: Any) -> Outcome:
    """Run `case` to its end; errors are relative to the norms of the exact depth and discharge vector.

    Errors are NaN for cases without an exact solution.
    """
    model = case.model(**options)
    model.advance(case.end_time)
    water = water_of(model)
    if case.exact is None:
        nothing = Norms(np.nan, np.nan, np.nan)
        return Outcome(model, water, nothing, nothing)
    exact = case.exact(case.end_time)
    error = np.hypot(water.discharge_x - exact.discharge_x, water.discharge_y - exact.discharge_y)
    flow = np.hypot(exact.discharge_x, exact.discharge_y)
    return Outcome(model, water, relative_norms(water.depth, exact.depth), relative_norms(error, 0.0 * error, flow))


class Study(NamedTuple):
    """Runs of one case on successively refined grids."""

    cells: tuple[int, ...]
    outcomes: list[Outcome]

    @property
    def depth_errors(self) -> list[float]:
        """Relative L1 errors of the depth."""
        return [outcome.depth.l1 for outcome in self.outcomes]

    @property
    def discharge_errors(self) -> list[float]:
        """Relative L1 errors of the unit discharge."""
        return [outcome.discharge.l1 for outcome in self.outcomes]

    @property
    def depth_orders(self) -> list[float]:
        """Observed orders of the depth between neighbouring grids."""
        return observed_orders(self.depth_errors, self.cells[1] / self.cells[0])

    @property
    def discharge_orders(self) -> list[float]:
        """Observed orders of the unit discharge between neighbouring grids."""
        return observed_orders(self.discharge_errors, self.cells[1] / self.cells[0])


def convergence_study(make: Callable[[int], WaterCase], cells: Sequence[int], **options: Any) -> Study:
    """Run ``make(n)`` for every n of `cells` (a constant ratio apart)."""
    return Study(tuple(cells), [run_case(make(n), **options) for n in cells])
