"""Warps of a window joined: every unknown, and the coupling that is left out, against a dense solution."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.compilation.cells import cuda, entry, real
from eagre.backend.cuda.warp import from_lane
from eagre.solvers.tridiagonal.link import WARPS, Chunk, lanes_joined, lost_coupling, next_row, warps_joined

ROWS = 64  # of a warp: two a lane


@entry
def window(rows, x, lost):
    """Solve the rows (4, n) of a, b, c, d in one block (32, WARPS)."""
    told = cuda.shared.array((2, WARPS, 6), real)
    lane, warp = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    k = 2 * (32 * warp + lane)
    zero, one = real(0.0), real(1.0)
    start = Chunk(-one, zero, zero, zero, zero, -one)
    first = next_row(start, rows[0, k], rows[1, k], rows[2, k], rows[3, k])
    last = next_row(first, rows[0, k + 1], rows[1, k + 1], rows[2, k + 1], rows[3, k + 1])
    chunk = Chunk(last.a, last.c, last.d, first.e, first.f, first.g)
    a, c, d = lanes_joined(chunk, lane)
    before, behind = warps_joined(told, 0, chunk, a, c, d, lane, warp)
    lost[warp, lane] = lost_coupling(chunk, a, c, lane, warp)
    x[k + 1] = d - a * before - c * behind
    lower = from_lane(x[k + 1], max(lane - 1, 0))
    x[k] = first.d - first.a * (before if lane == 0 else lower) - first.c * x[k + 1]


def solved(warps, exact, rows):
    """The unknowns and what each lane says that it left out."""
    from eagre.backend.device import Launch
    from eagre.backend.simulated import SimulatedDevice

    device = SimulatedDevice()
    arrays = [device.array(one) for one in (rows, np.zeros(rows.shape[1]), np.zeros((warps, 32)))]
    program = device.program(window, "double", {"WARPS": warps, "EXACT": exact})
    device.run([Launch(program, tuple(arrays), (1,), (32, warps))])
    return device.host(arrays[1]), device.host(arrays[2])


def weak(n, seed=3):
    """Rows whose coupling fades by a few percent a row, more downwards than upwards; what lies beyond the ends is 0."""
    rng = np.random.default_rng(seed)
    a, c = -1.0 - 0.1 * rng.random(n), -0.9 - 0.1 * rng.random(n)
    return np.array([a, abs(a) + abs(c) + 0.002, c, rng.standard_normal(n)])


def matrix(rows):
    """As a dense matrix."""
    return np.diag(rows[1]) + np.diag(rows[0, 1:], -1) + np.diag(rows[2, :-1], 1)


@pytest.mark.simulator
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_a_window_joined_exactly(warps):
    rows = weak(ROWS * warps)
    x, lost = solved(warps, True, rows)
    wanted = np.linalg.solve(matrix(rows), rows[3])
    assert abs(x - wanted).max() < 1e-12 * abs(wanted).max() and (lost == 0.0).all()


@pytest.mark.simulator
def test_what_neighbours_leave_out():
    """Of each warp: how much its last unknown hangs on the one before it, and its first on the one behind it."""
    rows = weak(ROWS * 3)
    _, lost = solved(3, False, rows)
    wanted = np.zeros((3, 32))
    for warp in range(3):
        part = slice(ROWS * warp, ROWS * (warp + 1))
        reach = np.linalg.inv(matrix(rows[:, part]))
        if warp > 0:
            wanted[warp, 31] = abs(reach[-1, 0] * rows[0, part.start])
        if warp < 2:
            wanted[warp, 0] = abs(reach[0, -1] * rows[2, part.stop - 1])
    assert wanted.max() > 1e-6
    assert abs(lost - wanted).max() < 1e-12 * wanted.max()
