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
    """Relative L1, L2 and Linf errors on a uniform grid, evaluated in double precision.

    ||computed - reference|| / ||scale||, the norms being the mean of the modulus, the root of the
    mean square and the largest modulus. `scale` is `reference` unless given (give one where the
    reference is zero or nearly so); where its norm is 0 the error is returned undivided.
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
    """log(e_k / e_{k+1}) / log(refinement) between neighbours of a sequence of ever finer grids."""
    return [math.log(coarse / fine) / math.log(refinement) for coarse, fine in itertools.pairwise(errors)]


def root_mean_square(difference: np.ndarray) -> float:
    """Root of the mean square."""
    return math.sqrt(float(np.mean(np.square(np.asarray(difference, np.float64)))))
