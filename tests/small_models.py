"""A small model of every kind."""

from __future__ import annotations

import numpy as np

import eagre
from eagre.models.anelastic.base.atmosphere import Atmosphere


def small(kind, precision="double"):
    """A model of the kind, 12 x 10 points, in motion."""
    options = {"device": "cpu", "precision": precision}
    if kind == "barotropic":
        grid = eagre.Grid.from_points(12, 10, 3.0, 2.0)
        return eagre.BarotropicVorticity(grid, time_step=0.01, wind_forcing=np.sin(grid.mesh()[1]), **options)
    if kind == "potential-waves":
        grid = eagre.Grid.from_points(12, 10, 1.1, 0.9)
        hump = 0.02 * np.cos(np.pi * grid.x / 1.1) * np.cos(np.pi * grid.y / 0.9)[:, None]
        return eagre.PotentialWaves(grid, 0.3, surface_elevation=hump, order=2, vertical_points=4, **options)
    if kind == "anelastic":
        grid = eagre.Grid.from_points(12, 10, 1200.0, 1000.0, periodic=(True, True))
        warm = 0.1 * np.cos(2 * np.pi * grid.x / 1200.0) * np.ones((6, 10, 1))
        air = Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(5.0, 0.0))
        return eagre.AnelasticFlow(
            grid, 6, top_height=500.0, atmosphere=air, theta_perturbation=warm, time_step=4.0, **options
        )
    grid = eagre.Grid(12, 10, 100.0, 100.0)
    hump = np.exp(-((grid.mesh()[0] - 600.0) ** 2) / 1e5)
    if kind == "shallow-water":
        return eagre.ShallowWater(grid, -5.0, surface_elevation=hump, **options)
    assert kind == "shallow-water-adi"
    return eagre.ShallowWaterADI(grid, -5.0, 8.0, surface_elevation=hump, **options)
