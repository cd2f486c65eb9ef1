"""Cyclic reduction, parallel cyclic reduction and their combination: array operations, and GPU kernels.

The array operations apply to any length and any array library. Arrays are (outer, n, inner) with the systems along the
middle axis; a of the first and c of the last row are 0. R. W. Hockney, J. ACM 12(1), 95-113 (1965),
doi:10.1145/321250.321259; Y. Zhang, J. Cohen and J. D. Owens, PPoPP 2010, 127-136, doi:10.1145/1693453.1693472.

On a GPU, whole systems are in shared memory. A block holds `blockDim.x` adjacent systems with `blockDim.y` threads
each. Cyclic reduction halves the rows in place until `parallel_from` or fewer remain, parallel cyclic reduction solves
those, and back substitution follows level by level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, flat_store, real, switch, word
from eagre.backend.device import Device, Launch
from eagre.kernels.roots import reciprocal

HELD = switch("HELD", 1)  # rows per thread in parallel cyclic reduction
PARALLEL_FROM = {"pcr": 2**30, "cr": 1, "cr-pcr": 64}  # maximum rows for parallel cyclic reduction


@cell
def spot(row, width, lane):
    """Return the index of a row in shared memory; one value in 33 is unused, which reduces bank conflicts."""
    return np.int32((row + (row >> 5)) * width + lane)


@cell
def got(shared, offset, kind, size):
    """Return value `kind` (a, b, c, d) of a row."""
    return flat_load(shared, np.uint32(offset + kind * size), 0)


@cell
def put(shared, offset, size, a, b, c, d):
    """Store the four values of a row."""
    flat_store(shared, np.uint32(offset), 0, a)
    flat_store(shared, np.uint32(offset + size), 0, b)
    flat_store(shared, np.uint32(offset + 2 * size), 0, c)
    flat_store(shared, np.uint32(offset + 3 * size), 0, d)


@cell
def combined(shared, row, low, high, rows, width, lane, size):
    """Return a, b, c, d of a row after substitution of its neighbours `low` and `high`, if they exist."""
    here = spot(row, width, lane)
    a, b = got(shared, here, 0, size), got(shared, here, 1, size)
    c, d = got(shared, here, 2, size), got(shared, here, 3, size)
    if low >= 0:
        offset = spot(low, width, lane)
        down = a * reciprocal(got(shared, offset, 1, size))
        a = -down * got(shared, offset, 0, size)
        b -= down * got(shared, offset, 2, size)
        d -= down * got(shared, offset, 3, size)
    if high < rows:
        offset = spot(high, width, lane)
        up = c * reciprocal(got(shared, offset, 1, size))
        c = -up * got(shared, offset, 2, size)
        b -= up * got(shared, offset, 0, size)
        d -= up * got(shared, offset, 3, size)
    return a, b, c, d


@cell
def solve_in_parallel(shared, stride, count, rows, lanes, t, threads, size):
    """Solve rows stride - 1, 2 stride - 1, .. by parallel cyclic reduction; the unknowns replace d.

    lanes : number of adjacent lines, and the line of the thread
    """
    width, lane = lanes
    held = cuda.local.array((HELD, 4), word)
    step = np.int32(1)
    while step < count:
        for n in range(HELD):
            row = stride * (t + n * threads + 1) - 1
            if t + n * threads < count:
                low, high = row - step * stride, row + step * stride
                held[n, 0], held[n, 1], held[n, 2], held[n, 3] = combined(
                    shared, row, low, high, rows, width, lane, size
                )
        cuda.syncthreads()
        for n in range(HELD):
            row = stride * (t + n * threads + 1) - 1
            if t + n * threads < count:
                put(shared, spot(row, width, lane), size, held[n, 0], held[n, 1], held[n, 2], held[n, 3])
        cuda.syncthreads()
        step *= np.int32(2)
    for n in range(HELD):
        if t + n * threads < count:
            offset = spot(stride * (t + n * threads + 1) - 1, width, lane)
            x = got(shared, offset, 3, size) * reciprocal(got(shared, offset, 1, size))
            flat_store(shared, np.uint32(offset + 3 * size), 0, x)
    cuda.syncthreads()


@cell
def substitute(shared, stride, rows, width, lane, t, threads, size):
    """Compute the unknowns of the rows eliminated by one level of cyclic reduction."""
    count = rows // stride
    for m in range(t, (count + 1) // 2, threads):
        row = stride * (2 * m + 1) - 1
        offset = spot(row, width, lane)
        d = got(shared, offset, 3, size)
        if m > 0:
            d -= got(shared, offset, 0, size) * got(shared, spot(row - stride, width, lane), 3, size)
        if 2 * m + 1 < count:
            d -= got(shared, offset, 2, size) * got(shared, spot(row + stride, width, lane), 3, size)
        flat_store(shared, np.uint32(offset + 3 * size), 0, d * reciprocal(got(shared, offset, 1, size)))
    cuda.syncthreads()


@entry
def reduction_cuda(a, b, c, d, x, parallel_from):
    """Solve systems along the middle axis of (outer, n, inner); block (adjacent systems, threads of each)."""
    shared = cuda.shared.array(0, word)
    lane, t = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    width, threads = np.int32(cuda.blockDim.x), np.int32(cuda.blockDim.y)
    rows, inner = np.int32(b.shape[1]), np.int32(b.shape[2])
    groups = (inner + width - 1) // width
    o = np.int32(cuda.blockIdx.x) // groups
    i = (np.int32(cuda.blockIdx.x) - o * groups) * width + lane
    inside = i < inner
    size = spot(rows, width, np.int32(0))
    start = np.int64(o) * rows * inner + min(i, inner - 1)
    zero, one = real(0.0), real(1.0)
    for row in range(t, rows, threads):
        k = start + np.int64(row) * inner
        low = flat_load(a, k, 0) if inside and row > 0 else zero
        diagonal = flat_load(b, k, 0) if inside else one
        high = flat_load(c, k, 0) if inside and row < rows - 1 else zero
        put(shared, spot(row, width, lane), size, low, diagonal, high, flat_load(d, k, 0))
    cuda.syncthreads()
    stride, count = np.int32(1), rows
    while count > parallel_from:
        for m in range(t, count // 2, threads):
            row = 2 * stride * (m + 1) - 1
            p, q, r, s = combined(shared, row, row - stride, row + stride, rows, width, lane, size)
            put(shared, spot(row, width, lane), size, p, q, r, s)
        cuda.syncthreads()
        stride, count = np.int32(2 * stride), np.int32(count // 2)
    solve_in_parallel(shared, stride, count, rows, (width, lane), t, threads, size)
    while stride > 1:
        stride = np.int32(stride // 2)
        substitute(shared, stride, rows, width, lane, t, threads, size)
    if inside:
        for row in range(t, rows, threads):
            flat_store(x, start + np.int64(row) * inner, 0, got(shared, spot(row, width, lane), 3, size))


def bytes_of(rows: int, width: int, itemsize: int) -> int:
    """Return the shared memory of a block, bytes."""
    return 4 * (rows + (rows >> 5)) * width * itemsize


def fits(device: Device, rows: int, itemsize: int) -> bool:
    """Return whether a system of this length fits the shared memory of a block."""
    return bytes_of(rows, 1, itemsize) <= device.parameters("solver:tridiagonal.reduction").shared


def launch_of(device: Device, precision: str, flat: list[Any], x: Any, method: str) -> Launch:
    """Return the launch that solves arrays (outer, n, inner)."""
    outer, rows, inner = flat[1].shape
    itemsize, parameters = flat[1].dtype.itemsize, device.parameters("solver:tridiagonal.reduction")
    width, max_shared = 1, parameters.shared // parameters.side_by_side
    while 2 * width <= min(inner, 32) and bytes_of(rows, 2 * width, itemsize) <= max_shared:
        width *= 2
    busy = rows if method == "pcr" else -(-rows // 2)
    threads = 1
    while threads < busy and 2 * threads * width <= parameters.threads:
        threads *= 2
    parallel_from = min(PARALLEL_FROM[method], rows)
    held = max(1, -(-parallel_from // threads))
    held = 1 << (held - 1).bit_length()
    program = device.program(reduction_cuda, precision, {"HELD": held, "REGISTERS": parameters.registers})
    grid = outer * -(-inner // width)
    shared = bytes_of(rows, width, itemsize)
    return Launch(program, (*flat, x, parallel_from), (grid,), (width, threads), shared)


def reduce_arrays(a: Any, b: Any, c: Any, d: Any, parallel_from: int) -> Any:
    """Return x by cyclic reduction down to `parallel_from` rows, then parallel; the ends of a and c are not used."""
    with np.errstate(all="ignore"):
        return cyclic_reduction(a, b, c, d, parallel_from)


def parallel_cyclic_reduction(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return x by log2(n) steps, each of which doubles the distance of the couplings; all rows remain active."""
    n = b.shape[1]
    a, b, c, d = a.copy(), b.copy(), c.copy(), d.copy()
    step = 1
    while step < n:
        low, high = slice(None, -step), slice(step, None)
        down, up = a[:, high] / b[:, low], c[:, low] / b[:, high]
        a_new, c_new = np.zeros_like(a), np.zeros_like(c)
        b_new, d_new = b.copy(), d.copy()
        a_new[:, high] = -down * a[:, low]
        c_new[:, low] = -up * c[:, high]
        b_new[:, high] -= down * c[:, low]
        b_new[:, low] -= up * a[:, high]
        d_new[:, high] -= down * d[:, low]
        d_new[:, low] -= up * d[:, high]
        a, b, c, d = a_new, b_new, c_new, d_new
        step *= 2
    return d / b


