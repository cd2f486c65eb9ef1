"""What to make of repeated timings, and of timings in turn with others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

KINDS = ("cpu", "cuda")
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


def ratios(seconds: Sequence[float], beside: Sequence[float]) -> list[float]:
    """Runs over those of something else that were made in turn with them."""
    return [one / other for one, other in zip(seconds, beside, strict=True)]


def relative(seconds: Sequence[float], beside: Sequence[float], kind: str) -> float:
    """Time of runs relative to that of other ones, in turn with them; 1 where there are no others.

    What disturbs both for a while cancels. On a GPU the mean of the middle half of the ratios: a disturbance that
    begins or ends between two runs changes one ratio, upwards or downwards. On a CPU the best over the best.
    """
    if not beside:
        return 1.0
    if kind == "cpu":
        return min(seconds) / min(beside)
    found = sorted(ratios(seconds, beside))
    left_out = len(found) // 4
    return fmean(found[left_out : len(found) - left_out])


def least(seconds: Sequence[float], beside: Sequence[float]) -> float:
    """The least that `relative` may be, were the runs made again: some of them may have been disturbed."""
    return min(relative(seconds, beside, kind) for kind in KINDS)


def surely(seconds: Sequence[float], beside: Sequence[float], kind: str) -> float:
    """`relative`; on a CPU, where the best of few runs may be a chance, no less than that of the middle half."""
    return relative(seconds, beside, kind) if kind == "cuda" else max(relative(seconds, beside, k) for k in KINDS)


def doubt(seconds: Sequence[float], beside: Sequence[float]) -> float:
    """Standard error of `relative` on a GPU, over it: of a mean of the middle half (Tukey & McLaughlin 1963).

    Spikes do not count, but for the runs that they cost; of less than four runs nothing is known: infinite.
    """
    found = sorted(ratios(seconds, beside))
    left_out = len(found) // 4
    if left_out < 1:
        return math.inf
    middle = found[left_out : len(found) - left_out]
    pulled_in = [*left_out * middle[:1], *middle, *left_out * middle[-1:]]
    return stdev(pulled_in) * math.sqrt(len(found)) / len(middle) / fmean(middle)
