"""Limits of the barotropic model's time step: below them noise decays, above them it grows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, InputError
from eagre.models.barotropic import model as module
from eagre.models.barotropic.stability import flow_limit, friction_limit, longest_wave_step, wave_limit

COMMON = {"device": "cpu", "precision": "double"}
FRICTION = {
    "viscosity": {"viscosity": 0.3},
    "second order": {"viscosity": 0.3, "scheme": "ab2"},
    "biharmonic": {"biharmonic_viscosity": 1e-3},
    "bottom": {"bottom_friction": 0.7},
    "all": {"viscosity": 0.1, "biharmonic_viscosity": 1e-4, "bottom_friction": 0.2, "scheme": "ab2"},
    "period": {"viscosity": 0.3, "basin": "periodic"},
    "channel": {"viscosity": 0.3, "basin": "channel"},
}


@pytest.mark.parametrize("options", FRICTION.values(), ids=FRICTION)
def test_friction(options, monkeypatch):
    grid = Grid.from_points(13, 10, 2.0, 1.0)
    noise = 1e-9 * np.random.default_rng(0).standard_normal(grid.shape)
    options = {**options, **COMMON, "relative_vorticity": noise}
    limit = friction_limit(BarotropicVorticity(grid, time_step=1e-9, **options).setup)
    with pytest.raises(InputError, match=rf"up to {limit:.4g}"):
        BarotropicVorticity(grid, time_step=1.001 * limit, **options)
    monkeypatch.setattr(module, "check_time_step", lambda setup: None)
    sizes = []
    for part in (0.98, 1.05):
        model = BarotropicVorticity(grid, time_step=part * limit, **options)
        model._engine.advance(400)
        sizes.append(model.diagnostics()["max_vorticity"] / 1e-9)
    assert sizes[0] < 0.5 and not sizes[1] < 10.0  # or not a number


def test_diffusion_of_a_tracer_counts():
    grid = Grid.from_points(13, 10, 2.0, 1.0)
    with pytest.raises(InputError, match="tracer_diffusivity"):
        BarotropicVorticity(grid, time_step=1.0, tracer=np.ones(grid.shape), tracer_diffusivity=1.0, **COMMON)


@pytest.mark.parametrize(
    "options",
    [{}, {"deformation_radius": 0.5}, {"basin": "channel"}, {"basin": "periodic"}],
    ids=["box", "radius", "channel", "periodic"],
)
def test_rossby_waves(options, monkeypatch):
    """The limit is that of the exact waves; those of the grid are a few per cent slower."""
    grid = Grid.from_points(33, 25, 3.0, 2.5)
    options = {
        **options,
        **COMMON,
        "beta": 5.0,
        "potential_vorticity": 1e-9 * np.random.default_rng(0).standard_normal(grid.shape),
    }
    limit = wave_limit(BarotropicVorticity(grid, time_step=1e-9, **options).setup)
    with pytest.raises(InputError, match=rf"fastest Rossby wave[^~]*up to {limit:.4g}"):
        BarotropicVorticity(grid, time_step=1.001 * limit, **options)
    monkeypatch.setattr(module, "check_time_step", lambda setup: None)
    sizes = []
    for part in (0.95, 1.15):
        model = BarotropicVorticity(grid, time_step=part * limit, **options)
        first = model.diagnostics()["energy"]
        model._engine.advance(400)
        sizes.append(model.diagnostics()["energy"] / first)
    assert sizes[0] < 1.5 and not sizes[1] < 10.0  # or not a number


def gravest_mode(time_step, **options):
    """A basin that swings in its gravest mode with infinitesimal waves.

    psi = cos(k x + w t) sin(pi x) sin(pi y), k = beta / 2w = sqrt(2) pi (J. Pedlosky, Geophysical Fluid Dynamics,
    2nd ed. (1987), section 3.25); the vorticity is its Laplacian.
    """
    grid = Grid.from_points(33, 33, 1.0, 1.0)
    x, y = grid.mesh()
    k = math.sqrt(2.0) * np.pi
    swing = (k**2 + 2.0 * np.pi**2) * np.cos(k * x) * np.sin(np.pi * x) + 2.0 * k * np.pi * np.sin(k * x) * np.cos(
        np.pi * x
    )
    swing = -1e-9 * swing * np.sin(np.pi * y)
    return BarotropicVorticity(grid, time_step=time_step, beta=5.0, relative_vorticity=swing, **options, **COMMON)


FREQUENCY = 5.0 / (2.0 * np.sqrt(2.0) * np.pi)


def roots_of(scheme, z):
    """Growth of a step by its difference equation, q_{n+1} = q_n + z sum w_k q_{n-k}, stepped until it settles."""
    weights = {"ab2": (3 / 2, -1 / 2, 0.0), "ab3": (23 / 12, -16 / 12, 5 / 12)}[scheme]
    old, sizes = [1.0 + 0.0j, 1.0, 1.0], []
    for _ in range(4000):
        old = [old[0] + z * sum(w * q for w, q in zip(weights, old, strict=True)), old[0], old[1]]
        sizes.append(abs(old[0]))
        old = [q / sizes[-1] for q in old]
    return math.exp(np.log(sizes[2000:]).mean())


@pytest.mark.parametrize(("scheme", "number"), [("ab2", 0.181), ("ab3", 0.724)])
def test_the_limit_without_friction_is_that_of_one_per_cent_a_period(scheme, number):
    limit = wave_limit(gravest_mode(1e-9, scheme=scheme).setup)
    assert limit * FREQUENCY == pytest.approx(number, abs=1e-3)
    for part, grows in ((0.97, False), (1.03, True)):
        z = 1j * part * limit * FREQUENCY
        assert (roots_of(scheme, z) ** (2.0 * math.pi / abs(z)) > 1.01) is grows


def test_the_second_order_grows_as_its_limit_says(monkeypatch):
    """Energy of the model's own gravest mode: 2 % a period at the limit, and x 100 in 20 steps at 0.7 / frequency."""
    energies = {}
    monkeypatch.setattr(module, "check_time_step", lambda setup: None)
    for number, steps in ((0.181, 139), (0.7, 20)):
        model = gravest_mode(number / FREQUENCY, scheme="ab2")
        model._engine.advance(5)
        first = model.diagnostics()["energy"]
        model._engine.advance(steps)
        energies[number] = model.diagnostics()["energy"] / first
    assert energies[0.181] == pytest.approx(1.01**8, abs=0.02) and energies[0.7] > 50.0


