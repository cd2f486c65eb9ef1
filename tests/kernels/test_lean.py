"""A program is compiled once as a whole; the compilers of others are left as they are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")

CODE = """
import numpy as np
from numba import njit, prange
from numba.core.codegen import JITCodeLibrary, JitEngine
from eagre.backend.select import select
from kernels.programs import halved

made, add_module = [], JitEngine.add_module
def counted(engine, module):
    made.append(module.name)
    return add_module(engine, module)
JitEngine.add_module = counted

device = select("cpu")
x, out = np.ones((4, 8)), np.zeros((4, 8))
launch = device.over(device.loop(halved, "double"), x.shape, (x, out))
made.clear()
device.run([launch])
codegen = launch.program.targetctx.codegen()
made = [name for name in made if name != "nrt"]  # Numba's own, made with the first program
print(made, (out == 0.5).all(), codegen._library_class is JITCodeLibrary, "set_env" in vars(codegen))

@njit
def part(x):
    return 2.0 * x

@njit
def whole(x):
    return part(x) + 1.0

print(whole(1.0), part(1.0))
"""


def test_another_numba_compiles_as_it_would(monkeypatch):
    """A private name that is gone."""
    from numba import njit

    from eagre.backend.cpu import compiler

    monkeypatch.setattr(compiler, "OF_LIBRARY", (*compiler.OF_LIBRARY, "gone"))
    monkeypatch.setattr(compiler.InlinedLibrary, "_finalize_final_module", None)  # not called

    @njit(pipeline_class=compiler.Whole)
    def doubled(x):
        return 2.0 * x

    assert doubled(1.5) == 3.0


def test_only_the_whole_program_gets_machine_code(tmp_path):
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True)
    assert done.stdout == "['run'] True True False\n3.0 2.0\n", done.stderr
