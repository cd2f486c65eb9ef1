"""Programs of a first start are compiled side by side; whatever becomes of a helper, results are the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")

CODE = """
import sys
import numpy as np
from contextlib import nullcontext
from eagre.backend.compilation import parallel as parallel_compilation
from eagre.backend.select import select
from kernels.programs import counted_2, halved, shifted

what = sys.argv[1]
device = select("cpu")
x, out = np.ones((4, 8)), np.zeros((4, 8))
again = np.zeros((4, 8))
calls = [
    device.over(device.loop(halved, "double"), x.shape, (x, out)),
    device.over(device.loop(shifted, "double"), x.shape, (x, again)),
]
if what == "ends":
    parallel_compilation.WORKER_MODULE = "eagre.nothing"
if what == "fails":
    sys.executable = "/nowhere/python"
cores = 3 if what == "early" else 1
with nullcontext() if what == "library" else parallel_compilation.compile_workers(cores):
    before = len(parallel_compilation._workers.processes) if parallel_compilation._workers else 0
    device.prepare(calls)
    started = list(parallel_compilation._workers.processes) if parallel_compilation._workers else []
    device.run(calls[::-1] if what == "reversed" else calls)
hits = sum(sum(call.program.stats.cache_hits.values()) for call in calls)
assert all(helper.returncode is not None for helper in started)
print(*[before] * (what == "early"), len(started), hits, (out == 0.5).all(), (again == 2.0).all())
"""


def found(what, folder):
    environment = {**os.environ, "EAGRE_CACHE": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["NUMBA_NUM_THREADS"] = "2"
    done = subprocess.run([sys.executable, "-c", CODE, what], env=environment, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


def test_a_helper_compiles_one_of_two_programs(tmp_path):
    """Here one program is compiled and one is taken from the cache; a second start has nothing to share."""
    assert found("first", tmp_path) == "1 1 True True\n"
    assert found("second", tmp_path) == "0 2 True True\n"


def test_workers_start_at_once_only_if_the_cache_is_empty(tmp_path):
    """The device has two cores, so that the second of two workers has no job."""
    assert found("early", tmp_path) == "2 2 1 True True\n"
    assert found("early", tmp_path) == "0 0 2 True True\n"


def test_the_order_in_which_programs_are_needed_is_free(tmp_path):
    assert found("reversed", tmp_path) == "1 1 True True\n"


@pytest.mark.parametrize(("what", "helpers"), [("ends", 1), ("fails", 0)])
def test_without_a_helper_all_is_compiled_here(what, helpers, tmp_path):
    assert found(what, tmp_path) == f"{helpers} 0 True True\n"


def test_only_commands_have_helpers(tmp_path):
    """Elsewhere the executable may be a program that Python is embedded in."""
    assert found("library", tmp_path) == "0 0 True True\n"


QUICK = """
import sys
import numpy as np
from eagre.backend.cpu import compiler as cpu
from eagre.backend.select import select
from kernels.programs import halved

if sys.argv[1] == "gone":
    cpu.rtsys = None
device = select("cpu")
x, out = np.ones((4, 8)), np.zeros((4, 8))
launch = device.over(device.loop(halved, "double"), x.shape, (x, out))
device.run([launch])
modules = ("numba.np.arraymath", "scipy.linalg", "numba.typed.typeddict")
print(sum(launch.program.stats.cache_hits.values()), [name in sys.modules for name in modules], (out == 0.5).all())
"""


@pytest.mark.parametrize(("what", "imports"), [("known", False), ("gone", True)])
def test_a_second_start_loads_what_compiling_needs_only_where_numba_insists(what, imports, tmp_path):
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    code = [sys.executable, "-c", QUICK]
    subprocess.run([*code, "known"], env=environment, check=True, capture_output=True)
    done = subprocess.run([*code, what], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == f"1 {[imports] * 3} True\n"
