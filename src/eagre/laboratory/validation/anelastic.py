"""Validation of the anelastic model: waves over finite-amplitude hills, neutral and convective boundary layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from eagre.constants import GRAVITY, VON_KARMAN
from eagre.laboratory.cases.atmosphere import (
    LongWave,
    channel_wave,
    convective_boundary_layer,
    decaying_turbulence,
    density_current,
    inertia_gravity_waves,
    mountain_wave,
    neutral_boundary_layer,
    taylor_green,
    taylor_green_cube,
    taylor_green_velocity,
)
from eagre.laboratory.validation.result import Check, Run, Validation, each, once
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.sampling.outputs import enstrophy

Array = np.ndarray
HALF_WIDTH, WIND, FREQUENCY = 5e3, 10.0, 0.01
SPIN_UP, END = 10e3, 20e3  # s, 1 / f and 2 / f


def hill_wave(hill: float, run: Run) -> AnelasticFlow:
    """Flow over a hill, m, at 1 km x 400 m, with sponge layers at both ends of x."""
    sides = {"x": (HALF_WIDTH * 5.0, 0.005)}
    options: dict[str, Any] = {"side_sponges": sides, "tolerance": 1e-5, "time_step": None, "courant_number": 0.5}
    return mountain_wave(HALF_WIDTH, hill, 200, 51, 40.0, **options, **run.options)


def apart(computed: Array, exact: Array) -> float:
    """Return the root mean square of the difference relative to that of the second field."""
    return float(np.sqrt(np.mean((computed - exact) ** 2) / np.mean(exact**2)))


def steady_wave(run: Run) -> Iterator[Check]:
    """A hill of N h / U = 0.6 after 20 half-widths of advection, against the exact steady solution of Long's equation.

    The comparison is within three half-widths of the top, up to 9 km. For u the deviation from its mean at each level
    is compared, because the upstream wind, and with it the mean, becomes steady much more slowly than the wave.
    """
    model = hill_wave(600.0, run)
    ground, grid = np.asarray(model.levels.terrain_height)[0], model.grid
    z = model.levels.z[:, 0]
    x = np.broadcast_to(grid.x - grid.x[0], z.shape)
    model.advance(20.0 * HALF_WIDTH / WIND)
    near = np.abs(grid.x) < 3.0 * HALF_WIDTH
    inside = (near & (z > 0.0) & (z < 9e3))[:, near]
    missed = {}
    for name, size in (("exact", 1.0), ("linear", 1e-3)):
        wave = LongWave(size * ground, grid.nx * grid.dx, WIND, FREQUENCY)
        _, along, up = wave.displacement(x, z if name == "exact" else z - ground)
        w, u = (WIND * amplitude[:, near] / size for amplitude in (along, -up))
        computed = (model.field(one)[:, 0, near].astype(float) for one in "wu")
        (w_found, u_found), u = computed, u - u.mean(1, keepdims=True)
        u_found = u_found - u_found.mean(1, keepdims=True)
        missed[name] = apart(w_found[inside], w[inside]), apart(u_found[inside], u[inside])
    yield Check("w, relative error", missed["exact"][0], 0.2, detail="1 km x 400 m, 20 half widths")
    yield Check("u along a level, relative error", missed["exact"][1], 0.15)
    yield Check("u, error / error of linear theory", missed["exact"][1] / missed["linear"][1], 0.7)
    theta = model.field("theta").astype(float)
    yield Check("minimum increase of theta between levels, K", float(np.diff(theta, axis=0).min()), 0.0, at_least=True)


def breaking_wave(run: Run) -> Iterator[Check]:
    """A hill of N h / U = 1.2, above the overturning threshold 0.85: waves break, and drag exceeds the linear drag."""
    model = hill_wave(1200.0, run)
    drags = []
    ground = np.asarray(model.levels.terrain_height)[0]
    for time in range(14, 21, 2):
        model.advance(time * HALF_WIDTH / WIND)
        push = float(np.sum(model.field("pressure")[0, 0].astype(float) * np.gradient(ground, model.grid.dx)))
        drags.append(push * model.grid.dx / (0.25 * math.pi * WIND * FREQUENCY * 1200.0**2))
    aloft = (model.levels.z[1:, 0] > 1500.0) & (np.abs(model.grid.x) < 3.0 * HALF_WIDTH)
    rise = np.diff(model.field("theta")[:, 0].astype(float), axis=0)[aloft]
    yield Check("minimum increase of theta aloft, K", float(rise.min()), 0.0, detail="1 km x 400 m")
    yield Check("drag / linear drag", float(np.mean(drags)), 2.0, at_least=True, detail="14 to 20 half widths")


def stresses(rate: Array, spacing: float) -> Array:
    """Return the upward flux at levels, with zero flux at the top, from the tendency of the flux divergence."""
    weight = np.ones(rate.size)
    weight[[0, -1]] = 0.5
    faces = np.append(np.cumsum((weight * rate * spacing)[::-1])[::-1], 0.0)  # faces below each level
    computed = 0.5 * (faces[1:] + faces[:-1])
    computed[0], computed[-1] = faces[0], 0.0
    return computed


def balanced(model: AnelasticFlow, statistics: Mapping[str, Array], change: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the momentum fluxes, m2 s-2, that balance the mean wind and its tendency: f (v - v_g) and -f (u - u_g)."""
    f, spacing = model.setup.coriolis, model.setup.spacing[0]
    return stresses(change[0] - f * statistics["v"], spacing), stresses(
        change[1] + f * (statistics["u"] - 10.0), spacing
    )


