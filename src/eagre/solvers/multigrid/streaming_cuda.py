"""Fine grids of a V(1,1) cycle on a GPU: two launches per grid, which recompute intermediate values.

With a zero initial guess the first red half sweep is -f / D at a point, and the first black one needs only the adjacent
red points: all values before the coarser grid depend on f in a neighbourhood. `down` computes them and stores only the
right-hand side of the coarser grid; `up` computes them again, adds the coarser solution and makes the last sweep. f is
read twice and u written once, a third of the traffic of separate sweeps.

A warp streams along y through a slab of 64 columns of one layer. A lane has two points of each row, one red and one
black. Rows stay in registers until the half sweeps that follow have passed: with row j, u is known after the first red
half sweep in row j, after the first black one in j - 1, after the second red one in j - 2 and after the second black
one in j - 3. Four columns on each side and three rows at each end are only read.

On the finest grid, a word can hold two layers, 16 bits per value: half of the traffic. A cycle only computes
corrections, whose errors the next residual corrects, so 8 significant bits are sufficient. A warp processes both layers
of a pair: indices and screening are used twice, and two independent dependency chains overlap.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    load_offset32,
    real,
    store_offset32,
    two_in_word,
    two_of_word,
)
from eagre.backend.cuda.warp import from_lane_above, from_lane_below
from eagre.kernels.neighbour_indices import ends_of, folded
from eagre.stepping.convergence_loop import is_iterating

LANES = 32
STRIP = 56  # columns per warp
HALO_COLUMNS = 4  # additional columns read on each side


@cell
def near(m, ends):
    """Return the index of the point at m; positions farther outside than the halo are clipped."""
    return np.int32(folded(np.int32(min(m, np.int32(ends.n + HALO_COLUMNS))), ends))


@cell
def columns_of(nx, periodic):
    """Return the two columns of this lane: position, and index in the grid."""
    first = np.int32(np.int32(cuda.blockIdx.x) * STRIP - HALO_COLUMNS + 2 * np.int32(cuda.threadIdx.x))
    ends = ends_of(nx, periodic)
    return first, near(first, ends), near(np.int32(first + 1), ends)


@cell
def rows_of(ny, rows):
    """Return the first row of this warp and one past its last row."""
    start = np.int32(np.int32(cuda.blockIdx.y) * rows)
    return start, np.int32(min(np.int32(start + rows), ny))


@cell
def is_within(j, start, end):
    """Return whether row j belongs to this warp."""
    return j >= start and j < end


@cell
def row(f, q, base, j, ends, nx, here):
    """Return f and q of row j at this lane's points."""
    offset = np.int32(near(np.int32(j), ends) * nx)
    west, east = np.uint32(offset + here[0]), np.uint32(offset + here[1])
    return (
        load_offset32(f, base, west), load_offset32(f, base, east),
        load_offset32(q, 0, west), load_offset32(q, 0, east),
    )  # fmt: skip


@cell
def row_neighbours(u, odd):
    """Return the sum of the values left and right of this lane's other point; u is at the odd or the even columns."""
    if odd:
        return from_lane_below(u, 1) + u
    return u + from_lane_above(u, 1)


@cell
def down_row(odd, state, read, s, points):
    """Process a row: the residual of the red points two rows before becomes available.

    state: u after the red half sweep in the last two rows, after the black one in the two before the last; f and 1 / D
    of the last row's black points.
    """
    red_1, red_2, black_2, black_3, right_1, over_1 = state
    diagonal = real(2.0) * (points.over_dx2 + points.over_dy2)
    west, east = real(1.0) / (diagonal + s * read[2]), real(1.0) / (diagonal + s * read[3])
    if odd:
        red, right, over = -read[1] * east, read[0], west
    else:
        red, right, over = -read[0] * west, read[1], east
    black = (points.over_dx2 * row_neighbours(red_1, not odd) + points.over_dy2 * (red + red_2) - right_1) * over_1
    left = -(points.over_dx2 * row_neighbours(black_2, not odd) + points.over_dy2 * (black + black_3))
    return left, (red, red_1, black, black_2, right, over)


@entry
def down(f, screening, coarse, layers, rows, points, control):
    """Compute the right-hand side of the coarser grid, coarsened along both axes, after a sweep from zero."""
    if is_iterating(control):
        m = np.int64(cuda.blockIdx.z) * np.int64(cuda.blockDim.y) + np.int64(cuda.threadIdx.y)
        layer, zero = min(m, np.int64(layers - 1)), real(0.0)
        ny, nx, coarse_nx = np.int32(f.shape[1]), np.int32(f.shape[2]), np.int32(coarse.shape[2])
        first, west, east = columns_of(nx, points.periodic_x)
        here, lane = (west, east), np.int32(cuda.threadIdx.x)
        base, coarse_base = layer * ny * nx, layer * coarse.shape[1] * coarse_nx
        q, screened = screening.q, screening.s[layer]
        stored = m == layer and lane >= 2 and lane < 2 + STRIP // 2 and first >> 1 < coarse_nx
        start, end = rows_of(ny, np.int32(rows))
        j, ends = np.int32(start - HALO_COLUMNS), ends_of(ny, points.periodic_y)
        even = row(f, q, base, j, ends, nx, here)
        odd = row(f, q, base, j + 1, ends, nx, here)
        state, previous_corners = (zero, zero, zero, zero, zero, zero), zero
        last = np.int32(end + 2)
        while j <= last:
            next_even = row(f, q, base, j + 2, ends, nx, here)
            next_odd = row(f, q, base, j + 3, ends, nx, here)
            centre, state = down_row(False, state, even, screened, points)
            corners, state = down_row(True, state, odd, screened, points)
            corners += from_lane_below(corners, 1)
            if stored and is_within(np.int32(j - 2), start, end):
                value = real(0.25) * centre + real(0.0625) * (previous_corners + corners)
                store_offset32(coarse, coarse_base, np.uint32(((j - 2) >> 1) * coarse_nx + (first >> 1)), value)
            previous_corners, even, odd = corners, next_even, next_odd
            j = np.int32(j + 2)


