"""The column systems over bands of rows: exact, whatever the cuts."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, column_table
from eagre.solvers.poisson.slabs import FIRST, LAST, slab_couplings, slab_heights

NX, DX, DY = 9, 0.1, 0.13


def dense_solution(f, screening):
    """x of x_(j+1) - (2 + sigma) x_j + x_(j-1) = dy^2 f_j, a column a wavenumber."""
    k = np.arange(1, NX)
    sigma = 4.0 * (DY / DX) ** 2 * np.sin(0.5 * np.pi * k / NX) ** 2 + screening * DY**2
    found = np.zeros_like(f)
    for column, s in enumerate(sigma):
        beside = np.eye(len(f), k=1) + np.eye(len(f), k=-1)
        found[:, column] = np.linalg.solve(beside - (2.0 + s) * np.eye(len(f)), DY**2 * f[:, column])
    return found


@pytest.mark.parametrize("screening", [0.0, 3.0])
@pytest.mark.parametrize("heights", [[23], [5, 9, 9], [1, 2, 20], [12, 11]], ids=str)
def test_bands_join_exactly(rng, heights, screening):
    f = rng.standard_normal((sum(heights), NX - 1))
    expected = dense_solution(f, screening)
    r = 1.0 - column_table(NX, sum(heights) + 1, DX, DY, screening)[DELTA, 1:]
    parts, ends = np.split(f, np.cumsum(heights)[:-1]), []
    for p in parts:
        for j in range(1, len(p)):
            p[j] += r * p[j - 1]
        for j in range(len(p) - 2, -1, -1):
            p[j] += r * p[j + 1]
        ends += [p[0].copy(), p[-1].copy()]
    for p, couplings in zip(parts, slab_couplings(heights, NX, DX, DY, screening)[..., 1:], strict=True):
        low, high = (couplings * np.array(ends)).sum(axis=1)
        t = np.arange(len(p))[:, None]
        p += low * r ** (t + 1) + high * r ** (len(p) - t)
    found = -r * DY**2 * np.concatenate(parts)
    assert np.abs(found - expected).max() < 1e-14 * np.abs(expected).max()


def test_cuts():
    assert slab_heights(23, 4) == [6, 6, 6, 5] and (FIRST, LAST) == (0, 1)
    table = column_table(NX, 24, DX, DY, walls=False)
    assert (table[IMAGE] == 0.0).all() and (table[DECAY] > 1e29).all()
