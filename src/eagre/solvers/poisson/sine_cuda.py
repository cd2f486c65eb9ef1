"""Sine transforms of pairs of rows in a block of threads (`sine_plan` says how they are cut into passes).

Every pass is one small transform a thread, in registers; between passes the values change threads
through shared memory, whose rows are padded so that the threads of a warp meet different banks.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, cplx, cuda, entry, real, start_early, switch, wait_for_previous, word
from eagre.solvers.poisson.butterflies import transform1, transform4, transform8

N = switch("N", 16)
R = switch("R", 8)
F1 = switch("F1", 4)
F2 = switch("F2", 1)
F3 = switch("F3", 1)
FIRST = switch("FIRST", transform4)
SECOND = switch("SECOND", transform1)
THIRD = switch("THIRD", transform1)
LAST = switch("LAST", transform8)
PAIRS = switch("PAIRS", 1)
STRIDE = switch("STRIDE", 64)
THREADS = switch("THREADS", 32)
WIDTH = switch("WIDTH", 8)  # wavenumbers of a tile of the spectrum
FROM_TILES = switch("FROM_TILES", False)  # whether `source` and `out` of a transform are spectra in tiles
TO_TILES = switch("TO_TILES", False)
EARLY = switch("EARLY", False)  # whether kernels may start before the kernel before has ended
MOST = 16  # the largest small transform

# Every index is np.uint64: signed ones bring a test for negative values with each access, and with sums of a
# base and constants the constants become part of the load. (Numba turns uint64 with int64 into a float.)


@cell
def begin():
    """The next kernel's blocks may be dealt out; this one's wait until the kernel before has stored everything."""
    if EARLY:
        start_early()
        wait_for_previous()


@cell
def slot(j):
    """Place of input j of a row: padded by one word every R."""
    return j + j // np.uint64(R)


@cell
def put(shared, place, z):
    """Store a complex number."""
    shared[place] = z.real
    shared[place + np.uint64(STRIDE * PAIRS)] = z.imag


@cell
def get(shared, place):
    """Load a complex number."""
    return complex(shared[place], shared[place + np.uint64(STRIDE * PAIRS)])


@cell
def rotation(table, k):
    """exp(-i phi) from the table."""
    return complex(table[np.uint64(0), k], table[np.uint64(1), k])


@cell
def read(source, row, j):
    """Value j of a row; a spectrum lies in tiles [k // WIDTH, row - 1, k % WIDTH], each in one piece of memory."""
    if FROM_TILES:
        return source[j // np.uint64(WIDTH), row - np.uint64(1), j % np.uint64(WIDTH)]
    return source[row, j]


@cell
def write(out, row, k, value):
    """Store value k of a row."""
    if TO_TILES:
        out[k // np.uint64(WIDTH), row - np.uint64(1), k % np.uint64(WIDTH)] = value
    else:
        out[row, k] = value


@cell
def first_pass(shared, table, v, t):
    """Transforms of length F1 over m = a L / F1 + b of the odd extension z_(R m + r) of the rows.

    m < L / 2 is the row itself, j = R m + r at (R + 1) m + r; the rest is its mirror image.
    """
    step = 2 * N // R // F1
    items = (R // 2 + 1) * step
    active = t < np.uint64(PAIRS * items)
    base = t // np.uint64(items) * np.uint64(STRIDE)
    r = t % np.uint64(items) // np.uint64(step)
    b = t % np.uint64(step)
    if active:
        place = base + r + np.uint64(R + 1) * b
        for a in range(F1 // 2):
            v[a] = get(shared, place + np.uint64((R + 1) * step * a))
        shift = np.uint64(R) - r if r > np.uint64(0) else np.uint64(R + 1)
        place = base + shift + np.uint64(R + 1) * (np.uint64(step - 1) - b)
        for a in range(F1 // 2):
            v[F1 - 1 - a] = -get(shared, place + np.uint64((R + 1) * step * a))
    cuda.syncthreads()
    if active:
        FIRST(v)
        base += r * np.uint64(F1 * (step + 1) if step > 1 else F1 + F1) + b
        put(shared, base, v[0])
        for c in range(1, F1):
            if step > 1:
                put(shared, base + np.uint64(c * (step + 1)), v[c] * rotation(table, b + np.uint64(c * step)))
            else:
                put(shared, base + np.uint64(c), v[c])
    cuda.syncthreads()


@cell
def second_pass(shared, table, v, t):
    """Transforms of length F2 within each of the F1 outputs of the first pass."""
    step = 2 * N // R // F1
    rest = step // F2
    items = (R // 2 + 1) * F1 * rest
    active = t < np.uint64(PAIRS * items)
    base = t // np.uint64(items) * np.uint64(STRIDE)
    r = t % np.uint64(items) // np.uint64(F1 * rest)
    c1 = t % np.uint64(F1 * rest) // np.uint64(rest)
    b = t % np.uint64(rest)
    if active:
        place = base + r * np.uint64(F1 * (step + 1)) + c1 * np.uint64(step + 1) + b
        for a in range(F2):
            v[a] = get(shared, place + np.uint64(rest * a))
    cuda.syncthreads()
    if active:
        SECOND(v)
        if rest > 1:
            place = base + r * np.uint64(F1 * F2 * (rest + 1)) + c1 * np.uint64(rest + 1) + b
            put(shared, place, v[0])
            for c in range(1, F2):
                w = rotation(table, b + np.uint64(2 * N // R + c * rest))
                put(shared, place + np.uint64(F1 * c * (rest + 1)), v[c] * w)
        else:
            place = base + r * np.uint64(F1 * F2 + F1) + c1
            for c in range(F2):
                put(shared, place + np.uint64(F1 * c), v[c])
    cuda.syncthreads()


@cell
def third_pass(shared, v, t):
    """Transforms of length F3."""
    items = (R // 2 + 1) * F1 * F2
    active = t < np.uint64(PAIRS * items)
    base = t // np.uint64(items) * np.uint64(STRIDE)
    r = t % np.uint64(items) // np.uint64(F1 * F2)
    c = t % np.uint64(F1 * F2)
    if active:
        place = base + r * np.uint64(F1 * F2 * (F3 + 1)) + c * np.uint64(F3 + 1)
        for a in range(F3):
            v[a] = get(shared, place + np.uint64(a))
    cuda.syncthreads()
    if active:
        THIRD(v)
        place = base + r * np.uint64(F1 * F2 * F3 + F1) + c
        for d in range(F3):
            put(shared, place + np.uint64(F1 * F2 * d), v[d])
    cuda.syncthreads()


@cell
def last_pass(shared, table, v, t):
    """Transforms of length R for k = t, 0 <= k <= L / 2, of Y_r(k) and -Y_r(-k); True if this thread has one."""
    inner = 2 * N // R
    items = inner // 2 + 1
    start = inner + (inner // F1 if F2 > 1 else 0) + (F3 if F3 > 1 else 0)
    row = inner + F1
    active = t < np.uint64(PAIRS * items)
    k = t % np.uint64(items)
    base = t // np.uint64(items) * np.uint64(STRIDE)
    if active:
        other = base + (np.uint64(inner) - k if k > np.uint64(0) else np.uint64(0))
        base += k
        v[0] = get(shared, base)
        for r in range(1, R // 2 + 1):
            w = rotation(table, k + np.uint64(start + r * items))
            v[r] = w * get(shared, base + np.uint64(r * row))
            if r < R // 2:
                v[R - r] = complex(-w.real, w.imag) * get(shared, other + np.uint64(r * row))
        LAST(v)
    return active


@cell
def sine_transform(shared, table, v, t):
    """The passes; the last leaves Z_q of q = k + L s, s = 0 .. R - 1, in v."""
    first_pass(shared, table, v, t)
    if F2 > 1:
        second_pass(shared, table, v, t)
    if F3 > 1:
        third_pass(shared, v, t)
    return last_pass(shared, table, v, t)


@cell
def write_row(out, v, k, row, imaginary):
    """S = i Z / 2 of one row of a pair: coalesced, each output by one thread."""
    inner = 2 * N // R
    for s in range(R // 2):
        value = real(0.5) * v[s].real if imaginary else real(-0.5) * v[s].imag
        if s > 0 or k > np.uint64(0):
            write(out, row, k + np.uint64(inner * s), value)
    if k > np.uint64(0) and k < np.uint64(inner // 2):
        for s in range(R // 2, R):
            value = real(-0.5) * v[s].real if imaginary else real(0.5) * v[s].imag
            write(out, row, np.uint64(2 * N - inner * s) - k, value)


@cell
def write_pairs(out, v, t, first_row, rows):
    """Write what `sine_transform` left in v to rows first_row .. of `out`, as far as they are below `rows`."""
    items = N // R + 1
    k = t % np.uint64(items)
    row = first_row + np.uint64(2) * (t // np.uint64(items))
    if row < rows:
        write_row(out, v, k, row, False)
    if row + np.uint64(1) < rows:
        write_row(out, v, k, row + np.uint64(1), True)


@cell
def clear_ends(shared, t):
    """Zero at j = 0 and j = N of every pair."""
    if t < np.uint64(PAIRS):
        put(shared, t * np.uint64(STRIDE), complex(real(0.0), real(0.0)))
        put(shared, t * np.uint64(STRIDE) + slot(np.uint64(N)), complex(real(0.0), real(0.0)))


@cell
def read_pairs(shared, source, v, t, first_row, rows):
    """Put 2 PAIRS rows from first_row on into shared memory; rows from `rows` on repeat that row.

    All loads of a pair are under way before the first is stored: one wait for memory, not one a turn.
    """
    turns = (N - 2) // THREADS + 1
    for pair in range(PAIRS):
        row = min(first_row + np.uint64(2 * pair), rows)
        other = min(row + np.uint64(1), rows)
        for start in range(0, turns, MOST):
            for turn in range(min(MOST, turns - start)):
                j = min(t + np.uint64(1 + (start + turn) * THREADS), np.uint64(N - 1))
                v[turn] = complex(read(source, row, j), read(source, other, j))
            for turn in range(min(MOST, turns - start)):
                j = t + np.uint64(1 + (start + turn) * THREADS)
                if j < np.uint64(N):
                    put(shared, np.uint64(pair * STRIDE) + slot(j), v[turn])
    clear_ends(shared, t)
    cuda.syncthreads()


@entry
def sine_rows_cuda(source, out, table):
    """Sine transforms along the interior rows 1 .. ny - 1 of `source`: S_q = sum_j x_j sin(pi j q / N).

    source, out : (ny + 1, N + 1), or a spectrum in tiles, (N / WIDTH, ny, WIDTH); a block takes 2 PAIRS rows.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(MOST, cplx)
    begin()
    t = np.uint64(cuda.threadIdx.x)
    rows = np.uint64(source.shape[1] if FROM_TILES else source.shape[0] - 1)
    first_row = np.uint64(1) + np.uint64(2 * PAIRS) * np.uint64(cuda.blockIdx.x)
    read_pairs(shared, source, v, t, first_row, rows)
    if sine_transform(shared, table, v, t):
        write_pairs(out, v, t, first_row, rows)
