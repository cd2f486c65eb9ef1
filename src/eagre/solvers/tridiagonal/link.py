"""Partitioned lines: reduced equations of a thread's rows, and their coupling between threads, warps and blocks.

A chunk is a sequence of rows of one line that one thread eliminates downwards, retaining the coupling a to the last
unknown of the previous chunk:

    P_i + c_i P_{i+1} + a_i L = d_i,        L the unknown before the chunk.

The reduced equations are its last row, and its first unknown as e - f L - g X, with X the last unknown. Substituting
the first unknown of the next chunk into the last row gives one tridiagonal row in X per chunk. These are solved by
parallel cyclic reduction that retains the couplings to unknowns outside the segment, before it (L) and after it (N): X
+ a L + c N = d. Two adjacent segments then only need the values at their interface, as long as the coupling across a
whole segment is below rounding.

`Ends` is exact for any coupling: the equations of the first and last unknown of a segment. Two adjacent segments are
joined to one. So devices that hold segments of the same lines exchange only the ends (`segment_edges`).

On a GPU, lanes of a warp hold adjacent chunks of one line, and warps of a block adjacent partitions. Lanes are coupled
by cyclic reduction with shuffles, warps by values published in shared memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, cuda, named_barrier, real, switch
from eagre.backend.cuda.warp import from_lane
from eagre.kernels.roots import reciprocal

ENDS = 6  # numbers of `Ends`
WARPS = switch("WARPS", 8)  # warps per block
EXACT = switch("EXACT", False)  # whether the warps of a block are coupled exactly
MAX_PAIRED = 15  # maximum number of warps with a barrier per pair: a block has 16 barriers


class Coupling(NamedTuple):
    """Arrays that couple the blocks of a line: published rows, interface unknowns, flags of blocks, and the guard."""

    table: Any
    interfaces: Any
    flags: Any
    guard: Any


class Chunk(NamedTuple):
    """State of the elimination from row to row."""

    a: Any
    c: Any
    d: Any
    e: Any  # first unknown = e - f L - g P_{i+1}
    f: Any
    g: Any


@cell
def next_row(chunk, a, b, c, d):
    """Eliminate one more row; a chunk starts as (-1, 0, 0, 0, 0, -1), and its last row must leave e, f, g unchanged."""
    over = reciprocal(b - a * chunk.c)
    a_new = -(a * chunk.a) * over
    c_new = c * over
    d_new = (d - a * chunk.d) * over
    g = chunk.g
    return Chunk(a_new, c_new, d_new, chunk.e - g * d_new, chunk.f - g * a_new, -(g * c_new))


@cell
def between_chunks(chunk, e, f, g):
    """Return a, c, d of a chunk's row in X, after substitution of the next chunk's first unknown e - f X - g X_next."""
    over = reciprocal(real(1.0) - chunk.c * f)
    return chunk.a * over, -(chunk.c * g) * over, (chunk.d - chunk.c * e) * over


@cell
def reduced(a, c, d, has_before, has_after, row_0, row_1):
    """Return a, c, d of a row after one step of cyclic reduction with the row before and the row after it."""
    (a_0, c_0, d_0), (a_1, c_1, d_1) = row_0, row_1
    zero, one = real(0.0), real(1.0)
    low = a if has_before else zero
    high = c if has_after else zero
    over = reciprocal(one - low * c_0 - high * a_1)
    a_new = -(a * a_0) if has_before else a
    c_new = -(c * c_1) if has_after else c
    return a_new * over, c_new * over, (d - low * d_0 - high * d_1) * over


@cell
def at_interface(d_low, c_low, d_high, a_high):
    """Return the unknowns before and after an interface from X + c N = d and N + a X = d."""
    last = (d_low - c_low * d_high) * reciprocal(real(1.0) - c_low * a_high)
    return last, d_high - a_high * last


class Ends(NamedTuple):
    """Equations of the last unknown X and the first unknown F of a segment: X + a L + c N = d, F + a' L + c' N = d'."""

    d: Any
    c: Any
    a: Any
    d_first: Any
    a_first: Any
    c_first: Any


