"""Partitioned lines: reduced equations of a thread's rows, and their coupling between threads, warps and blocks.

A chunk is a sequence of rows of one line that one thread eliminates downwards, retaining the coupling a to the last
unknown of the previous chunk:

    P_i + c_i P_{i+1} + a_i L = d_i,        L the unknown before the chunk.

The reduced equations are its last row, and its first unknown as e - f L - g X, with X the last unknown. Substituting
the first unknown of the next chunk into the last row gives one tridiagonal row in X per chunk. These are solved by
parallel cyclic reduction that retains the couplings to unknowns outside the segment, before it (L) and after it (N): X
+ a L + c N = d. Two adjacent segments then only need the values at their interface, as long as the coupling across a
whole segment is below rounding.
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.roots import reciprocal


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
