"""One sweep on the CPU: threads over blocks of lines, vectors along or across them.

The rows of a line are made where they are used: a strip of the fields is copied into a scratch of
the worker (constant distances, so that the compiler vectorises), the rows come out of `face_row`,
and only what the elimination leaves is kept, for a block of lines. Along y a block is COLUMNS
neighbouring columns, eliminated row by row; along x it is LINES rows, eliminated side by side.
"""

import numpy as np

from eagre.backend.cells import cell, entry, prange, real, switch
from eagre.models.shallow_water_adi.kernels import (
    FORCED,
    FRICTION,
    WALL,
    depth,
    end_row,
    face_row,
    forces,
)

ALONG_X = switch("ALONG_X", True)
OPEN = switch("OPEN", False)  # whether an end of a line is anything but a wall

COLUMNS = 64  # columns of a strip
WIDTH = COLUMNS + 8
LINES = 8  # rows that are eliminated side by side along x
# Rows of the scratch, WIDTH apart. Surface and bed: four rows each, fields at faces three, crossing fluxes two.
Z, D, F, QO, QN = 0 * WIDTH, 4 * WIDTH, 8 * WIDTH, 11 * WIDTH, 13 * WIDTH
FACTOR, RAIN = 15 * WIDTH, 18 * WIDTH
STRESS, ACCEL, CORIOLIS = 21 * WIDTH, 22 * WIDTH, 23 * WIDTH
A, B, C, E, R = 24 * WIDTH, 25 * WIDTH, 26 * WIDTH, 27 * WIDTH, 28 * WIDTH
C_BELOW, D_BELOW, NEXT, NOW = 29 * WIDTH, 30 * WIDTH, 31 * WIDTH, 32 * WIDTH
SCRATCH = 33 * WIDTH
PADDING = 32  # columns before the first cell of a row of a field


@cell
def pick(s, base, along, across, k):
    """Value of a strip at a place along and across the line, both from 0."""
    if ALONG_X:
        return s[base + across * WIDTH + k + along]
    return s[base + along * WIDTH + k + across]


@cell
def copy_rows(a, s, base, j, i, rows, n):
    """Copy n columns of rows j, j + 1, .. from column i on; unsigned: an index that may be negative is a gather."""
    row, column = np.uint32(j), np.uint32(i)
    for m in range(rows):
        for k in range(n):
            s[base + m * WIDTH + k] = a[row + m, column + k]


@cell
def load_strip(z, d, flux, qo, qn, friction, forcing, s, j, i, n):
    """The fields around faces (j, i) .. (j, i + n - 1); j, i in the padded arrays.

    Of surface and bed two cells before and two behind a face along the line, and one across.
    """
    if ALONG_X:
        copy_rows(z, s, Z, j - 1, i - 2, 3, n + 4)
        copy_rows(d, s, D, j - 1, i - 2, 3, n + 4)
    else:
        copy_rows(z, s, Z, max(j - 2, 0), i - 1, 1, n + 2)
        copy_rows(d, s, D, max(j - 2, 0), i - 1, 1, n + 2)
        copy_rows(z, s, Z + WIDTH, j - 1, i - 1, 3, n + 2)
        copy_rows(d, s, D + WIDTH, j - 1, i - 1, 3, n + 2)
    copy_rows(flux, s, F, j - 1, i - 1, 3, n + 2)
    if ALONG_X:
        copy_rows(qo, s, QO, j, i - 1, 2, n + 1)
        copy_rows(qn, s, QN, j, i - 1, 2, n + 1)
    else:
        copy_rows(qo, s, QO, j - 1, i, 2, n + 1)
        copy_rows(qn, s, QN, j - 1, i, 2, n + 1)
    if FRICTION == 2 or FRICTION == 4:
        copy_rows(friction, s, FACTOR, j - 1, i - 1, 3, n + 2)
    if FORCED:
        copy_rows(forcing.rain, s, RAIN, j - 1, i - 1, 3, n + 2)
        copy_rows(forcing.stress, s, STRESS, j, i, 1, n)
        copy_rows(forcing.accel, s, ACCEL, j, i, 1, n)
        copy_rows(forcing.coriolis, s, CORIOLIS, j, i, 1, n)


