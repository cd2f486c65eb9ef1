"""Runs of a case and their errors, error norms, and comparison of gauges: shared by validations and tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.laboratory.cases import monai
from eagre.laboratory.cases.water import Water, WaterCase
from eagre.laboratory.validation.comparison.result import Check, Run


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


class Norms(NamedTuple):
    """Norms of an error divided by the same norm of the reference (see `relative_norms`)."""

    l1: float
    l2: float
    linf: float


def relative_norms(computed: np.ndarray, reference: np.ndarray, scale: np.ndarray | None = None) -> Norms:
    """Return the relative L1, L2 and Linf errors on a uniform grid, evaluated in double precision.

    The errors are ||computed - reference|| / ||scale|| with the mean absolute value, the root mean square and the
    maximum absolute value as norms. `scale` is `reference` by default; give another scale if the reference is almost
    zero. If the norm of the scale is 0, the absolute error is returned.
    """
    error = np.abs(np.asarray(computed, np.float64) - np.asarray(reference, np.float64))
    size = np.abs(np.asarray(reference if scale is None else scale, np.float64))
    size = np.broadcast_to(size, error.shape)

    def ratio(a: float, b: float) -> float:
        return a / b if b > 0.0 else a

    return Norms(
        ratio(float(error.mean()), float(size.mean())),
        ratio(math.sqrt(float((error**2).mean())), math.sqrt(float((size**2).mean()))),
        ratio(float(error.max()), float(size.max())),
    )


def observed_orders(errors: Sequence[float], refinement: float = 2.0) -> list[float]:
    """Return log(e_k / e_{k+1}) / log(refinement) for consecutive errors on successively refined grids."""
    return [math.log(coarse / fine) / math.log(refinement) for coarse, fine in itertools.pairwise(errors)]


def root_mean_square(difference: np.ndarray) -> float:
    """Return the root mean square."""
    return math.sqrt(float(np.mean(np.square(np.asarray(difference, np.float64)))))


def surface_at(
    model: Model,
    gauges: Mapping[str, tuple[float, float]],
    times: np.ndarray,
    look: Callable[[], object] | None = None,
) -> dict[str, np.ndarray]:
    """Run `model` and return the surface elevation at gauges, m, at increasing times.

    Parameters
    ----------
    model
        Model at its start or later; it is run to the last of `times`.
    gauges : mapping of name to (x, y), m
    times : (n,) array
        s.
    look : callable, optional
        Called at each time.

    Returns
    -------
    dict
        (n,) arrays by name.
    """
    cells = [model.grid.cell_of(*point) for point in gauges.values()]
    rows = []
    for time in times:
        if time > model.time:
            model.advance(float(time))
        rows.append(np.asarray(model.sample(["surface_elevation"], cells)["surface_elevation"], np.float64))
        if look is not None:
            look()
    table = np.array(rows)
    return {name: table[:, k] for k, name in enumerate(gauges)}


def monai_data(run: Run) -> tuple[Path | None, list[Check]]:
    """Return the folder of the Monai Valley data; without data a "not run" check, or an error if requested."""
    try:
        return monai.find_data(), []
    except InputError as error:
        if run.setting.chosen:
            raise
        return None, [Check("not run: data not found", 0.0, detail=error.fix)]
