"""Validation of the explicit model: lakes at rest, dam breaks, shorelines, channels, waves, Monai Valley."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from eagre.laboratory.cases import amundsen2014, basins, channels, dam_breaks, lakes, monai, waves
from eagre.laboratory.cases.water import WaterCase
from eagre.laboratory.validation.measures import (
    convergence_study,
    draw_convergence,
    draw_gauges,
    draw_profile,
    monai_data,
    observed_orders,
    relative_norms,
    root_mean_square,
    run_case,
    surface_at,
    water_of,
)
from eagre.laboratory.validation.result import BOTH, PRECISIONS, Check, Run, Validation, each, once

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


CELLS = (32, 64, 128)
SECOND_ORDER = 1.8
FIRST_ORDER = 0.9
FINE = "rk2, fine grid"


def smooth_order(run: Run, make: Callable[[int], WaterCase]) -> Iterator[Check]:
    """Observed orders of both time schemes for a smooth solution; second order is required of RK2 only."""
    errors: dict[str, list[float]] = {}
    for scheme, min_order in (("rk2", SECOND_ORDER), ("euler", FIRST_ORDER)):
        study = convergence_study(make, CELLS, scheme=scheme, **run.options)
        errors[f"h, {scheme}"], errors[f"q, {scheme}"] = study.depth_errors, study.discharge_errors
        last = study.outcomes[-1]
        yield Check(f"{scheme}: order of h", study.depth_orders[-1], min_order, True, f"n = {CELLS}")
        yield Check(f"{scheme}: order of q", study.discharge_orders[-1], min_order, True)
        yield Check(f"{scheme}: relative L1 error of h", last.depth.l1, detail=last.detail)
        yield Check(f"{scheme}: relative L1 error of q", last.discharge.l1, detail=last.detail)
    run.picture(draw_convergence, f"{run.name}, {run.precision}", CELLS, errors)


def standing_wave(run: Run) -> Iterator[Check]:
    """Order of a small standing wave between walls, relative to its amplitude."""
    amplitude, errors = 1e-4, []
    for n in CELLS:
        case = waves.small_standing_wave(n, amplitude=amplitude)
        depth = run_case(case, **run.options).water.depth
        assert case.exact is not None
        errors.append(float(np.abs(depth - case.exact(case.end_time).depth).mean()) / amplitude)
    yield Check("order of the elevation", observed_orders(errors)[-1], SECOND_ORDER, True, f"n = {CELLS}")
    yield Check("mean |error| / amplitude", errors[-1], 0.01, detail=f"n = {CELLS[-1]}")


def sine_steps_of(**options: Any) -> int:
    """Return the number of steps of the sine case of Amundsen (2014) with model options."""
    case = amundsen2014.sine(rows=16)
    model = case.model(**options)
    model.advance(case.end_time)
    return model.steps


def sine_steps(run: Run) -> Iterator[Check]:
    """The exact step count of the sine case of Amundsen (2014)."""
    steps = sine_steps_of(time_step_control="exact", **run.options)
    yield Check("steps - 154", abs(steps - amundsen2014.SINE_STEPS), 0, detail=f"{steps} steps")


def precisions(run: Run) -> Iterator[Check]:
    """Difference of single and double precision after a period of the planar bowl and after a wet dam break."""
    for case in (basins.planar_bowl(100), amundsen2014.circular_dam_wet(250)):
        single, double = (run_case(case, device=run.setting.device, precision=p) for p in PRECISIONS)
        apart = relative_norms(single.water.depth, double.water.depth)
        yield Check(f"{case.name}: relative L1 difference of h", apart.l1, 1e-3, detail=single.detail)
        yield Check(f"{case.name}: relative Linf difference of h", apart.linf, detail=single.detail)
        yield Check(f"{case.name}: difference of steps", abs(single.model.steps - double.model.steps))


def split_schemes(run: Run, n: int = 250) -> Iterator[Check]:
    """Steps of the sine and differences of the schemes in the wet dam break of Amundsen (2014)."""
    options = {**amundsen2014.OPTIONS, **run.options}
    for scheme, expected in amundsen2014.SINE_STEPS_OF_SCHEMES.items():
        steps = sine_steps_of(scheme=scheme, **options)
        yield Check(f"sine, {scheme}: |steps - {expected}|", abs(steps - expected), 0, detail=f"{steps} steps")
    yield from dam_checks(dam_depths(n, **options))


def dam_depths(n: int, **options: Any) -> dict[str, np.ndarray]:
    """Return the depth of the wet dam break at 1 s by scheme, (n, n), m; `FINE` is "rk2" with 2 n cells per side."""
    dam, fine = amundsen2014.circular_dam_wet(n, 1.0), amundsen2014.circular_dam_wet(2 * n, 1.0)
    depth = {name: run_case(dam, scheme=name, **options).water.depth for name in ("rk2", "srk2", "ds2", "euler", "ds1")}
    depth[FINE] = run_case(fine, scheme="rk2", **options).water.depth.reshape(n, 2, n, 2).mean(axis=(1, 3))
    return depth


def dam_checks(depths: Mapping[str, np.ndarray]) -> Iterator[Check]:
    """Yield differences of the schemes and their errors for the depths of `dam_depths`.

    The figures 3.4 and 3.5 state that "euler" and "ds1" are close to identical, and "rk2" and "ds2" equally accurate.
    The limits of the differences are fractions of the difference between "euler" and "rk2".
    """
    depth = dict(depths)
    known = depth.pop(FINE)
    n = known.shape[0]
    detail, difference = f"{n}^2 cells, t = 1 s", float(np.abs(depth["rk2"] - depth["euler"]).mean())
    yield Check("dam, L1 difference of rk2 and euler [m]", difference, detail=detail)
    for first, second, fraction in (("srk2", "rk2", 1e-3), ("ds2", "rk2", 0.05), ("ds1", "euler", 0.5)):
        apart = float(np.abs(depth[first] - depth[second]).mean())
        yield Check(f"dam, L1 difference of {first} and {second} [m]", apart, fraction * difference, detail=detail)
    error = {name: float(np.abs(h - known).mean()) for name, h in depth.items()}
    for name, value in error.items():
        yield Check(f"dam, L1 error of {name} [m]", value, detail=f"{detail}; from rk2 with {2 * n}^2 cells")
    yield Check("dam, |L1 error of ds2 / L1 error of rk2 - 1|", abs(error["ds2"] / error["rk2"] - 1.0), 0.05)


WAVES: dict[str, Validation] = {
    "travelling-wave": each(smooth_order, waves.travelling_wave),
    "travelling-vortex": each(smooth_order, waves.travelling_vortex),
    "standing-wave": once("double", standing_wave),
    "sine": each(sine_steps),
    "split-schemes": once("single", split_schemes),
    "precision": once(BOTH, precisions),
}
