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
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.roots import reciprocal

ENDS = 6  # numbers of `Ends`


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
