"""Tanks of potential-flow waves: a standing wave, Whalin's shoal, Berkhoff's elliptic shoal, and a periodic wave.

The periodic shallow-water wave verified the Laplace solver of the GPU port of OceanWave3D: M. G. Madsen, Acceleration
of a non-linear water wave model using a GPU, M.Sc. thesis, Technical University of Denmark (2010), sections 6.1, 6.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.model import PotentialWaves
from eagre.waves import StreamFunctionWave

WHALIN_DEPTH, WHALIN_SHOAL, WHALIN_WIDTH = 0.4572, 0.1524, 3.048  # m: depths before and behind the slope; half width
WHALIN_PERIOD, WHALIN_HEIGHT = 2.0, 0.015  # s, m
BERKHOFF_DEPTH = 0.45
BERKHOFF_ANGLE = math.radians(20.0)
SHALLOWEST = 0.07  # minimum depth of Berkhoff's slope, m


def standing_wave(points: int, **options: Any) -> PotentialWaves:
    """Standing wave of 1 m length along x and y, 2 cm high, in water 0.5 m deep between walls 1 m apart."""
    grid = Grid.from_points(points, points, 1.0, 1.0)
    shape = np.cos(2.0 * math.pi * grid.x) * np.cos(2.0 * math.pi * grid.y)[:, None]
    return PotentialWaves(grid, 0.5, surface_elevation=0.01 * shape, **options)


def whalin_depth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the depth, m, of Whalin's (1971) tank; axis at y = 3.048 m, x from the wavemaker 5 m before 0."""
    bow = np.sqrt(np.maximum(y * (2.0 * WHALIN_WIDTH - y), 0.0))
    return np.clip(WHALIN_DEPTH - (x - 10.67 + bow) / 25.0, WHALIN_SHOAL, WHALIN_DEPTH)


def whalin(
    points: int,
    period: float = WHALIN_PERIOD,
    height: float = WHALIN_HEIGHT,
    rows: int | None = None,
    **options: Any,
) -> PotentialWaves:
    """Half of Whalin's tank, 35 m x 3.048 m: waves are generated over the first 5 m and absorbed over the last 5 m.

    points : number along x; 257 and 17 rows are the usual grid. R. W. Whalin, The limit of applicability of linear wave
    refraction theory in a convergence zone, US Army Waterways Experiment Station, Research Report H-71-3 (1971).
    """
    grid = Grid.from_points(points, rows or (points - 1) // 16 + 1, 35.0, WHALIN_WIDTH, -5.0)
    wave = StreamFunctionWave.over_still_water(height, WHALIN_DEPTH, period=period, stokes_current=0.0)
    zones = [RelaxationZone("west", 5.0, period, wave, ramp=2.0 * period), RelaxationZone("east", 5.0, period)]
    return PotentialWaves(grid, whalin_depth(*grid.mesh()), relaxation_zones=zones, **{"vertical_points": 7, **options})


def berkhoff_depth(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the depth, m, of an elliptic shoal at 0, 0 on a slope of 1:50, at 20 degrees to the wave direction x."""
    cosine, sine = math.cos(BERKHOFF_ANGLE), math.sin(BERKHOFF_ANGLE)
    up, along = x * cosine - y * sine, x * sine + y * cosine
    depth = np.where(up > -5.84, np.maximum(BERKHOFF_DEPTH - 0.02 * (5.84 + up), SHALLOWEST), BERKHOFF_DEPTH)
    raised = 0.5 * np.sqrt(np.maximum(1.0 - (along / 5.0) ** 2 - (up / 3.75) ** 2, 0.0)) - 0.3
    return depth - np.where((along / 4.0) ** 2 + (up / 3.0) ** 2 < 1.0, raised, 0.0)


def berkhoff(points: int, rows: int | None = None, **options: Any) -> PotentialWaves:
    """Berkhoff's shoal in 25 m x 20 m; waves of 1 s and 4.64 cm. 257 points along x, 129 rows are the usual grid.

    J. C. W. Berkhoff, N. Booij, A. C. Radder, Coastal Eng. 6, 255-279 (1982), doi:10.1016/0378-3839(82)90022-9.
    """
    grid = Grid.from_points(points, rows or (points - 1) // 2 + 1, 25.0, 20.0, -10.0, -10.0)
    wave = StreamFunctionWave.over_still_water(0.0464, BERKHOFF_DEPTH, period=1.0, stokes_current=0.0)
    zones = [RelaxationZone("west", 3.0, 1.0, wave, ramp=2.0), RelaxationZone("east", 4.0, 1.0)]
    return PotentialWaves(
        grid, berkhoff_depth(*grid.mesh()), relaxation_zones=zones, **{"order": 4, "vertical_points": 5, **options}
    )


TANKS = {"standing-wave": standing_wave, "whalin": whalin, "berkhoff": berkhoff}
"""Cases by name; each takes the number of points along x and options of `PotentialWaves`."""


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