def test_friction_allows_the_second_order_longer_steps():
    """Up to where both limits meet: the wave fades by more than the scheme adds."""
    bare, damped = (wave_limit(gravest_mode(1e-9, scheme="ab2", bottom_friction=r).setup) for r in (0.0, 0.02))
    assert damped > 1.5 * bare
    assert roots_of("ab2", complex(-0.02, FREQUENCY) * damped) ** (2.0 * math.pi / FREQUENCY / damped) < 1.0101


def model_of_width(points):
    """A basin with this number of points per Munk width (A / beta)^(1/3)."""
    grid = Grid.from_points(9, 9, 1.0, 1.0)
    return BarotropicVorticity(grid, time_step=1e-3, beta=2.0, viscosity=2.0 * (points * grid.dx) ** 3, device="cpu")


def test_waves_of_reduced_gravity_fade_by_a_part_of_friction():
    """q is (k^2 + 1 / R^2) psi and friction acts on k^2 psi of it; the gravest wave of the basin."""
    grid = Grid.from_points(33, 25, 3.0, 2.5)
    model = BarotropicVorticity(
        grid, time_step=1e-4, beta=5.0, deformation_radius=0.5, viscosity=0.02, bottom_friction=0.1, scheme="ab2",
        **COMMON,
    )  # fmt: skip
    k2 = (math.pi / 3.0) ** 2 + (math.pi / 2.5) ** 2
    decay = (0.02 * k2 + 0.1) * k2 / (k2 + 4.0)
    assert wave_limit(model.setup) == pytest.approx(longest_wave_step(2, 2.5 / math.sqrt(k2 + 4.0), decay), rel=1e-9)


def test_limits_in_words():
    model = BarotropicVorticity.double_gyre(33, time_step=1e-6, device="cpu")
    assert "time step: 1e-06; limits: 0.0137" in model.notes[-1] and "Rossby waves" in model.notes[-1]
    still = BarotropicVorticity(Grid.from_points(9, 9, 1.0, 1.0), time_step=1.0, device="cpu")
    assert "0.99 points per Munk width; below 2" in model_of_width(0.99).notes[0]
    assert "2.50 points per Munk width (" in model_of_width(2.5).notes[0]
    assert still.notes[-1] == "time step: 1; limits: 0.5 / (|u| / dx + |v| / dy) (flow)"
    assert flow_limit(0.0, 0.0, 1.0, 1.0) == math.inf and flow_limit(2.0, 1.0, 1.0, 0.5) == 0.125


@pytest.mark.parametrize("beta", [1e-320, 1e-300])
def test_a_beta_near_zero_does_not_limit_the_time_step(beta):
    grid = Grid.from_points(9, 9, 1.0, 1.0)
    model = BarotropicVorticity(grid, time_step=1e-3, beta=beta, viscosity=0.1, device="cpu")
    assert wave_limit(model.setup) == math.inf
