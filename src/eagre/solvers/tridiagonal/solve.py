"""`solve`: many tridiagonal systems at once, along any axis, for NumPy and CuPy arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, device_of
from eagre.errors import InputError
from eagre.solvers.tridiagonal import columns, partition, thomas
from eagre.solvers.tridiagonal.reduction import cyclic_reduction, parallel_cyclic_reduction

METHODS = ("auto", "thomas", "partition", "pcr", "cr", "cr-pcr")
EPSILON = {"single": 1e-8, "double": 1e-17}
TILE_ROWS, TILE_THREADS, TILE_WARPS = 8, 8, 8
EXACT_BLOCKS = 528  # of the exact passes, which mostly return at once
CR_PCR_ROWS = 64  # rows from which on the hybrid goes over to parallel cyclic reduction


def solve(a: Any, b: Any, c: Any, d: Any, axis: int = -1, method: str = "auto", check: bool = True) -> Any:
    """Solve a_i x_{i-1} + b_i x_i + c_i x_{i+1} = d_i along an axis, for all systems at once.

    Parameters
    ----------
    a, b, c, d : arrays of one shape and one type, float32 or float64
        Lower, main and upper diagonal and right side, NumPy or CuPy. The first a and the last c of
        each system are not used.
    axis : int
        Axis along which the systems run.
    method : {"auto", "thomas", "partition", "pcr", "cr", "cr-pcr"}
        Elimination along whole lines; pieces of lines (GPU only); parallel cyclic reduction; cyclic
        reduction; the two joined. "auto" takes "thomas" on the CPU and "partition" on a GPU.
    check : bool
        Look for values that are not finite in the answer.

    Returns
    -------
    array
        x, of the shape and kind of `d`.

    Raises
    ------
    InputError
        For shapes or types that differ, a method that is not there, or (with `check`) systems whose
        answer is not finite: they are singular, or elimination without pivoting meets a zero.

    Notes
    -----
    No method pivots: the error is of the order of rounding for diagonally dominant systems, and for
    symmetric positive definite ones times their condition number. Other systems may lose digits
    without notice; compare ``a x_{i-1} + b x_i + c x_{i+1}`` with d. There is no limit of length.

    References
    ----------
    H. H. Wang, ACM Trans. Math. Softw. 7(2), 170-183 (1981), doi:10.1145/355945.355947 (partition);
    `eagre.solvers.tridiagonal.reduction` and `.thomas` name the others.
    """
    device, precision = _checked(a, b, c, d, method)
    axis = range(b.ndim)[axis] if -b.ndim <= axis < b.ndim else _no_axis(axis, b.ndim)
    shape = b.shape
    outer, rows, inner = int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))
    if 0 in (outer, rows, inner):
        return d.copy()
    flat = [_contiguous(array).reshape(outer, rows, inner) for array in (a, b, c, d)]
    if method == "auto":
        method = "thomas" if device.kind == "cpu" else "partition"
    with device.joined():
        if method in ("pcr", "cr", "cr-pcr"):
            x = _reduce(flat, method)
        elif method == "thomas":
            x = _thomas(device, precision, flat)
        else:
            x = _partition(device, precision, flat)
        if check:
            _check_finite(x)
    return x.reshape(shape)


def _checked(a: Any, b: Any, c: Any, d: Any, method: str) -> tuple[Device, str]:
    shapes, types = {array.shape for array in (a, b, c, d)}, {np.dtype(array.dtype) for array in (a, b, c, d)}
    if len(shapes) > 1 or b.ndim == 0:
        raise InputError(f"a, b, c, d of shapes {[x.shape for x in (a, b, c, d)]}", allowed="four arrays of one shape")
    precisions = {np.dtype(np.float32): "single", np.dtype(np.float64): "double"}
    if len(types) > 1 or not types <= set(precisions):
        raise InputError(
            f"a, b, c, d of types {', '.join(sorted(map(str, types)))}",
            allowed="float32 or float64, the same for all four",
            fix="a, b, c, d = (x.astype(numpy.float64) for x in (a, b, c, d))",
        )
    if method not in METHODS:
        raise InputError(f"method = {method!r}", allowed=", ".join(METHODS), fix='method = "auto"')
    device = device_of(b)
    if method == "partition" and device.kind == "cpu":
        raise InputError('method = "partition" for NumPy arrays', allowed="CuPy arrays", fix='method = "thomas"')
    return device, precisions[np.dtype(b.dtype)]


def _no_axis(axis: int, ndim: int) -> int:
    raise InputError(f"axis = {axis}", allowed=f"-{ndim} to {ndim - 1}", fix="axis = -1")


def _contiguous(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy(order="C")


def _check_finite(x: Any) -> None:
    total = abs(x).max() if x.size else 0.0
    if not bool(np.isfinite(total)):
        raise InputError(
            "a system whose answer is not finite",
            allowed="systems that elimination without pivoting can solve: no zero pivot, not singular",
        )


def _reduce(flat: list[Any], method: str) -> Any:
    a, b, c, d = flat
    a, c = a.copy(), c.copy()
    a[:, 0], c[:, -1] = 0.0, 0.0
    with np.errstate(all="ignore"):
        if method == "pcr":
            return parallel_cyclic_reduction(a, b, c, d)
        return cyclic_reduction(a, b, c, d, 1 if method == "cr" else CR_PCR_ROWS)


def _thomas(device: Device, precision: str, flat: list[Any]) -> Any:
    b = flat[1]
    outer, rows, inner = b.shape
    x = device.zeros(b.shape, b.dtype)
    if device.kind == "cuda":
        program = device.program(thomas.thomas_cuda, precision)
        store = device.zeros(b.shape, b.dtype)
        device.run([Launch(program, (*flat, x, store), (-(-outer * inner // 64),), (64,))])
        return x
    side_by_side = inner > 1
    blocks = outer * -(-inner // thomas.LINES) if side_by_side else -(-outer // thomas.LINES)
    workers = max(1, min(4 * getattr(device, "threads", 1), blocks))
    words = (1 if side_by_side else 2) * thomas.LINES * rows
    scratch = np.zeros((workers, words), b.dtype)
    if side_by_side:
        device.run([Launch(device.program(thomas.thomas_columns_cpu, precision), (*flat, x, scratch))])
    else:
        tiles = np.ones((workers, 4 * thomas.TILE * thomas.LINES), b.dtype)
        lines = [array.reshape(outer, rows) for array in flat]
        program = device.program(thomas.thomas_rows_cpu, precision)
        device.run([Launch(program, (*lines, x.reshape(outer, rows), scratch, tiles))])
    return x


def _partition(device: Device, precision: str, flat: list[Any]) -> Any:
    x = device.zeros(flat[1].shape, flat[1].dtype)
    device.run(launches(device, precision, flat, x))
    return x


def launches(device: Device, precision: str, flat: list[Any], x: Any) -> list[Launch]:
    """The launches of the partition method for arrays (outer, n, inner): the quick pass, then the exact ones."""
    outer, rows, inner = flat[1].shape
    itemsize = flat[1].dtype.itemsize
    if inner > 1:
        strips, segments = outer * -(-inner // 32), -(-rows // (TILE_ROWS * TILE_THREADS))
        shape: tuple[Any, Any] = ((strips, segments), (32, TILE_THREADS))
        shared = columns.shared_bytes(TILE_ROWS, TILE_THREADS, itemsize)
        entry, lanes, lines, pieces = partition.columns_cuda, 32, 32 * strips, segments
        switches: dict[str, Any] = {"ROWS": TILE_ROWS, "THREADS": TILE_THREADS}
        switches["REGISTERS"] = 64 if itemsize == 4 else 80
        arrays = [*flat, x]
    else:
        warps = min(TILE_WARPS, -(-rows // 128))
        segments = -(-rows // (128 * warps))
        shape, shared = ((outer, segments), (32, warps)), 0
        entry, lanes, lines, pieces = partition.rows_cuda, 1, outer, segments * warps
        switches = {"WARPS": warps, "VECTORS": rows % 4 == 0, "REGISTERS": 64 if itemsize == 4 else 96}
        arrays = [array.reshape(outer, rows) for array in (*flat, x)]
    told, seams, flags, guard = _workspace(device, precision, lines * pieces, shape[0][0] * shape[0][1])
    device.copy(guard, guard * 0)
    epsilon, total = EPSILON[precision], shape[0][0] * shape[0][1]
    alone = pieces == 1
    modes = (columns.ALONE,) if alone else (columns.EXCHANGE, columns.REDUCE, None, columns.FINISH)
    made = []
    for mode in modes:
        if mode is None:
            program = device.program(columns.seams_cuda, precision, {"LANES": lanes, "GATE": epsilon})
            made.append(Launch(program, (told, seams, guard, pieces, lines), (-(-lines // 64),), (64,)))
            continue
        program = device.program(entry, precision, {**switches, "MODE": mode, "EPSILON": epsilon})
        blocks = shape[0] if mode in (columns.ALONE, columns.EXCHANGE) else (min(total, EXACT_BLOCKS),)
        arguments = (*arrays, told, seams, flags, guard, total, segments)
        launch = Launch(program, arguments, blocks, shape[1], shared)
        again = mode == columns.EXCHANGE and device.target == "simulator"
        made += [launch] * (2 if again else 1)
    return made


@lru_cache(maxsize=4)
def _workspace(device: Device, precision: str, pieces: int, blocks: int) -> tuple[Any, Any, Any, Any]:
    """What pieces tell, their seams, the blocks' flags and the guard."""
    real, bits = (np.float32, np.int32) if precision == "single" else (np.float64, np.int64)
    return (
        device.zeros((columns.WORDS * pieces,), real),
        device.zeros((2 * pieces,), real),
        device.zeros((blocks + 1,), np.uint32),
        device.zeros((1,), bits),
    )
