"""Checks of the arrays passed to `Mpdata`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Real
from typing import Any

import numpy as np

from eagre.advection.ghosts import Open
from eagre.advection.plan import Advector, StagedPlan
from eagre.backend.arrays import array_module, on_gpu
from eagre.errors import InputError

ROUNDING = 64  # tolerance in units of the last place, for Courant numbers of exactly 1


def check_field(name: str, a: Any, like: Any, shape: tuple[int, ...] | None = None) -> None:
    """Raise `InputError` unless a has the given shape, and the type and kind of `like`."""
    expected = tuple(like.shape) if shape is None else shape
    if tuple(getattr(a, "shape", ())) != expected or a.dtype != like.dtype or on_gpu(a) != on_gpu(like):
        got = f"{type(a).__name__} of shape {getattr(a, 'shape', '?')} and type {getattr(a, 'dtype', '?')}"
        raise InputError(
            f"{name}, {got}", allowed=f"{type(like).__name__} of shape {expected} and type {like.dtype}",
            problem=f"The array {name} does not match the field x.",
        )  # fmt: skip
    check_whole(name, a)


def check_whole(name: str, a: Any) -> None:
    """Raise `InputError` for an array with masked values."""
    if np.ma.is_masked(a):
        count = int(np.ma.getmaskarray(a).sum())
        raise InputError(
            f"{name} with {count} masked values", allowed="a value everywhere", fix=f"{name}.filled(0.0)",
            problem=f"The array {name} has masked values.",
        )  # fmt: skip


def check_out(out: Any, like: Any) -> None:
    """Raise `InputError` unless out is a writable array like another one."""
    check_field("out", out, like)
    if not getattr(out.flags, "writeable", True):
        raise InputError(
            "out, whose memory is read-only", allowed="a writable array", fix="out=None",
            problem="The array out is read-only.",
        )  # fmt: skip


def check_axes(odd: Any, ndim: int) -> None:
    """Raise `InputError` unless odd is a set of axes."""
    axes: Collection[Any] = odd if isinstance(odd, Collection) else (None,)
    if not all(isinstance(axis, int | np.integer) and 0 <= axis < ndim for axis in axes):
        raise InputError(f"odd = {odd!r}", allowed=f"a tuple of axes, 0 to {ndim - 1}", fix="odd = (0,)")


def check_arrays(shape: tuple[int, ...], x: Any, v: Sequence[Any], h: Any, order: str) -> list[Any]:
    """Return the arrays of v, one per axis; raise `InputError` unless all arrays have the shapes for `shape`."""
    grid_shape, form = (x.shape[1:], f"(fields, *{shape})") if order == "C" else (x.shape[:-1], f"(*{shape}, fields)")
    if tuple(x.shape) != shape and tuple(grid_shape) != shape:
        raise InputError(
            f"x of shape {tuple(x.shape)}", allowed=f"{shape}, or several fields, {form}",
            problem="The shape of x does not match the grid.",
        )  # fmt: skip
    check_whole("x", x)
    faces = [v] if hasattr(v, "dtype") and len(shape) == 1 else list(v) if hasattr(v, "__len__") else []
    if len(faces) != len(shape):
        got = f"{len(faces)} arrays" if faces else f"type {type(v).__name__}"
        problem = "The velocity v does not have one array per axis."
        raise InputError(f"v of {got}", allowed=f"a list of {len(shape)} arrays, one per axis", problem=problem)
    for axis, a in enumerate(faces):
        check_field(f"v[{axis}]", a, x, tuple(n + (axis == b) for b, n in enumerate(shape)))
    if h is not None:
        check_field("h", h, x, shape)
    return faces


def contiguous(shape: tuple[int, ...], x: Any, faces: Sequence[Any], h: Any) -> tuple[Any, list[Any], Any]:
    """Return x as (fields, axes), v and h; arrays not in C order or in read-only memory are copied."""

    def as_read(a: Any) -> Any:  # kernels are compiled for writable arrays
        return array_module(a).ascontiguousarray(a) if on_gpu(a) else np.require(a, requirements=("C", "W", "E"))

    fields = as_read(x).reshape(-1, *shape)
    return fields, [as_read(a) for a in faces], None if h is None else as_read(h)


def check_open(side: str | Open) -> None:
    """Raise `InputError` for open boundaries with inflow values that are not finite numbers."""
    for value in () if isinstance(side, str) else side:
        if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
            problem = "The inflow values of an open boundary are not finite numbers."
            raise InputError(
                f"boundaries {side!r}", allowed="finite numbers, or None", fix="Open(0.0, None)", problem=problem
            )


def check_sign(x: Any, any_sign: bool) -> None:
    """Raise `InputError` for a field that is not finite, or has two signs where one is required."""
    if not x.size:
        return
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(
            "x with values that are not finite", allowed="finite numbers", problem="The field x has NaN or infinity."
        )
    if not any_sign and low < 0.0 < high:
        raise InputError(
            f'x from {low:g} to {high:g} with variant = "sign-preserving"',
            allowed="fields of one sign",
            problem="The sign-preserving variant is only first-order accurate for fields of both signs.",
            fix='variant = "gauge"',
        )


def check_courant(
    plan: StagedPlan, v: Advector, shape: tuple[int, ...], is_reversed: bool = False, name: str = "v"
) -> None:  # fmt: skip
    """Raise `InputError` for outflow Courant numbers above 1, with the point; `is_reversed` : axes are reversed."""
    for array, a in (("v", v.v1), ("v", v.v2), ("v", v.v3), ("h", v.h)):
        if a is not None and not math.isfinite(float(a.sum())):
            raise InputError(
                f"{array} with values that are not finite", allowed="finite numbers",
                problem=f"The array {array} contains NaN or infinity.",
            )  # fmt: skip
    if v.h is not None and not float(v.h.min()) > 0.0:
        raise InputError(
            f"h with a minimum of {float(v.h.min()):g}", allowed="numbers above 0",
            problem="The array h contains values that are not positive.",
        )  # fmt: skip
    numbers = plan.device.zeros(plan.shape, plan.dtype)
    plan.device.run(plan.courant(numbers, v))
    worst = float(numbers.max())
    if worst > 1.0 + ROUNDING * float(array_module(numbers).finfo(plan.dtype).eps):
        flat, indices = int(numbers.argmax()), []
        for n in reversed(shape):
            flat, index = divmod(flat, n)
            indices.insert(0, index)
        point = tuple(indices[::-1] if is_reversed else indices)
        raise InputError(
            f"an outflow Courant number of {worst:.4g} at point {point}, of {name} and h",
            allowed="up to 1: the sum of |v|/h over the outflow faces",
            problem="The Courant number exceeds the stability limit.",
            fix="a shorter time step",
        )
