"""Validations of the shallow-water model: lakes at rest, dam breaks, moving shores, channels, Monai Valley."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from eagre.cases import amundsen2014, basins, channels, dam_breaks, lakes, monai
from eagre.cases.water import WaterCase
from eagre.contract import Model
from eagre.validation.gauges import monai_data, surface_at
from eagre.validation.measures import Outcome, convergence_study, run_case, water_of
from eagre.validation.norms import root_mean_square
from eagre.validation.pictures import draw_convergence, draw_gauges, draw_profile
from eagre.validation.result import Result
from eagre.validation.setting import Setting, Validation

REST_LIMIT = {"single": 5e-6, "double": 1e-13}
MASS_LIMIT = {"single": 2e-5, "double": 1e-13}


def lake_at_rest(make: Callable[[], WaterCase], setting: Setting) -> list[Result]:
    """Largest discharge that the scheme makes in a lake at rest."""
    results = []
    for precision in setting.precisions:
        run = run_case(make(), device=setting.device, precision=precision)
        largest = float(np.hypot(run.water.discharge_x, run.water.discharge_y).max())
        name = "max |hu| [m2 s-1]"
        results.append(Result(make().name, precision, name, largest, REST_LIMIT[precision], detail=run.detail))
    return results


def profile_case(
    make: Callable[[int], WaterCase],
    cells: tuple[int, ...],
    limits: tuple[float, float, float | None],
    setting: Setting,
) -> list[Result]:
    """Errors on the finest grid and the order towards it of a flume along x; limits of h, q and order."""
    results: list[Result] = []
    curves: dict[str, np.ndarray] = {}
    case = make(cells[-1])
    for precision in setting.precisions:
        study = convergence_study(make, cells, device=setting.device, precision=precision)
        last: Outcome = study.outcomes[-1]
        curves[f"computed, {precision}"] = last.water.depth[1] + case.bed_centre[1]
        results += [
            Result(case.name, precision, "relative L1 error of h", last.depth.l1, limits[0], detail=last.detail),
            Result(case.name, precision, "relative L1 error of q", last.discharge.l1, limits[1], detail=last.detail),
            Result(case.name, precision, "relative Linf error of h", last.depth.linf, detail=last.detail),
            Result(case.name, precision, "order of h", study.depth_orders[-1], limits[2], True, f"n = {cells}"),
        ]
    assert case.exact is not None
    exact = case.exact(case.end_time).depth[1] + case.bed_centre[1]
    setting.picture(draw_profile, case.name, case.name, case.grid.x, curves, exact, case.bed_centre[1])
    return results


def bowl(
    make: Callable[[int], WaterCase], cells: tuple[int, ...], limits: tuple[float, float], setting: Setting
) -> list[Result]:
    """Errors, order, conserved mass and least depth of water in a paraboloid; limits of h and order."""
    results: list[Result] = []
    errors: dict[str, list[float]] = {}
    case = make(cells[-1])
    for precision in setting.precisions:
        study = convergence_study(make, cells, device=setting.device, precision=precision)
        last = study.outcomes[-1]
        errors[f"h, {precision}"] = study.depth_errors
        errors[f"q, {precision}"] = study.discharge_errors
        mass = abs(last.water.depth.sum() / case.initial.depth.sum() - 1.0)
        results += [
            Result(case.name, precision, "relative L1 error of h", last.depth.l1, limits[0], detail=last.detail),
            Result(case.name, precision, "relative L1 error of q", last.discharge.l1, detail=last.detail),
            Result(case.name, precision, "order of h", study.depth_orders[-1], limits[1], True, f"n = {cells}"),
            Result(case.name, precision, "relative change of mass", mass, MASS_LIMIT[precision], detail=last.detail),
            Result(case.name, precision, "largest negative depth [m]", max(0.0, -float(last.water.depth.min())), 0.0),
        ]
    setting.picture(draw_convergence, f"{case.name}-convergence", case.name, cells, errors)
    return results


def circular_dam(setting: Setting) -> list[Result]:
    """The wet circular dam of the thesis in its own treatment, against the reference figures.

    The figures at t = 2 s belong to runs that landed on t = 1 s on their way.
    """
    results = []
    options = {"wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01, "time_step": "exact"}
    for precision in setting.precisions:
        for scheme in ("rk2", "euler"):
            case = amundsen2014.circular_dam_wet(500)
            model = case.model(device=setting.device, precision=precision, scheme=scheme, **options)
            for figures in (f for f in amundsen2014.WET_CIRCULAR_DAM if f.n == 500 and f.scheme == scheme):
                model.advance(figures.time)
                results += _against_figures(case.name, precision, model, figures)
    return results


def _against_figures(name: str, precision: str, model: Model, figures: amundsen2014.CircularDamFigures) -> list[Result]:
    depth = water_of(model).depth
    detail = f"{figures.scheme}, {figures.n}^2 cells, t = {figures.time:g} s"
    centre = depth[figures.n // 2, figures.n // 2]
    return [
        Result(name, precision, quantity, float(value), limit, detail=detail)
        for quantity, value, limit in (
            ("|steps - reference|", abs(model.steps - figures.steps), 0 if precision == "double" else None),
            ("|h(centre) - reference| [m]", abs(centre - figures.depth_at_centre), 1e-4),
            ("|max h - reference| [m]", abs(depth.max() - figures.largest_depth), 1e-4),
            ("max |h - h^T| [m]", np.abs(depth - depth.T).max(), 1e-5 if figures.scheme == "rk2" else None),
        )
    ]


def monai_valley(setting: Setting, coarsen: int = 1) -> list[Result]:
    """Surface at the three gauges against the measurement: RMS difference and difference of the largest rise."""
    folder, missing = monai_data(setting)
    if folder is None:
        return missing
    measured = monai.read_measurement(folder)
    results: list[Result] = []
    computed: dict[str, dict[str, np.ndarray]] = {}
    for precision in setting.precisions:
        case = monai.monai_valley(folder, coarsen)
        series = surface_at(case.model(device=setting.device, precision=precision), case.gauges, measured.times)
        computed[precision] = series
        detail = f"{case.grid.nx} x {case.grid.ny} cells, 0 to {monai.END_TIME:g} s"
        for name, values in measured.elevation.items():
            rms = root_mean_square(series[name] - values)
            peak = float(series[name].max() / values.max() - 1.0)
            results += [
                Result("monai", precision, f"{name}: RMS difference [m]", rms, 0.005, detail=detail),
                Result("monai", precision, f"{name}: |peak / measured peak - 1|", abs(peak), 0.1, detail=detail),
            ]
        title = f"Monai Valley, {detail}, {precision} precision"
        setting.picture(
            draw_gauges, f"monai-{precision}", title, measured.times, series, measured.times, measured.elevation
        )
    if len(computed) == 2:
        single, double = computed.values()
        apart = max(float(np.abs(single[name] - double[name]).max()) for name in single)
        results.append(Result("monai", "single/double", "largest difference at a gauge [m]", apart, 1e-3))
    return results


FLOWS: dict[str, Validation] = {
    "lake-bump": partial(lake_at_rest, lakes.lake_over_bump),
    "lake-island": partial(lake_at_rest, lakes.lake_with_island),
    "lake-rough": partial(lake_at_rest, lakes.rough_shores),
    "stoker": partial(
        profile_case, lambda n: dam_breaks.dam_break(n, 1.0, 0.1), (100, 200, 400), (0.0025, 0.012, 0.85)
    ),
    "ritter": partial(profile_case, lambda n: dam_breaks.dam_break(n), (100, 200, 400), (0.0025, 0.015, 0.85)),
    "thacker-planar": partial(bowl, basins.planar_bowl, (50, 100, 200), (0.01, 1.0)),
    "thacker-radial": partial(bowl, basins.radial_bowl, (50, 100, 200), (0.01, 1.0)),
    "macdonald-subcritical": partial(profile_case, lambda n: channels.macdonald(n), (25, 50, 100), (0.001, 0.001, 1.8)),
    "macdonald-transcritical": partial(
        profile_case, lambda n: channels.macdonald(n, "transcritical"), (25, 50, 100), (0.001, 0.001, 1.8)
    ),
    "uniform-flow": partial(profile_case, lambda n: channels.uniform_flow(n), (25, 50), (1e-4, 1e-4, None)),
    "circular-dam": circular_dam,
    "monai": monai_valley,
}
