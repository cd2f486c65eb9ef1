"""Sweep along y of a row slab on the CPU, in two passes: elimination to the ends of the segments, and substitution.

Between the passes the devices exchange the ends of their segments (`eagre.solvers.tridiagonal.link`). A segment of a
slab has the north faces of its rows, and in the first slab also the south face of the first row. The eliminated rows of
all columns are stored between the passes.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.models.shallow_water_adi.sweeps.reference import OPEN
from eagre.models.shallow_water_adi.sweeps.sweep_cpu import (
    COLUMNS,
    NEXT,
    NOW,
    SCRATCH,
    WIDTH,
    A,
    B,
    C,
    E,
    R,
    ends_of_block,
    make_rows,
    new_surface,
)
from eagre.solvers.tridiagonal.link import Chunk, ends_of, next_row, store_ends
from eagre.terms.compose import TERM_FACTORS

# More rows of the scratch: e, f, g of `Chunk`, and the unknown before the segment.
FIRST_E, FIRST_F, FIRST_G, BELOW_SEGMENT = SCRATCH, SCRATCH + WIDTH, SCRATCH + 2 * WIDTH, SCRATCH + 3 * WIDTH
SEGMENT_SCRATCH = SCRATCH + 4 * WIDTH
AT_C, AT_D, AT_R, AT_A = 0, COLUMNS, 2 * COLUMNS, 3 * COLUMNS  # stored values of a face; c, d, r as in `sweep_cpu`
KEPT = 4 * COLUMNS


@cell
def begin_segment(s, lines, n):
    """Set the chunk before the first face of n columns."""
    for k in range(n):
        lines[k] = real(0.0)
        lines[k + AT_D] = real(0.0)
        lines[k + AT_A] = real(-1.0)
        s[FIRST_E + k] = real(0.0)
        s[FIRST_F + k] = real(0.0)
        s[FIRST_G + k] = real(-1.0)


@cell
def chunk_at(s, lines, offset, k):
    """Return the chunk of column k after the face whose values are at `offset`."""
    a, c, d = lines[offset + k + AT_A], lines[offset + k], lines[offset + k + AT_D]
    return Chunk(a, c, d, s[FIRST_E + k], s[FIRST_F + k], s[FIRST_G + k])


@cell
def eliminate_next(s, lines, offset, n, more):
    """Eliminate one row of n columns; the face below is at `offset`; more : whether rows of the segment follow."""
    for k in range(n):
        chunk = chunk_at(s, lines, offset, k)
        new = next_row(chunk, s[A + k], s[B + k], s[C + k], s[E + k])
        lines[offset + k + KEPT] = new.c
        lines[offset + k + (KEPT + AT_D)] = new.d
        lines[offset + k + (KEPT + AT_R)] = s[R + k]
        lines[offset + k + (KEPT + AT_A)] = new.a
        s[FIRST_E + k] = new.e if more else chunk.e
        s[FIRST_F + k] = new.f if more else chunk.f
        s[FIRST_G + k] = new.g if more else chunk.g


@cell
def reduce_block(fields, forcing, ends, work, segment_ends, columns, faces, p):
    """Eliminate faces first .. last of n columns from i, and store the ends of the segments.

    work : scratch and lines; columns : i and n; faces : first and last
    """
    (s, lines), (i, n), (start, last) = work, columns, faces
    begin_segment(s, lines, n)
    if start > 0:
        make_rows(fields, forcing, s, np.uint32(start - 1), i, n, p)
        for k in range(n):
            lines[k + AT_R] = s[R + k]
    for f in range(start, last + 1):
        offset = np.uint32((f - start) * KEPT)
        make_rows(fields, forcing, s, np.uint32(f), i, n, p)
        if OPEN and (f == 0 or f == last):
            ends_of_block(fields, ends, s, lines, (f, offset), columns, last + 1, p)
        eliminate_next(s, lines, offset, n, f < last)
    offset = np.uint32((last + 1 - start) * KEPT)
    for k in range(n):
        store_ends(segment_ends, i + k, ends_of(chunk_at(s, lines, offset, k)))


@entry
def reduce_y_cpu(fields, terms, ends, scratch, lines, segment_ends, faces, nx, p):
    """Eliminate the faces along y; each worker has a row of `scratch`, and each block a row of `lines`.

    segment_ends : (6, nx), see `stored_ends`; faces : first and last; other arguments : see `sweep_y_cpu`.
    """
    workers, blocks = scratch.shape[0], lines.shape[0]
    for worker in prange(workers):
        forcing = (terms, TERM_FACTORS(terms, ends.row))
        for block in range(worker, blocks, workers):
            i = block * COLUMNS
            work, columns = (scratch[worker], lines[block]), (np.uint32(i), min(COLUMNS, nx - i))
            reduce_block(fields, forcing, ends, work, segment_ends, columns, faces, p)


@cell
def substitute_next(s, lines, offset, flux_out, j, i, n):
    """Compute P of the faces of a row from the row above and from the unknown before the segment."""
    for k in range(n):
        s[NEXT + k] = s[NOW + k]
        s[NOW + k] = (
            lines[offset + k + AT_D] - lines[offset + k] * s[NOW + k] - lines[offset + k + AT_A] * s[BELOW_SEGMENT + k]
        )
    for k in range(n):
        flux_out[j + 1, i + k + PADDING] = s[NOW + k]


@entry
def finish_y_cpu(z_out, flux_out, edges, scratch, lines, faces, nx, p):
    """Compute new z and flux of the rows of a slab from the eliminated rows and the edges, (3, nx), `segment_edges`."""
    start, last = faces
    workers, blocks = scratch.shape[0], lines.shape[0]
    for worker in prange(workers):
        s = scratch[worker]
        for block in range(worker, blocks, workers):
            first = block * COLUMNS
            i, n = np.uint32(first), min(COLUMNS, nx - first)
            for k in range(n):
                s[BELOW_SEGMENT + k] = edges[0, i + k]
                s[NOW + k] = edges[1, i + k]
                flux_out[last + 1, i + k + PADDING] = s[NOW + k]
            for back in range(last - max(start - 1, 0)):
                f = last - 1 - back
                offset = np.uint32((f + 1 - start) * KEPT)
                substitute_next(s, lines[block], offset, flux_out, np.uint32(f), i, n)
                new_surface(s, lines[block], offset, z_out, np.uint32(f), i, n, p)


def segment_workspace(faces: int, nx: int, workers: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of the scratch and the stored rows."""
    return (workers, SEGMENT_SCRATCH), (-(-nx // COLUMNS), KEPT * (faces + 1))
