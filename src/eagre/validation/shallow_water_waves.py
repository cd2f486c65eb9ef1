"""Validation of the explicit model: orders for smooth waves, step counts, and comparison of the precisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from eagre.cases import amundsen2014, basins, waves
from eagre.cases.water import WaterCase
from eagre.validation.comparison.measures import convergence_study, run_case
from eagre.validation.comparison.norms import observed_orders, relative_norms
from eagre.validation.comparison.pictures import draw_convergence
from eagre.validation.comparison.setting import BOTH, PRECISIONS, Check, Run, Validation, each, once

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
