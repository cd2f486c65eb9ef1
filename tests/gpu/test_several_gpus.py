"""One barotropic run over several GPUs: as the CPU, as one GPU, bit for bit when repeated."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from barotropic_runs import CASES, assert_repeats_and_restarts, assert_same_states, model_on
from eagre import BarotropicVorticity, Layers
from eagre.backend.select import cuda_problem

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 2e-5, "double": 1e-11}  # as of one GPU beside the CPU
FINE = {"time_step": 2e-5, "nx": 1025}
ON_GPUS = {
    **{name: CASES[name] for name in ("default", "ab2", "no-slip", "thom", "reduced gravity", "compensated")},
    "layers, tracer": {"layers": Layers(3.0, 1.0), "tracer": np.random.default_rng(5).uniform(size=(49, 65))},
    "chirp": {**CASES["no-slip"], "nx": 59, "ny": 43},
    "wider": {**FINE, "ny": 129},
    "single": {**FINE, "precision": "single", "ny": 301},
}


@pytest.mark.parametrize("options", ON_GPUS.values(), ids=ON_GPUS)
def test_as_the_cpu(options, devices):
    options = {"nx": 65, "ny": 49, **options}
    ours, theirs = (model_on(device, **options) for device in (devices, "cpu"))
    for model in (ours, theirs):
        model.advance(53 * model.time_step)
    assert_same_states(ours, theirs, TOLERANCE[options.get("precision", "double")])


def test_runs_repeat_and_restart_bit_for_bit(devices):
    options = {"nx": 65, "ny": 49, "precision": "single", **CASES["no-slip"]}
    assert_repeats_and_restarts(lambda: model_on(devices, **options), 0.0107, 0.0431)


@pytest.mark.parametrize(("precision", "limit"), [("single", 1e-4), ("double", 1e-11)])
def test_large_gyre_as_one_gpu(devices, precision, limit):
    fields = []
    for device in ("cuda:0", devices):
        model = BarotropicVorticity.double_gyre(2049, device=device, precision=precision)
        model.advance(4.3e-5)
        fields.append(model.field("streamfunction"))
    assert np.abs(fields[0] - fields[1]).max() < limit * np.abs(fields[0]).max()


MANY = """
import sys
from barotropic_runs import CASES, model_on
for device in (sys.argv[1].split(",")[-1], sys.argv[1]):
    for name in ("default", "ab2", "no-slip", "thom", "reduced gravity", "compensated"):
        model = model_on(device, nx=65, ny=49, **CASES[name])
        model.advance(5 * model.time_step)
"""


def test_python_ends_well_after_many_kernels(devices):
    """It did not where more than ten had run on two GPUs (`eagre.backend.cuda.compiler.keep_loaded`)."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MANY, devices]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
