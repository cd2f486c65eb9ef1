"""One run of potential-flow waves over several GPUs: as one GPU, bit for bit when repeated."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem
from eagre.solvers.multigrid import distributed
from potential_waves_runs import apart, basin, cliff, torus
from restarts import assert_repeats_and_restarts, different_arrays

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-10}
RUNS = {
    "basin": (basin, {"precision": "double"}, 0),
    "basin, single": (basin, {"nx": 129, "ny": 97}, 0),
    "basin, fine grids in bands": (basin, {"nx": 257, "ny": 513}, 2),
    "torus": (torus, {}, 0),
    "torus, fine grids in bands": (torus, {"nx": 256, "ny": 512}, 2),
    "cliff": (cliff, {"precision": "double", "nx": 65, "ny": 97}, 0),
    "cliff, fine grids in bands": (cliff, {"nx": 257, "ny": 513}, 2),
    "steep": (torus, {"precision": "single", "multigrid": {"cycle": "W", "pre": 2}}, 0),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_as_one_gpu(run, devices, monkeypatch):
    make, options, first = run
    if first:
        monkeypatch.setattr(distributed, "GATHERED", 2**16)
    ours, theirs = (make(device, **options) for device in (devices, "cuda:0"))
    assert (ours._engine.laplace.multigrid.decomposition.first >= 1) == bool(first)
    for model in (ours, theirs):
        model.advance(1e3, max_steps=8)
    print(f"{apart(ours, theirs):.1e} apart, different {different_arrays(ours, theirs)}, {ours.statistics()}")
    assert ours.statistics() == theirs.statistics()
    assert apart(ours, theirs) <= TOLERANCE[ours.precision]


def test_runs_repeat_and_restart_bit_for_bit(devices):
    assert_repeats_and_restarts(lambda: basin(devices), lambda model: model.advance(10.0, max_steps=9), 3.0)


def test_a_run_goes_on_with_another_number_of_gpus(devices):
    first, second = basin(devices), basin("cuda:0")
    first.advance(1.0)
    second.restore(first.state())
    assert different_arrays(second, first) == []
    for model in (first, second):
        model.advance(2.0)
    assert apart(first, second) <= TOLERANCE["single"]


def test_looks_of_all_kinds(devices):
    """Kinematics, diagnostics and gauges are those of one GPU."""
    ours, theirs = basin(devices, "double"), basin("cuda:0", "double")
    for model in (ours, theirs):
        model.advance(2.0)
    one, other = (model.kinematics([30.0, 35.0, 12.3], [20.0, 1.0, 39.0], z=-1.0) for model in (ours, theirs))
    for name in one._fields:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-7, err_msg=name)
    assert ours.diagnostics() == pytest.approx(theirs.diagnostics(), rel=1e-9)
    j, i = [3, 17, 30], [4, 20, 40]
    one, other = (model.sample(["surface_elevation"], list(zip(j, i, strict=True))) for model in (ours, theirs))
    np.testing.assert_allclose(one["surface_elevation"], other["surface_elevation"], rtol=1e-9)
