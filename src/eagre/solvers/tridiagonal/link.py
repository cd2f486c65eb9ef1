"""Lines in pieces: what a thread's rows leave, and what is solved between threads, warps and blocks.

A chunk is a run of rows of one line that one thread eliminates downwards, keeping the coupling a to
the last unknown of the chunk before:

    P_i + c_i P_{i+1} + a_i L = d_i,        L the unknown before the chunk.

Of it remain its last row, and its first unknown as e - f L - g X, X the last unknown. Putting the
first unknown of the next chunk into the last row leaves one tridiagonal row in X a chunk. These are
solved by parallel cyclic reduction that keeps the couplings to what lies outside the segment, before
it (L) and behind it (N):  X + a L + c N = d.  Two neighbouring segments then need only what stands at
their common end, as long as the coupling across a whole segment is below rounding.
"""

from typing import Any, NamedTuple

from eagre.backend.cells import cell, real
from eagre.kernels.roots import reciprocal


class Chunk(NamedTuple):
    """What the elimination carries from row to row."""

    a: Any
    c: Any
    d: Any
    e: Any  # first unknown = e - f L - g P_{i+1}
    f: Any
    g: Any


@cell
def next_row(chunk, a, b, c, d):
    """One more row; a chunk begins as (-1, 0, 0, 0, 0, -1), and its last row must leave e, f, g as they are."""
    over = reciprocal(b - a * chunk.c)
    a_new = -(a * chunk.a) * over
    c_new = c * over
    d_new = (d - a * chunk.d) * over
    g = chunk.g
    return Chunk(a_new, c_new, d_new, chunk.e - g * d_new, chunk.f - g * a_new, -(g * c_new))


@cell
def between_chunks(chunk, e, f, g):
    """a, c, d of a chunk's row in X, with the next chunk's first unknown e - f X - g X_next put in."""
    over = reciprocal(real(1.0) - chunk.c * f)
    return chunk.a * over, -(chunk.c * g) * over, (chunk.d - chunk.c * e) * over


@cell
def reduced(a, c, d, before, behind, a_0, c_0, d_0, a_1, c_1, d_1):
    """A row after one step of cyclic reduction with the rows _0 before and _1 behind, where there are such."""
    zero, one = real(0.0), real(1.0)
    low = a if before else zero
    high = c if behind else zero
    over = reciprocal(one - low * c_0 - high * a_1)
    a_new = -(a * a_0) if before else a
    c_new = -(c * c_1) if behind else c
    return a_new * over, c_new * over, (d - low * d_0 - high * d_1) * over


@cell
def at_seam(d_low, c_low, d_high, a_high):
    """Last unknown before a seam and first behind it, from X + c N = d and N + a X = d."""
    last = (d_low - c_low * d_high) * reciprocal(real(1.0) - c_low * a_high)
    return last, d_high - a_high * last
