"""Validation of the anelastic model: waves over finite-amplitude hills, neutral and convective boundary layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from eagre.cases.atmosphere import convective_boundary_layer, mountain_wave, neutral_boundary_layer
from eagre.cases.exact.air import LongWave
from eagre.constants import GRAVITY, VON_KARMAN
from eagre.models.anelastic.model import AnelasticFlow
from eagre.validation.comparison.setting import Check, Run

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
