"""The passes of a step on a GPU: the update with the transform along x, and no-slip walls.

A step is three kernels: `update_cuda` (tendency, Adams-Bashforth, sine transform of the new vorticity's
rows), `eagre.solvers.poisson.columns_cuda` (the systems along y) and `eagre.solvers.poisson.rows_cuda`
(back to psi). Where the fields do not fit the cache, `strips_cuda` and a transform of its own take
the place of the first: many small blocks keep more loads under way.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import ask_for_piece, cell, cplx, cuda, entry, real, switch, word
from eagre.models.barotropic.kernels import tendency
from eagre.solvers.poisson.rows_cuda import (
    AHEAD,
    ROW,
    begin,
    clear_ends,
    finish,
    put_row,
    transform_rows,
    write_pair,
)
from eagre.solvers.poisson.sine_cuda import THREADS, R

HISTORY = switch("HISTORY", 2)  # tendencies kept: 1 for AB2, 2 for AB3
DOWN = switch("DOWN", False)  # whether the rows stored last are updated first
WIND = switch("WIND", 1)  # 0: none, 1: curl of y alone, (ny + 1, 1), 2: a map


@cell
def advanced(z, f, before, long_before, weights):
    """c3 zeta + dt (c0 F + c1 F_old + c2 F_older); c3 = 1 unless viscosity is implicit."""
    change = weights[0] * f + weights[1] * before
    if HISTORY == 2:
        change += weights[2] * long_before
    return weights[3] * z + change


@cell
def keep(f, older, oldest, j, i):
    """F takes the place of the oldest."""
    if HISTORY == 2:
        oldest[j, i] = f
    else:
        older[j, i] = f


@cell
def wind(curl, j, i):
    """The forcing at a point."""
    if WIND == 0:
        return real(0.0)
    if WIND == 1:
        return curl[j, np.uint64(0)]
    return curl[j, i]


@cell
def update_pair(psi, zeta, new, older, oldest, curl, weights, c, low, i, ny):
    """New vorticity at rows low + 1, low + 2 and column i + 1, stored and returned as one complex number."""
    j, k, top = low + np.uint64(1), low + np.uint64(2), low + np.uint64(3)
    both = k < ny
    top = top if both else k
    m, e = i + np.uint64(1), i + np.uint64(2)
    p0w, p0, p0e = psi[low, i], psi[low, m], psi[low, e]
    p1w, p1, p1e = psi[j, i], psi[j, m], psi[j, e]
    p2w, p2, p2e = psi[k, i], psi[k, m], psi[k, e]
    p3w, p3, p3e = psi[top, i], psi[top, m], psi[top, e]
    z0w, z0, z0e = zeta[low, i], zeta[low, m], zeta[low, e]
    z1w, z1, z1e = zeta[j, i], zeta[j, m], zeta[j, e]
    z2w, z2, z2e = zeta[k, i], zeta[k, m], zeta[k, e]
    z3w, z3, z3e = zeta[top, i], zeta[top, m], zeta[top, e]
    # Every load stands before the first store, past which the compiler would not move it.
    before_1, before_2 = older[j, m], older[k, m]
    long_before_1, long_before_2 = real(0.0), real(0.0)
    if HISTORY == 2:
        long_before_1, long_before_2 = oldest[j, m], oldest[k, m]
    wind_1, wind_2 = wind(curl, j, m), wind(curl, k, m)
    f1 = tendency(p0w, p0, p0e, p1w, p1, p1e, p2w, p2, p2e, z0w, z0, z0e, z1w, z1, z1e, z2w, z2, z2e, wind_1, c)
    f2 = tendency(p1w, p1, p1e, p2w, p2, p2e, p3w, p3, p3e, z1w, z1, z1e, z2w, z2, z2e, z3w, z3, z3e, wind_2, c)
    first = advanced(z1, f1, before_1, long_before_1, weights)
    second = advanced(z2, f2, before_2, long_before_2, weights)
    keep(f1, older, oldest, j, m)
    new[j, m] = first
    if both:
        keep(f2, older, oldest, k, m)
        new[k, m] = second
    return complex(first, second)


@cell
def ask_for_rows(psi, zeta, older, oldest, low, ny):
    """Bring what a later block reads to the cache: two rows of every field; its other rows are its neighbours'."""
    pitch = np.uint64(zeta.shape[1])
    if low < ny and low + np.uint64(3) < ny:
        start, count = (low + np.uint64(1)) * pitch, pitch + pitch
        foremost = start - pitch if DOWN else start + pitch
        ask_for_piece(psi, foremost, count)
        ask_for_piece(zeta, foremost, count)
        ask_for_piece(older, start, count)
        if HISTORY == 2:
            ask_for_piece(oldest, start, count)


@cell
def update_rows(psi, zeta, new, older, oldest, curl, weights, c, shared, table, t, low, ny):
    """New vorticity of rows low + 1 and low + 2, also into shared memory."""
    w = (weights[np.uint64(0)], weights[np.uint64(1)], weights[np.uint64(2)], weights[np.uint64(3)])
    if AHEAD > 0 and t == np.uint64(0):
        later = low - np.uint64(2 * AHEAD) if DOWN else low + np.uint64(2 * AHEAD)
        ask_for_rows(psi, zeta, older, oldest, later, ny)
    for turn in range((ROW - 2) // THREADS + 1):
        i = t + np.uint64(turn * THREADS)
        if i < np.uint64(ROW - 1):
            z = update_pair(psi, zeta, new, older, oldest, curl, w, c, low, i, ny)
            put_row(shared, table, i + np.uint64(1), z)
    clear_ends(shared, t)
    cuda.syncthreads()


@entry
def update_cuda(psi, zeta, new, older, oldest, curl, weights, c, spectrum, table):
    """Interior rows: new = zeta + dt F, spectrum = sine transform of new along x; two rows a block.

    psi, zeta, new, older, oldest : (ny + 1, nx + 1); spectrum : in tiles (`rows_cuda.first_place`); with HISTORY = 1
    `oldest` is not used.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    ny = np.uint64(zeta.shape[0] - 1)
    block = np.uint64(cuda.gridDim.x - 1 - cuda.blockIdx.x if DOWN else cuda.blockIdx.x)
    low = np.uint64(2) * block
    update_rows(psi, zeta, new, older, oldest, curl, weights, c, shared, table, t, low, ny)
    active = transform_rows(shared, table, v, t)
    finish()
    if active:
        write_pair(spectrum, v, t, low + np.uint64(1), ny)
