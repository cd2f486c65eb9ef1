"""The versions of a sweep in the MIKE 21 thesis, to be timed: rows stored, folded, on the fly, reduced.

Closed basin, all cells wet, uniform Manning friction, as there. Sizes: ``at(a, line, k, across)`` is field a at place
k along a line (cells and low faces 0 .. n - 1, the last face n) on the line `across` lines further. `system` holds
vectors (kind, place, worker): a worker is a line on a GPU, a share of the lines on a CPU.
"""

import numpy as np

from eagre.backend.cells import cell, cuda, entry, flat_load, flat_store, prange, real, switch, word
from eagre.kernels.roots import power_seven_sixths
from eagre.models.shallow_water_adi.kernels import face_row

ALONG_X = switch("ALONG_X", True)
FOLDED = switch("FOLDED", False)  # mass rows eliminated while rows are made: 5 vectors in place of 10
PADDING = 32
TILE = 32
TURNED = TILE * (TILE + 1)  # words of a tile on chip
# vectors of the stored system: mass row, momentum row with the two fluxes beyond its neighbours
A_MASS, B_MASS, C_MASS, D_MASS, FAR_LOW, A, B, C, FAR_HIGH, D = range(10)
VECTORS = 10


@cell
def at(field, line, k, across):
    """A field at place k along and some lines across."""
    if ALONG_X:
        return field[line + across + 1, PADDING + k]
    return field[k + 1, PADDING + line + across]


@cell
def put(field, line, k, value):
    """Set a field at place k of a line."""
    if ALONG_X:
        field[line + 1, PADDING + k] = value
    else:
        field[k + 1, PADDING + line] = value


@cell
def mean_corner_speed(z, d, qn, line, k, across):
    """Velocity across at the corner below face k (across 0) or above it (1): new fluxes over the mean depth."""
    depths = real(0.0)
    for c in range(2):
        low = at(z, line, k - 1 + c, across - 1) - at(d, line, k - 1 + c, across - 1)
        depths += low + at(z, line, k - 1 + c, across) - at(d, line, k - 1 + c, across)
    return real(2.0) * (at(qn, line, k - 1, across) + at(qn, line, k, across)) / depths


@cell
def mass_side(z, flux, qo, qn, line, k, p):
    """Right side of a cell's mass row (section 4.5.3, its rows times 2 dx)."""
    across = (at(qn, line, k, 1) - at(qn, line, k, 0)) + (at(qo, line, k, 1) - at(qo, line, k, 0))
    return at(flux, line, k, 0) - at(flux, line, k + 1, 0) - p.w_across / p.w * across + at(z, line, k, 0) / p.w


@cell
def momentum_terms(z, d, flux, qo, qn, line, k, p):
    """FAR_LOW, A, B, C, FAR_HIGH, D of the face between cells k - 1 and k (4.5.4 with sums, times dt)."""
    h_l, h_r = at(z, line, k - 1, 0) - at(d, line, k - 1, 0), at(z, line, k, 0) - at(d, line, k, 0)
    here = at(flux, line, k, 0)
    far_low = -p.w * (at(flux, line, k - 1, 0) + here) / h_l
    far_high = p.w * (at(flux, line, k + 1, 0) + here) / h_r
    q = real(0.0)
    for c in range(2):
        for side in range(2):
            q += at(qo, line, k - 1 + c, side) + at(qn, line, k - 1 + c, side)
    q *= real(0.125)
    s = (h_l * h_l + h_r * h_r) / (real(2.0) * h_l * h_l * h_r * h_r)
    drag = s ** real(7.0 / 6.0)
    if FOLDED:
        drag = power_seven_sixths(s)
    b = real(1.0) + p.friction * (here * here + q * q) ** real(0.5) * drag + far_high + far_low
    low = (at(flux, line, k, -1) + here) * mean_corner_speed(z, d, qn, line, k, 0)
    high = (at(flux, line, k, 1) + here) * mean_corner_speed(z, d, qn, line, k, 1)
    e = here + real(2.0) * p.w_across * (low - high)
    gravity = p.push * (h_l + h_r)
    return far_low, -gravity, b, gravity, far_high, e


@cell
def build_line(z, d, flux, qo, qn, system, w, line, n, p):
    """Rows of a line to memory."""
    over = real(1.0) / p.w
    for k in range(n):
        system[D_MASS, k, w] = mass_side(z, flux, qo, qn, line, k, p)
        if not FOLDED:
            system[A_MASS, k, w] = real(-1.0)
            system[B_MASS, k, w] = over
            system[C_MASS, k, w] = real(1.0)
    for k in range(1, n):
        far_low, a, b, c, far_high, e = momentum_terms(z, d, flux, qo, qn, line, k, p)
        if FOLDED:
            e += far_low * system[D_MASS, k - 1, w] - far_high * system[D_MASS, k, w]
            a, b, c = a + over * far_low, b + far_low + far_high, c - over * far_high
        else:
            system[FAR_LOW, k, w] = far_low
            system[FAR_HIGH, k, w] = far_high
        system[A, k, w] = a
        system[B, k, w] = b
        system[C, k, w] = c
        system[D, k, w] = e


