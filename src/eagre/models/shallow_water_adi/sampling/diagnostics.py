"""Diagnostics of a state: sums over the domain and the search for cells that are not finite."""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, prange, real
from eagre.kernels.bits import is_bad
from eagre.kernels.water_sums import BLOCK, DEEPEST, FASTEST, KINETIC, POTENTIAL, SHALLOWEST, VOLUME, WATER_SUMS, WET
from eagre.models.shallow_water_adi.kernels import LAND, depth, minimum_depth
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.models.shallow_water_adi.sampling.velocity import velocity_x, velocity_y

FIRST_BAD = WATER_SUMS
SUMS = WATER_SUMS + 1
NOWHERE = 1e18


@cell
def terms_of(z, d, p_flux, q_before, q_after, j, i, p):
    """Return signed depth, depth, kinetic and potential energy per area and density, and speed; all 0 on land.

    q_before, q_after : half a step before and after the state.
    """
    bed = d[j, i]
    if bed > real(LAND):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    signed = z[j, i] - bed
    h = depth(z[j, i], bed)
    u = velocity_x(j, i, z, d, p_flux[j, i], p_flux[j, i + 1], minimum_depth(p))
    q_low = real(0.5) * (q_before[j, i] + q_after[j, i])
    q_high = real(0.5) * (q_before[j + 1, i] + q_after[j + 1, i])
    v = velocity_y(j, i, z, d, q_low, q_high, minimum_depth(p))
    u2 = u * u + v * v
    return (
        float(signed),
        float(h),
        0.5 * float(h) * float(u2),
        0.5 * float(p.g) * float(z[j, i] + bed) * float(h),
        math.sqrt(float(u2)) if h > p.dry + p.dry else 0.0,
    )


@cell
def bad_here(z, p_flux, q_flux, j, i):
    """Return whether z or a flux of the low faces of cell (j, i) is not finite."""
    return is_bad(z[j, i]) or is_bad(p_flux[j, i]) or is_bad(q_flux[j, i])


@entry
def row_sums_cpu(z, d, p_flux, q_before, q_after, sums, nx, p):
    """Set sums[j] to sums and extremes over row j, in double precision and a fixed order."""
    for row in prange(sums.shape[0]):
        j = row + 1
        volume, kinetic, potential, wet, deepest, shallowest, fastest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        first = NOWHERE
        for k in range(nx):
            i = k + PADDING
            signed, h, e_k, e_p, speed = terms_of(z, d, p_flux, q_before, q_after, j, i, p)
            volume += signed
            kinetic += e_k
            potential += e_p
            wet += 1.0 if h > p.dry else 0.0
            deepest = max(deepest, h)
            shallowest = min(shallowest, signed)
            fastest = max(fastest, speed)
            if bad_here(z, p_flux, q_after, j, i):
                first = min(first, float(k))
        sums[row, VOLUME] = volume
        sums[row, KINETIC] = kinetic
        sums[row, POTENTIAL] = potential
        sums[row, WET] = wet
        sums[row, DEEPEST] = deepest
        sums[row, SHALLOWEST] = shallowest
        sums[row, FASTEST] = fastest
        sums[row, FIRST_BAD] = first


@entry
def row_sums_cuda(z, d, p_flux, q_before, q_after, sums, nx, p):
    """See `row_sums_cpu`; one block per row, with a tree reduction over its threads."""
    tree = cuda.shared.array((SUMS, BLOCK), np.float64)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    for n in range(SUMS):
        tree[n, t] = 0.0
    tree[FIRST_BAD, t] = NOWHERE
    for k in range(t, nx, BLOCK):
        signed, h, e_k, e_p, speed = terms_of(z, d, p_flux, q_before, q_after, row + 1, k + PADDING, p)
        tree[VOLUME, t] += signed
        tree[KINETIC, t] += e_k
        tree[POTENTIAL, t] += e_p
        tree[WET, t] += 1.0 if h > p.dry else 0.0
        tree[DEEPEST, t] = max(tree[DEEPEST, t], h)
        tree[SHALLOWEST, t] = min(tree[SHALLOWEST, t], signed)
        tree[FASTEST, t] = max(tree[FASTEST, t], speed)
        if bad_here(z, p_flux, q_after, row + 1, k + PADDING):
            tree[FIRST_BAD, t] = min(tree[FIRST_BAD, t], float(k))
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if t < half:
            for n in range(DEEPEST):
                tree[n, t] += tree[n, t + half]
            tree[DEEPEST, t] = max(tree[DEEPEST, t], tree[DEEPEST, t + half])
            tree[SHALLOWEST, t] = min(tree[SHALLOWEST, t], tree[SHALLOWEST, t + half])
            tree[FASTEST, t] = max(tree[FASTEST, t], tree[FASTEST, t + half])
            tree[FIRST_BAD, t] = min(tree[FIRST_BAD, t], tree[FIRST_BAD, t + half])
        cuda.syncthreads()
        half //= 2
    if t < SUMS:
        sums[row, t] = tree[t, 0]
