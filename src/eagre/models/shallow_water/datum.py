"""The datum of a run: the level from which its bed and its surface are counted on the device.

A cell keeps its surface over the higher of its bed and the datum (`kernels.base`). Where the bed is above the
datum that is its depth, so that a film on a mountain keeps its digits and loses no water to rounding; where it is
below, that is the elevation of the surface, so that a wave of a centimetre on a deep sea keeps its digits too. There
rounding is that of the distance to the datum: the datum is so low that at the start water reaches up to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def means(corners: np.ndarray) -> np.ndarray:
    """Bed of cells, m, from that of their corners."""
    return 0.25 * ((corners[:-1, :-1] + corners[1:, :-1]) + (corners[:-1, 1:] + corners[1:, 1:]))


def datum_for(bed: np.ndarray, depth: np.ndarray) -> float:
    """Datum of a run, m: the lowest surface at the start, of water or of dry ground.

    Parameters
    ----------
    bed : (ny + 1, nx + 1) array, m
        At corners.
    depth : (ny, nx) array, m
        At the start.
    """
    return float((means(bed) + depth).min())


def rounded(corners: np.ndarray, real: Any) -> np.ndarray:
    """Corners over the datum, m, as multiples of a power of two: 2^-22 of the largest, in double precision 2^-51.

    Then the means of two and of four corners, and differences of those, are exact in the precision `real`.
    """
    largest = float(np.abs(corners).max())
    if largest == 0.0:
        return corners
    quantum = 2.0 ** (np.ceil(np.log2(largest)) - (np.finfo(real).nmant - 1))
    return np.round(corners / quantum) * quantum


def base(bed: np.ndarray) -> np.ndarray:
    """What eta of a cell is counted from, m over the datum; bed : of cells, likewise."""
    return np.maximum(bed, 0.0)


def eta_of(bed: np.ndarray, depth: np.ndarray, level: np.ndarray | None = None) -> np.ndarray:
    """eta of cells, m, from their depth; where they are wet rather from the level of their surface, if that was given.

    bed, level : m over the datum, bed as `rounded`. A level stays level on the rounded bed.
    """
    if level is None:
        return depth + np.minimum(bed, 0.0)
    return np.where(depth > 0.0, np.maximum(level, bed), bed) - base(bed)


def moved(eta: np.ndarray, old_bed: np.ndarray, bed: np.ndarray, change: float) -> np.ndarray:
    """eta over another datum, which is `change` higher, m; beds of cells, each over its own datum, m."""
    depth = eta - np.minimum(old_bed, 0.0)
    surface = eta + base(old_bed) - change
    return np.where(bed > 0.0, depth, surface)
