"""`marches_cuda` on the finest grid with two layers per word, 16 bits per value: half of the traffic.

A cycle only computes corrections, whose errors the next residual corrects, so 8 significant bits are sufficient. A warp
processes both layers of a pair: indices and screening are used twice, and two independent dependency chains overlap.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, real, store_offset32, two_in_word, two_of_word
from eagre.backend.cuda.warp import from_lane_above, from_lane_below
from eagre.kernels.neighbour_indices import ends_of
from eagre.solvers.multigrid.streaming_cuda import (
    HALO_COLUMNS,
    STRIP,
    above_of,
    columns_of,
    down_row,
    is_within,
    put,
    row,
    rows_of,
    up_row,
)
from eagre.stepping.convergence_loop import is_iterating


@cell
def each_of(read):
    """Return the values of a row for each layer, from `row` with pairs in f."""
    west, east = two_of_word(read[0]), two_of_word(read[1])
    return (west[0], east[0], read[2], read[3]), (west[1], east[1], read[2], read[3])


@cell
def layers_of_pair(layers):
    """Return the pair of this warp and its layers; for an odd number the last layer replaces the missing one."""
    m = np.int64(cuda.blockIdx.z) * np.int64(cuda.blockDim.y) + np.int64(cuda.threadIdx.y)
    pair = min(m, np.int64((layers - 1) // 2))
    return m == pair, pair, 2 * pair, min(2 * pair + 1, np.int64(layers - 1))


@entry
def down_pairs(f, screening, coarse, layers, rows, points, control):
    """See `down`."""
    if is_iterating(control):
        mine, pair, low, high = layers_of_pair(layers)
        zero = real(0.0)
        ny, nx, coarse_nx = np.int32(f.shape[1]), np.int32(f.shape[2]), np.int32(coarse.shape[2])
        first, west, east = columns_of(nx, points.periodic_x)
        here, lane = (west, east), np.int32(cuda.threadIdx.x)
        base, coarse_size = pair * ny * nx, coarse.shape[1] * coarse_nx
        s_low, s_high, q = screening.s[low], screening.s[high], screening.q
        stored = mine and lane >= 2 and lane < 2 + STRIP // 2 and first >> 1 < coarse_nx
        start, end = rows_of(ny, np.int32(rows))
        j, ends = np.int32(start - HALO_COLUMNS), ends_of(ny, points.periodic_y)
        even = row(f, q, base, j, ends, nx, here)
        odd = row(f, q, base, j + 1, ends, nx, here)
        of_low, of_high = (zero, zero, zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero)
        before_low, before_high = zero, zero
        last = np.int32(end + 2)
        while j <= last:
            next_even = row(f, q, base, j + 2, ends, nx, here)
            next_odd = row(f, q, base, j + 3, ends, nx, here)
            read_low, read_high = each_of(even)
            centre_low, of_low = down_row(False, of_low, read_low, s_low, points)
            centre_high, of_high = down_row(False, of_high, read_high, s_high, points)
            read_low, read_high = each_of(odd)
            corners_low, of_low = down_row(True, of_low, read_low, s_low, points)
            corners_high, of_high = down_row(True, of_high, read_high, s_high, points)
            corners_low += from_lane_below(corners_low, 1)
            corners_high += from_lane_below(corners_high, 1)
            if stored and is_within(np.int32(j - 2), start, end):
                index = np.uint32(((j - 2) >> 1) * coarse_nx + (first >> 1))
                value = real(0.25) * centre_low + real(0.0625) * (before_low + corners_low)
                store_offset32(coarse, low * coarse_size, index, value)
                if high > low:
                    value = real(0.25) * centre_high + real(0.0625) * (before_high + corners_high)
                    store_offset32(coarse, high * coarse_size, index, value)
            before_low, before_high, even, odd = corners_low, corners_high, next_even, next_odd
            j = np.int32(j + 2)


@entry
def up_pairs(u, f, screening, e, layers, rows, points, control):
    """See `up`."""
    if is_iterating(control):
        mine, pair, low, high = layers_of_pair(layers)
        zero = real(0.0)
        ny, nx, coarse_nx = np.int32(f.shape[1]), np.int32(f.shape[2]), np.int32(e.shape[2])
        first, west, east = columns_of(nx, points.periodic_x)
        here, lane = (west, east), np.int32(cuda.threadIdx.x)
        base, coarse_size = pair * ny * nx, e.shape[1] * coarse_nx
        e_low, e_high = low * coarse_size, high * coarse_size
        s_low, s_high, q = screening.s[low], screening.s[high], screening.q
        inside = mine and lane >= 2 and lane < 2 + STRIP // 2
        start, end = rows_of(ny, np.int32(rows))
        j, ends = np.int32(start - HALO_COLUMNS), ends_of(ny, points.periodic_y)
        even, odd = row(f, q, base, j, ends, nx, here), row(f, q, base, j + 1, ends, nx, here)
        below_low = above_of(e, e_low, j, ends, coarse_nx, west)
        below_high = above_of(e, e_high, j, ends, coarse_nx, west)
        four, six = (zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero)
        of_low = (zero, zero, zero, zero, zero, zero, four, six, zero)
        of_high = (zero, zero, zero, zero, zero, zero, four, six, zero)
        last = np.int32(end + 3)
        while j <= last:
            next_even, next_odd = row(f, q, base, j + 2, ends, nx, here), row(f, q, base, j + 3, ends, nx, here)
            above_low = above_of(e, e_low, j + 2, ends, coarse_nx, west)
            above_high = above_of(e, e_high, j + 2, ends, coarse_nx, west)
            read_low, read_high = each_of(even)
            added = real(0.5) * (below_low + from_lane_above(below_low, 1))
            red_low, black_low, of_low = up_row(False, of_low, read_low, added, s_low, points)
            added = real(0.5) * (below_high + from_lane_above(below_high, 1))
            red_high, black_high, of_high = up_row(False, of_high, read_high, added, s_high, points)
            red, black = two_in_word(red_low, red_high), two_in_word(black_low, black_high)
            if inside and is_within(np.int32(j - 3), start, end):
                put(u, base, (j - 3) * nx, first, black, red, nx)
            read_low, read_high = each_of(odd)
            added = real(0.5) * (below_low + above_low)
            red_low, black_low, of_low = up_row(True, of_low, read_low, added, s_low, points)
            added = real(0.5) * (below_high + above_high)
            red_high, black_high, of_high = up_row(True, of_high, read_high, added, s_high, points)
            red, black = two_in_word(red_low, red_high), two_in_word(black_low, black_high)
            if inside and is_within(np.int32(j - 2), start, end):
                put(u, base, (j - 2) * nx, first, red, black, nx)
            even, odd, below_low, below_high = next_even, next_odd, above_low, above_high
            j = np.int32(j + 2)
