"""Checks of the arrays that a caller of `Mpdata` hands over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from eagre.advection.plan import Advector, StagedPlan
from eagre.backend.arrays import array_module, on_gpu
from eagre.errors import InputError

ROUNDING = 64  # in units of the last place: Courant numbers of 1 exactly may come out above


def check_field(name: str, a: Any, like: Any, shape: tuple[int, ...] | None = None) -> None:
    """Raise `InputError` unless a is an array of that shape, and of the type and kind of `like`."""
    wanted = tuple(like.shape) if shape is None else shape
    if tuple(getattr(a, "shape", ())) != wanted or a.dtype != like.dtype or on_gpu(a) != on_gpu(like):
        got = f"{type(a).__name__} of shape {getattr(a, 'shape', '?')} and type {getattr(a, 'dtype', '?')}"
        raise InputError(f"{name}, {got}", allowed=f"{type(like).__name__} of shape {wanted} and type {like.dtype}")


def check_arrays(shape: tuple[int, ...], x: Any, v: Sequence[Any], h: Any, order: str) -> list[Any]:
    """The arrays of v, one an axis; raises `InputError` unless all arrays have the shapes that belong to `shape`."""
    several, form = (x.shape[1:], f"(fields, *{shape})") if order == "C" else (x.shape[:-1], f"(*{shape}, fields)")
    if tuple(x.shape) != shape and tuple(several) != shape:
        raise InputError(f"x of shape {tuple(x.shape)}", allowed=f"{shape}, or several fields, {form}")
    faces = [v] if hasattr(v, "dtype") and len(shape) == 1 else list(v)
    if len(faces) != len(shape):
        raise InputError(f"v of {len(faces)} arrays", allowed=f"{len(shape)}, one an axis")
    for axis, a in enumerate(faces):
        check_field(f"v[{axis}]", a, x, tuple(n + (axis == b) for b, n in enumerate(shape)))
    if h is not None:
        check_field("h", h, x, shape)
    return faces


def contiguous(shape: tuple[int, ...], x: Any, faces: Sequence[Any], h: Any) -> tuple[Any, list[Any], Any]:
    """x as (fields, and the axes), v and h, as they are or copied to C order."""
    xp = array_module(x)
    fields = xp.ascontiguousarray(x).reshape(-1, *shape)
    return fields, [xp.ascontiguousarray(a) for a in faces], None if h is None else xp.ascontiguousarray(h)


def check_sign(x: Any, any_sign: bool) -> None:
    """Raise `InputError` for a field that is not finite, or has two signs where one is needed."""
    if not x.size:
        return
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError("x with values that are not finite", allowed="finite numbers")
    if not any_sign and low < 0.0 < high:
        raise InputError(
            f'x from {low:g} to {high:g} with variant = "sign-preserving"',
            allowed="fields of one sign: on others this variant is first order",
            fix='variant = "gauge"',
        )


def check_courant(plan: StagedPlan, v: Advector, shape: tuple[int, ...], turned: bool = False) -> None:
    """Raise `InputError` where more leaves a point in a step than it holds, with the place; axes may be `turned`."""
    for name, a in (("v", v.v1), ("v", v.v2), ("v", v.v3), ("h", v.h)):
        if a is not None and not math.isfinite(float(a.sum())):
            raise InputError(f"{name} with values that are not finite", allowed="finite numbers")
    if v.h is not None and not float(v.h.min()) > 0.0:
        raise InputError(f"h with a least value of {float(v.h.min()):g}", allowed="numbers above 0")
    numbers = plan.device.zeros(plan.shape, plan.dtype)
    plan.device.run(plan.courant(numbers, v))
    worst = float(numbers.max())
    if worst > 1.0 + ROUNDING * float(array_module(numbers).finfo(plan.dtype).eps):
        flat, place = int(numbers.argmax()), []
        for n in reversed(shape):
            flat, index = divmod(flat, n)
            place.insert(0, index)
        raise InputError(
            f"v and h that take {worst:.4g} of what point {tuple(place[::-1] if turned else place)} holds in a step",
            allowed="up to 1: the sum of |v|/h over the faces through which something leaves",
            fix="a shorter time step",
        )
