"""The longest steps that viscosity, closures and forcing of the air bear, and the first of a run, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre import Forcing, Nudging, Smagorinsky
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.stability import first_step
from eagre.models.anelastic.step_kernels import Velocity
from eagre.models.anelastic.subgrid.closure import stiffness_of

HEIGHTS = np.array([0.0, 20.0, 80.0, 200.0])


def longest(**options):
    """The longest step of a column of air, s, over 0.5: one over the fastest decay."""
    column = Grid.from_points(1, 1, 1.0, 1.0, periodic=(True, True))
    chosen = {"grid": column, "atmosphere": Atmosphere.boussinesq(buoyancy_frequency=0.01), **options}
    return AnelasticFlow(levels=HEIGHTS, device="cpu", **chosen).setup.time_step / 0.5


@pytest.mark.parametrize(
    ("viscosity", "diffusivity", "closure", "factor"),
    [
        (3.0, 7.0, None, 7.0),
        (7.0, 3.0, None, 7.0),
        (7.0, 3.0, Smagorinsky(0.2, 2.0), 14.0),  # a velocity along itself has twice the viscosity
        (7.0, 3.0, Smagorinsky(0.2, 0.25), 28.0),  # heat has four times that of momentum
    ],
)
def test_the_larger_of_viscosity_and_diffusivity_counts(viscosity, diffusivity, closure, factor):
    """4 nu / d^2 with the distance d of the lowest levels: differences of both sides over one spacing there."""
    found = longest(viscosity=viscosity, diffusivity=diffusivity, closure=closure)
    assert found == pytest.approx(20.0**2 / (4.0 * factor), rel=1e-12)


SIDES = {"grid": Grid.from_points(9, 1, 800.0, 1.0, periodic=(True, True)), "side_sponges": {"x": (200.0, 0.03)}}


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        (
            {"forcing": Forcing(nudging=Nudging(TableProfile([0.0, 100.0, 200.0], [400.0, 50.0, 400.0]), u=1.0))},
            1.0 / 120.0,
        ),
        ({"forcing": Forcing(subsidence=TableProfile([0.0, 200.0], [0.0, -0.5]))}, 2.0 * 0.5 / 20.0),
        ({"forcing": Forcing(subsidence=0.3)}, 2.0 * 0.3 / 20.0),
        (SIDES, 0.03),
        ({**SIDES, "forcing": Forcing(subsidence=-0.3, nudging=Nudging(50.0, v=1.0))}, 0.03 + 0.02 + 0.03),
    ],
    ids=["nudging", "sinking", "rising", "sides", "all"],
)
def test_rates_of_forcing_add_up(options, rate):
    """The shortest time scale at a level (120 s at 80 m), twice the vertical Courant number, the layers at sides."""
    assert longest(**options) == pytest.approx(1.0 / rate, rel=1e-12)


@pytest.mark.parametrize("slope", [(0.2, -0.1), (-0.2, 0.0)])
def test_slopes_of_levels_make_diffusion_faster(slope):
    """An even slope: sum of squares of (1/d + the derivative of zeta along it over dzeta), largest at the ground."""
    x, y = np.meshgrid(50.0 * np.arange(5), 40.0 * np.arange(4))
    hill = 60.0 + slope[0] * x + slope[1] * y
    metric = Metric((6, 4, 5), (30.0, 40.0, 50.0), ("wall", "wall", "wall"), hill=hill)
    height = 150.0 - hill  # of the air
    up = 150.0 / (30.0 * height)
    along = (1.0 / 50.0 + abs(slope[0]) * up) ** 2 + (1.0 / 40.0 + abs(slope[1]) * up) ** 2 + up**2
    np.testing.assert_allclose(stiffness_of(metric)[0], along, rtol=1e-12)
    above = 1.0 / 50.0**2 + 1.0 / 40.0**2 + up**2
    np.testing.assert_allclose(stiffness_of(metric)[-1], above, rtol=1e-12)


def test_the_first_step_by_hand():
    """Half of the Courant number in the wind, and all of it in one of 10 m/s; no longer than the longest."""
    setup: Any = SimpleNamespace(shape=(2, 1, 3), spacing=(5.0, 1.0, 4.0), time_step=1.0)
    u, w = np.array([[[1.0, -2.0, 0.5]], [[0.0, 3.0, 1.0]]]), np.zeros((2, 1, 3))
    w[0, 0, 1] = -40.0
    v, stretch = Velocity(-6.0 * u, 0.0 * u, w), np.array([0.25, 2.0])
    assert first_step(setup, 0.4, v, stretch) == pytest.approx(0.2 / (12.0 / 4.0 + 40.0 * 0.25 / 5.0))
    across = Velocity(0.0 * u, 6.0 * u, 0.0 * w)
    assert first_step(setup, 0.4, across, stretch) == pytest.approx(0.2 / 18.0)
    still = Velocity(0.0 * u, 0.0 * u, 0.0 * w)
    assert first_step(setup, 0.4, still, stretch) == pytest.approx(0.4 * 4.0 / 10.0)
    setup.time_step = 1e-3
    assert first_step(setup, 0.4, still, stretch) == 1e-3