@cell
def ends_of(chunk):
    """Return the ends of a segment that was eliminated as one chunk."""
    c, d, g = chunk.c, chunk.d, chunk.g
    return Ends(d, c, chunk.a, chunk.e - g * d, chunk.f - g * chunk.a, -(g * c))


@cell
def ends_joined(low, high):
    """Return the ends of two adjacent segments as one."""
    a, c, d = between_chunks(low, high.d_first, high.a_first, high.c_first)  # of the last unknown of `low`
    d_high, a_high = high.d_first - high.a_first * d, -(high.a_first * a)  # of the first unknown of `high`
    c_high = high.c_first - high.a_first * c
    return Ends(
        high.d - high.a * d, high.c - high.a * c, -(high.a * a),
        low.d_first - low.c_first * d_high, low.a_first - low.c_first * a_high, -(low.c_first * c_high),
    )  # fmt: skip


@cell
def stored_ends(ends, n, i):
    """Return the ends of segment n of line i; ends : (segments, 6, lines)."""
    return Ends(ends[n, 0, i], ends[n, 1, i], ends[n, 2, i], ends[n, 3, i], ends[n, 4, i], ends[n, 5, i])


@cell
def store_ends(ends, i, one):
    """Store the ends of a segment of line i; ends : (6, lines)."""
    ends[0, i], ends[1, i], ends[2, i] = one.d, one.c, one.a
    ends[3, i], ends[4, i], ends[5, i] = one.d_first, one.a_first, one.c_first


@cell
def unknowns_around(ends, n, i):
    """Return the last unknown before segment n of line i and the first one in it, 0 < n < segments."""
    low, high = stored_ends(ends, 0, i), stored_ends(ends, n, i)
    for k in range(1, n):
        low = ends_joined(low, stored_ends(ends, k, i))
    for k in range(n + 1, ends.shape[0]):
        high = ends_joined(high, stored_ends(ends, k, i))
    return at_interface(low.d, low.c, high.d_first, high.a_first)


@cell
def segment_edges(ends, n, i):
    """Return three unknowns of line i: the last one before segment n, the last one in it and the first one after it.

    Unknowns beyond the ends of the line are 0. All devices compute the same bits for an unknown.
    """
    below = above = real(0.0)
    if n > 0:
        below, _ = unknowns_around(ends, n, i)
    if n + 1 < ends.shape[0]:
        last, above = unknowns_around(ends, n + 1, i)
    else:
        here = stored_ends(ends, n, i)
        last = here.d - here.a * below
    return below, last, above


@cell
def join_ends(i, ends, n, edges):
    """Store `segment_edges` of line i in edges, (3, lines)."""
    edges[0, i], edges[1, i], edges[2, i] = segment_edges(ends, n, i)


@cell
def lanes_joined(chunk, lane):
    """Return a, c, d of each lane's last unknown in terms of unknowns outside the warp."""
    up = min(lane + 1, 31)
    e, f, g = from_lane(chunk.e, up), from_lane(chunk.f, up), from_lane(chunk.g, up)
    a, c, d = chunk.a, chunk.c, chunk.d
    if lane < 31:
        a, c, d = between_chunks(chunk, e, f, g)
    step = 1
    while step < 32:
        low, high = max(lane - step, 0), min(lane + step, 31)
        a_0, c_0, d_0 = from_lane(a, low), from_lane(c, low), from_lane(d, low)
        a_1, c_1, d_1 = from_lane(a, high), from_lane(c, high), from_lane(d, high)
        a, c, d = reduced(a, c, d, lane >= step, lane + step < 32, (a_0, c_0, d_0), (a_1, c_1, d_1))
        step *= 2
    return a, c, d


