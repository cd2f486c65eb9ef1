"""Choice of the scheme: whole runs of one problem, ranked by wall time among schemes of similar error.

The timed problem is the sine of Amundsen (2014), section 5.5, with few rejected steps. Errors are those of the smooth
peak of section 5.4 on a coarse grid, relative to the default scheme with four times as many cells per side. Schemes of
other orders are excluded: they are faster and less accurate, and must be selected explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.tuned import chosen
from eagre.laboratory.bench.machine import threads_limited
from eagre.laboratory.bench.tuning.tuner import WHOLE_RUNS, choose_scheme, sizes_of, target_at
from eagre.laboratory.bench.tuning.workload import timer_of
from eagre.laboratory.cases.amundsen2014 import gaussian_peak, sine
from eagre.laboratory.cases.water import WaterCase
from eagre.layouts.store import Scheme
from eagre.models.shallow_water.model import ShallowWater
from eagre.tuning.space import SCHEMES, identity
from eagre.tuning.timings import Journal, Trial, typical

RUNS = 5
TIME = 0.5  # duration of the timed run, s; the full case takes 5 s
COARSE, FINER, PEAK_TIME = 96, 4, 4.0  # cells per side, refinement factor, time, s
ALIKE = 1.2  # errors up to this multiple of the smallest error count as similar


def tune_schemes(
    kind: str, device: Device, precision: str, sizes: Sequence[int] | None = None, *,
    schemes: Sequence[str] = SCHEMES, tell: Callable[[str], None] = lambda text: None,
) -> list[Scheme]:  # fmt: skip
    """Time five alternating runs of each scheme with its tuned launch parameters, and store the fastest scheme.

    Timings are kept: runs with the same launch parameters are not repeated.

    Parameters
    ----------
    kind, device, precision, sizes, tell
        As in `eagre.laboratory.bench.tuning.tuner.tune_benchmark`; only the shallow-water model has schemes to choose
        from.
    schemes : sequence of str
        Candidates; the first is the default scheme.
    """
    if kind != "shallow-water" or len(schemes) < 2:
        return []
    results, max_error = [], {}
    for size in sizes or sizes_of(kind, device, precision):
        max_error[target_at(kind, device, precision, size).use.size] = size
    journals = {size: target_at(kind, device, precision, size).journal(WHOLE_RUNS) for size in max_error.values()}
    errors = _errors(device, precision, schemes, journals.values())
    equal_errors = [name for name in schemes if errors[name] <= ALIKE * min(errors.values())]
    for size, journal in journals.items():
        runs = _whole_runs_once(device, precision, equal_errors, size, errors, journal)
        times = {name: typical(runs[name], device.kind) for name in equal_errors}
        for name in schemes:
            summary = f"{times[name]:.4g} s per run" if name in times else "left out"
            tell(f"{name}: {size} x {size}: {summary}, error {errors[name]:.2e} m")
        results.append(choose_scheme(kind, device, precision, times, size * size))
    return results


def _errors(device: Device, precision: str, schemes: Sequence[str], journals: Iterable[Journal]) -> dict[str, float]:
    """Return the mean error of each scheme, m, from a journal of any size or computed once."""
    kept = [trial.choice for journal in journals for trial in journal.trials.values()]
    results = {one["scheme"]: one["error"] for one in kept if "error" in one and one.get("scheme") in schemes}
    missing = [name for name in schemes if name not in results]
    if missing:
        exact = exact_peak(device)
        results |= {name: error_of(device, precision, name, exact) for name in missing}
    return results


def _whole_runs_once(
    device: Device, precision: str, schemes: Sequence[str], size: int, errors: Mapping[str, float], journal: Journal
) -> dict[str, list[float]]:
    """Return runs of schemes with the current launch parameters, made and recorded if necessary, with errors."""
    shipped = device.table.values
    values: dict[str, dict[str, Any]] = {}
    for name in schemes:
        own = chosen(device, "shallow-water", size * size, precision, name).device.table.values
        values[name] = {"scheme": name, **{key: value for key, value in own.items() if value != shipped[key]}}
    kept = [journal.find(one) for one in values.values()]
    if any(trial is None or trial.failed for trial in kept):
        for name, runs in whole_runs(device, precision, schemes, size).items():
            journal.add(Trial({"scheme": name, "error": errors[name]}, values[name], runs))
    for name in errors.keys() - set(schemes):
        if journal.find({"scheme": name}) is None:
            journal.add(Trial({"scheme": name, "error": errors[name]}, {"scheme": name}, failed="less accurate"))
    return {name: journal.trials[identity(values[name])].seconds for name in schemes}


def whole_runs(device: Device, precision: str, schemes: Sequence[str], size: int) -> dict[str, list[float]]:
    """Return the seconds of five alternating runs of the sine with each scheme and its tuned launch parameters."""
    timer, models, threads = timer_of(device), {}, {}
    times: dict[str, list[float]] = {name: [] for name in schemes}
    for name in schemes:
        results = chosen(device, "shallow-water", size * size, precision, name)
        models[name], threads[name] = started(sine(size), results.device, precision, name), results.threads
    starts = {name: model.state() for name, model in models.items()}
    for _ in range(RUNS + 1):
        for name, model in models.items():
            model.restore(starts[name])
            with threads_limited(device, threads[name]) if threads[name] else nullcontext():
                times[name].append(timer(partial(model.advance, TIME)))
    return {name: runs[1:] for name, runs in times.items()}  # the first run includes compilation


def exact_peak(device: Device) -> np.ndarray:
    """Return the depth of an outward-moving smooth peak, m, as means over coarse cells of a fine solution."""
    fine = started(gaussian_peak(COARSE * FINER), device, "double", SCHEMES[0])
    fine.advance(PEAK_TIME)
    return fine.field("depth").reshape(COARSE, FINER, COARSE, FINER).mean(axis=(1, 3))


def error_of(device: Device, precision: str, scheme: str, exact: np.ndarray) -> float:
    """Return the mean error of the depth of an outward-moving smooth peak, m, relative to `exact_peak`."""
    device_result = started(gaussian_peak(COARSE), device, precision, scheme)
    device_result.advance(PEAK_TIME)
    return float(np.abs(device_result.field("depth") - exact).mean())


def started(case: WaterCase, device: Device, precision: str, scheme: str) -> Any:
    """Return a case at its start, with the friction of the benchmark, whose programs it shares."""
    options: dict[str, Any] = {"device": device, "precision": precision, "scheme": scheme, "manning": 0.03}
    return ShallowWater(case.grid, case.bed_elevation, depth=case.initial.depth, **options)
