"""Runs of a case and their errors, error norms, comparison of gauges, and pictures: shared by validations and tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.laboratory.cases import monai
from eagre.laboratory.cases.water import Water, WaterCase
from eagre.laboratory.validation.result import Check, Run


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


def draw_profile(
    path: Path,
    title: str,
    position: np.ndarray,
    computed: Mapping[str, np.ndarray],
    exact: np.ndarray | None = None,
    bed: np.ndarray | None = None,
    label: str = "surface elevation [m]",
) -> Path:
    """Write curves over `position` (n,), m: computed curves by name, and the exact curve and the bed if known."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    if bed is not None:
        lowest = min(float(np.min(values)) for values in (bed, exact) if values is not None)
        axes.fill_between(position, bed, lowest, color="0.75", label="bed")
    if exact is not None:
        axes.plot(position, exact, "k-", linewidth=1.0, label="exact")
    for name, values in computed.items():
        axes.plot(position, values, "-" if exact is None else ".", markersize=3.0, label=name)
    axes.set(xlabel="x [m]", ylabel=label, title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_convergence(path: Path, title: str, cells: Sequence[int], errors: Mapping[str, Sequence[float]]) -> Path:
    """Write errors against the number of cells on logarithmic axes, with lines of order 1 and 2."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.subplots()
    n = np.array(cells, float)
    for name, values in errors.items():
        axes.loglog(n, values, "o-", label=name)
    first = max(values[0] for values in errors.values())
    for order, style in ((1, "k:"), (2, "k--")):
        axes.loglog(n, first * (n[0] / n) ** order, style, linewidth=0.8, label=f"order {order}")
    axes.set(xlabel="cells along x", ylabel="relative L1 error", title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_gauges(
    path: Path,
    title: str,
    times: np.ndarray,
    computed: Mapping[str, np.ndarray],
    measured_times: np.ndarray,
    measured: Mapping[str, np.ndarray],
    reference: str = "measured",
) -> Path:
    """Write one panel per gauge: computed and, if known, measured surface elevation, m, over time, s.

    reference : label of `measured`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.2 * len(computed)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(computed), 1, sharex=True))
    for axes, (name, values) in zip(panels, computed.items(), strict=True):
        if name in measured:
            axes.plot(measured_times, 100.0 * measured[name], "k.", markersize=3.0, label=reference)
        axes.plot(times, 100.0 * values, "C0-", label="computed")
        axes.set(ylabel="surface [cm]", title=name)
    panels[0].legend()
    panels[-1].set(xlabel="time [s]")
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    return path


def draw_harmonics(
    path: Path, title: str, position: np.ndarray, computed: np.ndarray, known: np.ndarray | None, reference: str
) -> Path:
    """Write amplitudes of harmonics, (count, n), m, over `position` (n,), m, and of a `reference`, if known."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for n, values in enumerate(computed):
        axes.plot(position, 1e3 * values, f"C{n}-", label=f"harmonic {n + 1}")
        if known is not None:
            axes.plot(position, 1e3 * known[n], "k--", linewidth=0.8, label=None if n else reference)
    axes.set(xlabel="x [m]", ylabel="amplitude [mm]", title=title)
    axes.legend()
    figure.savefig(path, dpi=120)
    return path


def draw_flow(path: Path, title: str, values: np.ndarray, grid: Grid, name: str) -> Path:
    """Write a picture of a field of both signs, (ny, nx), with equally spaced contours, to `path`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 5.0), layout="constrained")
    axes = figure.add_subplot()
    limit = float(np.abs(values).max()) or 1.0
    image = axes.pcolormesh(grid.x, grid.y, values, cmap="RdBu_r", vmin=-limit, vmax=limit, shading="nearest")
    if name == "psi":
        axes.contour(grid.x, grid.y, values, levels=np.linspace(-limit, limit, 17), colors="black", linewidths=0.4)
    axes.set(aspect="equal", xlabel="x", ylabel="y", title=title)
    figure.colorbar(image, label=name, shrink=0.85)
    figure.savefig(path, dpi=150)
    return path
