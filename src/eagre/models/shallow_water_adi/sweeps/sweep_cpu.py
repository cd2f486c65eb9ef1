"""Sweep on the CPU: threads over blocks of lines, vectors along or across the lines.

The equations of a line are assembled where they are used, by `face_row` from the fields. Only the result of the
elimination is stored, for a block of lines. Along y a block has COLUMNS adjacent columns, eliminated row by row. Along
x a block has LINES rows, eliminated in parallel.

Every inner loop must vectorise. If the compiler cannot exclude a negative index, it generates a gather or a scatter:
corners are unsigned, and the loop counter is added before any constant.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.models.shallow_water_adi.kernels import WALL
from eagre.models.shallow_water_adi.sweeps.reference import OPEN, PADDING, end_of, row_of
from eagre.terms.compose import TERM_FACTORS

COLUMNS = 64  # columns of a block, or faces of a row at once
LINES = 16  # rows that are eliminated in parallel along x
# Rows of the scratch, at constant distances so that the compiler knows that they do not overlap.
WIDTH = COLUMNS + 16
A, B, C, E, R, NEXT, NOW = 0, WIDTH, 2 * WIDTH, 3 * WIDTH, 4 * WIDTH, 5 * WIDTH, 6 * WIDTH
SCRATCH = 7 * WIDTH
KEPT_Y, KEPT_X = 3 * COLUMNS, 4 * LINES  # values of a block per face: c, d, r; A, B, C, D of every line


@cell
def make_rows(fields, forcing, s, j, i, n, p):
    """Store A, B, C, D and r of n cells from (j, i) in the scratch; j, i : unsigned."""
    for k in range(n):
        a, b, c, e, r = row_of(fields, forcing, j, i + k, p)
        s[A + k] = a
        s[B + k] = b
        s[C + k] = c
        s[E + k] = e
        s[R + k] = r


# -- along y: a block has COLUMNS columns ------------------------------------------------------------


@cell
def eliminate_up(s, lines, offset, n):
    """Eliminate one row of n columns: c, d of this face from those of the face below, which are at `offset`."""
    for k in range(n):
        over = real(1.0) / (s[B + k] - s[A + k] * lines[offset + k])
        lines[offset + k + KEPT_Y] = s[C + k] * over
        lines[offset + k + (KEPT_Y + COLUMNS)] = (s[E + k] - s[A + k] * lines[offset + k + COLUMNS]) * over
        lines[offset + k + (KEPT_Y + 2 * COLUMNS)] = s[R + k]


@cell
def back_down(s, lines, offset, flux_out, j, i, n):
    """Compute P of the faces of a row from the row above."""
    for k in range(n):
        s[NEXT + k] = s[NOW + k]
        s[NOW + k] = lines[offset + k + COLUMNS] - lines[offset + k] * s[NOW + k]
    for k in range(n):
        flux_out[j + 1, i + k + PADDING] = s[NOW + k]


@cell
def new_surface(s, lines, offset, z_out, j, i, n, p):
    """Compute the surface of the cells of a row from P above (NEXT) and below (NOW)."""
    for k in range(n):
        z_out[j + 1, i + k + PADDING] = lines[offset + k + 2 * COLUMNS] - p.w * (s[NEXT + k] - s[NOW + k])


@cell
def ends_of_block(fields, ends, s, lines, face, columns, rows, p):
    """Replace the equations of the first and last faces of the columns by the equations of open boundaries.

    face : number of the face, and offset of the values of the face below
    """
    (f, offset), (i, n) = face, columns
    for k in range(n):
        column = i + k
        if f == 0 and ends.low[column] != WALL:
            s[B + k], s[C + k], s[E + k] = end_of(fields, ends, column, 1, s[R + k], np.uint32(f), column, p)
        if f == rows - 1 and ends.high[column] != WALL:
            r = lines[offset + k + 2 * COLUMNS]
            s[B + k], s[A + k], s[E + k] = end_of(fields, ends, column, -1, r, np.uint32(f), column, p)


@cell
def block_along_y(fields, forcing, ends, s, lines, columns, rows, p):
    """Solve n columns from i with `rows` faces each; columns : i and n."""
    i, n = columns
    for k in range(2 * COLUMNS):
        lines[k] = real(0.0)
    for f in range(rows):
        offset = np.uint32(f * KEPT_Y)
        make_rows(fields, forcing, s, np.uint32(f), i, n, p)
        if OPEN and (f == 0 or f == rows - 1):
            ends_of_block(fields, ends, s, lines, (f, offset), columns, rows, p)
        eliminate_up(s, lines, offset, n)
    for k in range(n):
        s[NOW + k] = real(0.0)
    for back in range(rows):
        f = rows - 1 - back
        offset = np.uint32((f + 1) * KEPT_Y)
        back_down(s, lines, offset, fields.flux_new, np.uint32(f), i, n)
        if back > 0:
            new_surface(s, lines, offset, fields.z_new, np.uint32(f), i, n, p)


@entry
def sweep_y_cpu(fields, terms, ends, scratch, lines, ny, nx, p):
    """Compute new z and flux along y; each worker has a row of `scratch` and of `lines`.

    fields : `Fields` of ny x nx cells; ends : `Ends` of the columns
    """
    blocks = (nx + COLUMNS - 1) // COLUMNS
    workers = scratch.shape[0]
    for worker in prange(workers):
        forcing = (terms, TERM_FACTORS(terms, ends.row))
        for block in range(worker, blocks, workers):
            i = block * COLUMNS
            columns = np.uint32(i), min(COLUMNS, nx - i)
            block_along_y(fields, forcing, ends, scratch[worker], lines[worker], columns, ny + 1, p)


# -- along x: a block is LINES rows -----------------------------------------------------------------


@cell
def deal(s, lines, offset, n):
    """Copy A, B, C, D of n faces to their places among the interleaved lines."""
    for k in range(n):
        lines[offset + k * KEPT_X] = s[A + k]
        lines[offset + k * KEPT_X + LINES] = s[B + k]
        lines[offset + k * KEPT_X + 2 * LINES] = s[C + k]
        lines[offset + k * KEPT_X + 3 * LINES] = s[E + k]


@cell
def ends_of_row(fields, ends, s, j, start, n, faces, p):
    """Replace the equations of the first and last faces of row j by the equations of open boundaries."""
    last = faces - 1
    if start == 0 and ends.low[j] != WALL:
        s[B], s[C], s[E] = end_of(fields, ends, j, 1, s[R], j, np.uint32(0), p)
    if start + n == faces and ends.high[j] != WALL:
        r, k = fields.z_new[j + 1, PADDING + last - 1], n - 1
        s[B + k], s[A + k], s[E + k] = end_of(fields, ends, j, -1, r, j, np.uint32(last), p)


@cell
def rows_along_x(fields, forcing, ends, work, j, b, faces, p):
    """Store A, B, C, D of row j, line b of the block; r is stored in the array of the new surface.

    work : scratch and lines of the worker
    """
    s, lines = work
    start = 0
    while start < faces:
        n, i = min(COLUMNS, faces - start), np.uint32(start)
        make_rows(fields, forcing, s, j, i, n, p)
        for k in range(min(n, faces - 1 - start)):
            fields.z_new[j + 1, i + k + PADDING] = s[R + k]
        if OPEN and (start == 0 or start + n == faces):
            ends_of_row(fields, ends, s, j, start, n, faces, p)
        deal(s, lines, np.uint32((start + 1) * KEPT_X + b), n)
        start += n


@cell
def no_line(lines, b, faces):
    """Store equations P = D for a missing line of the block."""
    offset = np.uint32(KEPT_X + b)
    for i in range(faces):
        lines[offset + i * KEPT_X] = real(0.0)
        lines[offset + i * KEPT_X + LINES] = real(1.0)


@cell
def solve_block(lines, faces, n):
    """Solve n interleaved lines, whose first face is the second one here; the faces before and after are 0.

    n is LINES. It is an argument, because the compiler would leave unrolled loops scalar. Fewer lines would use other
    instructions, and the rounding of a row would depend on its position in a block.
    """
    end = np.uint32((faces + 1) * KEPT_X)
    for b in range(n):
        lines[2 * LINES + b] = real(0.0)
        lines[3 * LINES + b] = real(0.0)
        lines[end + b] = real(0.0)
    for f in range(faces):
        offset = np.uint32(f * KEPT_X)
        for b in range(n):
            a = lines[offset + b + KEPT_X]
            over = real(1.0) / (lines[offset + b + (KEPT_X + LINES)] - a * lines[offset + b + 2 * LINES])
            c, e = lines[offset + b + (KEPT_X + 2 * LINES)], lines[offset + b + (KEPT_X + 3 * LINES)]
            lines[offset + b + (KEPT_X + 3 * LINES)] = (e - a * lines[offset + b + 3 * LINES]) * over
            lines[offset + b + (KEPT_X + 2 * LINES)] = c * over
    for back in range(faces):
        offset = np.uint32((faces - back) * KEPT_X)
        for b in range(n):
            lines[offset + b] = (
                lines[offset + b + 3 * LINES] - lines[offset + b + 2 * LINES] * lines[offset + b + KEPT_X]
            )


@cell
def write_row(lines, z_out, flux_out, j, b, faces, p):
    """Write P of row j, line b of the block, and its new surface."""
    offset = np.uint32(KEPT_X + b)
    for i in range(faces):
        flux_out[j + 1, i + PADDING] = lines[offset + i * KEPT_X]
    for i in range(faces - 1):
        z_out[j + 1, i + PADDING] -= p.w * (flux_out[j + 1, i + PADDING + 1] - flux_out[j + 1, i + PADDING])


@entry
def sweep_x_cpu(fields, terms, ends, scratch, lines, ny, nx, p):
    """Compute new z and flux along x; see `sweep_y_cpu`."""
    blocks = (ny + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        local_lines, forcing = lines[worker], (terms, TERM_FACTORS(terms, ends.row))
        for block in range(worker, blocks, workers):
            first = block * LINES
            used = min(LINES, ny - first)
            for b in range(used):
                work = scratch[worker], local_lines
                rows_along_x(fields, forcing, ends, work, np.uint32(first + b), b, nx + 1, p)
            for b in range(used, LINES):
                no_line(local_lines, b, nx + 1)
            solve_block(local_lines, nx + 1, min(LINES, local_lines.size))
            for b in range(used):
                write_row(local_lines, fields.z_new, fields.flux_new, np.uint32(first + b), b, nx + 1, p)


def workspace(ny: int, nx: int, workers: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the shapes of the scratch and lines of the workers."""
    return (workers, SCRATCH), (workers, max(KEPT_Y * (ny + 2), KEPT_X * (nx + 3)))


def workers_of(ny: int, nx: int, threads: int) -> int:
    """Return the number of workers for the blocks of lines: one per thread, whose lines fit its cache."""
    max_blocks = max(-(-nx // COLUMNS), -(-ny // LINES))
    return int(np.clip(threads, 1, max_blocks))
