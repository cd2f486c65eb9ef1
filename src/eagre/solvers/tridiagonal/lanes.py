"""Partitioned rows on a GPU: lanes of a warp hold adjacent chunks of one line, warps of a block adjacent partitions.

Lanes are coupled by cyclic reduction with shuffles, warps by values published in shared memory.
"""

from eagre.backend.cells import cell, cuda, named_barrier, real, switch
from eagre.backend.warp import from_lane
from eagre.kernels.roots import reciprocal
from eagre.solvers.tridiagonal.link import at_seam, between_chunks, reduced

WARPS = switch("WARPS", 8)  # warps per block
EXACT = switch("EXACT", False)  # whether the warps of a block are coupled exactly
MOST_PAIRED = 15  # maximum number of warps with a barrier per pair: a block has 16 barriers


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
        a, c, d = reduced(a, c, d, lane >= step, lane + step < 32, a_0, c_0, d_0, a_1, c_1, d_1)
        step *= 2
    return a, c, d


@cell
def from_below(told, turn, count):
    """Return X = u - v F at the interface above the first `count` warps of the block, eliminated upwards."""
    u, v = real(0.0), real(0.0)
    for w in range(count):
        over = reciprocal(real(1.0) - told[turn, w, 4] * v)
        s = (told[turn, w, 3] - told[turn, w, 4] * u) * over
        a = told[turn, w, 2]
        u = told[turn, w, 0] - a * (u - v * s)
        v = told[turn, w, 1] + a * v * told[turn, w, 5] * over
    return u, v


@cell
def from_above(told, turn, first):
    """Return F = s - w X at the interface below warp `first` of the block, eliminated downwards."""
    s, w = real(0.0), real(0.0)
    for back in range(WARPS - first):
        n = WARPS - 1 - back
        c = told[turn, n, 1]
        share = told[turn, n, 5] * w * reciprocal(real(1.0) - c * w)
        s = told[turn, n, 3] - told[turn, n, 5] * s + share * (told[turn, n, 0] - c * s)
        w = told[turn, n, 4] + share * told[turn, n, 2]
    return s, w


@cell
def meet_neighbours(warp):
    """Wait for the neighbouring warps: first at the barrier of one parity, then of the other.

    Barrier w is between warps w - 1 and w; warps at the ends of the block have one neighbour.
    """
    one, two = warp + 1 - (warp & 1), warp + (warp & 1)
    named_barrier(one, 64 if one > 0 and one < WARPS else 32)
    named_barrier(two, 64 if two > 0 and two < WARPS else 32)


@meet_neighbours.variant("simulator")
def _simulated_meeting(warp):
    cuda.syncthreads()


@cell
def tell(told, turn, chunk, a, c, d, lane, warp):
    """Publish the dependencies of the last and the first unknown of this warp; wait until neighbours can read them."""
    if lane == 31:
        told[turn, warp, 0] = d
        told[turn, warp, 1] = c
        told[turn, warp, 2] = a
    if lane == 0:
        told[turn, warp, 3] = chunk.e - chunk.g * d
        told[turn, warp, 4] = chunk.f - chunk.g * a
        told[turn, warp, 5] = -chunk.g * c
    if EXACT or WARPS > MOST_PAIRED:
        cuda.syncthreads()
    else:
        meet_neighbours(warp)


@cell
def warps_joined(told, turn, chunk, a, c, d, lane, warp):
    """Return the unknowns before and after this warp from the published values; 0 at the ends of the block.

    Neighbours are sufficient if the coupling across a warp is below rounding; otherwise (EXACT) all warps are used.
    Calls alternate between two tables, so that one barrier per call is sufficient.
    """
    zero = real(0.0)
    if WARPS == 1:
        return zero, zero
    tell(told, turn, chunk, a, c, d, lane, warp)
    before, behind = zero, zero
    if EXACT:
        u, v = from_below(told, turn, warp)
        s, w = from_above(told, turn, warp)
        before, _ = at_seam(u, v, s, w)
        u, v = from_below(told, turn, warp + 1)
        s, w = from_above(told, turn, warp + 1)
        _, behind = at_seam(u, v, s, w)
        return before, behind
    if warp > 0:
        before, _ = at_seam(
            told[turn, warp - 1, 0], told[turn, warp - 1, 1], told[turn, warp, 3], told[turn, warp, 4]
        )  # fmt: skip
    if warp < WARPS - 1:
        _, behind = at_seam(
            told[turn, warp, 0], told[turn, warp, 1], told[turn, warp + 1, 3], told[turn, warp + 1, 4]
        )  # fmt: skip
    return before, behind


@cell
def lost_coupling(chunk, a, c, lane, warp):
    """Return the maximum coupling across a whole warp, which `warps_joined` neglects."""
    lost = real(0.0)
    if not EXACT and lane == 31 and warp > 0:
        lost = abs(a)
    if not EXACT and lane == 0 and warp < WARPS - 1:
        lost = abs(chunk.g * c)
    return lost
