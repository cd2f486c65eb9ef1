"""Validations of the shallow-water model: orders on smooth waves, step counts, and the two precisions compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from eagre.cases import amundsen2014, basins, waves
from eagre.cases.water import WaterCase
from eagre.validation.measures import convergence_study, run_case
from eagre.validation.norms import observed_orders, relative_norms
from eagre.validation.pictures import draw_convergence
from eagre.validation.result import Result
from eagre.validation.setting import Setting, Validation

CELLS = (32, 64, 128)
SECOND_ORDER = 1.8
FIRST_ORDER = 0.9


def smooth_order(make: Callable[[int], WaterCase], setting: Setting) -> list[Result]:
    """Observed orders of both time schemes where the solution is smooth; second order is asked of RK2 only."""
    results: list[Result] = []
    name = make(CELLS[0]).name
    for precision in setting.precisions:
        errors: dict[str, list[float]] = {}
        for scheme, least in (("rk2", SECOND_ORDER), ("euler", FIRST_ORDER)):
            study = convergence_study(make, CELLS, device=setting.device, precision=precision, scheme=scheme)
            errors[f"h, {scheme}"], errors[f"q, {scheme}"] = study.depth_errors, study.discharge_errors
            last = study.outcomes[-1]
            results += [
                Result(name, precision, f"{scheme}: order of h", study.depth_orders[-1], least, True, f"n = {CELLS}"),
                Result(name, precision, f"{scheme}: order of q", study.discharge_orders[-1], least, True),
                Result(name, precision, f"{scheme}: relative L1 error of h", last.depth.l1, detail=last.detail),
                Result(name, precision, f"{scheme}: relative L1 error of q", last.discharge.l1, detail=last.detail),
            ]
        setting.picture(draw_convergence, f"{name}-{precision}", f"{name}, {precision}", CELLS, errors)
    return results


def standing_wave(setting: Setting) -> list[Result]:
    """Order of a small standing wave between walls, relative to its amplitude; double precision only."""
    amplitude, errors = 1e-4, []
    for n in CELLS:
        case = waves.small_standing_wave(n, amplitude=amplitude)
        run = run_case(case, device=setting.device, precision="double")
        assert case.exact is not None
        exact = case.exact(case.end_time)
        errors.append(float(np.abs(run.water.depth - exact.depth).mean()) / amplitude)
    order = observed_orders(errors)[-1]
    return [
        Result("standing-wave", "double", "order of the elevation", order, SECOND_ORDER, True, f"n = {CELLS}"),
        Result("standing-wave", "double", "mean |error| / amplitude", errors[-1], 0.01, detail=f"n = {CELLS[-1]}"),
    ]


def sine_steps(setting: Setting) -> list[Result]:
    """The step count of the thesis's sine case, exactly."""
    results = []
    for precision in setting.precisions:
        case = amundsen2014.sine(rows=16)
        model = case.model(device=setting.device, precision=precision, time_step="exact")
        model.advance(case.end_time)
        miss = abs(model.steps - amundsen2014.SINE_STEPS)
        results.append(Result(case.name, precision, "steps - 154", miss, 0, detail=f"{model.steps} steps"))
    return results


def precisions(setting: Setting) -> list[Result]:
    """How far single precision is from double after a whole turn of the planar bowl and after a wet dam break."""
    results = []
    for case in (basins.planar_bowl(100), amundsen2014.circular_dam_wet(250)):
        single, double = (run_case(case, device=setting.device, precision=p) for p in ("single", "double"))
        apart = relative_norms(single.water.depth, double.water.depth)
        name = f"precision: {case.name}"
        results += [
            Result(name, "single/double", "relative L1 difference of h", apart.l1, 1e-3, detail=single.detail),
            Result(name, "single/double", "relative Linf difference of h", apart.linf, detail=single.detail),
            Result(name, "single/double", "difference of steps", abs(single.model.steps - double.model.steps)),
        ]
    return results


WAVES: dict[str, Validation] = {
    "travelling-wave": partial(smooth_order, waves.travelling_wave),
    "travelling-vortex": partial(smooth_order, waves.travelling_vortex),
    "standing-wave": standing_wave,
    "sine": sine_steps,
    "precision": precisions,
}
