"""What breaking, an inlet and a sponge add to the rates of a surface, on any device."""

from __future__ import annotations

import numpy as np

from eagre.models.potential_waves.boundaries.sides import Sponge
from eagre.models.potential_waves.boundaries.wavemaker import Inlet
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface.breaking import Breaking

NX, NY, SPACING, DEPTH, GRAVITY = 48, 4, 0.25, 0.5, 9.81


def rates_of_forcing(device, nx=NX, ny=NY):
    """Rates, (2, ny, nx), that all three add to those of a crest that goes over the limit, and the crests found."""
    h = np.full((ny, nx), DEPTH)
    problem = LaplaceProblem(h, (SPACING, SPACING), Vertical(5, 4), (True, False), device, "double")
    x, y = np.meshgrid(SPACING * np.arange(nx), SPACING * np.arange(ny))
    k, across = 2.0 * np.pi / 3.0, 2.0 * np.pi / (SPACING * ny)
    eta, phi = 0.08 * np.cos(k * x) + 0.01 * np.cos(across * y), 0.3 * np.sin(k * x)
    device.fill(problem.fields, np.stack([eta, phi]))
    device.fill(problem.w, 0.1 * np.sin(k * x)[None])
    rates = problem.surface_zeros(2)
    device.fill(rates, np.stack([0.2 * np.sin(k * x), -GRAVITY * eta]))
    breaking = Breaking(problem, h, (SPACING, SPACING), (True, False), GRAVITY, max_crest_speed_ratio=0.1)
    inlet = Inlet(problem, h, "east", lambda t: 0.2 * t, lambda t: 0.2, GRAVITY, target=lambda t: 0.01)
    for forcing in (breaking, inlet, Sponge(problem, "west", 2.0, 1.5, DEPTH, GRAVITY)):
        forcing.add(0.7, 0.01, 0, rates)
    return device.host(rates), breaking.log
