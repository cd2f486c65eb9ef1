"""Error norms and observed orders of convergence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Norms(NamedTuple):
    """Norms of an error divided by the same norm of the reference (see `relative_norms`)."""

    l1: float
    l2: float
    linf: float


def relative_norms(computed: np.ndarray, reference: np.ndarray, scale: np.ndarray | None = None) -> Norms:
    """Return the relative L1, L2 and Linf errors on a uniform grid, evaluated in double precision.

    The errors are ||computed - reference|| / ||scale|| with the mean absolute value, the root mean square and the
    maximum absolute value as norms. `scale` is `reference` by default; give another scale if the reference is almost
    zero. If the norm of the scale is 0, the absolute error is returned.
    """
    error = np.abs(np.asarray(computed, np.float64) - np.asarray(reference, np.float64))
    size = np.abs(np.asarray(reference if scale is None else scale, np.float64))
    size = np.broadcast_to(size, error.shape)

    def ratio(a: float, b: float) -> float:
        return a / b if b > 0.0 else a

    return Norms(
        ratio(float(error.mean()), float(size.mean())),
        ratio(math.sqrt(float((error**2).mean())), math.sqrt(float((size**2).mean()))),
        ratio(float(error.max()), float(size.max())),
    )


def observed_orders(errors: Sequence[float], refinement: float = 2.0) -> list[float]:
    """Return log(e_k / e_{k+1}) / log(refinement) for consecutive errors on successively refined grids."""
    return [math.log(coarse / fine) / math.log(refinement) for coarse, fine in itertools.pairwise(errors)]


def root_mean_square(difference: np.ndarray) -> float:
    """Return the root mean square."""
    return math.sqrt(float(np.mean(np.square(np.asarray(difference, np.float64)))))
