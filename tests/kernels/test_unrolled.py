"""Loops of a kernel's text, written out."""

from __future__ import annotations

import ast

from eagre.backend.compilation.unrolled import unrolled

TEXT = """
def kernel(a, out):
    for r in range(ROWS):
        for c in range(2):
            if c == 0:
                x[r, c] = a[r] if r > 0 else west(x[r, COLUMNS - 1])
            else:
                x[r, c] = x[r, c - 1] + {0: 1}[n]
            while going:
                x[r, c] *= -r
    for k in range(n):
        out[k] = x[ROWS - 1, 0]
    if not SWITCH:
        out[0] = 0
"""
EXPECTED = """
def kernel(a, out):
    x_0_0 = west(x_0_1)
    while going:
        x_0_0 *= 0
    x_0_1 = x_0_0 + {0: 1}[n]
    while going:
        x_0_1 *= 0
    x_1_0 = a[1]
    while going:
        x_1_0 *= -1
    x_1_1 = x_1_0 + {0: 1}[n]
    while going:
        x_1_1 *= -1
    for k in range(n):
        out[k] = x_1_0
"""


def test_loops_choices_and_subscripts():
    made = unrolled(TEXT, {"ROWS": 2, "COLUMNS": 2, "SWITCH": True})
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(EXPECTED))
