"""Partitioned rows on a GPU: lanes of a warp hold adjacent chunks of one line, warps of a block adjacent partitions.

Lanes are coupled by cyclic reduction with shuffles, warps by values published in shared memory.
"""

from eagre.backend.compilation.cells import cell, cuda, named_barrier, real, switch
from eagre.backend.cuda.warp import from_lane
from eagre.kernels.roots import reciprocal
from eagre.solvers.tridiagonal.link import at_interface, between_chunks, reduced

WARPS = switch("WARPS", 8)  # warps per block
EXACT = switch("EXACT", False)  # whether the warps of a block are coupled exactly
MAX_PAIRED = 15  # maximum number of warps with a barrier per pair: a block has 16 barriers


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
