"""Formulas with the same content are compiled once per process; the programs compute the same."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from eagre.backend.compilation.program import load

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")

PROGRAM = """
import math

import numpy as np
from numpy import float64 as real

from eagre.backend.cpu.compiler import formula, serial_driver, unfused_formula

FACTOR = {factor}


@{formula}
def scaled(x):
    return FACTOR * {expression}


@{formula}
def outer(x):
    return scaled(x) + real(1)


@serial_driver
def run(out):
    out[0] = outer(out[0])
"""


def program(factor="2.0", formula="formula", expression="x", label="scaled"):
    source = PROGRAM.format(factor=factor, formula=formula, expression=expression)
    return load(f"{source}\n\nLABEL = {label!r}\n", label)


def test_programs_share_the_formulas_of_the_same_content():
    first, second = program(label="first"), program(label="second")
    assert first is not second and first.outer is second.outer and first.scaled is second.scaled


@pytest.mark.parametrize(
    "other", [{"factor": "3.0"}, {"factor": "2"}, {"formula": "unfused_formula"}, {"expression": "math.sqrt(x)"}]
)
def test_other_constants_options_and_code_are_other_formulas(other):
    """`outer` has the same code, but calls another formula."""
    first, second = program(), program(**other)
    assert first.scaled is not second.scaled and first.outer is not second.outer
    values = []
    for one in (first, second):
        value = np.array([9.0])
        one.run(value)
        values.append(value[0])
    assert values == [19.0, {"3.0": 28.0}.get(other.get("factor"), 7.0 if "expression" in other else 19.0)]


def test_a_program_of_shared_formulas_is_loaded_alone(tmp_path):
    """By a process that has not loaded the program which compiled the formulas."""
    code = (  # two programs with a formula in common, or the second alone
        "import sys, numpy as np\n"
        "from eagre.backend.select import select\n"
        "from kernels.programs import power_row, powers_twice\n"
        "device = select('cpu')\n"
        "for entry in (power_row, powers_twice)[int(sys.argv[1]):]:\n"
        "    x, out = np.arange(1.0, 9.0).reshape(2, 4), np.zeros((2, 4))\n"
        "    launch = device.over(device.loop(entry, 'double'), x.shape, (x, out))\n"
        "    device.run([launch])\n"
        "print(out.tobytes().hex(), sum(launch.program._cache_hits.values()))\n"
    )
    environment = {**os.environ, "EAGRE_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    found = [
        subprocess.run([sys.executable, "-c", code, first], env=environment, capture_output=True, text=True, check=True)
        for first in ("0", "1")
    ]
    (made, hits), (loaded, hits_alone) = [one.stdout.split() for one in found]
    assert loaded == made and (hits, hits_alone) == ("0", "1")
