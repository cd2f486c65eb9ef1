"""One run of air over several GPUs: as one GPU to the tolerance of its pressure, bit for bit when repeated."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import RUNS, STEPS, assert_close, fields_of
from eagre.backend.select import cuda_problem
from eagre.laboratory.cases.atmosphere import decaying_turbulence, taylor_green_cube
from restarts import assert_repeats_and_restarts, different_arrays

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 1e-6, "double": 1e-11}
SHARE = {"single": 1e-4, "double": 1e-9}


def turbulence(device, **options):
    return decaying_turbulence(32, time_step=0.05, device=device, **options)


def vortex(device, **options):
    return taylor_green_cube(24, time_step=0.05, device=device, **options)


def small(name):
    return lambda device, **options: RUNS[name](device=device, **options)


MAKES = {"turbulence": turbulence, "vortex": vortex} | {
    name: small(name) for name in ("open", "hill", "forced", "closed-hill")
}
NARROW = {"forced": 2, "closed-hill": 2, "open": 2, "hill": 3}  # of 10, 10, 9 and 12 rows: so many devices


def fitting(devices, name):
    """As many of the devices as a run has rows for."""
    return ",".join(devices.split(",")[: NARROW.get(name, 9)])


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", MAKES)
def test_as_one_gpu(name, precision, devices):
    options = {"precision": precision, "tolerance": TOLERANCE[precision]}
    ours, theirs = (MAKES[name](device, **options) for device in (fitting(devices, name), "cuda:0"))
    for model in (ours, theirs):
        model.advance(1e9, max_steps=STEPS)
    print(f"different {different_arrays(ours, theirs)}, {ours.statistics()}, {theirs.statistics()}")
    assert_close(fields_of(ours), fields_of(theirs), SHARE[precision])


@pytest.mark.parametrize("name", ["turbulence", "hill"])
def test_runs_repeat_and_restart_bit_for_bit(name, devices):
    def make():
        return MAKES[name](fitting(devices, name))

    end = make().setup.time_step * STEPS
    assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=STEPS // 2), end)


def test_a_run_goes_on_with_another_number_of_gpus(devices):
    first, second = (turbulence(one, precision="double", tolerance=1e-11) for one in (devices, "cuda:0"))
    first.advance(0.5)
    second.restore(first.state())
    assert different_arrays(second, first) == []
    for model in (first, second):
        model.advance(1.0)
    assert_close(fields_of(first), fields_of(second), SHARE["double"])


def test_looks_of_all_kinds(devices):
    """Diagnostics, planes, probes and maxima are those of one GPU."""
    ours, theirs = (turbulence(one, precision="double", tolerance=1e-11) for one in (devices, "cuda:0"))
    for model in (ours, theirs):
        model.advance(0.5)
    assert ours.diagnostics() == pytest.approx(theirs.diagnostics(), rel=1e-8, abs=1e-10)
    looks: list[dict[str, np.ndarray]] = []
    for model in (ours, theirs):
        point = {"x": 1.2, "y": 5.9, "z": [0.1, 2.0]}
        found = [model.slice(["w"], y=3.1), model.slice(["u"], z=1.0), model.probes({"a": point}), model.maxima()]
        looks.append({f"{n} {name}": value for n, one in enumerate(found) for name, value in one.sample().items()})
    for name, values in looks[1].items():
        if not name.endswith(("scaled_divergence", "iterations")):
            np.testing.assert_allclose(looks[0][name], values, rtol=1e-7, atol=1e-9, err_msg=name)
