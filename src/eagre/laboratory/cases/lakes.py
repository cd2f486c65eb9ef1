"""Lakes at rest: the water must remain at rest for any bed and shoreline."""

from __future__ import annotations

import numpy as np

from eagre.grid import Grid
from eagre.laboratory.cases.water import Water, WaterCase, still_water

REFERENCE = "O. Delestre et al. (2013), doi:10.1002/fld.3741, section 3.1.1"


def _resting(name: str, grid: Grid, bed: np.ndarray, level: float, end_time: float) -> WaterCase:
    water = still_water(bed, level)

    def exact(t: float) -> Water:
        return water

    return WaterCase(name, grid, bed, water, end_time, exact=exact, reference=REFERENCE, level=level)


def _bump(name: str, level: float, height: float, end_time: float) -> WaterCase:
    grid = Grid(64, 64, 1.0, 1.0)
    x, y = grid.mesh("corner")
    bed = height * np.exp(-((x - 32.0) ** 2 + (y - 32.0) ** 2) / 100.0)
    return _resting(name, grid, bed, level, end_time)


def lake_over_bump() -> WaterCase:
    """Still water, 1 m deep, over a submerged bump: B = exp(-((x - 32)^2 + (y - 32)^2) / 100) / 2, 64 m wide."""
    return _bump("lake-bump", level=1.0, height=0.5, end_time=60.0)


def lake_with_island() -> WaterCase:
    """The same, 0.5 m deep, with an emerging bump 1 m high, whose shoreline intersects cells."""
    return _bump("lake-island", level=0.5, height=1.0, end_time=40.0)


def rough_shores(n: int = 64) -> WaterCase:
    """Still pools, 0.2 m above the mean of a bed with random corner elevations (standard normal, m)."""
    grid = Grid(n, n, 1.0, 1.0)
    bed = np.random.default_rng(1).standard_normal(grid.shape_of("corner"))
    return _resting("lake-rough", grid, bed, level=0.2, end_time=40.0)