@cell
def eliminate_line(system, w, n):
    """The two far fluxes of each momentum row by the mass rows beside it: five diagonals become three."""
    for k in range(1, n):
        low, high = system[FAR_LOW, k, w], system[FAR_HIGH, k, w]
        system[A, k, w] += system[B_MASS, k - 1, w] * low
        system[B, k, w] += low + high
        system[C, k, w] -= system[B_MASS, k, w] * high
        system[D, k, w] += low * system[D_MASS, k - 1, w] - high * system[D_MASS, k, w]


@cell
def solve_line(system, z_out, flux_out, w, line, n, p):
    """Elimination of the interleaved unknowns z_0, P_1, z_1 ..; c and d are overwritten."""
    before, value = real(0.0), real(0.0)
    for k in range(n):
        if k > 0:
            a = system[A, k, w]
            over = real(1.0) / (system[B, k, w] - a * before)
            before, value = system[C, k, w] * over, (system[D, k, w] - a * value) * over
            system[C, k, w] = before
            system[D, k, w] = value
        low = real(-1.0) if FOLDED else system[A_MASS, k, w]
        middle = real(1.0) / p.w if FOLDED else system[B_MASS, k, w]
        high = real(1.0) if FOLDED else system[C_MASS, k, w]
        over = real(1.0) / (middle - low * before)
        before, value = high * over, (system[D_MASS, k, w] - low * value) * over
        system[C_MASS, k, w] = before
        system[D_MASS, k, w] = value
    here = value
    put(z_out, line, n - 1, here)
    put(flux_out, line, 0, real(0.0))
    put(flux_out, line, n, real(0.0))
    for back in range(1, n):
        k = n - back
        here = system[D, k, w] - system[C, k, w] * here
        put(flux_out, line, k, here)
        here = system[D_MASS, k - 1, w] - system[C_MASS, k - 1, w] * here
        put(z_out, line, k - 1, here)


@cell
def row_of(z, d, flux, qo, qn, line, k, p):
    """A, B, C, D of face k with the mass rows eliminated, and r of its high cell: the model's own row."""
    z8 = (
        at(z, line, k - 1, -1), at(z, line, k, -1), at(z, line, k - 1, 0), at(z, line, k, 0),
        at(z, line, k - 1, 1), at(z, line, k, 1), at(z, line, k - 2, 0), at(z, line, k + 1, 0),
    )  # fmt: skip
    d8 = (
        at(d, line, k - 1, -1), at(d, line, k, -1), at(d, line, k - 1, 0), at(d, line, k, 0),
        at(d, line, k - 1, 1), at(d, line, k, 1), at(d, line, k - 2, 0), at(d, line, k + 1, 0),
    )  # fmt: skip
    flux5 = (
        at(flux, line, k - 1, 0), at(flux, line, k, 0), at(flux, line, k + 1, 0), at(flux, line, k, -1),
        at(flux, line, k, 1),
    )  # fmt: skip
    qo4 = (at(qo, line, k - 1, 0), at(qo, line, k, 0), at(qo, line, k - 1, 1), at(qo, line, k, 1))
    qn4 = (at(qn, line, k - 1, 0), at(qn, line, k, 0), at(qn, line, k - 1, 1), at(qn, line, k, 1))
    return face_row(z8, d8, flux5, qo4, qn4, p.friction, real(0.0), real(0.0), real(0.0), p)


@cell
def march_line(z, d, flux, qo, qn, system, z_out, flux_out, w, line, n, p):
    """Rows made and eliminated one after the other; one vector of the system, c, and what is put out are stored."""
    before, value = real(0.0), real(0.0)
    for k in range(n + 1):
        a, b, c, e, r = row_of(z, d, flux, qo, qn, line, k, p)
        over = real(1.0) / (b - a * before)
        before, value = c * over, (e - a * value) * over
        system[0, k, w] = before
        put(flux_out, line, k, value)
        if k < n:
            put(z_out, line, k, r)
    ahead = real(0.0)
    for back in range(n + 1):
        k = n - back
        here = at(flux_out, line, k, 0) - system[0, k, w] * ahead
        put(flux_out, line, k, here)
        if back > 0:
            put(z_out, line, k, at(z_out, line, k, 0) - p.w * (ahead - here))
        ahead = here


# -- on a CPU: lines dealt among workers --------------------------------------------------------------


