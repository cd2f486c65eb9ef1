"""The passes of a step on a GPU: the update with the transform along x, and no-slip walls.

A step is three kernels: `update_cuda` (tendency, Adams-Bashforth, sine transform of the new vorticity's
rows), `eagre.solvers.poisson.columns_cuda` (the systems along y) and `eagre.solvers.poisson.sine_cuda`
(back to psi).
"""

from __future__ import annotations

from eagre.backend.cells import cell, cplx, cuda, entry, real, switch, word
from eagre.models.barotropic.kernels import tendency
from eagre.solvers.poisson.sine_cuda import (
    MOST,
    PAIRS,
    STRIDE,
    N,
    R,
    clear_ends,
    put,
    sine_transform,
    slot,
    write_pair,
)

HISTORY = switch("HISTORY", 2)  # tendencies kept: 1 for AB2, 2 for AB3
WIND = switch("WIND", 1)  # 0: none, 1: curl of y alone, (ny + 1, 1), 2: a map


@cell
def advanced(z, f, older, oldest, weights, j, i):
    """c3 zeta + dt (c0 F + c1 F_old + c2 F_older); F replaces the oldest. c3 = 1 unless viscosity is implicit."""
    change = weights[0] * f + weights[1] * older[j, i]
    if HISTORY == 2:
        change += weights[2] * oldest[j, i]
        oldest[j, i] = f
    else:
        older[j, i] = f
    return weights[3] * z + change


@cell
def wind(curl, j, i):
    """The forcing at a point."""
    if WIND == 0:
        return real(0.0)
    if WIND == 1:
        return curl[j, 0]
    return curl[j, i]


@cell
def update_pair(psi, zeta, new, older, oldest, curl, weights, c, j, i):
    """New vorticity at (j, i) and (j + 1, i), stored and returned as one complex number."""
    ny = zeta.shape[0] - 1
    top = min(j + 2, ny)
    p0w, p0, p0e = psi[j - 1, i - 1], psi[j - 1, i], psi[j - 1, i + 1]
    p1w, p1, p1e = psi[j, i - 1], psi[j, i], psi[j, i + 1]
    p2w, p2, p2e = psi[j + 1, i - 1], psi[j + 1, i], psi[j + 1, i + 1]
    z0w, z0, z0e = zeta[j - 1, i - 1], zeta[j - 1, i], zeta[j - 1, i + 1]
    z1w, z1, z1e = zeta[j, i - 1], zeta[j, i], zeta[j, i + 1]
    z2w, z2, z2e = zeta[j + 1, i - 1], zeta[j + 1, i], zeta[j + 1, i + 1]
    f = tendency(
        p0w, p0, p0e, p1w, p1, p1e, p2w, p2, p2e, z0w, z0, z0e, z1w, z1, z1e, z2w, z2, z2e, wind(curl, j, i), c
    )
    first = advanced(z1, f, older, oldest, weights, j, i)
    new[j, i] = first
    second = real(0.0)
    if j + 1 < ny:
        p3w, p3, p3e = psi[top, i - 1], psi[top, i], psi[top, i + 1]
        z3w, z3, z3e = zeta[top, i - 1], zeta[top, i], zeta[top, i + 1]
        f = tendency(
            p1w, p1, p1e, p2w, p2, p2e, p3w, p3, p3e, z1w, z1, z1e, z2w, z2, z2e, z3w, z3, z3e, wind(curl, j + 1, i), c
        )
        second = advanced(z2, f, older, oldest, weights, j + 1, i)
        new[j + 1, i] = second
    return complex(first, second)


@entry
def update_cuda(psi, zeta, new, older, oldest, curl, weights, c, spectrum, table):
    """Interior rows: new = zeta + dt F, spectrum = sine transform of new along x; 2 PAIRS rows a block.

    psi, zeta, new, older, oldest : (ny + 1, nx + 1); spectrum : (ny + 1, nx); with HISTORY = 1 `oldest`
    is not used.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(MOST, cplx)
    t = cuda.threadIdx.x
    ny = zeta.shape[0] - 1
    first_row = 1 + 2 * PAIRS * cuda.blockIdx.x
    for item in range(t, PAIRS * (N - 1), cuda.blockDim.x):
        pair = item // (N - 1)
        i = 1 + item % (N - 1)
        j = first_row + 2 * pair
        z = complex(real(0.0), real(0.0))
        if j < ny:
            z = update_pair(psi, zeta, new, older, oldest, curl, weights, c, j, i)
        put(shared, pair * STRIDE + slot(i), z)
    clear_ends(shared, t)
    cuda.syncthreads()
    active = sine_transform(shared, table, v, t)
    if active and first_row + 2 * (t // (N // R + 1)) < ny:
        write_pair(spectrum, v, t, first_row, ny)
