"""Arrays and objects that Python code hands over."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from eagre.errors import InputError

T = TypeVar("T")


def own_array(name: str, values: Any) -> np.ndarray:
    """`values` as float64, C-contiguous, in memory of its own: what the caller does to his later changes nothing.

    Raises
    ------
    InputError
        For masked values, and for anything but real numbers: complex ones, dates, texts, lists of uneven length.
    """
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise InputError(f"{name} with {count} masked values", allowed="a value everywhere", fix=f"{name}.filled(0.0)")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} of lists of several lengths", allowed="a number, or rows of one length") from None
    if callable(values):
        fix = 'function(*grid.mesh()); at corners of cells, as of a bed, function(*grid.mesh("corner"))'
        raise InputError(f"a function as {name}", allowed="real numbers: its values", fix=fix)
    if array.dtype.kind not in "biuf":
        got = f"{name} = {values!r}" if array.ndim == 0 else f"{name} of type {array.dtype}"
        raise InputError(got, allowed="real numbers")
    return np.array(array, dtype=np.float64, order="C")


def given_number(name: str, value: Any) -> float:
    """`value` as a float if it is a number, finite or not; else `InputError`."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    raise InputError(f"{name} = {value!r}", allowed="a number")


def of_type(name: str, value: Any, kind: type[T], fix: str) -> T:
    """`value` if it is a `kind`; else `InputError` with the line to write."""
    if isinstance(value, kind):
        return value
    shown, article = repr(value), "an" if kind.__name__[0] in "AEIOU" else "a"
    got = f"{name} = {shown}" if len(shown) < 80 else f"{name} of type {type(value).__name__}"
    raise InputError(got, allowed=f"{article} {kind.__name__}", fix=fix)


def all_of_type(name: str, values: Any, kind: type[T], fix: str) -> list[T]:
    """`values` as a list if all of them are a `kind`; one alone, and a text, are refused."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} = {values!r}", allowed=f"a list of {kind.__name__}", fix=fix)
    return [of_type(f"{name}[{k}]", value, kind, fix) for k, value in enumerate(values)]