@cell
def row_of(s, k, wind, rain, push, p):
    """A, B, C, D of face k of the strip, and r of its high cell."""
    z = (
        pick(s, Z, 1, 0, k), pick(s, Z, 2, 0, k), pick(s, Z, 1, 1, k), pick(s, Z, 2, 1, k),
        pick(s, Z, 1, 2, k), pick(s, Z, 2, 2, k), pick(s, Z, 0, 1, k), pick(s, Z, 3, 1, k),
    )  # fmt: skip
    d = (
        pick(s, D, 1, 0, k), pick(s, D, 2, 0, k), pick(s, D, 1, 1, k), pick(s, D, 2, 1, k),
        pick(s, D, 1, 2, k), pick(s, D, 2, 2, k), pick(s, D, 0, 1, k), pick(s, D, 3, 1, k),
    )  # fmt: skip
    flux = (
        pick(s, F, 0, 1, k), pick(s, F, 1, 1, k), pick(s, F, 2, 1, k), pick(s, F, 1, 0, k), pick(s, F, 1, 2, k)
    )  # fmt: skip
    qo = (pick(s, QO, 0, 0, k), pick(s, QO, 1, 0, k), pick(s, QO, 0, 1, k), pick(s, QO, 1, 1, k))
    qn = (pick(s, QN, 0, 0, k), pick(s, QN, 1, 0, k), pick(s, QN, 0, 1, k), pick(s, QN, 1, 1, k))
    factor, forced, rain_l, rain_r = p.friction, real(0.0), real(0.0), real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        factor = p.friction * real(0.5) * (pick(s, FACTOR, 0, 1, k) + pick(s, FACTOR, 1, 1, k))
    if FORCED:
        depths = depth(z[2], d[2]) + depth(z[3], d[3])
        across = (qn[0] + qn[1]) + (qn[2] + qn[3])
        forced = forces(s[STRESS + k], s[ACCEL + k], s[CORIOLIS + k], depths, across, wind, push, p)
        rain_l = rain * pick(s, RAIN, 0, 1, k)
        rain_r = rain * pick(s, RAIN, 1, 1, k)
    return face_row(z, d, flux, qo, qn, factor, forced, rain_l, rain_r, p)


@cell
def make_rows(s, n, values, forcing, p):
    """A, B, C, D and r of n faces of the strip into its rows."""
    wind, rain, push = real(0.0), real(0.0), real(0.0)
    if FORCED:
        wind = real(values[forcing.wind])
        rain = real(0.5) * p.dt * real(values[forcing.rain_slot])
        push = real(values[forcing.push_slot])
    for k in range(n):
        a, b, c, e, r = row_of(s, k, wind, rain, push, p)
        s[A + k] = a
        s[B + k] = b
        s[C + k] = c
        s[E + k] = e
        s[R + k] = r


@cell
def end_of(s, kind, slot, inward, values, r, k, p):
    """B, E, D of an end face: face k of the strip, whose cell inside is the high one if `inward` is 1."""
    high = 1 if inward > 0 else 0
    z = pick(s, Z, 1 + high, 1, k)
    d = pick(s, D, 1 + high, 1, k)
    factor = p.friction
    if FRICTION == 2 or FRICTION == 4:
        factor = factor * s[FACTOR + (WIDTH + k + high if ALONG_X else high * WIDTH + k + 1)]
    return end_row(kind, real(values[slot]), real(inward), z, d, pick(s, F, 1, 1, k), r, factor, p)


# -- along y: a block is a strip of columns ---------------------------------------------------------


