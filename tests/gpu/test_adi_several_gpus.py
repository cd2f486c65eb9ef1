"""One implicit shallow-water run over several GPUs: as one GPU, bit for bit when repeated."""

from __future__ import annotations

import pytest

from adi_runs import assert_repeats_and_restarts, bay, largest_difference, pool
from eagre import Boundaries, Discharge, InternalArea
from eagre.backend.select import cuda_problem
from option_setups import inside

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-12}  # as of one GPU beside the CPU
RUNS = {
    "bay": (bay, {"ny": 261}, 215.0),
    "bay, single": (bay, {"ny": 261, "precision": "single"}, 215.0),
    "walls inside": (bay, {"ny": 261, "boundaries": inside(3330.0, 18270.0)}, 215.0),
    "thin slabs": (bay, {"ny": 41}, 215.0),
    "thin slabs, long step": (pool, {"nx": 513, "ny": 90, "time_step": 60.0, "precision": "single"}, 600.0),
    "wide bay": (bay, {"nx": 601, "ny": 703}, 105.0),
    "pool": (pool, {"nx": 513, "ny": 901, "time_step": 15.0}, 400.0),
    "pool, single": (pool, {"nx": 513, "ny": 901, "time_step": 30.0, "precision": "single"}, 400.0),
    "pool, always wet": (pool, {"drying": "off", "dissipation": "none", "ny": 301, "precision": "single"}, 200.0),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_as_one_gpu(run, devices):
    make, options, end = run
    ours, theirs = (make(device, **options) for device in (devices, "cuda:0"))
    for model in (ours, theirs):
        model.advance(end)
    apart = largest_difference(ours, theirs)
    print(f"{apart:.1e} apart")
    assert apart <= TOLERANCE[ours.precision]


def test_runs_repeat_and_restart_bit_for_bit(devices):
    assert_repeats_and_restarts(lambda: bay(devices, "single", ny=261), 37, 431.0)


def test_bands_hold_more_rows_when_the_water_rises(devices):
    wide, high = 1900.0, 70070.0
    everywhere = InternalArea([(0.0, 0.0), (wide, 0.0), (wide, high), (0.0, high)], Discharge(0.1 * wide * high))
    options = {"ny": 1001, "time_step": 20.0, "boundaries": Boundaries(internal=[everywhere])}
    ours, theirs = pool(devices, "single", **options), pool("cuda:0", "single", **options)
    before = ours._engine.overlap
    assert not ours._engine.joined
    for model in (ours, theirs):
        for until in (70.0, 200.0):
            model.advance(until)
    assert ours._engine.overlap > before
    assert largest_difference(ours, theirs) <= TOLERANCE["single"]
