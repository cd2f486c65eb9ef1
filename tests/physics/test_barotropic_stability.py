"""Limits of the barotropic model's time step: below them noise decays, above them it grows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, InputError
from eagre.models.barotropic import model as module
from eagre.models.barotropic.stability import flow_limit, friction_limit, wave_limit

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
    grid = Grid.of_points(13, 10, 2.0, 1.0)
    noise = 1e-9 * np.random.default_rng(0).standard_normal(grid.shape)
    options = {**options, **COMMON, "vorticity": noise}
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
    grid = Grid.of_points(13, 10, 2.0, 1.0)
    with pytest.raises(InputError, match="tracer_diffusivity"):
        BarotropicVorticity(grid, time_step=1.0, tracer=np.ones(grid.shape), tracer_diffusivity=1.0, **COMMON)


@pytest.mark.parametrize(
    "options",
    [{}, {"deformation_radius": 0.5}, {"basin": "channel"}, {"basin": "periodic"}],
    ids=["box", "radius", "channel", "periodic"],
)
def test_rossby_waves(options):
    """The limit is that of the exact waves; those of the grid are a few per cent slower."""
    grid = Grid.of_points(33, 25, 3.0, 2.5)
    options = {
        **options,
        **COMMON,
        "beta": 5.0,
        "vorticity": 1e-9 * np.random.default_rng(0).standard_normal(grid.shape),
    }
    limit = wave_limit(BarotropicVorticity(grid, time_step=1e-9, **options).setup)
    sizes = []
    for part in (0.95, 1.15):
        model = BarotropicVorticity(grid, time_step=part * limit, **options)
        first = model.diagnostics()["energy"]
        model._engine.advance(400)
        sizes.append(model.diagnostics()["energy"] / first)
    assert sizes[0] < 1.5 and not sizes[1] < 10.0  # or not a number


def model_of_width(points):
    """A basin with so many points a Munk width (A / beta)^(1/3)."""
    grid = Grid.of_points(9, 9, 1.0, 1.0)
    return BarotropicVorticity(grid, time_step=1e-3, beta=2.0, viscosity=2.0 * (points * grid.dx) ** 3, device="cpu")


def test_limits_in_words():
    model = BarotropicVorticity.double_gyre(33, time_step=1e-6, device="cpu")
    assert "time step: 1e-06; limits: 0.0137" in model.remarks[-1] and "Rossby waves" in model.remarks[-1]
    still = BarotropicVorticity(Grid.of_points(9, 9, 1.0, 1.0), time_step=1.0, device="cpu")
    assert "0.99 points a Munk width; under 2" in model_of_width(0.99).remarks[0]
    assert "2.50 points a Munk width (" in model_of_width(2.5).remarks[0]
    assert still.remarks[-1] == "time step: 1; limits: 0.5 / (|u| / dx + |v| / dy) (flow)"
    assert flow_limit(0.0, 0.0, 1.0, 1.0) == math.inf and flow_limit(2.0, 1.0, 1.0, 0.5) == 0.125