def neutral_layer(run: Run) -> Iterator[Check]:
    """Neutral boundary layer: stress against the momentum balance, surface wind against the log law.

    The balance, including the tendency of the mean wind, is exact; deviations are due to advective transport that
    differs from the covariance at points.
    """
    model = neutral_boundary_layer(24, **run.options)
    model.advance(SPIN_UP)
    mean_before = [model.field(name).astype(float).mean((1, 2)) for name in "uv"]
    profiles = model.profiles(5)
    model.advance(END)
    statistics = profiles.take(END)
    mean_after = (model.field(name).astype(float).mean((1, 2)) for name in "uv")
    change = [(one - other) / (END - SPIN_UP) for one, other in zip(mean_after, mean_before, strict=True)]
    expected = balanced(model, statistics, (change[0], change[1]))
    friction = math.sqrt(math.hypot(statistics["subgrid_flux_u_w"][0], statistics["subgrid_flux_v_w"][0]))
    computed = [statistics[f"covariance_{name}_w"] + statistics[f"subgrid_flux_{name}_w"] for name in "uv"]
    missed = np.hypot(computed[0] - expected[0], computed[1] - expected[1]) / friction**2
    speed, height = np.hypot(statistics["u"], statistics["v"]), model.levels.height
    law = friction / VON_KARMAN * np.log(height[1:3] / 0.1)
    yield Check(
        "surface drag, deviation from the momentum balance / u*^2", float(missed[0]), 0.01, detail="24 x 24 x 25"
    )
    yield Check(
        "stress aloft, deviation from the momentum balance / u*^2",
        float(missed[1:].max()),
        0.08,
        detail=f"u* {friction:.3f} m/s",
    )
    yield Check("wind at 50 m, relative deviation from the log law", abs(float(speed[1] / law[0]) - 1.0), 0.05)
    yield Check("wind at 100 m, relative deviation from the log law", abs(float(speed[2] / law[1]) - 1.0), 0.15)


def convection(run: Run) -> Iterator[Check]:
    """Dry convective layer: height relative to encroachment, heat flux, and maximum variance of w.

    With an entrainment ratio A a layer grows as sqrt(1 + 2 A) times encroachment; A = 0.2 on average (R. B. Stull, An
    Introduction to Boundary Layer Meteorology, 1988, doi:10.1007/978-94-009-3027-8). The heat flux, resolved and
    subgrid, is compared with the heat balance from the third level on; below it the covariance at points differs from
    advection.
    """
    model, heat_flux = convective_boundary_layer(32, **run.options), 0.1
    lapse, heights, spacing = 300.0 * 1e-4 / GRAVITY, [], model.setup.spacing[0]
    for time in range(3900, 5401, 300):
        model.advance(float(time))
        w, theta = (model.field(name).astype(float) for name in ("w", "theta_perturbation"))
        if time == 3900:
            theta_before, profiles = theta.mean((1, 2)), model.profiles(5)
        flux = (w * (theta - theta.mean((1, 2), keepdims=True))).mean((1, 2))
        heights.append(model.levels.height[flux.argmin()])
    ratio = float(np.mean(np.array(heights) / np.sqrt(2.0 * heat_flux * np.arange(3900, 5401, 300) / lapse)))
    statistics = profiles.take(5400.0)
    storage = stresses((theta.mean((1, 2)) - theta_before) / 1500.0, spacing)
    expected = heat_flux - (storage[0] - storage)
    missed = np.abs(statistics["covariance_w_theta"] + statistics["subgrid_flux_w_theta"] - expected)
    inside = (model.levels.height > 100.0) & (model.levels.height < 1100.0)
    scale = (GRAVITY / 300.0 * heat_flux * float(np.mean(heights))) ** (2.0 / 3.0)
    variance = float(statistics["variance_w"].max()) / scale
    yield Check(
        "height / encroachment height, deviation from sqrt(1.4)",
        abs(ratio - math.sqrt(1.4)),
        0.1,
        detail=f"{ratio:.3f}",
    )
    yield Check(
        "heat flux, deviation from the heat balance / surface flux", float(missed[inside].max()) / heat_flux, 0.05
    )
    yield Check("maximum variance of w / w*^2", variance, 0.27, at_least=True)


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
        exact = channel_wave(model.grid.x, height, 1500.0)
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
