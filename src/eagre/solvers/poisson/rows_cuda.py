"""Sine transforms of rows in memory: loads, stores, and lengths without a plan by way of a chirp.

A row of ROW intervals is transformed by a plan of N intervals. For ROW = N that is all. Else
j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution (Bluestein 1970, doi:10.1109/TAU.1970.1162132),

    -2 i S_k = w_k sum_j (z_j w_j) h_(k - j),   w_m = exp(-i pi m^2 / (2 ROW)),   h = conj(w),

z odd and h even: a sine transform of N >= 2 ROW - 2 intervals, a product with the cosine transform of h, and the
same sine transform again. Two rows still travel as one complex row, and nothing is doubled in length.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import (
    cell,
    cplx,
    cuda,
    entry,
    flat_load,
    flat_store,
    grid_dependency_wait,
    launch_dependents,
    real,
    switch,
    word,
)
from eagre.solvers.poisson.sine_cuda import THREADS, VALUES, N, R, passes, put, rotation, slot

ROW = switch("ROW", 16)  # intervals of a row
CHIRP = switch("CHIRP", 0)  # where w_0, N filters and i / 2 w_0 begin in the table
WIDTH = switch("WIDTH", 8)  # wavenumbers of a tile of the spectrum
PIECE = switch("PIECE", 1)  # rows of a thread of `columns_cuda`
BESIDE = switch("BESIDE", 1)  # of its pieces 1 or 2 lie side by side, row by row
FROM_TILES = switch("FROM_TILES", False)  # whether `source` and `out` of a transform are spectra in tiles
TO_TILES = switch("TO_TILES", False)
EARLY = switch("EARLY", 0)  # whether kernels may start before the kernel before has ended (see `begin`)


@cell
def begin():
    """Wait for the kernel before; EARLY says when the next one may be dealt out: 1 at once, 2 in `finish`."""
    if EARLY == 1:
        launch_dependents()
    if EARLY > 0:
        grid_dependency_wait()


@cell
def finish():
    """Before the last stores: see `begin`."""
    if EARLY == 2:
        launch_dependents()


@cell
def row_of_tile(row):
    """Where a row lies in its tile: in order but that rows PIECE apart lie side by side, BESIDE of them."""
    r = row - np.uint64(1)
    if BESIDE == 1:
        return r
    piece, m = r // np.uint64(PIECE), r % np.uint64(PIECE)
    return (piece // np.uint64(BESIDE) * np.uint64(PIECE) + m) * np.uint64(BESIDE) + piece % np.uint64(BESIDE)


@cell
def first_place(array, row, j, tiles):
    """Place of value j of a row; a spectrum lies in tiles [k // WIDTH, row_of_tile, k % WIDTH], each in one piece."""
    pitch = np.uint64(array.shape[array.ndim - 1])
    if tiles:
        tile = j // np.uint64(WIDTH) * np.uint64(array.shape[1])
        return (tile + row_of_tile(row)) * pitch + j % np.uint64(WIDTH)
    return row * pitch + j


@cell
def step_along(array, count, tiles):
    """From a value to the one `count` values further in its row; `count` is a multiple of WIDTH in tiles."""
    if tiles:
        return np.uint64(array.shape[1]) * np.uint64(count)
    return np.uint64(count)


@cell
def put_row(shared, table, j, z):
    """Value j of the pair of rows into shared memory, times the chirp if there is one."""
    if ROW < N:
        z = z * rotation(table, j + np.uint64(CHIRP))
    put(shared, slot(j), z)


@cell
def clear_ends(shared, t):
    """Zero at j = 0 and from ROW to N."""
    zero = complex(real(0.0), real(0.0))
    if t == np.uint64(0):
        put(shared, np.uint64(0), zero)
    for turn in range((N - ROW) // THREADS + 1):
        j = t + np.uint64(ROW + turn * THREADS)
        if j <= np.uint64(N):
            put(shared, slot(j), zero)


@cell
def scale_outputs(table, v, k, start, last):
    """v times factors of the table, which begin at `start` for q = 0 and end with q = last."""
    inner = 2 * N // R
    for s in range(R):
        q = k + np.uint64(inner * s) if s < R // 2 else np.uint64(2 * N - inner * s) - k
        if q <= np.uint64(last):
            v[s] = v[s] * rotation(table, q + np.uint64(start))


@cell
def put_outputs(shared, v, k):
    """S = i Z / 2 of what `passes` left in v as the next input."""
    inner = 2 * N // R
    for s in range(R // 2):
        if s > 0 or k > np.uint64(0):
            z = complex(real(-0.5) * v[s].imag, real(0.5) * v[s].real)
            put(shared, slot(k + np.uint64(inner * s)), z)
    if k > np.uint64(0) and k < np.uint64(inner // 2):
        for s in range(R // 2, R):
            z = complex(real(0.5) * v[s].imag, real(-0.5) * v[s].real)
            put(shared, slot(np.uint64(2 * N - inner * s) - k), z)
    if k == np.uint64(0):
        put(shared, slot(np.uint64(N)), complex(real(0.0), real(0.0)))


@cell
def transform_rows(shared, table, v, t):
    """Sine transform of the pair of rows in shared memory; leaves Z_q in v as `passes` does."""
    active = passes(shared, table, v, t)
    if ROW < N:
        cuda.syncthreads()
        if active:
            scale_outputs(table, v, t, CHIRP + ROW, N - 1)
            put_outputs(shared, v, t)
        cuda.syncthreads()
        passes(shared, table, v, t)
        if active:
            scale_outputs(table, v, t, CHIRP + ROW + N, ROW - 1)
    return active


@cell
def write_outputs(out, v, place, step, other, q, mirrored):
    """S = i Z / 2 of both rows at `place`, `place` + step ...: half the outputs.

    other : from one row to the other, 0 if there is one alone.
    q : the first output's wavenumber; only those below ROW have a place.
    """
    inner = 2 * N // R
    for s in range(R // 2):
        z = v[R - 1 - s] if mirrored else v[s]
        one = real(0.5) * z.imag if mirrored else real(-0.5) * z.imag
        two = real(-0.5) * z.real if mirrored else real(0.5) * z.real
        if (s > 0 or mirrored or q > np.uint64(0)) and (ROW == N or q + np.uint64(inner * s) < np.uint64(ROW)):
            flat_store(out, place + other, 0, two)
            flat_store(out, place, 0, one)  # last: without a second row both have one place
        place += step


@cell
def write_pair(out, v, k, row, second, rows):
    """Write what `passes` left in v to rows `row` and `second` of `out`, as far as it is below `rows`: coalesced."""
    inner = 2 * N // R
    second = second if second < rows else row
    other = first_place(out, second, np.uint64(0), TO_TILES) - first_place(out, row, np.uint64(0), TO_TILES)
    step = step_along(out, inner, TO_TILES)
    write_outputs(out, v, first_place(out, row, k, TO_TILES), step, other, k, False)
    if k > np.uint64(0) and k < np.uint64(inner // 2):
        q = np.uint64(inner) - k
        write_outputs(out, v, first_place(out, row, q, TO_TILES), step, other, q, True)


@cell
def read_pair(shared, source, table, t, row, second, rows):
    """Put rows `row` and `second` into shared memory; rows from `rows` on repeat that row.

    Many loads are under way before the first is stored: one wait for memory, not one a turn. They begin at column 0,
    which is a wall, where lines of memory begin.
    """
    v = cuda.local.array(VALUES, cplx)
    turns = (ROW - 1) // THREADS + 1
    step = step_along(source, THREADS, FROM_TILES)
    place = first_place(source, row, t, FROM_TILES)
    other = first_place(source, min(second, rows), t, FROM_TILES)
    for start in range(0, turns, VALUES):
        for turn in range(min(VALUES, turns - start)):
            if (start + turn + 1) * THREADS <= ROW or t + np.uint64((start + turn) * THREADS) < np.uint64(ROW):
                v[turn] = complex(flat_load(source, place, 0), flat_load(source, other, 0))
            place += step
            other += step
        for turn in range(min(VALUES, turns - start)):
            j = t + np.uint64((start + turn) * THREADS)
            if (start + turn > 0 or t > np.uint64(0)) and ((start + turn + 1) * THREADS <= ROW or j < np.uint64(ROW)):
                put_row(shared, table, j, v[turn])
    clear_ends(shared, t)
    cuda.syncthreads()


@cell
def rows_of_block(block):
    """The two rows of a block: neighbours, or from a spectrum those that lie side by side in it."""
    if not FROM_TILES or BESIDE == 1:
        row = block + block + np.uint64(1)
        return row, row + np.uint64(1)
    row = block // np.uint64(PIECE) * np.uint64(PIECE + PIECE) + block % np.uint64(PIECE) + np.uint64(1)
    return row, row + np.uint64(PIECE)


@entry
def sine_rows_cuda(source, out, table):
    """Sine transforms along the interior rows 1 .. ny - 1 of `source`: S_q = sum_j x_j sin(pi j q / ROW).

    source, out : (ny + 1, ROW + 1), or one a spectrum in tiles, (ROW / WIDTH, ny or more, WIDTH); two rows a block.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    rows = np.uint64((out if FROM_TILES else source).shape[0] - 1)
    row, second = rows_of_block(np.uint64(cuda.blockIdx.x))
    read_pair(shared, source, table, t, row, second, rows)
    active = transform_rows(shared, table, v, t)
    finish()
    if active:
        write_pair(out, v, t, row, second, rows)
