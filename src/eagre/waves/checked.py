"""Checks of wave parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.errors import InputError


def number(name: str, value: Any, unit: str = "", example: float = 0.0) -> float:
    """Return `value` as a finite float.

    Raises
    ------
    InputError
        For any other value.
    """
    result = _float(value)
    if not math.isfinite(result):
        raise InputError(f"{name} = {value!r}", allowed=f"a finite number{_of(unit)}", fix=f"{name} = {example:g}")
    return result


def positive(name: str, value: Any, unit: str = "", example: float = 1.0, infinite: bool = False) -> float:
    """Return `value` as a positive float, or infinity if `infinite`.

    Raises
    ------
    InputError
        For any other value.
    """
    result = _float(value)
    if not (0.0 < result < math.inf or (infinite and result == math.inf)):
        more = ", or math.inf" if infinite else ""
        raise InputError(f"{name} = {value!r}", allowed=f"a number > 0{_of(unit)}{more}", fix=f"{name} = {example:g}")
    return result


def whole(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as an integer from `low` to `high`.

    Raises
    ------
    InputError
        For any other value.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
        raise InputError(f"{name} = {value!r}", allowed=f"an integer from {low} to {high}", fix=f"{name} = {low}")
    return int(value)


def exactly_one(names: dict[str, Any], fix: str) -> str:
    """Return the only name whose value is not None.

    Raises
    ------
    InputError
        If none or several are given.
    """
    present = [name for name, value in names.items() if value is not None]
    if len(present) != 1:
        what = " and ".join(present) or f"neither {' nor '.join(names)}"
        raise InputError(what, allowed=f"exactly one of {' and '.join(names)}", fix=fix)
    return present[0]


def _float(value: Any) -> float:
    """Return `value` as a float; NaN if it is not numeric."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _of(unit: str) -> str:
    return f", {unit}" if unit else ""
