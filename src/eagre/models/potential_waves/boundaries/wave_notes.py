"""Notes on prescribed waves: variance outside the frequency band, and grid points per wave length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.waves import LinearWaves, RegularWave, Sea

MIN_VARIANCE = 0.98  # fraction of the variance that the frequency band must hold
MIN_POINTS = 10.0  # per wave length of a regular wave
RESOLVED, COARSE_VARIANCE = 5.0, 0.01  # points per wave length; fraction of the variance that may have fewer
NYQUIST, ALIASED_VARIANCE = 2.0, 1e-4


def wave_notes(waves: Any, grid: Grid, what: str) -> list[str]:
    """Return notes on the waves of a zone or of the initial surface; `what` names them, as in "zone in the west"."""
    return [*_band_notes(waves, what), *_resolution_notes(waves, grid, what)]


def _band_notes(waves: Any, what: str) -> list[str]:
    """Report a frequency band that leaves out a part of the spectrum or record."""
    fraction = getattr(waves, "energy_fraction", 1.0)
    if fraction >= MIN_VARIANCE:
        return []
    frequency = waves.angular_frequency / (2.0 * math.pi)
    low, high = waves.band if isinstance(waves, Sea) else (frequency.min(), frequency.max())
    text = f"{what}: the band {low:.4g} to {high:.4g} Hz holds {fraction:.1%} of the variance of the waves"
    if isinstance(waves, Sea):
        requested = 4.0 * math.sqrt(waves.spectrum.variance)
        text += f"; Hs is {requested * math.sqrt(fraction):.3g} m instead of {requested:.3g} m"
    return [text]


def _resolution_notes(waves: Any, grid: Grid, what: str) -> list[str]:
    """Report a regular wave, or a part of the variance of a sea, with too few points per wave length."""
    if not isinstance(waves, (LinearWaves, RegularWave)):
        return []
    points = points_per_length(waves, grid)
    if isinstance(waves, RegularWave):
        few = f"{points[0]:.1f} points per wave length of {waves.length:.4g} m"
        return [f"{what}: {few}; {MIN_POINTS:g} or more are needed"] if points[0] < MIN_POINTS else []
    fraction = waves.amplitude**2 / np.sum(waves.amplitude**2)
    coarse, aliased = (float(fraction[points < limit].sum()) for limit in (RESOLVED, NYQUIST))
    if coarse <= COARSE_VARIANCE and aliased <= ALIASED_VARIANCE:
        return []
    return [
        f"{what}: components with {coarse:.1%} of the variance have fewer than {RESOLVED:g} points per wave length, "
        f"{points.min():.1f} at the highest frequency, {waves.angular_frequency.max() / (2.0 * math.pi):.3g} Hz; "
        "refine the grid or cut the spectrum (key highest)"
    ]


def points_per_length(waves: LinearWaves | RegularWave, grid: Grid) -> np.ndarray:
    """Return the points per wave length of each component, (n,): the smaller number of those along x and y."""
    k, direction = np.atleast_1d(waves.wave_number), np.atleast_1d(waves.direction)
    per_point = np.zeros(k.shape)
    for count, step, component in ((grid.nx, grid.dx, np.cos(direction)), (grid.ny, grid.dy, np.sin(direction))):
        if count > 1:
            per_point = np.maximum(per_point, k * np.abs(component) * step)
    return 2.0 * math.pi / np.maximum(per_point, 1e-300)
