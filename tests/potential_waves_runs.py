"""Runs of the potential-flow waves that tests on CPUs and GPUs share."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre import Grid, PotentialWaves, RelaxationZone
from eagre.waves import CosineSpreading, Jonswap, Sea


def basin(device: Any = "cpu", precision="single", nx=49, ny=33, **options):
    """A short-crested sea over a shoal, with breaking and statistics."""
    grid = Grid.from_points(nx, ny, 1.25 * (nx - 1), 1.25 * (ny - 1))
    x, y = grid.x / grid.x[-1], grid.y[:, None] / grid.y[-1]
    depth = 8.0 - 5.0 * np.exp(-((60.0 * x - 35.0) ** 2 + (40.0 * y - 20.0) ** 2) / 100.0)
    sea = Sea(Jonswap(0.6, 3.5), 8.0, spreading=CosineSpreading(s=15.0), count=50)
    zones = [RelaxationZone("west", 15.0, 3.5, sea, ramp=3.5), RelaxationZone("east", 15.0, 3.5)]
    more = {"relaxation_zones": zones, "breaking": True, "statistics_from": 1.0, **options}
    return PotentialWaves(grid, depth, device=device, precision=precision, **more)


def torus(device: Any = "cpu", precision="double", nx=48, ny=32, **options):
    """Waves across one another on a periodic sea over a wavy bed, of order 4."""
    grid = Grid.from_points(nx, ny, float(nx), float(ny), periodic=(True, True))
    x, y = 2.0 * np.pi * grid.x / nx, 2.0 * np.pi * grid.y[:, None] / ny
    still = {"surface_elevation": 0.2 * np.cos(3.0 * x + y), "surface_potential": 0.3 * np.sin(2.0 * x - y)}
    more = {"order": 4, "vertical_points": 6, **still, **options}
    return PotentialWaves(
        grid, 3.0 + 0.5 * np.sin(x) * np.cos(y), periodic="both", device=device, precision=precision, **more
    )


def cliff(device: Any = "cpu", slope=1.0, nx=17, ny=33, **options):
    """A bed so steep that conjugate residuals find the flow."""
    grid = Grid.from_points(nx, ny, 0.25 * (nx - 1), 0.25 * (ny - 1))
    x, y = grid.x, grid.y[:, None]
    depth = 2.5 - slope * np.tanh(y - 4.0 + 0.3 * np.cos(x))
    wave = 0.05 * np.cos(0.25 * np.pi * x) * np.cos(0.25 * np.pi * y)
    return PotentialWaves(grid, depth, surface_elevation=wave, order=4, vertical_points=6, device=device, **options)


def apart(ours, theirs):
    """Largest difference of the elevations and of w~, over the largest of each."""
    found = []
    for name in ("surface_elevation", "velocity_z"):
        one, other = ours.field(name), theirs.field(name)
        found.append(float(np.abs(one - other).max() / np.abs(other).max()))
    return max(found)