@cell
def up_row(odd, state, read, added, s, points):
    """Process a row: both colours of the row three before are complete.

    state: u after the first red half sweep in the last two rows, after the first black one with the coarse correction
    in the two before the last, after the second red one in the two before those; f and 1 / D of the red points of the
    last two rows, of the black points of the last three; coarse correction of the last row.
    """
    red_1, red_2, black_2, black_3, new_3, new_4, reds, blacks, added_1 = state
    diagonal = real(2.0) * (points.over_dx2 + points.over_dy2)
    west, east = real(1.0) / (diagonal + s * read[2]), real(1.0) / (diagonal + s * read[3])
    if odd:
        red_terms, black_terms = (read[1], east), (read[0], west)
    else:
        red_terms, black_terms = (read[0], west), (read[1], east)
    red = -red_terms[0] * red_terms[1]
    total = points.over_dx2 * row_neighbours(red_1, not odd) + points.over_dy2 * (red + red_2)
    black = (total - blacks[0]) * blacks[1] + added_1
    total = points.over_dx2 * row_neighbours(black_2, not odd) + points.over_dy2 * (black + black_3)
    new = (total - reds[2]) * reds[3]
    total = points.over_dx2 * row_neighbours(new_3, not odd) + points.over_dy2 * (new + new_4)
    last = (total - blacks[4]) * blacks[5]
    kept_reds = (red_terms[0], red_terms[1], reds[0], reds[1])
    kept_blacks = (black_terms[0], black_terms[1], blacks[0], blacks[1], blacks[2], blacks[3])
    return new_3, last, (red, red_1, black, black_2, new, new_3, kept_reds, kept_blacks, added)


@entry
def up(u, f, screening, e, layers, rows, points, control):
    """Compute the solution of a grid from that of the coarser one, e: repeat `down`, add e, and make a sweep."""
    if is_iterating(control):
        m = np.int64(cuda.blockIdx.z) * np.int64(cuda.blockDim.y) + np.int64(cuda.threadIdx.y)
        layer, zero = min(m, np.int64(layers - 1)), real(0.0)
        ny, nx, coarse_nx = np.int32(f.shape[1]), np.int32(f.shape[2]), np.int32(e.shape[2])
        first, west, east = columns_of(nx, points.periodic_x)
        here, lane = (west, east), np.int32(cuda.threadIdx.x)
        base, coarse_base = layer * ny * nx, layer * e.shape[1] * coarse_nx
        q, screened = screening.q, screening.s[layer]
        inside = m == layer and lane >= 2 and lane < 2 + STRIP // 2
        start, end = rows_of(ny, np.int32(rows))
        j, ends = np.int32(start - HALO_COLUMNS), ends_of(ny, points.periodic_y)
        even, odd = row(f, q, base, j, ends, nx, here), row(f, q, base, j + 1, ends, nx, here)
        below = above_of(e, coarse_base, j, ends, coarse_nx, west)
        four, six = (zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero)
        state = (zero, zero, zero, zero, zero, zero, four, six, zero)
        last = np.int32(end + 3)
        while j <= last:
            next_even, next_odd = row(f, q, base, j + 2, ends, nx, here), row(f, q, base, j + 3, ends, nx, here)
            above = above_of(e, coarse_base, j + 2, ends, coarse_nx, west)
            # Black points are between two points of a coarser row in even rows, and between two rows in odd rows.
            added = real(0.5) * (below + from_lane_above(below, 1))
            red, black, state = up_row(False, state, even, added, screened, points)
            if inside and is_within(np.int32(j - 3), start, end):  # an odd row: its red point is in the odd column
                put(u, base, (j - 3) * nx, first, black, red, nx)
            red, black, state = up_row(True, state, odd, real(0.5) * (below + above), screened, points)
            if inside and is_within(np.int32(j - 2), start, end):
                put(u, base, (j - 2) * nx, first, red, black, nx)
            even, odd, below = next_even, next_odd, above
            j = np.int32(j + 2)


@cell
def above_of(e, base, j, ends, coarse_nx, column):
    """Return the coarser solution at an even row j of this grid and this lane's even column."""
    return load_offset32(e, base, np.uint32((near(np.int32(j), ends) >> 1) * coarse_nx + (column >> 1)))


@cell
def put(u, base, offset, column, west, east, nx):
    """Store this lane's two points of the row that starts at `offset`."""
    if column < nx:
        store_offset32(u, base, np.uint32(offset + column), west)
    if np.int32(column + 1) < nx:
        store_offset32(u, base + 1, np.uint32(offset + column), east)


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
