"""`solve`: batched solution of tridiagonal systems along any axis, for NumPy and CuPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.select import device_of, select
from eagre.errors import InputError
from eagre.solvers.tridiagonal import reduction_cuda
from eagre.solvers.tridiagonal.launches import best_method, launches
from eagre.solvers.tridiagonal.reduction import reduce_arrays

REDUCTIONS = ("pcr", "cr", "cr-pcr")


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
    `eagre.solvers.tridiagonal.reduction` and `.thomas` for the other methods.
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
