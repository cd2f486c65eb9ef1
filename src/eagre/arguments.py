"""Checks of arrays and objects passed as arguments."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from eagre.errors import InputError

T = TypeVar("T")


def array_copy(name: str, values: Any) -> np.ndarray:
    """Return a float64, C-contiguous copy of `values`; later changes of the caller's array have no effect.

    Raises
    ------
    InputError
        For masked values and anything except real numbers: complex numbers, dates, strings, lists of unequal length.
    """
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise InputError(
            f"{name} with {count} masked values", allowed="a value everywhere", fix=f"{name}.filled(0.0)",
            problem=f"The array {name} has masked values.",
        )  # fmt: skip
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(
            f"{name} of lists of several lengths", allowed="a number, or rows of one length",
            problem=f"The rows of {name} differ in length.",
        ) from None  # fmt: skip
    if callable(values):
        fix = 'function(*grid.mesh()); at cell corners, as for a bed: function(*grid.mesh("corner"))'
        problem = f"The argument {name} is a function, but an array is required."
        raise InputError(f"a function as {name}", allowed="real numbers: its values", fix=fix, problem=problem)
    if array.dtype.kind not in "biuf":
        got = f"{name} = {values!r}" if array.ndim == 0 else f"{name} of type {array.dtype}"
        raise InputError(got, allowed="real numbers", problem=f"The values of {name} are not real numbers.")
    return np.array(array, dtype=np.float64, order="C")


def real_number(name: str, value: Any) -> float:
    """Return `value` as a float if it is a number, finite or not; otherwise raise `InputError`."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"{name} = {value!r}", allowed="a number", problem=f"The value of {name} is not a number.")


def of_type(name: str, value: Any, kind: type[T], fix: str) -> T:
    """Return `value` if it is an instance of `kind`; otherwise raise `InputError` with `fix`."""
    if isinstance(value, kind):
        return value
    shown, article = repr(value), "an" if kind.__name__[0] in "AEIOU" else "a"
    got = f"{name} = {shown}" if len(shown) < 80 else f"{name} of type {type(value).__name__}"
    raise InputError(got, allowed=f"{article} {kind.__name__}", fix=fix, problem=f"The type of {name} is wrong.")


def all_of_type(name: str, values: Any, kind: type[T], fix: str) -> list[T]:
    """Return `values` as a list of instances of `kind`; raise `InputError` for a single instance or a string."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        problem = f"The argument {name} is not a list."
        raise InputError(f"{name} = {values!r}", allowed=f"a list of {kind.__name__}", fix=fix, problem=problem)
    return [of_type(f"{name}[{k}]", value, kind, fix) for k, value in enumerate(values)]
