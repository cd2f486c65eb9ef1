"""Sine transforms of pairs of rows in a block of threads (`sine_plan` says how they are cut into passes).

Every pass is one small transform a thread, in registers; between passes the values change threads
through shared memory, whose rows are padded so that the threads of a warp meet different banks.
"""

from __future__ import annotations

from eagre.backend.cells import cell, cplx, cuda, entry, real, switch, word
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
MOST = 16  # the largest small transform


@cell
def slot(j):
    """Place of input j of a row: padded by one word every R."""
    return j + j // R


@cell
def put(shared, place, z):
    """Store a complex number."""
    shared[place] = z.real
    shared[place + STRIDE * PAIRS] = z.imag


@cell
def get(shared, place):
    """Load a complex number."""
    return complex(shared[place], shared[place + STRIDE * PAIRS])


@cell
def rotation(table, k):
    """exp(-i phi) from the table."""
    return complex(table[0, k], table[1, k])


@cell
def first_pass(shared, table, v, t):
    """Transforms of length F1 over m = a L / F1 + b of the odd extension of the rows in shared memory."""
    step = 2 * N // R // F1
    items = (R // 2 + 1) * step
    active = t < PAIRS * items
    base = t // items * STRIDE
    r = t % items // step
    b = t % step
    if active:
        for a in range(F1):
            j = r + R * (b + step * a)
            mirrored = j > N
            j = 2 * N - j if mirrored else j
            z = get(shared, base + slot(j))
            v[a] = -z if mirrored else z
    cuda.syncthreads()
    if active:
        FIRST(v)
        base += r * (F1 * (step + 1) if step > 1 else F1 + F1)
        for c in range(F1):
            if step > 1:
                put(shared, base + c * (step + 1) + b, v[c] * rotation(table, c * step + b))
            else:
                put(shared, base + c, v[c])
    cuda.syncthreads()


@cell
def second_pass(shared, table, v, t):
    """Transforms of length F2 within each of the F1 outputs of the first pass."""
    step = 2 * N // R // F1
    rest = step // F2
    items = (R // 2 + 1) * F1 * rest
    active = t < PAIRS * items
    base = t // items * STRIDE
    if rest > 1:
        r = t % items // (F1 * rest)
        c1 = t % (F1 * rest) // rest
    else:
        r = t % items // F1
        c1 = t % F1
    b = t % rest
    if active:
        place = base + r * (F1 * (step + 1)) + c1 * (step + 1) + b
        for a in range(F2):
            v[a] = get(shared, place + rest * a)
    cuda.syncthreads()
    if active:
        SECOND(v)
        for c in range(F2):
            if rest > 1:
                place = base + r * (F1 * F2 * (rest + 1)) + (c1 + F1 * c) * (rest + 1) + b
                put(shared, place, v[c] * rotation(table, 2 * N // R + c * rest + b))
            else:
                put(shared, base + r * (F1 * F2 + F1) + c1 + F1 * c, v[c])
    cuda.syncthreads()


@cell
def third_pass(shared, v, t):
    """Transforms of length F3."""
    items = (R // 2 + 1) * F1 * F2
    active = t < PAIRS * items
    base = t // items * STRIDE
    r = t % items // (F1 * F2)
    c = t % (F1 * F2)
    if active:
        place = base + r * (F1 * F2 * (F3 + 1)) + c * (F3 + 1)
        for a in range(F3):
            v[a] = get(shared, place + a)
    cuda.syncthreads()
    if active:
        THIRD(v)
        for d in range(F3):
            put(shared, base + r * (F1 * F2 * F3 + F1) + c + F1 * F2 * d, v[d])
    cuda.syncthreads()


@cell
def last_pass(shared, table, v, t):
    """Transforms of length R for k = t, 0 <= k <= L / 2, of Y_r(k) and -Y_r(-k); True if this thread has one."""
    inner = 2 * N // R
    items = inner // 2 + 1
    start = inner + (inner // F1 if F2 > 1 else 0) + (F3 if F3 > 1 else 0)
    active = t < PAIRS * items
    k = t % items
    base = t // items * STRIDE
    row = inner + F1
    if active:
        v[0] = get(shared, base + k)
        for r in range(1, R // 2 + 1):
            w = rotation(table, start + r * items + k)
            v[r] = w * get(shared, base + r * row + k)
            if r < R // 2:
                z = get(shared, base + r * row + (inner - k if k > 0 else 0))
                v[R - r] = -(complex(w.real, -w.imag) * z)
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
def write_pair(out, v, t, first_row, rows):
    """S = i Z / 2 of a pair into rows of `out`: coalesced, each output by one thread."""
    inner = 2 * N // R
    items = inner // 2 + 1
    k = t % items
    row = first_row + 2 * (t // items)
    for s in range(R):
        q = k + inner * s
        if s < R // 2:
            if q > 0:
                out[row, q] = real(-0.5) * v[s].imag
                if row + 1 < rows:
                    out[row + 1, q] = real(0.5) * v[s].real
        elif k > 0 and 2 * k < inner:
            out[row, 2 * N - q] = real(0.5) * v[s].imag
            if row + 1 < rows:
                out[row + 1, 2 * N - q] = real(-0.5) * v[s].real


@cell
def clear_ends(shared, t):
    """Zero at j = 0 and j = N of every pair."""
    if t < PAIRS:
        put(shared, t * STRIDE, complex(real(0.0), real(0.0)))
        put(shared, t * STRIDE + slot(N), complex(real(0.0), real(0.0)))


@entry
def sine_rows_cuda(source, out, table):
    """Sine transforms along the interior rows 1 .. ny - 1 of `source`: S_q = sum_j x_j sin(pi j q / N).

    source, out : (ny + 1, >= N); a block takes 2 PAIRS rows.
    """
    shared = cuda.shared.array(0, word)
    v = cuda.local.array(MOST, cplx)
    t = cuda.threadIdx.x
    rows = source.shape[0] - 1
    first_row = 1 + 2 * PAIRS * cuda.blockIdx.x
    for item in range(t, PAIRS * (N - 1), cuda.blockDim.x):
        pair = item // (N - 1)
        j = 1 + item % (N - 1)
        row = first_row + 2 * pair
        x = source[row, j] if row < rows else real(0.0)
        y = source[row + 1, j] if row + 1 < rows else real(0.0)
        put(shared, pair * STRIDE + slot(j), complex(x, y))
    clear_ends(shared, t)
    cuda.syncthreads()
    active = sine_transform(shared, table, v, t)
    if active:
        row = first_row + 2 * (t // (N // R + 1))
        if row < rows:
            write_pair(out, v, t, first_row, rows)
