"""Rows in pieces on a GPU: the lanes of a warp hold neighbouring chunks of one line."""

from eagre.backend.cells import cell
from eagre.backend.warp import from_lane
from eagre.solvers.tridiagonal.link import between_chunks, reduced


@cell
def lanes_joined(chunk, lane):
    """a, c, d of each lane's last unknown in terms of what lies outside the warp."""
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
