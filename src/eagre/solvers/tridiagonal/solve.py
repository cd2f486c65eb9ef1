"""`solve`: batched solution of tridiagonal systems along any axis, for NumPy and CuPy arrays.

Launches are for arrays (outer, n, inner) with systems along the middle axis. The choice of a method follows
measurements with `benchmarks/tridiagonal.py --choice`. On a GPU the partition method is the fastest for many or long
systems, but it needs four launches if a line is longer than one partition (128 unknowns if they are contiguous in
memory, the rows of a block along other axes). These launches are two thirds of the 12 to 17 us of small batches, for
which one launch of a reduction is faster.

The Thomas algorithm is vectorised across lines on the CPU and has one thread per line on a GPU: L. H. Thomas, Elliptic
problems in linear differential equations over a network, Watson Sci. Comput. Lab. Report, Columbia University (1949).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, prange, real
from eagre.backend.device import Device, Launch
from eagre.backend.select import device_of, select
from eagre.errors import InputError
from eagre.solvers.tridiagonal import columns, partition, reduction_cuda
from eagre.solvers.tridiagonal.link import Coupling
from eagre.solvers.tridiagonal.reduction_cuda import reduce_arrays

COLUMNS = 256  # maximum number of adjacent columns per CPU thread
LINES = 16  # the same for contiguous lines
TILE = 128  # rows of a transposed tile of contiguous lines; shorter tiles have more page misses
EPSILON = {"single": 1e-8, "double": 1e-17}
REDUCTIONS = ("pcr", "cr", "cr-pcr")


# Corners on the CPU are unsigned, and counters are added to them before any constant: an index that may be negative
# for all that the compiler knows becomes a gather.


@cell
def forward(system, store, x, o, k, i, n):
    """Eliminate row k of n columns from i on: c of the eliminated rows to `store`, d to x; o, k, i : unsigned."""
    a, b, c, d = system
    if k == 0:
        for m in range(n):
            over = real(1.0) / b[o, k, i + m]
            store[k, m] = c[o, k, i + m] * over
            x[o, k, i + m] = d[o, k, i + m] * over
    else:
        below = k - np.uint32(1)
        for m in range(n):
            low = a[o, k, i + m]
            over = real(1.0) / (b[o, k, i + m] - low * store[below, m])
            store[k, m] = c[o, k, i + m] * over
            x[o, k, i + m] = (d[o, k, i + m] - low * x[o, below, i + m]) * over


@entry
def thomas_columns_cpu(a, b, c, d, x, scratch):
    """Solve systems along the middle axis of (outer, n, inner); scratch : (workers, n, adjacent columns)."""
    outer, rows, inner = b.shape
    workers, width = scratch.shape[0], scratch.shape[2]
    groups = (inner + width - 1) // width
    for worker in prange(workers):
        store = scratch[worker]
        for group in range(worker, groups * outer, workers):
            first = group // groups
            start = (group - first * groups) * width
            o, i, n = np.uint32(first), np.uint32(start), min(width, inner - start)
            for k in range(rows):
                forward((a, b, c, d), store, x, o, np.uint32(k), i, n)
            for back in range(1, rows):
                k = np.uint32(rows - 1 - back)
                for m in range(n):
                    x[o, k, i + m] -= store[k, m] * x[o, k + 1, i + m]


@cell
def transpose_lines(array, tile, base, j, n, k, rows):
    """Transpose a tile of n contiguous lines, so that lines are adjacent; j, k : unsigned."""
    for m in range(n):
        offset, line = np.uint32(base + m), j + np.uint32(m)
        for r in range(rows):
            tile[offset + r * LINES] = array[line, k + r]


@cell
def eliminate_tile(tile, store, k, rows, n):
    """Eliminate rows k .. k + rows - 1 of n lines whose transposed a, b, c, d are in the tile: c and d to `store`."""
    size = TILE * LINES
    for r in range(rows):
        offset, row = np.uint32(r * LINES), np.uint32(k + r)
        if row == 0:
            for m in range(n):
                over = real(1.0) / tile[offset + m + size]
                store[row, m] = tile[offset + m + 2 * size] * over
                store[row, m + LINES] = tile[offset + m + 3 * size] * over
        else:
            below = row - np.uint32(1)
            for m in range(n):
                low = tile[offset + m]
                over = real(1.0) / (tile[offset + m + size] - low * store[below, m])
                store[row, m] = tile[offset + m + 2 * size] * over
                store[row, m + LINES] = (tile[offset + m + 3 * size] - low * store[below, m + LINES]) * over


@entry
def thomas_rows_cpu(a, b, c, d, x, scratch, tiles):
    """Solve systems along the last axis of (lines, n), in blocks of lines that are transposed in tiles.

    scratch : (workers, n, 2 LINES); tiles : (workers, 4 TILE LINES). All lines of a block are eliminated, including
    lines that the last block lacks: a variable number would prevent vectorisation.
    """
    lines, rows = b.shape
    blocks = (lines + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        store, tile = scratch[worker], tiles[worker]
        every = min(LINES, tile.size)
        for block in range(worker, blocks, workers):
            j = np.uint32(block * LINES)
            n = min(LINES, lines - block * LINES)
            for k in range(0, rows, TILE):
                count, first = min(TILE, rows - k), np.uint32(k)
                transpose_lines(a, tile, 0, j, n, first, count)
                transpose_lines(b, tile, TILE * LINES, j, n, first, count)
                transpose_lines(c, tile, 2 * TILE * LINES, j, n, first, count)
                transpose_lines(d, tile, 3 * TILE * LINES, j, n, first, count)
                eliminate_tile(tile, store, k, count, every)
            for back in range(1, rows):
                row = np.uint32(rows - 1 - back)
                for m in range(every):
                    store[row, m + LINES] -= store[row, m] * store[row + 1, m + LINES]
            for m in range(n):
                line = j + np.uint32(m)
                for k in range(rows):
                    x[line, k] = store[k, m + LINES]


@entry
def thomas_cuda(a, b, c, d, x, store):
    """Solve one line of (outer, n, inner) per thread; slow for few or contiguous lines."""
    line = cuda.grid(1)
    outer, rows, inner = b.shape
    if line >= outer * inner:
        return
    o, i = line // inner, line % inner
    c_below, value = real(0.0), real(0.0)
    for k in range(rows):
        low = a[o, k, i] if k > 0 else real(0.0)
        over = real(1.0) / (b[o, k, i] - low * c_below)
        c_below = c[o, k, i] * over
        value = (d[o, k, i] - low * value) * over
        store[o, k, i] = c_below
        x[o, k, i] = value
    for back in range(1, rows):
        k = rows - 1 - back
        value = x[o, k, i] - store[o, k, i] * value
        x[o, k, i] = value


def launches(device: Device, precision: str, flat: list[Any], x: Any, method: str) -> list[Launch]:
    """Return launches that solve a, b, c, d into x by a method with kernels on the device."""
    if method == "thomas":
        return [_thomas(device, precision, flat, x)]
    if method == "partition":
        return _partition(device, precision, flat, x)
    return [reduction_cuda.launch_of(device, precision, flat, x, method)]


def _thomas(device: Device, precision: str, flat: list[Any], x: Any) -> Launch:
    b = flat[1]
    outer, rows, inner = b.shape
    if device.kind == "cuda":
        program = device.program(thomas_cuda, precision)
        store, block = device.zeros(b.shape, b.dtype), device.parameters("solver:tridiagonal.thomas").threads
        return Launch(program, (*flat, x, store), (-(-outer * inner // block),), (block,))
    strided, threads = inner > 1, getattr(device, "threads", 1)
    columns_each = -(-outer * inner // (LINES * threads)) * LINES
    width = min(COLUMNS, inner, columns_each) if strided else LINES
    blocks = outer * -(-inner // width) if strided else -(-outer // width)
    workers = min(threads, blocks)
    scratch = np.zeros((workers, rows, width if strided else 2 * width), b.dtype)
    if strided:
        return Launch(device.program(thomas_columns_cpu, precision), (*flat, x, scratch))
    tiles = np.ones((workers, 4 * TILE * LINES), b.dtype)
    lines = [array.reshape(outer, rows) for array in (*flat, x)]
    return Launch(device.program(thomas_rows_cpu, precision), (*lines, scratch, tiles))


class PartitionPlan(NamedTuple):
    """Partition of systems into blocks."""

    entry: Any
    switches: dict[str, Any]
    arrays: tuple[Any, ...]
    grid: tuple[int, int]  # groups of columns or lines, blocks of each
    block: tuple[int, int]
    shared: int  # shared memory per block, bytes
    lanes: int  # adjacent lines
    lines: int
    partitions: int  # partitions per line


def _partition_plan(device: Device, precision: str, flat: list[Any], x: Any) -> PartitionPlan:
    outer, rows, inner = flat[1].shape
    if inner > 1:
        parameters = device.parameters("solver:tridiagonal.columns")
        grid = (outer * -(-inner // 32), -(-rows // (parameters.rows * parameters.threads)))
        shared = columns.shared_bytes(parameters.rows, parameters.threads, flat[1].dtype.itemsize)
        registers = parameters.registers[precision]
        switches = {"ROWS": parameters.rows, "THREADS": parameters.threads, "REGISTERS": registers}
        arrays = (*flat, x)
        lines = 32 * grid[0]
        block = (32, parameters.threads)
        return PartitionPlan(partition.columns_cuda, switches, arrays, grid, block, shared, 32, lines, grid[1])
    parameters = device.parameters("solver:tridiagonal.lines")
    warps = min(parameters.warps, -(-rows // CELLS))
    grid = (outer, -(-rows // (CELLS * warps)))
    switches = {"WARPS": warps, "VECTORS": rows % 4 == 0, "REGISTERS": parameters.registers[precision]}
    arrays = tuple(array.reshape(outer, rows) for array in (*flat, x))
    return PartitionPlan(partition.rows_cuda, switches, arrays, grid, (32, warps), 0, 1, outer, grid[1] * warps)


def _partition(device: Device, precision: str, flat: list[Any], x: Any) -> list[Launch]:
    """Return the fast pass, then the exact passes, which return immediately if they are not needed."""
    plan = _partition_plan(device, precision, flat, x)
    epsilon, total = EPSILON[precision], plan.grid[0] * plan.grid[1]
    coupling = _workspace(device, precision, plan.lines * plan.partitions, total)
    device.copy(coupling.guard, coupling.guard * 0)
    modes = (columns.ALONE,) if plan.partitions == 1 else (columns.EXCHANGE, columns.REDUCE, None, columns.FINISH)
    block, few = (device.parameters(f"solver:tridiagonal.{name}") for name in ("seams", "exact"))
    passes = []
    for mode in modes:
        if mode is None:
            program = device.program(columns.interfaces_cuda, precision, {"LANES": plan.lanes, "GATE": epsilon})
            blocks = (-(-plan.lines // block.threads),)
            arguments = (coupling.table, coupling.interfaces, coupling.guard, plan.partitions, plan.lines)
            passes.append(Launch(program, arguments, blocks, (block.threads,)))
            continue
        program = device.program(plan.entry, precision, {**plan.switches, "MODE": mode, "EPSILON": epsilon})
        blocks = plan.grid if mode in (columns.ALONE, columns.EXCHANGE) else (min(total, few.blocks),)
        arguments = (plan.arrays[:4], plan.arrays[4], coupling, total, plan.grid[1])
        launch = Launch(program, arguments, blocks, plan.block, plan.shared)
        again = mode == columns.EXCHANGE and device.target == "simulator"
        passes += [launch] * (2 if again else 1)
    return passes


@lru_cache(maxsize=4)
def _workspace(device: Device, precision: str, partitions: int, blocks: int) -> Coupling:
    """Return arrays for published values, interface unknowns, flags of blocks and the guard."""
    real, bits = (np.float32, np.int32) if precision == "single" else (np.float64, np.int64)
    return Coupling(
        device.zeros((columns.WORDS * partitions,), real),
        device.zeros((2 * partitions,), real),
        device.zeros((blocks + 1,), np.uint32),
        device.zeros((1,), bits),
    )


CELLS = 128  # rows per warp for contiguous systems


def best_method(device: Device, outer: int, rows: int, inner: int, itemsize: int) -> str:
    """Return the method for arrays (outer, n, inner) on a device."""
    if device.kind == "cpu":
        return "thomas"
    limits, systems = device.parameters("solver:tridiagonal.choice"), outer * inner
    block = device.parameters("solver:tridiagonal.columns")
    if inner == 1:
        longest = limits.longest_of_few if systems <= limits.few else limits.longest
        if CELLS < rows <= longest and systems <= limits.some:
            return "pcr"
    elif itemsize == 8 and systems <= limits.some and block.rows * block.threads < rows <= limits.longest:
        if rows & (rows - 1) == 0:  # no padding
            return "pcr"
        if rows < limits.longest_padded:
            return "cr-pcr"
    return "partition"


def methods(device: str | Device = "auto") -> tuple[str, ...]:
    """Return the methods of `solve` that a device supports.

    Parameters
    ----------
    device : str or Device
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"auto"`` selects the first working GPU, otherwise the CPU.

    Returns
    -------
    tuple of str
        All methods on a GPU; all except ``"partition"`` on a CPU.

    Raises
    ------
    DeviceError
        If a requested GPU is not available.
    """
    return _methods_of(select(device).kind)


def _methods_of(kind: str) -> tuple[str, ...]:
    return ("auto", "thomas", *(["partition"] if kind == "cuda" else []), *REDUCTIONS)


def solve(a: Any, b: Any, c: Any, d: Any, axis: int = -1, method: str = "auto", check: bool = True) -> Any:
    """Solve a_i x_{i-1} + b_i x_i + c_i x_{i+1} = d_i along an axis, for all systems at once.

    Parameters
    ----------
    a, b, c, d : arrays of the same shape and type, float32 or float64
        Lower, main and upper diagonal and right-hand side, NumPy or CuPy. The first a and the last c of each system are
        not used.
    axis : int
        Axis of the systems.
    method : {"auto", "thomas", "partition", "pcr", "cr", "cr-pcr"}
        Thomas algorithm; partition method (GPU only); parallel cyclic reduction; cyclic reduction; their combination
        (on a GPU one kernel if a system fits the shared memory, 7000 unknowns in double precision, otherwise array
        operations). "auto": `choice.best_method`.
    check : bool
        Check the solution for NaN and infinity.

    Returns
    -------
    array
        Solution x, of the shape and kind of `d`.

    Raises
    ------
    InputError
        For different shapes or types, an unknown method, or (with `check`) a solution that is not finite: the system is
        singular, or elimination without pivoting meets a zero pivot.

    Notes
    -----
    No method uses pivoting. The error is of the order of rounding errors for diagonally dominant systems, and of
    rounding errors times the condition number for symmetric positive definite systems. Other systems may lose accuracy
    without a warning; compare ``a x_{i-1} + b x_i + c x_{i+1}`` with d. The length of systems is not limited.

    References
    ----------
    H. H. Wang, ACM Trans. Math. Softw. 7(2), 170-183 (1981), doi:10.1145/355945.355947 (partition). See
    `eagre.solvers.tridiagonal.reduction_cuda` and `.thomas` for the other methods.
    """
    device, precision = _checked(a, b, c, d, method)
    axis = range(b.ndim)[axis] if -b.ndim <= axis < b.ndim else _no_axis(axis, b.ndim)
    shape = b.shape
    outer, rows, inner = int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))
    if 0 in (outer, rows, inner):
        return d.copy()
    flat = [_contiguous(array).reshape(outer, rows, inner) for array in (a, b, c, d)]
    if method == "auto":
        method = best_method(device, outer, rows, inner, flat[1].dtype.itemsize)
    with device.joined():
        fits = device.kind == "cuda" and reduction_cuda.fits(device, rows, flat[1].dtype.itemsize)
        if method in REDUCTIONS and not fits:
            x = reduce_arrays(*flat, parallel_from=reduction_cuda.PARALLEL_FROM[method])
        else:
            x = device.zeros(flat[1].shape, flat[1].dtype)
            device.run(launches(device, precision, flat, x, method))
        if check:
            _check_finite(x)
    return x.reshape(shape)


def _checked(a: Any, b: Any, c: Any, d: Any, method: str) -> tuple[Device, str]:
    if not all(hasattr(array, "dtype") for array in (a, b, c, d)):
        kinds = ", ".join(type(array).__name__ for array in (a, b, c, d))
        problem = "The arguments are not arrays."
        raise InputError(
            f"a, b, c, d of kinds {kinds}", allowed="NumPy or CuPy arrays", fix="a = numpy.asarray(a)", problem=problem
        )
    shapes, types = {array.shape for array in (a, b, c, d)}, {np.dtype(array.dtype) for array in (a, b, c, d)}
    if len(shapes) > 1 or b.ndim == 0:
        raise InputError(
            f"a, b, c, d of shapes {[x.shape for x in (a, b, c, d)]}", allowed="four arrays of the same shape",
            problem="The shapes of the arrays differ.",
        )  # fmt: skip
    precisions = {np.dtype(np.float32): "single", np.dtype(np.float64): "double"}
    if len(types) > 1 or not types <= set(precisions):
        raise InputError(
            f"a, b, c, d of types {', '.join(sorted(map(str, types)))}",
            allowed="float32 or float64, the same for all four",
            fix="a, b, c, d = (x.astype(numpy.float64) for x in (a, b, c, d))",
            problem="The types of the arrays are not supported, or differ.",
        )
    device = device_of(b)
    if method == "partition" and device.kind == "cpu":
        problem = "The partition method requires CuPy arrays."
        raise InputError(
            'method = "partition" for NumPy arrays', allowed="CuPy arrays", fix='method = "thomas"', problem=problem
        )
    if method not in (allowed := _methods_of(device.kind)):
        raise InputError(f"method = {method!r}", allowed=", ".join(allowed), fix='method = "auto"')
    return device, precisions[np.dtype(b.dtype)]


def _no_axis(axis: int, ndim: int) -> int:
    raise InputError(f"axis = {axis}", allowed=f"-{ndim} to {ndim - 1}", fix="axis = -1")


def _contiguous(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy(order="C")


def _check_finite(x: Any) -> None:
    total = abs(x).max() if x.size else 0.0
    if not bool(np.isfinite(total)):
        raise InputError(
            "a system whose solution is not finite",
            allowed="systems that elimination without pivoting can solve: no zero pivot, not singular",
            problem="The solution contains NaN or infinity.",
        )
