"""What to make of repeated timings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

SPREAD = 3.0  # standard deviations, beyond which a timing is of something else that ran


def without_outliers(times: Sequence[float]) -> list[float]:
    """Timings within three standard deviations of the mean of the others (Amundsen 2014, section 4.4).

    Of ten timings a single one cannot be further than 2.85 deviations from a mean that it is a part of: each is held
    against the others. Where these are all equal, what differs by a ten-thousandth stays.
    """
    kept = sorted(times)
    while len(kept) > 2:
        others, last = kept[:-1], kept[-1]
        allowed = SPREAD * stdev(others) + 1e-4 * fmean(others)
        if last - fmean(others) <= allowed:
            break
        kept = others
    return kept


def typical(times: Sequence[float], kind: str) -> float:
    """Seconds that a step takes: the mean without outliers on a GPU; the best on a CPU, which others use as well."""
    return min(times) if kind == "cpu" else fmean(without_outliers(times))


def uncertainty(times: Sequence[float]) -> float:
    """Standard error of the mean without outliers, relative to it; of a single timing unknown: infinite."""
    kept = without_outliers(times)
    if len(kept) < 2:
        return math.inf
    return stdev(kept) / math.sqrt(len(kept)) / fmean(kept)
