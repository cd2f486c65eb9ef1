"""Numbers that stand for missing values without saying so."""

from __future__ import annotations

import numpy as np

_USUAL = (-9999.0, -999.0)


def hidden_nodata(values: np.ndarray) -> float | None:
    """A usual mark of missing data among finite `values` that have nothing near it or below; None if there is none."""
    return next((number for number in _USUAL if _stands_out(values, number)), None)


def _stands_out(values: np.ndarray, number: float) -> bool:
    """True if `values` hold `number` and nothing near it or below."""
    others = values[values != number]
    return others.size < values.size and not (others.size and others.min() < 0.9 * number)