def cyclic_reduction(a: Any, b: Any, c: Any, d: Any, parallel_from: int = 1) -> Any:
    """Return x by halving the systems until `parallel_from` rows remain, which use parallel cyclic reduction."""
    n = b.shape[1]
    if n <= max(1, parallel_from):
        return parallel_cyclic_reduction(a, b, c, d)
    odd, below = slice(1, None, 2), slice(0, n - 1, 2)
    down = a[:, odd] / b[:, below]
    a_new = -down * a[:, below]
    b_new = b[:, odd] - down * c[:, below]
    d_new = d[:, odd] - down * d[:, below]
    c_new = np.zeros_like(b_new)
    above = slice(2, None, 2)
    count = b[:, above].shape[1]  # number of odd rows with a row above them
    paired = slice(0, count)
    up = c[:, odd][:, paired] / b[:, above]
    b_new[:, paired] -= up * a[:, above]
    d_new[:, paired] -= up * d[:, above]
    c_new[:, paired] = -up * c[:, above]
    x = np.empty_like(d)
    x[:, odd] = cyclic_reduction(a_new, b_new, c_new, d_new, parallel_from)
    even = d[:, 0::2].copy()
    even[:, 1:] -= a[:, 2::2] * x[:, 1 : n - 1 : 2]
    known = x[:, odd].shape[1]
    even[:, :known] -= c[:, 0::2][:, :known] * x[:, odd]
    x[:, 0::2] = even / b[:, 0::2]
    return x
