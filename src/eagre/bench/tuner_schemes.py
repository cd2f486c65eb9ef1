"""Which scheme is fastest: whole runs of one problem, ranked by wall time where their errors are alike.

Timed is the sine of Amundsen (2014), section 5.5, which makes few steps anew; errors are of the smooth peak of section
5.4 on a coarse grid, against the usual scheme on four times as many cells a side. Schemes of other orders are left out:
they are faster and less accurate, and a run asks for them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.tuned import chosen, use_of
from eagre.bench.tuner import choose_scheme
from eagre.bench.tuner_targets import sizes_of
from eagre.bench.workload import timer_of
from eagre.cases.amundsen2014 import gaussian_peak, sine
from eagre.cases.water import WaterCase
from eagre.layouts.store import Scheme
from eagre.models.shallow_water.model import ShallowWater
from eagre.tuning.spaces.shallow_water import MODEL, SCHEMES
from eagre.tuning.statistics import typical

RUNS = 5
TIME = 0.5  # s, of the 5 s of the sine
COARSE, FINER, PEAK_TIME = 96, 4, 4.0  # cells a side, times as many, s
ALIKE = 1.2  # times the error of the most accurate scheme, up to which another one counts as alike


def tune_schemes(
    kind: str, device: Device, precision: str, sizes: Sequence[int] | None = None, *,
    schemes: Sequence[str] = SCHEMES, tell: Callable[[str], None] = lambda text: None,
) -> list[Scheme]:  # fmt: skip
    """Time whole runs of each scheme with its tuned layouts, five each, and store the fastest.

    Parameters
    ----------
    kind, device, precision, sizes, tell
        As in `eagre.bench.tuner.tune_benchmark`; other models than shallow-water have no schemes to choose from.
    schemes : sequence of str
        To choose from; the first is the usual one.
    """
    if kind != MODEL or len(schemes) < 2:
        return []
    found, largest = [], {}
    for size in sizes or sizes_of(kind, device, precision):
        largest[use_of(device, kind, "", precision, size * size).size] = size
    errors = {name: error_of(device, precision, name) for name in schemes}
    alike = [name for name in schemes if errors[name] <= ALIKE * min(errors.values())]
    for size in largest.values():
        times = {name: whole_run(device, precision, name, size) for name in alike}
        for name in schemes:
            told = f"{times[name]:.4g} s a run" if name in times else "left out"
            tell(f"{name}: {size} x {size}: {told}, error {errors[name]:.2e} m")
        found.append(choose_scheme(kind, device, precision, times, size * size))
    return found


def whole_run(device: Device, precision: str, scheme: str, size: int) -> float:
    """Seconds of a run of the sine with a scheme and its tuned layouts, typical of five."""
    timer, times = timer_of(device), []
    where = chosen(device, MODEL, size * size, precision, scheme).device
    model = started(sine(size), where, precision, scheme)
    start = model.state()
    for _ in range(RUNS + 1):
        model.restore(start)
        times.append(timer(lambda: model.advance(TIME)))
    return typical(times[1:], device.kind)


def error_of(device: Device, precision: str, scheme: str) -> float:
    """Mean error of the depth of a smooth peak on its way outwards, m."""
    fine = started(gaussian_peak(COARSE * FINER), device, "double", SCHEMES[0])
    ours = started(gaussian_peak(COARSE), device, precision, scheme)
    for model in (fine, ours):
        model.advance(PEAK_TIME)
    means = fine.field("depth").reshape(COARSE, FINER, COARSE, FINER).mean(axis=(1, 3))
    return float(np.abs(ours.field("depth") - means).mean())


def started(case: WaterCase, device: Device, precision: str, scheme: str) -> Any:
    """A case at its start, with the friction of the benchmark, whose programs it shares."""
    options: dict[str, Any] = {"device": device, "precision": precision, "scheme": scheme, "manning": 0.03}
    return ShallowWater(case.grid, case.bed_elevation, depth=case.initial.depth, **options)
