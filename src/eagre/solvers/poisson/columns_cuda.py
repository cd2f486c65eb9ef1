"""The column systems of `columns` on a GPU: COLUMNS wavenumbers a block over the full height.

A thread owns OWN consecutive rows of one wavenumber in registers, and the lanes of a warp own
COLUMNS wavenumbers x 32 / COLUMNS neighbouring pieces. A recurrence runs through every piece by itself, the
ends of the pieces are chained (by shuffles in a warp, through shared memory between warps), and the
recurrence runs again from the right start.
"""

from __future__ import annotations

import math

from eagre.backend.cells import cell, cuda, entry, real, switch
from eagre.backend.warp import lane_from_above, lane_from_below
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, LEAP1, LEAP2, LEAP4, SCALE

OWN = switch("OWN", 4)
COLUMNS = switch("COLUMNS", 8)
MOST_WARPS = 32
FAR = 40.0  # exp(-FAR) is nothing


@cell
def chained(end, shared, leap1, leap2, leap4, lane, warp, warps, upwards):
    """What the recurrence hands to this piece, from the ends of all pieces before it (after it, if upwards).

    The value handed from piece to piece fades by 1 - leap1, over two and four pieces by 1 - leap2 and 1 - leap4.
    """
    column = lane % COLUMNS
    piece = lane // COLUMNS
    pieces = 32 // COLUMNS
    if upwards:
        piece = pieces - 1 - piece
    # Sum over this piece and those before it in the warp.
    total = end
    other = lane_from_above(total, COLUMNS) if upwards else lane_from_below(total, COLUMNS)
    if piece >= 1:
        total += other - leap1 * other
    other = lane_from_above(total, 2 * COLUMNS) if upwards else lane_from_below(total, 2 * COLUMNS)
    fade = leap2
    if piece >= 2:
        total += other - fade * other
    whole = leap4
    if pieces == 8:
        other = lane_from_above(total, 4 * COLUMNS) if upwards else lane_from_below(total, 4 * COLUMNS)
        if piece >= 4:
            total += other - leap4 * other
        whole = leap4 + leap4 - leap4 * leap4
    if piece == pieces - 1:
        shared[warp, column] = total
    before = lane_from_above(total, COLUMNS) if upwards else lane_from_below(total, COLUMNS)
    if piece == 0:
        before = real(0.0)
    cuda.syncthreads()
    carry = real(0.0)
    for step in range(1, warps):
        if upwards:
            w = warps - step
            if w > warp:
                carry += shared[w, column] - whole * carry
        else:
            w = step - 1
            if w < warp:
                carry += shared[w, column] - whole * carry
    cuda.syncthreads()
    # The carry fades over the pieces of this warp that lie before this one.
    if piece & 1:
        carry -= leap1 * carry
    if piece & 2:
        carry -= leap2 * carry
    if piece & 4:
        carry -= leap4 * carry
    return before + carry


@entry
def solve_columns_cuda(source, out, table):
    """out = psi^ from source = zeta^, both (ny + 1, >= nx), interior rows 1 .. ny - 1.

    Block: COLUMNS times the number of pieces; grid: nx / COLUMNS.
    """
    shared = cuda.shared.array((MOST_WARPS, COLUMNS), real)
    g = cuda.local.array(OWN, real)
    t = cuda.threadIdx.x
    lane = t % 32
    warp = t // 32
    warps = cuda.blockDim.x // 32
    ny = source.shape[0] - 1
    k = cuda.blockIdx.x * COLUMNS + lane % COLUMNS
    inside = k < table.shape[1]
    k = k if inside else 0
    j0 = 1 + t // COLUMNS * OWN
    delta = table[DELTA, k]
    leap1 = table[LEAP1, k]
    leap2 = table[LEAP2, k]
    leap4 = table[LEAP4, k]
    for m in range(OWN):
        g[m] = source[j0 + m, k] if j0 + m < ny else real(0.0)
    x = real(0.0)
    for m in range(OWN):
        x = g[m] + x - delta * x
    x = chained(x, shared, leap1, leap2, leap4, lane, warp, warps, False)
    for m in range(OWN):
        x = g[m] + x - delta * x
        g[m] = x if j0 + m < ny else real(0.0)
    x = real(0.0)
    for m in range(OWN):
        x = g[OWN - 1 - m] + x - delta * x
    x = chained(x, shared, leap1, leap2, leap4, lane, warp, warps, True)
    for m in range(OWN):
        x = g[OWN - 1 - m] + x - delta * x
        g[OWN - 1 - m] = x
    if j0 == 1:
        shared[0, lane % COLUMNS] = (x - delta * x) * table[IMAGE, k]
    cuda.syncthreads()
    wall = shared[0, lane % COLUMNS]
    mend(g, wall, delta, table[DECAY, k], j0, ny)
    scale = table[SCALE, k]
    if inside:
        for m in range(OWN):
            if j0 + m < ny:
                out[j0 + m, k] = scale * g[m]


@cell
def mend(g, wall, delta, decay, j0, ny):
    """Subtract the homogeneous solution wall (r^j - r^(2 ny - j)) that makes row 0 vanish, where it is felt."""
    if decay * real(j0) < real(FAR):
        h = wall * math.exp(-(decay * real(j0)))
        for m in range(OWN):
            g[m] -= h
            h -= delta * h
        h = wall * math.exp(-(decay * real(2 * ny - j0 - OWN + 1)))
        for m in range(OWN):
            g[OWN - 1 - m] += h
            h -= delta * h
