"""Statistics of repeated timings, and of timings that alternate with others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

KINDS = ("cpu", "cuda")
SPREAD = 3.0  # standard deviations beyond which a timing is an outlier


def without_outliers(times: Sequence[float]) -> list[float]:
    """Return timings within three standard deviations of the mean of the others (Amundsen 2014, section 4.4).

    A value among ten cannot deviate more than 2.85 standard deviations from a mean that includes it, so each is
    compared with the others only. If the others are equal, deviations of up to 1e-4 are accepted.
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
    """Return the seconds per step: mean without outliers on a GPU, minimum on a CPU, which other processes also use."""
    return min(times) if kind == "cpu" else fmean(without_outliers(times))


def ratios(seconds: Sequence[float], beside: Sequence[float]) -> list[float]:
    """Return the ratios of runs to the alternating runs."""
    return [one / other for one, other in zip(seconds, beside, strict=True)]


def relative(seconds: Sequence[float], beside: Sequence[float], kind: str) -> float:
    """Return the time of runs relative to alternating runs; 1 without alternating runs.

    Disturbances of both cancel. On a GPU the result is the mean of the middle half of the ratios: a disturbance that
    starts or ends between two runs changes one ratio, up or down. On a CPU it is the ratio of the minima.
    """
    if not beside:
        return 1.0
    if kind == "cpu":
        return min(seconds) / min(beside)
    found = sorted(ratios(seconds, beside))
    left_out = len(found) // 4
    return fmean(found[left_out : len(found) - left_out])


def least(seconds: Sequence[float], beside: Sequence[float]) -> float:
    """Return the lowest value of `relative` that repeated runs could give, as some runs may have been disturbed."""
    return min(relative(seconds, beside, kind) for kind in KINDS)


def surely(seconds: Sequence[float], beside: Sequence[float], kind: str) -> float:
    """Return `relative`; on a CPU, where a minimum of few runs may be chance, at least that of the middle half."""
    return relative(seconds, beside, kind) if kind == "cuda" else max(relative(seconds, beside, k) for k in KINDS)


def doubt(seconds: Sequence[float], beside: Sequence[float]) -> float:
    """Return the relative standard error of `relative` on a GPU, of a midmean (Tukey & McLaughlin 1963).

    Outliers only count through the runs that they remove; infinite for fewer than four runs.
    """
    found = sorted(ratios(seconds, beside))
    left_out = len(found) // 4
    if left_out < 1:
        return math.inf
    middle = found[left_out : len(found) - left_out]
    pulled_in = [*left_out * middle[:1], *middle, *left_out * middle[-1:]]
    return stdev(pulled_in) * math.sqrt(len(found)) / len(middle) / fmean(middle)
