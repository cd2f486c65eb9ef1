"""Tridiagonal lines cut into segments: the unknowns at the cuts are those of a banded solver."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import solve_banded

from eagre.solvers.tridiagonal.link import ENDS, Chunk, ends_of, next_row, segment_edges, store_ends

KINDS = {
    "dominant": (1.0, 0.1),
    "slowly decaying": (0.0, 1e-4),  # 1e4 unknowns couple
    "decoupled rows": (1.0, 0.1),
}


def system(kind, n, rng):
    """a, b, c, d of a line; a of the first and c of the last row are 0."""
    spread, margin = KINDS[kind]
    a, c = -1.0 - spread * rng.uniform(-1.0, 1.0, (2, n))
    if kind == "decoupled rows":
        closed = rng.random(n) < 0.3
        a[closed] = c[closed] = 0.0
    a[0] = c[-1] = 0.0
    return a, np.abs(a) + np.abs(c) + margin, c, rng.standard_normal(n)


def ends_of_rows(a, b, c, d):
    """The ends of a segment."""
    chunk = Chunk(-1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
    for k in range(len(b)):
        new = next_row(chunk, a[k], b[k], c[k], d[k])
        chunk = new if k < len(b) - 1 else Chunk(new.a, new.c, new.d, chunk.e, chunk.f, chunk.g)
    return ends_of(chunk)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heights", [[7], [5, 6], [1, 1], [4, 1, 9], [3, 17, 2, 8, 1]])
def test_edges_are_those_of_the_whole_line(kind, heights):
    rng = np.random.default_rng(sum(heights))
    starts, lines = np.cumsum([0, *heights]), 3
    ends, solutions = np.zeros((len(heights), ENDS, lines)), []
    for i in range(lines):
        a, b, c, d = system(kind, starts[-1], rng)
        solutions.append(solve_banded((1, 1), np.array([np.append(0.0, c[:-1]), b, np.append(a[1:], 0.0)]), d))
        for n, rows in enumerate(map(slice, starts, starts[1:])):
            store_ends(ends[n], i, ends_of_rows(a[rows], b[rows], c[rows], d[rows]))
    for i, x in enumerate(solutions):
        beyond = np.concatenate([[0.0], x, [0.0]])
        for n, (first, last) in enumerate(pairwise(starts)):
            expected = beyond[first], beyond[last], beyond[last + 1]
            np.testing.assert_allclose(segment_edges(ends, n, i), expected, rtol=0.0, atol=1e-11 * abs(x).max())
            if n > 0:
                assert segment_edges(ends, n, i)[0] == segment_edges(ends, n - 1, i)[1]  # the same bits
