"""Validation of the explicit model: lakes at rest, dam breaks, moving shorelines, channels, Monai Valley."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from eagre.cases import amundsen2014, basins, channels, dam_breaks, lakes, monai
from eagre.cases.water import WaterCase
from eagre.validation.comparison.gauges import monai_data, surface_at
from eagre.validation.comparison.measures import convergence_study, run_case, water_of
from eagre.validation.comparison.norms import root_mean_square
from eagre.validation.comparison.pictures import draw_convergence, draw_gauges, draw_profile
from eagre.validation.comparison.setting import BOTH, Check, Run, Validation, each, once

REST_LIMIT = {"single": 5e-6, "double": 1e-13}
MASS_LIMIT = {"single": 2e-5, "double": 1e-13}
PROFILE_ORDER = 1.8


def lake_at_rest(run: Run, make: Callable[[], WaterCase]) -> Iterator[Check]:
    """Maximum spurious discharge in a lake at rest."""
    end = run_case(make(), **run.options)
    max_value = float(np.hypot(end.water.discharge_x, end.water.discharge_y).max())
    yield Check("max |hu| [m2 s-1]", max_value, REST_LIMIT[run.precision], detail=end.detail)


def profile_case(
    run: Run, make: Callable[[int], WaterCase], cells: tuple[int, ...], limits: tuple[float, float, float | None]
) -> Iterator[Check]:
    """Errors on the finest grid and order of convergence of a flume along x; limits of h, q and order."""
    study = convergence_study(make, cells, **run.options)
    last = study.outcomes[-1]
    yield Check("relative L1 error of h", last.depth.l1, limits[0], detail=last.detail)
    yield Check("relative L1 error of q", last.discharge.l1, limits[1], detail=last.detail)
    yield Check("relative Linf error of h", last.depth.linf, detail=last.detail)
    yield Check("order of h", study.depth_orders[-1], limits[2], True, f"n = {cells}")
    case = make(cells[-1])
    assert case.exact is not None
    bed = case.bed_centre[1]
    computed = {f"computed, {run.precision}": last.water.depth[1] + bed}
    run.picture(draw_profile, run.name, case.grid.x, computed, case.exact(case.end_time).depth[1] + bed, bed)


def bowl(
    run: Run, make: Callable[[int], WaterCase], cells: tuple[int, ...], limits: tuple[float, float]
) -> Iterator[Check]:
    """Errors, order, mass conservation and minimum depth of water in a paraboloid; limits of h and order."""
    study = convergence_study(make, cells, **run.options)
    last = study.outcomes[-1]
    mass = abs(last.water.depth.sum() / make(cells[-1]).initial.depth.sum() - 1.0)
    yield Check("relative L1 error of h", last.depth.l1, limits[0], detail=last.detail)
    yield Check("relative L1 error of q", last.discharge.l1, detail=last.detail)
    yield Check("order of h", study.depth_orders[-1], limits[1], True, f"n = {cells}")
    yield Check("relative change of mass", mass, MASS_LIMIT[run.precision], detail=last.detail)
    yield Check("largest negative depth [m]", max(0.0, -float(last.water.depth.min())), 0.0)
    errors = {"h": study.depth_errors, "q": study.discharge_errors}
    run.picture(draw_convergence, f"{run.name}, {run.precision}", cells, errors)


def circular_dam(run: Run) -> Iterator[Check]:
    """Wet circular dam break of Amundsen (2014) with the same scheme, against the reference values.

    The reference values at t = 2 s are from runs whose steps ended at t = 1 s.
    """
    options = {"wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01, "time_step_control": "exact"}
    for scheme in ("rk2", "euler"):
        model = amundsen2014.circular_dam_wet(500).model(scheme=scheme, **options, **run.options)
        for figures in (f for f in amundsen2014.WET_CIRCULAR_DAM if f.n == 500 and f.scheme == scheme):
            model.advance(figures.time)
            depth = water_of(model).depth
            apart = abs(float(depth[figures.n // 2, figures.n // 2]) - figures.depth_at_centre)
            steps = abs(model.steps - figures.steps)
            detail = f"{scheme}, {figures.n}^2 cells, t = {figures.time:g} s"
            yield Check("|steps - reference|", steps, 0 if run.precision == "double" else None, detail=detail)
            yield Check("|h(centre) - reference| [m]", apart, 1e-4, detail=detail)
            apart = abs(float(depth.max()) - figures.max_depth)
            yield Check("|max h - reference| [m]", apart, 1e-4, detail=detail)
            apart = float(np.abs(depth - depth.T).max())
            yield Check("max |h - h^T| [m]", apart, 1e-5 if scheme == "rk2" else None, detail=detail)


def monai_valley(run: Run, coarsen: int = 1) -> Iterator[Check]:
    """Surface at the three gauges against the measurement: RMS difference and difference of the maximum rise."""
    folder, missing = monai_data(run)
    if folder is None:
        yield from missing
        return
    measured = monai.read_measurement(folder)
    computed: list[dict[str, np.ndarray]] = []
    for precision in run.setting.precisions:
        case = monai.monai_valley(folder, coarsen)
        series = surface_at(case.model(**{**run.options, "precision": precision}), case.gauges, measured.times)
        computed.append(series)
        detail = f"{case.grid.nx} x {case.grid.ny} cells, 0 to {monai.END_TIME:g} s"
        for name, values in measured.elevation.items():
            rms, peak = root_mean_square(series[name] - values), abs(float(series[name].max() / values.max() - 1.0))
            yield Check(f"{name}: RMS difference [m]", rms, 0.005, detail=detail, precision=precision)
            yield Check(f"{name}: |peak / measured peak - 1|", peak, 0.1, detail=detail, precision=precision)
        title = f"Monai Valley, {detail}, {precision} precision"
        known = (measured.times, measured.elevation)
        run._replace(precision=precision).picture(draw_gauges, title, measured.times, series, *known)
    if len(computed) == 2:
        single, double = computed
        apart = max(float(np.abs(single[name] - double[name]).max()) for name in single)
        yield Check("largest difference at a gauge [m]", apart, 1e-3)


FLOWS: dict[str, Validation] = {
    "lake-bump": each(lake_at_rest, lakes.lake_over_bump),
    "lake-island": each(lake_at_rest, lakes.lake_with_island),
    "lake-rough": each(lake_at_rest, lakes.rough_shores),
    "stoker": each(profile_case, lambda n: dam_breaks.dam_break(n, 1.0, 0.1), (100, 200, 400), (0.0025, 0.012, 0.85)),
    "ritter": each(profile_case, dam_breaks.dam_break, (100, 200, 400), (0.0025, 0.015, 0.85)),
    "thacker-planar": each(bowl, basins.planar_bowl, (50, 100, 200), (0.01, 1.0)),
    "thacker-radial": each(bowl, basins.radial_bowl, (50, 100, 200), (0.01, 1.0)),
    "macdonald-subcritical": each(profile_case, channels.macdonald, (25, 50, 100), (0.001, 0.001, PROFILE_ORDER)),
    "macdonald-transcritical": each(
        profile_case, lambda n: channels.macdonald(n, "transcritical"), (25, 50, 100), (0.001, 0.001, PROFILE_ORDER)
    ),
    "uniform-flow": each(profile_case, channels.uniform_flow, (25, 50), (1e-4, 1e-4, None)),
    "circular-dam": each(circular_dam),
    "monai": once(BOTH, monai_valley),
}
