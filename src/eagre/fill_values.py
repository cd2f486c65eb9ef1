"""Fill values: numbers that files and gauges write for missing data, found where nothing declares them."""

from __future__ import annotations

import numpy as np

from eagre.errors import InputError

FILL_VALUES = (
    *(-9999.0, -999.0, -99.9, -99.99, -999.9, -999.99, -9999.9, -99999.0, -32767.0, -32768.0),
    *(999.9, 9999.0, 9999.9, 99999.0, 32767.0, 1e20, 9.969209968386869e36),
)
"""Usual fill values. The last one is the default of the NetCDF library for real numbers."""
NEAR = 0.9
"""A value beyond this part of a fill value, on the same side of 0, is as large as the fill value."""
MIN_GAP_FACTOR = 3.0
"""A fill value is farther from all other values than this multiple of the largest gap between those."""


def find_fill(values: np.ndarray) -> float | None:
    """Return a usual fill value among finite `values` of another size, or None.

    A value that belongs to the data has others near or beyond it, or is reached by steps as large as others. Numbers
    are compared in single precision, as many files store them.
    """
    single = _single(values)
    return next((fill for fill in FILL_VALUES if _stands_out(single, np.float32(fill))), None)


def is_fill(values: np.ndarray, fill: float) -> np.ndarray:
    """Return where `values` are a fill value that `find_fill` found."""
    return _single(values) == np.float32(fill)


def _single(values: np.ndarray) -> np.ndarray:
    """Return `values` in single precision; larger ones become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def _stands_out(values: np.ndarray, fill: np.float32) -> bool:
    """Return whether `values` hold `fill` and nothing of its size."""
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
    """Raise `InputError` for fill values in a time series: lines would lead to them and back.

    A series of one value alone is accepted.

    Parameters
    ----------
    times : (n,) array, s
    values : (n,) array
        As they are written, before any conversion of units.
    name : str
        Where the series comes from.
    """
    fill = find_fill(values)
    if fill is None:
        return
    missing = is_fill(values, fill)
    if missing.all():
        return
    row = int(np.argmax(missing))
    fix = f"the same rows without those of {fill:g}"
    if name == "series":  # made in Python
        fix = f"keep = values != {fill:g}; Series(times[keep], values[keep])"
    raise InputError(
        f"{name}: the value {fill:g} in {int(missing.sum())} of {values.size} rows, the first at "
        f"t = {times[row]:g} s (row {row}), as if it meant no data",
        allowed="true values; rows without a value can be left out, since values are linear in between (a measured "
        f"value of this size can be written as {fill * 1.00001:.8g})",
        fix=fix,
        problem=f"The series holds {fill:g}, a usual fill value of missing data, among values of another size.",
    )
