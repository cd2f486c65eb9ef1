"""Periodic shallow-water wave of the GPU port of OceanWave3D, with which its Laplace solver was verified.

M. G. Madsen, Acceleration of a non-linear water wave model using a GPU, M.Sc. thesis, Technical University of Denmark
(2010), sections 6.1 and 6.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.models.potential_waves.model import PotentialWaves
from eagre.waves import StreamFunctionWave

LENGTH = 2.0  # m
RELATIVE_DEPTH, STEEPNESS = 0.5, 0.0088  # k h; H / L, 30 % of the breaking height


def wave() -> StreamFunctionWave:
    """Return the stream-function wave, without a mean Eulerian current."""
    depth = RELATIVE_DEPTH * LENGTH / (2.0 * math.pi)
    return StreamFunctionWave.over_still_water(STEEPNESS * LENGTH, depth, length=LENGTH, eulerian_current=0.0)


def periodic_waves(points: int, waves: int = 1, **options: Any) -> PotentialWaves:
    """Return waves of 2 m length in a periodic flume, one row of points.

    Parameters
    ----------
    points : int
        Number of points per wavelength; the number of all points must be even.
    waves : int
        Number of wavelengths.
    **options
        Arguments of `PotentialWaves`; 7 vertical points by default, which are the 6 layers and the ghost layer of the
        source.
    """
    exact = wave()
    grid = Grid.from_points(waves * points, 1, waves * LENGTH, 1.0, periodic=(True, False))
    eta, phi = (np.asarray(values(grid.x, 0.0, 0.0))[None] for values in (exact.elevation, exact.surface_potential))
    return PotentialWaves(
        grid, exact.depth, surface_elevation=eta, surface_potential=phi, periodic="x",
        **{"vertical_points": 7, **options},
    )  # fmt: skip


def surface_velocity_error(model: PotentialWaves) -> float:
    """Return the maximum error of the vertical velocity at the surface at the start, relative to its maximum."""
    exact, x = wave(), model.grid.x
    w = np.asarray(exact.velocity(x, 0.0, exact.elevation(x, 0.0, 0.0), 0.0)[2])
    return float(np.abs(model.field("velocity_z")[0] - w).max() / np.abs(w).max())
