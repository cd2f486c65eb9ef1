"""Valid ranges of NetCDF variables: `valid_min`, `valid_max` and `valid_range` (CF conventions, section 2.5.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def valid_range(variable: Any) -> tuple[float, float]:
    """Return the minimum and maximum valid value of an unpacked variable; infinite if the file declares none.

    The attributes are of packed values. Following the NetCDF User Guide (attribute conventions), attributes of real
    type of a variable that is packed as integers refer to unpacked values.

    Parameters
    ----------
    variable : xarray.DataArray
        Unpacked by xarray, which keeps the packing in `encoding` and these attributes in `attrs`.
    """
    low, high = -math.inf, math.inf
    pair = _numbers(variable, "valid_range", 2)
    bounds = [_numbers(variable, "valid_min", 1), _numbers(variable, "valid_max", 1)]
    if pair is not None:
        low, high = float(pair.min()), float(pair.max())
    low = low if bounds[0] is None else max(low, float(bounds[0][0]))
    high = high if bounds[1] is None else min(high, float(bounds[1][0]))
    packed = np.dtype(variable.encoding.get("dtype", variable.dtype))
    scale = float(variable.encoding.get("scale_factor", 1.0))
    offset = float(variable.encoding.get("add_offset", 0.0))
    attribute = next(one.dtype for one in (pair, *bounds, np.zeros(0, packed)) if one is not None)
    if (scale, offset) == (1.0, 0.0) or (packed.kind in "iu" and attribute.kind == "f"):
        return low, high
    slack = 0.5 * abs(scale) if packed.kind in "iu" else 0.0  # unpacking rounds
    ends = sorted((low * scale + offset, high * scale + offset))
    return ends[0] - slack, ends[1] + slack


def without_invalid(values: Any, variable: Any) -> np.ndarray:
    """Return the values of a variable as float64, NaN outside of its valid range."""
    unpacked = np.asarray(values, np.float64)
    low, high = valid_range(variable)
    if low == -math.inf and high == math.inf:
        return unpacked
    return np.where((unpacked < low) | (unpacked > high), np.nan, unpacked)


def _numbers(variable: Any, name: str, count: int) -> np.ndarray | None:
    """Return an attribute as an array of `count` numbers of the type of the file; None if absent or not numeric."""
    attribute = variable.attrs.get(name)
    if attribute is None:
        return None
    array = np.atleast_1d(np.asarray(attribute))
    if array.dtype.kind not in "iuf" or array.size != count or not np.isfinite(array).all():
        return None
    packed = np.dtype(variable.encoding.get("dtype", variable.dtype))
    if str(variable.encoding.get("_Unsigned", "")).lower() == "true" and array.dtype.kind == "i":
        array = array.view(array.dtype.str.replace("i", "u"))
    elif packed.kind == "f" and array.dtype.kind == "f":
        array = array.astype(packed).astype(np.float64)  # as the values are rounded
    return array