@entry
def stored_cpu(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """The thesis's C program: line by line, rows stored."""
    workers = system.shape[2]
    for w in prange(workers):
        for line in range(w, lines, workers):
            build_line(z, d, flux, qo, qn, system, w, line, n, p)
            if not FOLDED:
                eliminate_line(system, w, n)
            solve_line(system, z_out, flux_out, w, line, n, p)


@entry
def marched_cpu(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """Line by line, rows made on the fly."""
    workers = system.shape[2]
    for w in prange(workers):
        for line in range(w, lines, workers):
            march_line(z, d, flux, qo, qn, system, z_out, flux_out, w, line, n, p)


@entry
def transpose_cpu(source, target, rows, columns):
    """target[c, r] = source[r, c] of cells and faces -1 .. rows, -1 .. columns, in tiles."""
    for tile in prange((rows + 2 + TILE - 1) // TILE):
        first = tile * TILE
        for c0 in range(0, columns + 2, TILE):
            for r in range(first, min(first + TILE, rows + 2)):
                for c in range(c0, min(c0 + TILE, columns + 2)):
                    target[c, PADDING - 1 + r] = source[r, PADDING - 1 + c]


# -- on a GPU: a thread a line, or a block a line ------------------------------------------------------


@entry
def build_cuda(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """A thread a line: rows to memory."""
    line = cuda.grid(1)
    if line < lines:
        build_line(z, d, flux, qo, qn, system, line, line, n, p)


@entry
def solve_cuda(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """A thread a line: the stored system solved."""
    line = cuda.grid(1)
    if line < lines:
        if not FOLDED:
            eliminate_line(system, line, n)
        solve_line(system, z_out, flux_out, line, line, n, p)


@entry
def marched_cuda(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """A thread a line: rows made on the fly."""
    line = cuda.grid(1)
    if line < lines:
        march_line(z, d, flux, qo, qn, system, z_out, flux_out, line, line, n, p)


@entry
def reduced_cuda(z, d, flux, qo, qn, z_out, flux_out, system, lines, n, p):
    """A block a line, a thread a face: parallel cyclic reduction in shared memory; at most 1024 faces."""
    shared = cuda.shared.array(0, word)
    k, size, line = np.int32(cuda.threadIdx.x), np.int32(cuda.blockDim.x), np.int32(cuda.blockIdx.x)
    a, b, c, e, r = real(0.0), real(1.0), real(0.0), real(0.0), real(0.0)
    if k <= n:
        a, b, c, e, r = row_of(z, d, flux, qo, qn, line, k, p)
    step = np.int32(1)
    while step <= n:
        flat_store(shared, np.uint32(k), 0, a)
        flat_store(shared, np.uint32(k + size), 0, b)
        flat_store(shared, np.uint32(k + 2 * size), 0, c)
        flat_store(shared, np.uint32(k + 3 * size), 0, e)
        cuda.syncthreads()
        if k >= step:
            low = np.uint32(k - step)
            part = a / flat_load(shared, np.uint32(low + size), 0)
            a = -part * flat_load(shared, low, 0)
            b -= part * flat_load(shared, np.uint32(low + 2 * size), 0)
            e -= part * flat_load(shared, np.uint32(low + 3 * size), 0)
        if k + step < size:
            high = np.uint32(k + step)
            part = c / flat_load(shared, np.uint32(high + size), 0)
            c = -part * flat_load(shared, np.uint32(high + 2 * size), 0)
            b -= part * flat_load(shared, high, 0)
            e -= part * flat_load(shared, np.uint32(high + 3 * size), 0)
        cuda.syncthreads()
        step = np.int32(2 * step)
    here = e / b
    flat_store(shared, np.uint32(k), 0, here)
    cuda.syncthreads()
    if k <= n:
        put(flux_out, line, k, here)
        if k < n:
            put(z_out, line, k, r - p.w * (flat_load(shared, np.uint32(k + 1), 0) - here))


@entry
def transpose_cuda(source, target, rows, columns):
    """As `transpose_cpu`: tiles turned in shared memory, one word in 33 left free; block (32, 8)."""
    tile = cuda.shared.array(TURNED, word)
    x, y = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    r0, c0 = np.int32(cuda.blockIdx.y * TILE), np.int32(cuda.blockIdx.x * TILE)
    for turn in range(4):
        r, c = r0 + y + 8 * turn, c0 + x
        if r < rows + 2 and c < columns + 2:
            tile[(y + 8 * turn) * (TILE + 1) + x] = source[r, PADDING - 1 + c]
    cuda.syncthreads()
    for turn in range(4):
        c, r = c0 + y + 8 * turn, r0 + x
        if r < rows + 2 and c < columns + 2:
            target[c, PADDING - 1 + r] = tile[x * (TILE + 1) + y + 8 * turn]
