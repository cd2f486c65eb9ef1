"""Sine transforms of pairs of rows in a block of threads; see `sine_plan` for the passes.

Every pass is one small transform per thread, in registers. Between passes threads exchange values through shared
memory, whose rows are padded to avoid bank conflicts.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, cplx, cuda, load_two, store_two, switch
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
