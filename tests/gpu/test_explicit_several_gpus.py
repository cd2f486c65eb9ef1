"""One explicit shallow-water run over several GPUs: as one GPU, bit for bit when repeated."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem
from explicit_runs import apart, assert_repeats_and_restarts, basin, bay, different

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-11}  # as of one GPU beside the CPU
RUNS = {
    "bay": (bay, {"ny": 261}, 5.0),
    "bay, single": (bay, {"ny": 261, "precision": "single"}, 3.0),
    "bay, Euler": (bay, {"scheme": "euler", "wet_dry": "kurganov-petrova", "ny": 97}, 3.0),
    "deep": (basin, {"surface_elevation": None, "depth": 3.0, "nx": 733, "ny": 701, "time_step_control": "exact"}, 4.0),
    "ring": (basin, {"sides": "ring", "nx": 90, "ny": 77}, 4.0),
    "torus": (basin, {"sides": "torus", "nx": 801, "ny": 723, "precision": "single"}, 2.0),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_as_one_gpu(run, devices):
    make, options, end = run
    ours, theirs = (make(device, **options) for device in (devices, "cuda:0"))
    for model in (ours, theirs):
        model.advance(end)
    print(f"{apart(ours, theirs):.1e} apart after {ours.steps} and {theirs.steps} steps")
    assert ours.steps == theirs.steps
    assert apart(ours, theirs) <= TOLERANCE[ours.precision]
    for name, value in theirs.inflow.items():
        assert ours.inflow[name] == pytest.approx(value, rel=1e-4 if ours.precision == "single" else 1e-9)


def test_runs_repeat_and_restart_bit_for_bit(devices):
    assert_repeats_and_restarts(lambda: bay(devices, "single", ny=261), 37, 5.0)


def test_a_run_goes_on_with_another_number_of_gpus(devices):
    first, second = bay(devices), bay("cuda:0")
    first.advance(2.0)
    second.restore(first.state())
    before, after = first.state()["q"], second.state()["q"]
    assert set(different(second, first)) <= {"q"}  # tiles, which one GPU may take, make ghosts anew
    np.testing.assert_array_equal(after[:, 2:-2, 2:-2], before[:, 2:-2, 2:-2])
    np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-13)
    for model in (first, second):
        model.advance(3.0)
    assert apart(first, second) <= TOLERANCE["double"]


def test_all_gpus_have_one_clock(devices):
    model = bay(devices, time_step_control="exact")
    model.advance(1.0)
    clocks = [band.read_clock().tolist() for band in model._engine.subdomains]
    assert all(clock == clocks[0] for clock in clocks)
