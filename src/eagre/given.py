"""Arrays that Python code hands over."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.errors import InputError


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
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} of type {array.dtype}", allowed="real numbers")
    return np.array(array, dtype=np.float64, order="C")
