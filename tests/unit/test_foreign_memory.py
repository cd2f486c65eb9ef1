"""The functions of docs/how-to/fortran.md, called as a program in C or Fortran would: by address, on its own memory."""

from __future__ import annotations

import ctypes as c
import re
from pathlib import Path

import numpy as np
import pytest

from eagre.advection import Mpdata

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "fortran.md"
REAL, WHOLE = c.POINTER(c.c_double), c.POINTER(c.c_int)
SHAPE = (7, 5, 4)
SIZES = [c.byref(c.c_int(n)) for n in SHAPE]


@pytest.fixture(scope="module")
def page():
    """The names that the page's code defines."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {}
    exec(code, names)
    return names


def foreign(values):
    """Memory that is not NumPy's, x fastest."""
    flat = np.asarray(values).ravel(order="F")
    return (c.c_double * flat.size)(*flat)


def test_points_are_where_fortran_has_them(page):
    memory = (c.c_double * 140)(*range(140))
    found = page["array"](c.cast(memory, REAL), *SHAPE)
    i, j, k = np.indices(SHAPE)
    assert np.array_equal(found, i + 7 * j + 7 * 5 * k) and found.flags.f_contiguous
    found[2, 1, 3] = -1.0
    assert memory[2 + 7 * 1 + 7 * 5 * 3] == -1.0


def test_a_step_by_the_address_of_a_function(page):
    rng = np.random.default_rng(1)
    x, h = rng.random(SHAPE), 1.0 + rng.random(SHAPE)
    v = [np.full([n + (a == b) for b, n in enumerate(SHAPE)], 0.1 * (a + 1)) for a in range(3)]
    kind = c.CFUNCTYPE(None, *[REAL] * 6, *[WHOLE] * 4)
    call = kind(page["address"])
    memory, after, status = [foreign(one) for one in (x, *v, h)], foreign(0 * x), c.c_int(7)
    call(*memory, after, *SIZES, c.byref(status))
    assert status.value == 0 and np.array_equal(memory[0], x.ravel(order="F"))
    found = np.reshape(after, SHAPE, order="F")
    np.testing.assert_allclose(found, Mpdata(SHAPE).step(x, v, h), rtol=0, atol=1e-14)
    memory[1][0] = 10.0  # v1 of the first point: a Courant number above 1
    call(*memory, after, *SIZES, c.byref(status))
    assert status.value == 1 and np.array_equal(found.ravel(order="F"), after)


def test_a_solution_with_a_foreign_operator(page):
    diagonal = 2.0 + np.random.default_rng(2).random(SHAPE).ravel(order="F")

    @c.CFUNCTYPE(None, REAL, REAL)
    def scaled(q, out):
        for n in range(140):
            out[n] = diagonal[n] * q[n]

    right, x, status = foreign(np.ones(SHAPE)), foreign(np.zeros(SHAPE)), c.c_int(7)
    kind = c.CFUNCTYPE(None, c.c_void_p, REAL, REAL, *[WHOLE] * 4)
    call = kind(c.cast(page["gcrk_"], c.c_void_p).value)
    call(c.cast(scaled, c.c_void_p), right, x, *SIZES, c.byref(status))
    assert status.value == 0
    np.testing.assert_allclose(x, 1.0 / diagonal, rtol=0, atol=1e-10)
    right[3] = np.nan
    call(c.cast(scaled, c.c_void_p), right, x, *SIZES, c.byref(status))
    assert status.value == 1
