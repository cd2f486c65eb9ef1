"""Validation of the anelastic model: vortices, gravity waves, a density current, decaying turbulence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.cases.atmosphere import (
    decaying_turbulence,
    density_current,
    inertia_gravity_waves,
    mountain_wave,
    taylor_green,
    taylor_green_cube,
    taylor_green_velocity,
)
from eagre.cases.exact.air import channel_wave
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.sampling.diagnostics import enstrophy
from eagre.validation.anelastic_layers import breaking_wave, convection, neutral_layer, steady_wave
from eagre.validation.comparison.setting import Check, Run, Validation, each, once

CURRENTS = {400.0: (16452.0, -6.85), 200.0: (15197.0, -9.12), 100.0: (14792.0, -9.74)}
"""Front, m, and minimum theta', K, of another model of these equations, 15 K lower in theta, by spacing, m."""

TURBULENCE = {0.0: (0.250000, 0.62293), 2.0: (0.249992, 1.04840), 4.0: (0.248474, 2.05521)}
"""Mean energy and enstrophy of another model at 63 points, by time, s."""

SPECTRAL = {
    2.0: 0.12391677, 4.0: 0.12150819, 5.0: 0.11843575, 6.0: 0.11358111, 7.0: 0.10702473, 8.0: 0.09828988,
    9.0: 0.08640386, 10.0: 0.07447917,
}  # fmt: skip
"""Mean energy of the Taylor-Green vortex at a Reynolds number of 1600, by time: spectral, 512^3; W. M. van Rees et al.,
J. Comput. Phys. 230, 2794-2805 (2011), doi:10.1016/j.jcp.2010.11.031, case C3.5 of the workshops on high-order
methods. Its dissipation has its maximum, 0.0128575, at 8.97.
"""


def vortices(run: Run, viscosity: float) -> Iterator[Check]:
    """Taylor-Green vortices in a uniform wind after 1 s at a constant Courant number, against the exact solution."""
    errors = []
    for points in (17, 33, 65):
        model = taylor_green(points, viscosity, time_step=1.0 / points, **run.options)
        model.advance(1.0)
        exact = taylor_green_velocity(*model.grid.mesh(), 1.0, viscosity, (0.7, 0.3))
        missed = [model.field(name)[0] - one for name, one in zip("uv", exact, strict=True)]
        errors.append(float(np.sqrt(np.mean(np.square(missed)))))
    yield Check("root mean square error at 65 points, m/s", errors[-1], 6e-4, detail="17, 33, 65 points")
    yield Check("order from 33 to 65 points", math.log2(errors[1] / errors[2]), 1.9, at_least=True)


def gravity_waves(run: Run) -> Iterator[Check]:
    """Waves in a stratified channel after 1500 s against linear theory."""
    errors = []
    for points in (150, 300):
        model = inertia_gravity_waves(points, time_step=6000.0 / points, **run.options)
        model.advance(1500.0)
        height = model.levels.height
        exact = channel_wave(model.grid.x, height, 1500.0, height[-1], 300e3, 0.01, 20.0)
        errors.append(float(np.sqrt(np.mean((model.field("theta_perturbation") - exact) ** 2) / np.mean(exact**2))))
    yield Check("relative error of theta' at 300 points", errors[-1], 0.1, detail="1 km x 1 km, dt 20 s")
    yield Check("order", math.log2(errors[0] / errors[1]), 1.5, at_least=True)


def front(model: AnelasticFlow) -> float:
    """Return the easternmost position where theta' is -1 K at the ground, m."""
    theta, x = model.field("theta_perturbation")[0, 0], model.grid.x
    last = int(np.flatnonzero(theta < -1.0).max())
    return float(x[last] + (x[last + 1] - x[last]) * (theta[last] + 1.0) / (theta[last] - theta[last + 1]))


def current(run: Run, spacing: float) -> Iterator[Check]:
    """The density current of Straka et al. (1993) after 900 s, against another model of the same equations."""
    model = density_current(spacing, **run.options)
    model.advance(900.0)
    position, lowest = CURRENTS[spacing]
    computed = float(model.field("theta_perturbation").min())
    yield Check("front, m from the other program", abs(front(model) - position), 150.0, detail=f"{spacing:g} m")
    yield Check("lowest theta', K from it", abs(computed - lowest), 0.3, detail=f"{computed:.2f} K")


def turbulence(run: Run) -> Iterator[Check]:
    """Decay of the vortices of Rojek et al. (2015) at 63 points, against another model."""
    model = decaying_turbulence(63, "solenoidal", time_step=0.02, tolerance=1e-7, **run.options)
    for time, (energy, turning) in TURBULENCE.items():
        model.advance(time)
        computed = model.diagnostics()["mean_kinetic_energy"]
        yield Check(f"mean kinetic energy at {time:g} s, relative", abs(computed / energy - 1.0), 1e-3)
        yield Check(f"mean enstrophy at {time:g} s, relative", abs(enstrophy(model.engine) / turning - 1.0), 5e-3)


def mountain(run: Run) -> Iterator[Check]:
    """Drag of linear hydrostatic waves behind a hill of 1 m: 0.9924 (pi / 4) rho U N h^2 for a N / U = 10."""
    model = mountain_wave(10e3, **run.options)
    model.advance(12.0 * 10e3 / 10.0)
    ground = model.levels.terrain_height
    assert ground is not None
    slope = np.gradient(ground[0], model.grid.dx)
    drag = float(np.sum(model.field("pressure")[0, 0].astype(float) * slope)) * model.grid.dx
    linear = 0.9924 * 0.25 * math.pi * 10.0 * 0.01
    yield Check("drag, relative error", abs(drag / linear - 1.0), 0.05, detail="1 km x 200 m, 3 h 20 min")


def transition(run: Run) -> Iterator[Check]:
    """Under-resolved Taylor-Green vortex at a Reynolds number of 1600, 64 points, against a spectral simulation."""
    missed = []
    for points in (32, 64):
        model = taylor_green_cube(points, **run.options)
        times, energies = np.arange(0.0, 10.1, 0.25), []
        for time in times:
            model.advance(float(time))
            energies.append(model.diagnostics()["mean_kinetic_energy"])
        computed = dict(zip(times.tolist(), energies, strict=True))
        missed.append(max(abs(computed[time] - energy) for time, energy in SPECTRAL.items()) / energies[0])
    losses = -np.gradient(energies, times)
    yield Check("mean energy, maximum difference / initial energy", missed[-1], 0.08, detail="64 points, to 10 s")
    yield Check("mean energy, difference at 64 points / at 32 points", missed[-1] / missed[0], 0.8)
    yield Check("maximum dissipation / 0.01286", float(losses.max()) / 0.0128575, 0.7, at_least=True)
    yield Check("time of maximum dissipation, difference from 8.97 s", abs(float(times[losses.argmax()]) - 8.97), 0.5)


ANELASTIC: dict[str, Validation] = {
    "vortices": each(vortices, 0.0),
    "viscous-vortices": each(vortices, 0.02),
    "gravity-waves": each(gravity_waves),
    "density-current-400m": each(current, 400.0),
    "density-current-200m": each(current, 200.0),
    "density-current-100m": each(current, 100.0),
    "mountain-wave": once("double", mountain),
    "finite-mountain": once("double", steady_wave),
    "breaking-wave": once("single", breaking_wave),
    "neutral-boundary-layer": once("single", neutral_layer),
    "convective-boundary-layer": once("single", convection),
    "decaying-turbulence": once("double", turbulence),
    "taylor-green-1600": once("single", transition),
}
