"""Sine transforms of rows on a GPU: pairs of rows in a block of threads; chirp transforms for lengths without a plan.

A row of ROW intervals is transformed by a plan of N intervals. For ROW = N no further work is needed. Otherwise
j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution (Bluestein 1970, doi:10.1109/TAU.1970.1162132),

    -2 i S_k = w_k sum_j (z_j w_j) h_(k - j),   w_m = exp(-i pi m^2 / (2 ROW)),   h = conj(w),

z odd and h even: a sine transform of N >= 2 ROW - 2 intervals, a product with the cosine transform of h, and the same
sine transform again. Two rows are still one complex row, and no array is doubled in length.

See `sine_plan` for the passes of a transform. Every pass is one small transform per thread, in registers. Between
passes threads exchange values through shared memory, whose rows are padded to avoid bank conflicts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cplx,
    cuda,
    entry,
    flat_load,
    flat_store,
    grid_dependency_wait,
    launch_dependents,
    load_two,
    real,
    store_two,
    switch,
    word,
)
from eagre.solvers.poisson.sine_plan import transform1, transform4, transform8

N = switch("N", 16)
R = switch("R", 8)
F1 = switch("F1", 4)
F2 = switch("F2", 1)
F3 = switch("F3", 1)
FIRST = switch("FIRST", transform4)
SECOND = switch("SECOND", transform1)
THIRD = switch("THIRD", transform1)
LAST = switch("LAST", transform8)
PAD = switch("PAD", 1)  # stride of results of the first pass, complex values
BANKS = switch("BANKS", 16)  # complex values per shared-memory access
THREADS = switch("THREADS", 32)
MAX_FACTOR = switch("MAX_FACTOR", 16)  # size of the largest small transform
VALUES = switch("VALUES", 16)  # complex values per thread
ROW = switch("ROW", 16)  # intervals per row
CHIRP = switch("CHIRP", 0)  # offset of w_0, N filters and i / 2 w_0 in the table
WIDTH = switch("WIDTH", 8)  # wavenumbers per tile of the spectrum
PIECE = switch("PIECE", 1)  # rows per thread in `columns_cuda`
INTERLEAVED = switch("INTERLEAVED", 1)  # number of its chunks that are interleaved row by row, 1 or 2
FROM_TILES = switch("FROM_TILES", False)  # whether `source` and `out` of a transform are spectra in tiles
TO_TILES = switch("TO_TILES", False)
EARLY = switch("EARLY", 0)  # whether kernels may start before the previous one has ended (see `begin`)


class LayerPair(NamedTuple):
    """Arrays of two layers, or of their barotropic and baroclinic mode; fraction : thickness fraction of the upper."""

    first: Any
    second: Any
    fraction: float


# Every index is np.uint64: signed ones bring a test for negative values with each access, and with sums of a
# base and constants the constants become part of the load. (Numba turns uint64 with int64 into a float.)


@cell
def slot(j):
    """Return the index of input j of a row, padded by one value every R."""
    return j + j // np.uint64(R)


@cell
def put(shared, index, z):
    """Store a complex number with one access."""
    store_two(shared, index + index, 0, (z.real, z.imag))


@cell
def get(shared, index):
    """Load a complex number."""
    x, y = load_two(shared, index + index, 0)
    return complex(x, y)


@cell
def rotation(table, k):
    """Return exp(-i phi) from the table."""
    c, s = load_two(table, k + k, 0)
    return complex(c, s)


@cell
def read_first(shared, v, t):
    """Load the input of the first pass: the odd extension z_(R m + r) of the rows, m = a L / F1 + b.

    m < L / 2 is the row itself, j = R m + r at (R + 1) m + r; the rest is its mirror image.
    """
    step = 2 * N // R // F1
    items = (R // 2 + 1) * step
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        r = item // np.uint64(step)
        b = item % np.uint64(step)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            index = r + np.uint64(R + 1) * b
            for a in range(F1 // 2):
                v[batch * F1 + a] = get(shared, index + np.uint64((R + 1) * step * a))
            shift = np.uint64(R) - r if r > np.uint64(0) else np.uint64(R + 1)
            index = shift + np.uint64(R + 1) * (np.uint64(step - 1) - b)
            for a in range(F1 // 2):
                v[batch * F1 + F1 - 1 - a] = -get(shared, index + np.uint64((R + 1) * step * a))
    cuda.syncthreads()


@cell
def first_pass(shared, table, t):
    """Compute transforms of length F1 over a of the odd extension."""
    v = cuda.local.array(VALUES, cplx)
    read_first(shared, v, t)
    step = 2 * N // R // F1
    items = (R // 2 + 1) * step
    w = cuda.local.array(MAX_FACTOR, cplx)
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        r = item // np.uint64(step)
        b = item % np.uint64(step)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            for a in range(F1):
                w[a] = v[batch * F1 + a]
            FIRST(w)
            base = b + r * np.uint64(F1 * (step + PAD) if step > 1 else F1 + F1)
            put(shared, base, w[0])
            for c in range(1, F1):
                if step > 1:
                    put(shared, base + np.uint64(c * (step + PAD)), w[c] * rotation(table, b + np.uint64(c * step)))
                else:
                    put(shared, base + np.uint64(c), w[c])
    cuda.syncthreads()


@cell
def second_index(r, c, inputs):
    """Return the index of the first of `inputs` values of transform c of the third pass, without bank conflicts."""
    return r * np.uint64(F1 * F2 * (inputs + 1)) + c * np.uint64(inputs) + c // np.uint64(max(BANKS // inputs, 1))


@cell
def second_pass(shared, table, t):
    """Compute transforms of length F2 within each of the F1 results of the first pass."""
    v = cuda.local.array(VALUES, cplx)
    step = 2 * N // R // F1
    inputs = step // F2
    items = (R // 2 + 1) * F1 * inputs
    w = cuda.local.array(MAX_FACTOR, cplx)
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            r = item // np.uint64(F1 * inputs)
            c1 = item % np.uint64(F1 * inputs) // np.uint64(inputs)
            index = r * np.uint64(F1 * (step + PAD)) + c1 * np.uint64(step + PAD) + item % np.uint64(inputs)
            for a in range(F2):
                v[batch * F2 + a] = get(shared, index + np.uint64(inputs * a))
    cuda.syncthreads()
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            r = item // np.uint64(F1 * inputs)
            c1 = item % np.uint64(F1 * inputs) // np.uint64(inputs)
            b = item % np.uint64(inputs)
            for a in range(F2):
                w[a] = v[batch * F2 + a]
            SECOND(w)
            if inputs > 1:
                index = second_index(r, c1, inputs) + b
                put(shared, index, w[0])
                for c in range(1, F2):
                    factor = rotation(table, b + np.uint64(2 * N // R + c * inputs))
                    put(shared, index + np.uint64(F1 * c * inputs + F1 * c // max(BANKS // inputs, 1)), w[c] * factor)
            else:
                index = r * np.uint64(F1 * F2 + F1) + c1
                for c in range(F2):
                    put(shared, index + np.uint64(F1 * c), w[c])
    cuda.syncthreads()


@cell
def third_pass(shared, t):
    """Compute transforms of length F3."""
    v = cuda.local.array(VALUES, cplx)
    items = (R // 2 + 1) * F1 * F2
    w = cuda.local.array(MAX_FACTOR, cplx)
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            r = item // np.uint64(F1 * F2)
            index = second_index(r, item % np.uint64(F1 * F2), F3)
            for a in range(F3):
                v[batch * F3 + a] = get(shared, index + np.uint64(a))
    cuda.syncthreads()
    for batch in range((items - 1) // THREADS + 1):
        item = t + np.uint64(batch * THREADS)
        if (batch + 1) * THREADS <= items or item < np.uint64(items):
            r = item // np.uint64(F1 * F2)
            for a in range(F3):
                w[a] = v[batch * F3 + a]
            THIRD(w)
            index = r * np.uint64(F1 * F2 * F3 + F1) + item % np.uint64(F1 * F2)
            for d in range(F3):
                put(shared, index + np.uint64(F1 * F2 * d), w[d])
    cuda.syncthreads()


@cell
def last_pass(shared, table, v, t):
    """Compute transforms of length R of Y_r(k) and -Y_r(-k), k = t, 0 <= k <= L / 2; True if this thread has one."""
    inner = 2 * N // R
    items = inner // 2 + 1
    start = inner + (inner // F1 if F2 > 1 else 0) + (F3 if F3 > 1 else 0)
    row = inner + F1
    active = t < np.uint64(items)
    k = t
    if active:
        other = np.uint64(inner) - k if k > np.uint64(0) else np.uint64(0)
        v[0] = get(shared, k)
        for r in range(1, R // 2 + 1):
            w = rotation(table, k + np.uint64(start + r * items))
            v[r] = w * get(shared, k + np.uint64(r * row))
            if r < R // 2:
                v[R - r] = complex(-w.real, w.imag) * get(shared, other + np.uint64(r * row))
        LAST(v)
    return active


@cell
def passes(shared, table, v, t):
    """Compute all passes for rows in shared memory; the last returns Z_q of q = k + L s, s = 0 .. R - 1, in v.

    Every pass has a separate array: a common array would keep old values alive for idle threads.
    """
    first_pass(shared, table, t)
    if F2 > 1:
        second_pass(shared, table, t)
    if F3 > 1:
        third_pass(shared, t)
    return last_pass(shared, table, v, t)


@cell
def begin():
    """Wait for the previous kernel; EARLY defines when the next one may be scheduled: 1 at once, 2 in `finish`."""
    if EARLY == 1:
        launch_dependents()
    if EARLY > 0:
        grid_dependency_wait()


@cell
def finish():
    """Called before the last stores: see `begin`."""
    if EARLY == 2:
        launch_dependents()


@cell
def row_of_tile(row):
    """Return the position of a row in its tile: INTERLEAVED rows at a distance of PIECE rows are adjacent."""
    r = row - np.uint64(1)
    if INTERLEAVED == 1:
        return r
    chunk, m = r // np.uint64(PIECE), r % np.uint64(PIECE)
    group, lane = chunk // np.uint64(INTERLEAVED), chunk % np.uint64(INTERLEAVED)
    return (group * np.uint64(PIECE) + m) * np.uint64(INTERLEAVED) + lane


@cell
def first_index(array, row, j, tiles):
    """Return the index of value j of a row; a spectrum is stored in tiles [k // WIDTH, row_of_tile, k % WIDTH]."""
    pitch = np.uint64(array.shape[array.ndim - 1])
    if tiles:
        tile = j // np.uint64(WIDTH) * np.uint64(array.shape[1])
        return (tile + row_of_tile(row)) * pitch + j % np.uint64(WIDTH)
    return row * pitch + j


@cell
def step_along(array, count, tiles):
    """Return the index step over `count` values of a row; in tiles `count` is a multiple of WIDTH."""
    if tiles:
        return np.uint64(array.shape[1]) * np.uint64(count)
    return np.uint64(count)


@cell
def put_row(shared, table, j, z):
    """Store value j of the pair of rows in shared memory, times the chirp, if any."""
    if ROW < N:
        z = z * rotation(table, j + np.uint64(CHIRP))
    put(shared, slot(j), z)


@cell
def clear_ends(shared, t):
    """Set the values at j = 0 and from ROW to N to zero."""
    zero = complex(real(0.0), real(0.0))
    if t == np.uint64(0):
        put(shared, np.uint64(0), zero)
    for batch in range((N - ROW) // THREADS + 1):
        j = t + np.uint64(ROW + batch * THREADS)
        if j <= np.uint64(N):
            put(shared, slot(j), zero)


@cell
def scale_outputs(table, v, k, start, last):
    """Multiply v by factors of the table, which begin at `start` for q = 0 and end with q = last."""
    inner = 2 * N // R
    for s in range(R):
        q = k + np.uint64(inner * s) if s < R // 2 else np.uint64(2 * N - inner * s) - k
        if q <= np.uint64(last):
            v[s] = v[s] * rotation(table, q + np.uint64(start))


@cell
def put_outputs(shared, v, k):
    """Store S = i Z / 2 of the result of `passes` in v as the next input."""
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
    """Transform the pair of rows in shared memory; Z_q is returned in v as in `passes`."""
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
def store_rows(out, index, other, one, two):
    """Store a value of both rows; other : offset of the second row, 0 for a single row."""
    flat_store(out, index + other, 0, two)
    flat_store(out, index, 0, one)  # last, as both rows have the same index without a second row


@cell
def store_layers(out, index, other, one, two):
    """Store the values of both layers from those of the barotropic and the baroclinic mode."""
    flat_store(out.first, index, 0, one + (real(1.0) - out.fraction) * two)
    flat_store(out.second, index, 0, one - out.fraction * two)


@cell
def store_modes(out, index, other, one, two):
    """Store the barotropic mode, the mean weighted by thickness, and the baroclinic mode, the difference of layers."""
    flat_store(out.first, index, 0, two + out.fraction * (one - two))
    flat_store(out.second, index, 0, one - two)


STORE = switch("STORE", store_rows)  # the other functions store values of one row in a `LayerPair`


@cell
def write_outputs(out, v, index, step, other, q, mirrored):
    """Store S = i Z / 2 of both rows at `index`, `index` + step, ...: half of the results.

    other : offset of the second row.
    q : wavenumber of the first result; only wavenumbers below ROW are stored.
    """
    inner = 2 * N // R
    for s in range(R // 2):
        z = v[R - 1 - s] if mirrored else v[s]
        one = real(0.5) * z.imag if mirrored else real(-0.5) * z.imag
        two = real(-0.5) * z.real if mirrored else real(0.5) * z.real
        if (s > 0 or mirrored or q > np.uint64(0)) and (ROW == N or q + np.uint64(inner * s) < np.uint64(ROW)):
            STORE(out, index, other, one, two)
        index += step


@cell
def write_pair(out, like, v, k, row, second, rows):
    """Store the result of `passes` in v in rows `row` and `second` of `out`, if they are below `rows`: coalesced.

    like : array with the indices of `out`.
    """
    inner = 2 * N // R
    second = second if second < rows else row
    other = first_index(like, second, np.uint64(0), TO_TILES) - first_index(like, row, np.uint64(0), TO_TILES)
    step = step_along(like, inner, TO_TILES)
    write_outputs(out, v, first_index(like, row, k, TO_TILES), step, other, k, False)
    if k > np.uint64(0) and k < np.uint64(inner // 2):
        q = np.uint64(inner) - k
        write_outputs(out, v, first_index(like, row, q, TO_TILES), step, other, q, True)


@cell
def read_pair(shared, source, partner, table, t, row, second, rows):
    """Load row `row` of `source` and row `second` of `partner` to shared memory, at most row `rows`.

    Many loads are issued before the first store, so that memory latency occurs once. Loads start at column 0, a wall,
    which is aligned to memory lines.
    """
    v = cuda.local.array(VALUES, cplx)
    batches = (ROW - 1) // THREADS + 1
    step = step_along(source, THREADS, FROM_TILES)
    index = first_index(source, row, t, FROM_TILES)
    other = first_index(source, min(second, rows), t, FROM_TILES)
    for start in range(0, batches, VALUES):
        for batch in range(min(VALUES, batches - start)):
            if (start + batch + 1) * THREADS <= ROW or t + np.uint64((start + batch) * THREADS) < np.uint64(ROW):
                v[batch] = complex(flat_load(source, index, 0), flat_load(partner, other, 0))
            index += step
            other += step
        for batch in range(min(VALUES, batches - start)):
            j = t + np.uint64((start + batch) * THREADS)
            if (start + batch > 0 or t > np.uint64(0)) and ((start + batch + 1) * THREADS <= ROW or j < np.uint64(ROW)):
                put_row(shared, table, j, v[batch])
    clear_ends(shared, t)
    cuda.syncthreads()


@cell
def rows_of_block(block):
    """Return the two rows of a block: adjacent rows, or rows that are adjacent in a spectrum."""
    if not FROM_TILES or INTERLEAVED == 1:
        row = block + block + np.uint64(1)
        return row, row + np.uint64(1)
    row = block // np.uint64(PIECE) * np.uint64(PIECE + PIECE) + block % np.uint64(PIECE) + np.uint64(1)
    return row, row + np.uint64(PIECE)


@entry
def sine_rows_cuda(source, out, table):
    """Transform the interior rows 1 .. ny - 1 of `source`: S_q = sum_j x_j sin(pi j q / ROW).

    source, out : (ny + 1, ROW + 1), or one a spectrum in tiles, (ROW / WIDTH, ny or more, WIDTH); two rows per block.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    rows = np.uint64((out if FROM_TILES else source).shape[0] - 1)
    row, second = rows_of_block(np.uint64(cuda.blockIdx.x))
    read_pair(shared, source, source, table, t, row, second, rows)
    active = transform_rows(shared, table, v, t)
    finish()
    if active:
        write_pair(out, out, v, t, row, second, rows)


@entry
def sine_layers_cuda(first, second, out, table):
    """Transform the interior rows of two arrays to a `LayerPair`; one row of each per block.

    Arrays are fields, (ny + 1, ROW + 1), or spectra in tiles; STORE converts between layers and vertical modes.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(R, cplx)
    t = np.uint64(cuda.threadIdx.x)
    begin()
    rows = np.uint64((out.first if FROM_TILES else first).shape[0] - 1)
    row = np.uint64(cuda.blockIdx.x) + np.uint64(1)
    read_pair(shared, first, second, table, t, row, row, rows)
    active = transform_rows(shared, table, v, t)
    finish()
    if active:
        write_pair(out, out.first, v, t, row, row, rows)