@cell
def eliminate_up(s, n):
    """One row of the elimination of n columns: c and d of this face from those of the one below."""
    for k in range(n):
        over = real(1.0) / (s[B + k] - s[A + k] * s[C_BELOW + k])
        s[D_BELOW + k] = (s[E + k] - s[A + k] * s[D_BELOW + k]) * over
        s[C_BELOW + k] = s[C + k] * over


@cell
def back_down(s, lines, at, n):
    """P of a row from the row above it."""
    for k in range(n):
        s[NEXT + k] = s[NOW + k]
        s[NOW + k] = lines[at + COLUMNS + k] - lines[at + k] * s[NOW + k]


@cell
def strip_along_y(z, d, flux, qo, qn, z_out, flux_out, friction, forcing, ends, values, s, lines, i, n, rows, p):
    """Solve columns i .. i + n - 1 with `rows` faces each."""
    for k in range(n):
        s[C_BELOW + k] = real(0.0)
        s[D_BELOW + k] = real(0.0)
    for f in range(rows):
        j = f + 1
        load_strip(z, d, flux, qo, qn, friction, forcing, s, j, i, n)
        make_rows(s, n, values, forcing, p)
        if OPEN and f == 0:
            for k in range(n):
                kind = ends.low[i - PADDING + k]
                if kind != WALL:
                    s[B + k], s[C + k], s[E + k] = end_of(
                        s, kind, ends.low_slot[i - PADDING + k], 1, values, s[R + k], k, p
                    )
        if OPEN and f == rows - 1:
            below = (f - 1) * 3 * COLUMNS + 2 * COLUMNS
            for k in range(n):
                kind = ends.high[i - PADDING + k]
                if kind != WALL:
                    s[B + k], s[A + k], s[E + k] = end_of(
                        s, kind, ends.high_slot[i - PADDING + k], -1, values, lines[below + k], k, p
                    )
        eliminate_up(s, n)
        at = f * 3 * COLUMNS
        for k in range(n):
            lines[at + k] = s[C_BELOW + k]
        for k in range(n):
            lines[at + COLUMNS + k] = s[D_BELOW + k]
        for k in range(n):
            lines[at + 2 * COLUMNS + k] = s[R + k]
    for k in range(n):
        s[NOW + k] = real(0.0)
    for back in range(rows):
        f = rows - 1 - back
        at = f * 3 * COLUMNS
        back_down(s, lines, at, n)
        for k in range(n):
            flux_out[f + 1, i + k] = s[NOW + k]
        if back > 0:
            for k in range(n):
                z_out[f + 1, i + k] = lines[at + 2 * COLUMNS + k] - p.w * (s[NEXT + k] - s[NOW + k])


@entry
def sweep_y_cpu(z, d, flux, qo, qn, z_out, flux_out, friction, forcing, ends, values, at, scratch, lines, ny, nx, p):
    """New z and flux along y; the worker's scratch and lines are rows of those arrays.

    z, d, .. : padded fields of ny x nx cells; values : (rows, slots), of which row `at` holds the
    series' values of this sweep.
    """
    strips = (nx + COLUMNS - 1) // COLUMNS
    workers = scratch.shape[0]
    for worker in prange(workers):
        for strip in range(worker, strips, workers):
            i = strip * COLUMNS
            n = min(COLUMNS, nx - i)
            strip_along_y(
                z, d, flux, qo, qn, z_out, flux_out, friction, forcing, ends, values[at],
                scratch[worker], lines[worker], i + PADDING, n, ny + 1, p,
            )  # fmt: skip


# -- along x: a block is LINES rows -----------------------------------------------------------------


