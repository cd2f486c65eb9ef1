"""Functions of the C library in Python: NumPy arrays at the caller's pointers, errors as a status and a message."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from eagre.errors import ConvergenceError, EagreError, InputError
from eagre.library.signatures import CONSTANTS, FUNCTIONS, KINDS, PRECISIONS, Argument, Function

TEXT_SIZE = 2000  # bytes of an error message, with the final null byte
BOUNDARIES = ("periodic", "duplicated", "wall", "open")
OPERATOR = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int), *[ctypes.c_void_p] * 3)

_LOCK = threading.RLock()  # one call at a time; the operator of `gcr` may call other functions
_MODELS: dict[tuple[Any, ...], tuple[Any, dict[str, np.ndarray]]] = {}  # models of `sweep` and their initial states
_MOST_MODELS = 4


@cache
def functions() -> list[Any]:
    """Return the C functions: all of double precision, then all of single precision."""
    return [_exported(one, real) for real in PRECISIONS.values() for one in FUNCTIONS]


def _exported(function: Function, real: type) -> Any:
    """Return a function of the table as a C function; its last argument is a buffer for the error message."""

    def call(*values: Any) -> int:
        try:
            with _LOCK:
                globals()[function.name](**_arguments(function, values[:-1], real))
        except BaseException as error:
            text = str(error) if isinstance(error, EagreError) else f"{type(error).__name__}: {error}"
            line = text.encode()[: TEXT_SIZE - 1] + b"\0"
            ctypes.memmove(values[-1], line, len(line))
            return _status(error)
        return CONSTANTS["OK"][0]

    types = [KINDS[one.kind].type for one in function.arguments]
    return ctypes.CFUNCTYPE(ctypes.c_int, *types, ctypes.c_void_p)(call)


def _status(error: BaseException) -> int:
    if isinstance(error, InputError):
        return CONSTANTS["BAD_INPUT"][0]
    return CONSTANTS["NO_SOLUTION" if isinstance(error, ArithmeticError) else "FAILED"][0]


def _arguments(function: Function, pointers: tuple[Any, ...], real: type) -> dict[str, Any]:
    """Return the arguments by name: pointers with a shape become arrays in C order, without copies."""
    values = {one.name: value for one, value in zip(function.arguments, pointers, strict=True)}
    return {one.name: _array(one, values, real) if one.shape else values[one.name] for one in function.arguments}


def _array(one: Argument, values: dict[str, Any], real: type) -> np.ndarray | None:
    """Return the array at a pointer, or None for a null pointer of an optional argument."""
    if values[one.name] is None:
        return None if KINDS[one.kind].optional else _missing(one.name)
    shape: list[int] = []
    for extent in reversed(one.shape.split()):
        name, _, more = extent.partition("+")
        size = int(name) if name.isdigit() else values[name]
        if size < 1:
            raise InputError(f"{name} = {size}", allowed="1 or more")
        shape.append(size + int(more or 0))
    kind = np.dtype({"count": np.int32, "number": np.float64}.get(one.kind, real))
    memory: Any = (ctypes.c_byte * (math.prod(shape) * kind.itemsize)).from_address(values[one.name])
    return np.ndarray(shape, kind, memory)


def _missing(name: str) -> Any:
    raise InputError(f"a null pointer for {name}", allowed="a pointer", problem=f"The argument {name} is null.")


def tridiagonal(a: Any, b: Any, c: Any, d: Any, x: Any, **_: int) -> None:
    """Solve tridiagonal systems along the middle axis; see `signatures.FUNCTIONS`, as for the functions below."""
    from eagre.solvers.tridiagonal import solve

    x[...] = solve(a, b, c, d, axis=1)


def sweep(z: Any, p: Any, q_before: Any, q_after: Any, steps: int, **setup: Any) -> None:
    """Advance the ADI model."""
    if steps < 0:
        raise InputError(f"steps = {steps}", allowed="0 or more")
    model, start = _model(z, **setup)
    fields = {"z": z, "p": p, "q_before": q_before, "q_after": q_after}
    model.restore({**start, **fields, "level": np.array(0.0)})
    if steps:
        model.advance(steps * setup["time_step"], max_steps=steps)
    state = model.state()
    state["z"] = state["z"] + state["level"].astype(z.dtype)
    for name, array in fields.items():
        array[...] = state[name]


def _model(z: Any, nx: int, ny: int, dx: float, dy: float, bed: Any, manning: Any, **options: Any) -> Any:
    """Return the model of a set-up, and its initial state."""
    from eagre.grid import Grid
    from eagre.models.shallow_water_adi.model import ShallowWaterADI

    friction = 0.0 if manning is None else manning.copy()
    key = (z.dtype, nx, ny, dx, dy, bed.tobytes(), np.asarray(friction).tobytes(), *options.values())
    if key not in _MODELS:
        precision = {real: name for real, name in zip(PRECISIONS.values(), ("double", "single"), strict=True)}
        model = ShallowWaterADI(
            Grid(nx, ny, dx, dy), bed.copy(), surface_elevation=z.copy(), manning=friction, device="cpu",
            precision=precision[z.dtype.type], **options,
        )  # fmt: skip
        while len(_MODELS) >= _MOST_MODELS:
            del _MODELS[next(iter(_MODELS))]
        _MODELS[key] = model, model.state()
    return _MODELS[key]


def mpdata(x: Any, vx: Any, vy: Any, vz: Any, h: Any, steps: int, **options: int) -> None:
    """Advance a field by MPDATA, without the axes of one point."""
    axes = [axis for axis in range(3) if x.shape[axis] > 1] or [2]
    shape = tuple(x.shape[axis] for axis in axes)
    v = []
    for axis in axes:
        face = (vz, vy, vx)[axis]
        face = _missing(("vz", "vy", "vx")[axis]) if face is None else face
        v.append(face.reshape([n + (axis == other) for other, n in zip(axes, shape, strict=True)]))
    sides = [options[f"boundary_{'zyx'[axis]}"] for axis in axes]
    if not all(0 <= side < len(BOUNDARIES) for side in sides):
        raise InputError(f"boundaries {sides}", allowed=f"0 to {len(BOUNDARIES) - 1}: EAGRE_PERIODIC, ...")
    scheme = _scheme(shape, *sides, **{name: options[name] for name in ("passes", "sign_preserving", "nonoscillatory")})
    field = x.reshape(shape)
    scheme.step(field, v, None if h is None else h.reshape(shape), steps=steps, out=field)


@lru_cache(maxsize=8)
def _scheme(shape: tuple[int, ...], *sides: int, passes: int, sign_preserving: int, nonoscillatory: int) -> Any:
    from eagre.advection import Mpdata

    return Mpdata(
        shape, [BOUNDARIES[side] for side in sides], passes=passes,
        variant="sign-preserving" if sign_preserving else "gauge", nonoscillatory=bool(nonoscillatory),
    )  # fmt: skip


def gcr(
    n: int, apply: int | None, precondition: int | None, data: int | None, right: Any, x: Any, iterations: Any,
    norm: Any, **options: Any,
) -> None:  # fmt: skip
    """Solve a linear problem by GCR(k) with the caller's operator."""
    from eagre.solvers.gcr import gcr as solve

    operator = _operator(apply, n, data) if apply else _missing("apply")
    inverse = _operator(precondition, n, data) if precondition else None
    try:
        result = solve(operator, right, x, preconditioner=inverse, **options)
    except ConvergenceError as error:
        iterations[0], norm[0] = error.iterations, error.norm
        raise
    x[...], iterations[0], norm[0] = result.solution, result.iterations, result.norm


def _operator(address: int, n: int, data: int | None) -> Callable[[Any], Any]:
    """Return the operator at an address as a function of an array."""
    function, size = OPERATOR(address), ctypes.c_int(n)

    def apply(x: Any) -> Any:
        y = np.empty_like(x)
        function(ctypes.byref(size), x.ctypes.data, y.ctypes.data, data)
        return y

    return apply