@cell
def from_below(table, parity, count):
    """Return X = u - v F at the interface above the first `count` warps of the block, eliminated upwards."""
    u, v = real(0.0), real(0.0)
    for w in range(count):
        over = reciprocal(real(1.0) - table[parity, w, 4] * v)
        s = (table[parity, w, 3] - table[parity, w, 4] * u) * over
        a = table[parity, w, 2]
        u = table[parity, w, 0] - a * (u - v * s)
        v = table[parity, w, 1] + a * v * table[parity, w, 5] * over
    return u, v


@cell
def from_above(table, parity, first):
    """Return F = s - w X at the interface below warp `first` of the block, eliminated downwards."""
    s, w = real(0.0), real(0.0)
    for back in range(WARPS - first):
        n = WARPS - 1 - back
        c = table[parity, n, 1]
        factor = table[parity, n, 5] * w * reciprocal(real(1.0) - c * w)
        s = table[parity, n, 3] - table[parity, n, 5] * s + factor * (table[parity, n, 0] - c * s)
        w = table[parity, n, 4] + factor * table[parity, n, 2]
    return s, w


@cell
def wait_for_neighbours(warp):
    """Wait for the neighbouring warps: first at the barrier of one parity, then of the other.

    Barrier w is between warps w - 1 and w; warps at the ends of the block have one neighbour.
    """
    one, two = warp + 1 - (warp & 1), warp + (warp & 1)
    named_barrier(one, 64 if one > 0 and one < WARPS else 32)
    named_barrier(two, 64 if two > 0 and two < WARPS else 32)


@wait_for_neighbours.variant("simulator")
def _simulated_wait(warp):
    cuda.syncthreads()


@cell
def publish_ends(table, parity, chunk, a, c, d, lane, warp):
    """Publish the dependencies of the last and the first unknown of this warp; wait until neighbours can read them."""
    if lane == 31:
        table[parity, warp, 0] = d
        table[parity, warp, 1] = c
        table[parity, warp, 2] = a
    if lane == 0:
        table[parity, warp, 3] = chunk.e - chunk.g * d
        table[parity, warp, 4] = chunk.f - chunk.g * a
        table[parity, warp, 5] = -chunk.g * c
    if EXACT or WARPS > MAX_PAIRED:
        cuda.syncthreads()
    else:
        wait_for_neighbours(warp)


@cell
def warps_joined(table, parity, chunk, a, c, d, lane, warp):
    """Return the unknowns before and after this warp from the published values; 0 at the ends of the block.

    Neighbours are sufficient if the coupling across a warp is below rounding; otherwise (EXACT) all warps are used.
    Calls alternate between two tables, so that one barrier per call is sufficient.
    """
    zero = real(0.0)
    if WARPS == 1:
        return zero, zero
    publish_ends(table, parity, chunk, a, c, d, lane, warp)
    below, above = zero, zero
    if EXACT:
        u, v = from_below(table, parity, warp)
        s, w = from_above(table, parity, warp)
        below, _ = at_interface(u, v, s, w)
        u, v = from_below(table, parity, warp + 1)
        s, w = from_above(table, parity, warp + 1)
        _, above = at_interface(u, v, s, w)
        return below, above
    if warp > 0:
        below, _ = at_interface(
            table[parity, warp - 1, 0], table[parity, warp - 1, 1], table[parity, warp, 3], table[parity, warp, 4]
        )  # fmt: skip
    if warp < WARPS - 1:
        _, above = at_interface(
            table[parity, warp, 0], table[parity, warp, 1], table[parity, warp + 1, 3], table[parity, warp + 1, 4]
        )  # fmt: skip
    return below, above


@cell
def lost_coupling(chunk, a, c, lane, warp):
    """Return the maximum coupling across a whole warp, which `warps_joined` neglects."""
    lost = real(0.0)
    if not EXACT and lane == 31 and warp > 0:
        lost = abs(a)
    if not EXACT and lane == 0 and warp < WARPS - 1:
        lost = abs(chunk.g * c)
    return lost
