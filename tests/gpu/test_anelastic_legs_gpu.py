"""Steps of the anelastic model as graphs on a real card: the bits of steps one by one, and close to the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Smagorinsky, Surface
from eagre.backend.select import cuda_problem
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.model import AnelasticFlow
from eagre.time_varying.series import Series

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]


def turbulence(device, precision):
    return decaying_turbulence(16, time_step=0.03, device=device, precision=precision, tolerance=1e-7)


def hill(device, precision):
    grid = Grid.from_points(33, 16, 16000.0, 16000.0, periodic=(True, True))
    ground = 300.0 * np.exp(-(((grid.x - 8000.0) / 2000.0) ** 2)) + 0.0 * grid.y[:, None]
    air = Atmosphere.anelastic(buoyancy_frequency=0.01, wind=(10.0, 0.0))
    options = {"top_height": 8000.0, "atmosphere": air, "terrain_height": ground, "time_step": 5.0, "tolerance": 1e-5}
    return AnelasticFlow(grid, 17, device=device, precision=precision, **options)


def by_courant(device, precision):
    """Stratified, so that what is implicit follows the time step."""
    air = Atmosphere.boussinesq(buoyancy_frequency=1.0)
    return decaying_turbulence(
        16, courant_number=0.3, atmosphere=air, device=device, precision=precision, tolerance=1e-7
    )


def driven(device, precision):
    """A closure over ground whose heat flux falls, by the Courant number."""
    grid = Grid.from_points(16, 12, 1600.0, 1200.0, periodic=(True, True))
    falling = Series(np.array([0.0, 1000.0]), np.array([0.3, 0.0]))
    return AnelasticFlow(
        grid, 9, top_height=800.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(5.0, 1.0)),
        closure=Smagorinsky(), theta_perturbation=0.1 * np.random.default_rng(2).standard_normal((9, 12, 16)),
        surface=Surface(falling, roughness=0.1), coriolis=1e-3, courant_number=0.4, tolerance=1e-6,
        device=device, precision=precision,
    )  # fmt: skip


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("case", [turbulence, hill, by_courant, driven])
def test_legs_make_the_bits_of_steps(case, precision, monkeypatch):
    together = case("cuda", precision)
    together.advance(1e9, max_steps=24)
    assert together.engine._batches._graphs
    with monkeypatch.context() as change:
        change.setattr(Engine, "advance_many", lambda *_, **_options: None)
        alone = case("cuda", precision)
        alone.advance(1e9, max_steps=24)
    found, expected = together.state(), alone.state()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("case", [turbulence, hill, by_courant, driven])
def test_as_the_cpu(case):
    found, expected = (case(device, "double") for device in ("cuda", "cpu"))
    for one in (found, expected):
        one.advance(1e9, max_steps=6)
    for name in ("u", "v", "w"):
        np.testing.assert_allclose(found.field(name), expected.field(name), rtol=0.0, atol=1e-5)