@cell
def rows_along_x(z, d, flux, qo, qn, friction, forcing, ends, values, s, lines, j, b, faces, p):
    """A, B, C, D and r of line b of the block, row j of the fields, interleaved face by face."""
    start = 0
    while start < faces:
        n = min(COLUMNS, faces - start)
        load_strip(z, d, flux, qo, qn, friction, forcing, s, j, start + PADDING, n)
        make_rows(s, n, values, forcing, p)
        if OPEN and start == 0 and ends.low[j - 1] != WALL:
            s[B], s[C], s[E] = end_of(s, ends.low[j - 1], ends.low_slot[j - 1], 1, values, s[R], 0, p)
        if OPEN and start + n == faces and ends.high[j - 1] != WALL:
            r = s[R + n - 2] if n > 1 else lines[((start - 1) * 5 + 4) * LINES + b]
            k = n - 1
            s[B + k], s[A + k], s[E + k] = end_of(s, ends.high[j - 1], ends.high_slot[j - 1], -1, values, r, k, p)
        for k in range(n):
            at = (start + k) * 5 * LINES + b
            lines[at] = s[A + k]
            lines[at + LINES] = s[B + k]
            lines[at + 2 * LINES] = s[C + k]
            lines[at + 3 * LINES] = s[E + k]
            lines[at + 4 * LINES] = s[R + k]
        start += n


@cell
def solve_block(lines, s, faces):
    """Solve LINES interleaved lines; P replaces A."""
    for b in range(LINES):
        s[C_BELOW + b] = real(0.0)
        s[D_BELOW + b] = real(0.0)
    for f in range(faces):
        at = f * 5 * LINES
        for b in range(LINES):
            over = real(1.0) / (lines[at + LINES + b] - lines[at + b] * s[C_BELOW + b])
            s[D_BELOW + b] = (lines[at + 3 * LINES + b] - lines[at + b] * s[D_BELOW + b]) * over
            s[C_BELOW + b] = lines[at + 2 * LINES + b] * over
        for b in range(LINES):
            lines[at + 2 * LINES + b] = s[C_BELOW + b]
        for b in range(LINES):
            lines[at + 3 * LINES + b] = s[D_BELOW + b]
    for b in range(LINES):
        s[NOW + b] = real(0.0)
    for back in range(faces):
        at = (faces - 1 - back) * 5 * LINES
        for b in range(LINES):
            s[NOW + b] = lines[at + 3 * LINES + b] - lines[at + 2 * LINES + b] * s[NOW + b]
        for b in range(LINES):
            lines[at + b] = s[NOW + b]


@entry
def sweep_x_cpu(z, d, flux, qo, qn, z_out, flux_out, friction, forcing, ends, values, at, scratch, lines, ny, nx, p):
    """As `sweep_y_cpu`, along x."""
    blocks = (ny + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        s = scratch[worker]
        own = lines[worker]
        for block in range(worker, blocks, workers):
            j0 = block * LINES + 1
            used = min(LINES, ny + 1 - j0)
            for b in range(used):
                rows_along_x(z, d, flux, qo, qn, friction, forcing, ends, values[at], s, own, j0 + b, b, nx + 1, p)
            for b in range(used, LINES):
                for f in range(nx + 1):
                    own[(f * 5 + 0) * LINES + b] = real(0.0)
                    own[(f * 5 + 1) * LINES + b] = real(1.0)
            solve_block(own, s, nx + 1)
            for b in range(used):
                for i in range(nx + 1):
                    flux_out[j0 + b, PADDING + i] = own[i * 5 * LINES + b]
                for i in range(nx):
                    z_out[j0 + b, PADDING + i] = own[(i * 5 + 4) * LINES + b] - p.w * (
                        own[(i + 1) * 5 * LINES + b] - own[i * 5 * LINES + b]
                    )


def workspace(ny: int, nx: int, workers: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of the workers' scratch and lines."""
    longest = max(3 * COLUMNS * (ny + 1), 5 * LINES * (nx + 1))
    return (workers, SCRATCH), (workers, longest)


def workers_of(ny: int, nx: int, threads: int) -> int:
    """Workers among which the blocks of lines are dealt."""
    most = max(-(-nx // COLUMNS), -(-ny // LINES))
    return int(np.clip(4 * threads, 1, most))
