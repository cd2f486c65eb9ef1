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
    retained = sorted(times)
    while len(retained) > 2:
        others, last = retained[:-1], retained[-1]
        allowed = SPREAD * stdev(others) + 1e-4 * fmean(others)
        if last - fmean(others) <= allowed:
            break
        retained = others
    return retained


def typical(times: Sequence[float], kind: str) -> float:
    """Return the seconds per step: mean without outliers on a GPU, minimum on a CPU, which other processes also use."""
    return min(times) if kind == "cpu" else fmean(without_outliers(times))


def ratios(seconds: Sequence[float], reference: Sequence[float]) -> list[float]:
    """Return the ratios of runs to the alternating runs."""
    return [one / other for one, other in zip(seconds, reference, strict=True)]


def relative(seconds: Sequence[float], reference: Sequence[float], kind: str) -> float:
    """Return the time of runs relative to alternating runs; 1 without alternating runs.

    Disturbances of both cancel. On a GPU the result is the mean of the middle half of the ratios: a disturbance that
    starts or ends between two runs changes one ratio, up or down. On a CPU it is the ratio of the minima.
    """
    if not reference:
        return 1.0
    if kind == "cpu":
        return min(seconds) / min(reference)
    ordered = sorted(ratios(seconds, reference))
    left_out = len(ordered) // 4
    return fmean(ordered[left_out : len(ordered) - left_out])


def lower_bound(seconds: Sequence[float], reference: Sequence[float]) -> float:
    """Return the lowest value of `relative` that repeated runs could give, as some runs may have been disturbed."""
    return min(relative(seconds, reference, kind) for kind in KINDS)


def surely(seconds: Sequence[float], reference: Sequence[float], kind: str) -> float:
    """Return `relative`; on a CPU, where a minimum of few runs may be chance, at least that of the middle half."""
    return relative(seconds, reference, kind) if kind == "cuda" else max(relative(seconds, reference, k) for k in KINDS)


def doubt(seconds: Sequence[float], reference: Sequence[float]) -> float:
    """Return the relative standard error of `relative` on a GPU, of a midmean (Tukey & McLaughlin 1963).

    Outliers only count through the runs that they remove; infinite for fewer than four runs.
    """
    ordered = sorted(ratios(seconds, reference))
    left_out = len(ordered) // 4
    if left_out < 1:
        return math.inf
    central = ordered[left_out : len(ordered) - left_out]
    pulled_in = [*left_out * central[:1], *central, *left_out * central[-1:]]
    return stdev(pulled_in) * math.sqrt(len(ordered)) / len(central) / fmean(central)
