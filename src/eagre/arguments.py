"""Checks of arrays and objects passed as arguments, and their fill values."""

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
    shown, noun = repr(value), _noun(kind)
    article = "an" if noun[0] in "AEIOU" else "a"
    got = f"{name} = {shown}" if len(shown) < 80 else f"{name} of type {type(value).__name__}"
    raise InputError(got, allowed=f"{article} {noun}", fix=fix, problem=f"The type of {name} is wrong.")


def _noun(kind: type) -> str:
    return "number" if kind is Real else kind.__name__


def all_of_type(name: str, values: Any, kind: type[T], fix: str) -> list[T]:
    """Return `values` as a list of instances of `kind`; raise `InputError` for a single instance or a string."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        problem = f"The argument {name} is not a list."
        allowed = f"a list of {_noun(kind)}{'s' * (kind is Real)}"
        raise InputError(f"{name} = {values!r}", allowed=allowed, fix=fix, problem=problem)
    return [of_type(f"{name}[{k}]", value, kind, fix) for k, value in enumerate(values)]


FILL_VALUES = (
    *(-9999.0, -999.0, -99.9, -99.99, -999.9, -999.99, -9999.9, -99999.0, -32767.0, -32768.0),
    *(999.9, 9999.0, 9999.9, 99999.0, 32767.0, 1e20, 9.969209968386869e36),
)
"""Usual fill values. The last one is the default of the NetCDF library for real numbers."""
NEAR = 0.9
"""A fill value is plausible data if other values of the same sign exceed this fraction of it."""
MIN_GAP_FACTOR = 3.0
"""Minimum distance of a fill value from all other values, in units of the largest gap between those values."""


def find_fill(values: np.ndarray) -> float | None:
    """Return a common fill value that is an outlier among finite `values`, or None.

    A number is regarded as data if other values are close to it or beyond it, or if the gaps between other values are
    as large. Numbers are compared in single precision, as many files store them.
    """
    single = _single(values)
    return next((fill for fill in FILL_VALUES if _stands_out(single, np.float32(fill))), None)


def is_fill(values: np.ndarray, fill: float) -> np.ndarray:
    """Return a mask of `values` equal to a fill value that `find_fill` returned."""
    return _single(values) == np.float32(fill)


def _single(values: np.ndarray) -> np.ndarray:
    """Return `values` in single precision; values beyond its range become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def _stands_out(values: np.ndarray, fill: np.float32) -> bool:
    """Return whether `values` contain `fill` as an outlier."""
    missing = values == fill
    if not missing.any():
        return False
    others = np.unique(values[~missing & np.isfinite(values)]).astype(np.float64)
    if others.size == 0:
        return True
    if (np.sign(fill) * others > NEAR * abs(float(fill))).any():
        return False
    gap = np.abs(others - float(fill)).min()
    return bool(gap > MIN_GAP_FACTOR * np.diff(others).max(initial=0.0))


def check_series_fill(times: np.ndarray, values: np.ndarray, name: str) -> None:
    """Raise `InputError` for fill values in a time series, which linear interpolation would treat as data.

    A series with equal values is accepted.

    Parameters
    ----------
    times : (n,) array, s
    values : (n,) array
        Values before any unit conversion.
    name : str
        Source of the series, for error messages.
    """
    fill = find_fill(values)
    if fill is None:
        return
    missing = is_fill(values, fill)
    if missing.all():
        return
    row = int(np.argmax(missing))
    fix = f"the file without the rows of {fill:g}"
    if name == "series":  # made in Python
        fix = f"keep = values != {fill:g}; Series(times[keep], values[keep])"
    raise InputError(
        f"{name}: the value {fill:g} in {int(missing.sum())} of {values.size} rows, the first at "
        f"t = {times[row]:g} s (row {row})",
        allowed="measured values; omit rows without a value, they are interpolated linearly (a measured "
        f"value of this size can be written as {fill * 1.00001:.8g})",
        fix=fix,
        problem=f"The series contains {fill:g}, a common fill value for missing data, as an outlier.",
    )
