"""Subnormal numbers count as zero inside CPU programs, on every thread, and the threads' state is put back."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from eagre.backend.compilation.program import source_of
from eagre.backend.select import select
from eagre.laboratory.bench.benchmark import subject_of
from eagre.laboratory.cases.mike21 import pool
from eagre.models.barotropic.update.update_cpu import update_cpu
from eagre.models.shallow_water.stages.row_streaming_cpu import stage_cpu
from eagre.models.shallow_water_adi.sweeps.sweep_cpu import sweep_x_cpu, sweep_y_cpu
from eagre.solvers.poisson.columns import solve_columns_cpu
from eagre.solvers.poisson.slabs import join_bands_cpu
from eagre.solvers.tridiagonal.solve import thomas_columns_cpu, thomas_rows_cpu
from kernels.programs import halved

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="the state of a thread is set by compiled code"
)
ENTRIES = [
    *(stage_cpu, sweep_x_cpu, sweep_y_cpu, update_cpu, join_bands_cpu, solve_columns_cpu),
    *(thomas_rows_cpu, thomas_columns_cpu),
]

THREADS = """
import numpy as np
from numba import njit, prange
from eagre.backend.cpu import compiler as cpu
from eagre.backend.select import select
from eagre.backend.cpu.intrinsics import thread_state
from kernels.programs import halved

@njit(parallel=True)
def states(found):
    for k in prange(found.size):
        found[k] = thread_state()

cpu.MAX_SERIAL_ELEMENTS = 0  # two threads, however small
device = select("cpu")
before, after = np.zeros(64, np.uint64), np.zeros(64, np.uint64)
states(before)
x, out = np.full((64, 8), 1e-308), np.ones((64, 8))
device.run([device.over(device.loop(halved, "double"), x.shape, (x, out))])
states(after)
print(device.threads, (before == after).all(), (out == 0.0).all())
"""


def subnormal(values: np.ndarray) -> int:
    return int(((values != 0.0) & (np.abs(values) < np.finfo(values.dtype).tiny)).sum())


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_program_flushes_and_its_caller_does_not(precision):
    """Both what it reads and what it makes; before and after, this process computes with subnormal numbers."""
    device, real = select("cpu"), {"single": np.float32, "double": np.float64}[precision]
    smallest = np.finfo(real).tiny
    x, out = np.array([[smallest, 0.25 * smallest, 4.0 * smallest]], real), np.ones((1, 3), real)
    device.run([device.over(device.loop(halved, precision), x.shape, (x, out))])
    assert out.tolist() == [[0.0, 0.0, 2.0 * smallest]]
    assert subnormal(x * real(0.5)) == 2


def test_every_thread_is_put_back():
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    found = subprocess.run(
        [sys.executable, "-c", THREADS], env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == ["2", "True", "True"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_parallel_entries_flush(entry):
    text = source_of(entry, "cpu", "single", {})
    assert text.count("state = flush_subnormals()\n") == text.count("put_back(state)\n") == text.count("in prange(") > 0


@pytest.mark.parametrize("scheme", ["mike21", "default"])
def test_the_implicit_benchmark_makes_no_subnormal_numbers(scheme):
    """Far from its hump the pool's surface fades along every line: 1.8 % of 1024 x 1024 cells after 10 steps."""
    model = pool((16, 1500), "cpu", "single", scheme)
    model.steps_without_checks(10)()
    state = model.state()
    fluxes = [state[name] for name in ("z", "p", "q_before", "q_after")]
    assert min(np.abs(values[values != 0.0]).min() for values in fluxes[:2]) < 1e-30  # it does fade so far
    assert [subnormal(values) for values in fluxes] == [0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["shallow-water", "barotropic"])
def test_the_other_benchmarks_make_no_subnormal_numbers(kind):
    subject = subject_of(kind)
    for variant in subject.variants:
        model = subject.model(128, select("cpu"), "single", variant)
        model.steps_without_checks(20)()
        fields = [model.field(name) for name in model.variables]
        assert sum(map(subnormal, fields)) == 0
