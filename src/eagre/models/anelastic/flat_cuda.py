"""prforc and divrhs over flat ground on a GPU: columns of a tile march upwards, and L phi is a star of tables.

As `operator.set_residual` and `operator.set_wind` with profiles for coefficients, without Coriolis and open sides.
The residual's kernel also judges: its last block adds up what all have left in `partials`, (2, 1, blocks).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, entry, flat_load, flat_store, real
from eagre.backend.warp import thread
from eagre.models.anelastic.operator import FINISHES, IN_PLACE
from eagre.solvers.gcr.fused_cuda import (
    BLOCK,
    LANES,
    ROWS,
    both_totals,
    is_last,
    level,
    near,
    store_parts,
    sum_of_level,
)
from eagre.solvers.gcr.kernels import judge_both
from eagre.stepping.until import is_iterating


class Gradient(NamedTuple):
    """What differences between the two neighbours of a point are multiplied by, along z (nz,), y (ny,) and x (nx,).

    along_* : C times 1 / (2 d), 0 on sides; `across`, c11, is another factor along y and x.
    keep_* : 0 on sides, where the velocity across them is 0; else 1.
    """

    along_z: Any
    keep_z: Any
    across: Any
    along_y: Any
    keep_y: Any
    along_x: Any
    keep_x: Any


@cell
def divergence_of_level(u, v, start, n):
    """What u and v of the neighbours of a point add to the divergence; n: `Near` of `stars.divergence_of`."""
    total = n.east * flat_load(u, start, n.to_east) + n.west * flat_load(u, start, n.to_west)
    return total + n.north * flat_load(v, start, n.to_north) + n.south * flat_load(v, start, n.to_south)


@entry
def residual_cuda(phi, u, v, w, r, star, first, periodic, planes, control, partials, arrived):
    """r = L phi - (1 / rho*) div(rho* v^), and whether it is small; grid: tiles of LANES x ROWS x `planes`.

    star : L; first : the divergence, of `stars.divergence_of`
    """
    tree, flag = cuda.shared.array(BLOCK, np.float64), cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = phi.shape
        largest, squares = real(0.0), 0.0
        if i < nx and j < ny:
            n, o = near(star, j, i, nx), near(first, j, i, nx)
            bottom, size = cuda.blockIdx.z * planes, ny * nx
            a = flat_load(phi, level(bottom - 2, nz, size, periodic), n.here)
            b = flat_load(phi, level(bottom - 1, nz, size, periodic), n.here)
            c = flat_load(phi, level(bottom, nz, size, periodic), n.here)
            d = flat_load(phi, level(bottom + 1, nz, size, periodic), n.here)
            below = flat_load(w, level(bottom - 1, nz, size, periodic), n.here)
            here = flat_load(w, level(bottom, nz, size, periodic), n.here)
            for m in range(bottom, min(nz, bottom + planes)):
                k = np.uint32(m)
                start = np.uint32(k * np.uint32(size))
                e = flat_load(phi, level(m + 2, nz, size, periodic), n.here)
                above = flat_load(w, level(m + 1, nz, size, periodic), n.here)
                total = star.across[k] * sum_of_level(phi, start, n, c)
                total += star.up[k] * (e - c) + star.down[k] * (a - c)
                total -= divergence_of_level(u, v, start, o) + first.up[k] * above + first.down[k] * below
                flat_store(r, start, n.here, total)
                largest = max(largest, abs(total))
                squares += float(total * total)
                a, b, c, d, below, here = b, c, d, e, here, above
        store_parts(tree, t, float(largest), squares, partials, True)
        if is_last(flag, t, partials.shape[2], arrived):
            most, squares = both_totals(tree, t, partials, True)
            if t == 0:
                judge_both(control, most, squares)


@cell
def loaded(velocity, force, start, place):
    """v^ of a component, and what its half force holds; see `operator.set_wind`."""
    force_there = flat_load(force, start, place) if FINISHES or not IN_PLACE else real(0.0)
    return (flat_load(velocity, start, place) if IN_PLACE else force_there), force_there


@cell
def store(velocity, force, start, place, new, hat):
    """A component of v and its half force."""
    flat_store(velocity, start, place, new)
    if FINISHES:
        flat_store(force, start, place, new - hat)


@entry
def wind_cuda(phi, out, gradient, periodic, planes):
    """As `operator.set_wind`; grid as of `residual_cuda`."""
    i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
    nz, ny, nx = phi.shape
    if i < nx and j < ny:
        row, bottom, size = np.uint32(j * np.uint32(nx)), cuda.blockIdx.z * planes, ny * nx
        place = np.uint32(row + i)
        west = np.uint32(row + (i - np.uint32(1) if i > 0 else np.uint32(nx - 1)))
        east = np.uint32(row + (i + np.uint32(1) if i < nx - 1 else np.uint32(0)))
        south = np.uint32((j - np.uint32(1) if j > 0 else np.uint32(ny - 1)) * np.uint32(nx) + i)
        north = np.uint32((j + np.uint32(1) if j < ny - 1 else np.uint32(0)) * np.uint32(nx) + i)
        along_x, along_y = gradient.along_x[i], gradient.along_y[j]
        keep_x, keep_y = gradient.keep_x[i], gradient.keep_y[j]
        below = flat_load(phi, level(bottom - 1, nz, size, periodic), place)
        here = flat_load(phi, level(bottom, nz, size, periodic), place)
        for m in range(bottom, min(nz, bottom + planes)):
            k = np.uint32(m)
            start = np.uint32(k * np.uint32(size))
            above = flat_load(phi, level(m + 1, nz, size, periodic), place)
            u, u_hat = loaded(out.x, out.force_x, start, place)
            v, v_hat = loaded(out.y, out.force_y, start, place)
            w, w_hat = loaded(out.z, out.force_z, start, place)
            phi_east, phi_west = flat_load(phi, start, east), flat_load(phi, start, west)
            phi_north, phi_south = flat_load(phi, start, north), flat_load(phi, start, south)
            u = keep_x * (u - gradient.across[k] * along_x * (phi_east - phi_west))
            v = keep_y * (v - gradient.across[k] * along_y * (phi_north - phi_south))
            w = gradient.keep_z[k] * (w - gradient.along_z[k] * (above - below))
            store(out.x, out.force_x, start, place, u, u_hat)
            store(out.y, out.force_y, start, place, v, v_hat)
            store(out.z, out.force_z, start, place, w, w_hat)
            below, here = here, above
