"""Bounds of the time step on dry ground: no wave there limits it before the water has come."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.boundaries import Segment
from eagre.grid import Grid
from eagre.sources import Rain, Source

UNBOUNDED = 1e12  # s


def longest_step_with_arrivals(segments: Sequence[Segment], grid: Grid, bed: np.ndarray, gravity: float) -> float:
    """Bound for water that a boundary series brings to dry ground: dx / (4 sqrt(g h)) at its deepest, s."""
    deepest = max(segment.deepest_arrival(bed, gravity) for segment in segments)
    return 0.25 * min(grid.dx, grid.dy) / math.sqrt(gravity * deepest) if deepest > 0.0 else UNBOUNDED


def longest_step_with_rain(sources: Sequence[Source], grid: Grid, gravity: float) -> float:
    """Bound for rain on dry ground, where no wave limits the time step: the film of one step obeys it.

    With h = R dt, sqrt(g h) dt <= dx / 4 gives dt = (dx / 4)^(2/3) (g R)^(-1/3).
    """
    wettest = max((source.wettest for source in sources if isinstance(source, Rain)), default=0.0)
    if wettest <= 0.0:
        return UNBOUNDED
    return (0.25 * min(grid.dx, grid.dy)) ** (2.0 / 3.0) / (gravity * wettest) ** (1.0 / 3.0)
