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


def lake_over_bump(n: int = 64, level: float = 1.0, height: float = 0.5, end_time: float = 60.0) -> WaterCase:
    """Still water over a submerged bump: B = height exp(-((x - 32)^2 + (y - 32)^2) / 100), 64 m wide."""
    grid = Grid(n, n, 64.0 / n, 64.0 / n)
    x, y = grid.mesh("corner")
    bed = height * np.exp(-((x - 32.0) ** 2 + (y - 32.0) ** 2) / 100.0)
    return _resting("lake-bump", grid, bed, level, end_time)


def lake_with_island(n: int = 64, level: float = 0.5, height: float = 1.0, end_time: float = 40.0) -> WaterCase:
    """The same with an emerging bump, whose shoreline intersects cells."""
    grid = Grid(n, n, 64.0 / n, 64.0 / n)
    x, y = grid.mesh("corner")
    bed = height * np.exp(-((x - 32.0) ** 2 + (y - 32.0) ** 2) / 100.0)
    return _resting("lake-island", grid, bed, level, end_time)


def rough_shores(n: int = 64, level: float = 0.2, seed: int = 1, end_time: float = 40.0) -> WaterCase:
    """Still pools on a bed with random corner elevations (standard normal, m)."""
    grid = Grid(n, n, 1.0, 1.0)
    bed = np.random.default_rng(seed).standard_normal(grid.shape_of("corner"))
    return _resting("lake-rough", grid, bed, level, end_time)
