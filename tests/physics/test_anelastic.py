"""The anelastic model against exact solutions and conservation."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eagre.errors import BlowUpError, InputError
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import (
    PERIOD,
    channel_wave,
    decaying_turbulence,
    density_current,
    inertia_gravity_waves,
    taylor_green,
    taylor_green_velocity,
)
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.stability import longest_explicit_step, max_explicit_number

ON = {"device": "cpu", "precision": "double"}


@pytest.mark.parametrize("viscosity", [0.0, 0.02])
def test_vortices_in_a_wind_are_of_second_order(viscosity):
    """At a constant Courant number; the literature's order at a fixed grid is one."""
    errors = []
    for points in (17, 33, 65):
        steps = points
        model = taylor_green(points, viscosity, time_step=1.0 / steps, **ON)
        model.advance(1.0)
        exact = taylor_green_velocity(*model.grid.mesh(), 1.0, viscosity, (0.7, 0.3))
        misses = [model.field(name)[0] - one for name, one in zip("uv", exact, strict=True)]
        errors.append(np.sqrt(np.mean(np.square(misses))))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (orders > 1.9).all(), (errors, orders)


def test_the_pressure_of_vortices_is_right_after_every_step():
    """A step finds the mean of the pressures at its ends: begun with another one they would swing about the exact one.

    So would they behind a step that is far shorter than the next.
    """
    model = taylor_green(33, time_step=1.0 / 33.0, **ON)
    for until in (0.04, *[1e9] * 4, 0.5, *[1e9] * 4):
        model.advance(until, None if until < 1.0 else 1)
        x, y = (one - speed * model.time for one, speed in zip(model.grid.mesh(), (0.7, 0.3), strict=True))
        exact = -0.25 * (np.cos(2.0 * x) + np.cos(2.0 * y))
        found = model.field("pressure")[0]
        assert np.abs(found - found.mean() - exact).max() < 0.04, model.steps


def test_the_pressure_on_a_hill_does_not_swing_from_step_to_step():
    """But by what it grows in half of the first step: waves build up."""
    grid = Grid.from_points(64, 1, 32e3, 1e3, -16e3, periodic=(True, True))
    hill = 400.0 / (1.0 + (grid.x / 3000.0) ** 2)[None]
    air, drags = Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(10.0, 0.0)), []
    model = AnelasticFlow(
        grid, 17, top_height=8e3, atmosphere=air, terrain_height=hill, coriolis=1e-4, time_step=10.0, **ON
    )
    for _ in range(12):
        model.advance(1e9, 1)
        drags.append(np.sum(model.field("pressure")[0, 0] * np.gradient(hill[0], grid.dx)))
    swings = np.diff(drags, 2)
    assert np.abs(swings).max() < 0.1 * np.abs(drags).max(), drags


def test_the_last_two_steps_before_a_landing_are_equal():
    """No step is far shorter than its neighbours, as what one leaves is taken in proportion to their lengths."""
    model = taylor_green(9, time_step=0.1, **ON)
    for until, steps, last in ((0.205, 3, 0.0525), (0.6, 7, 0.0975), (0.75, 9, 0.075), (0.9505, 11, 0.1005)):
        model.advance(until)
        assert (model.time, model.steps) == (until, steps)
        assert model.engine.steps.previous_dt == pytest.approx(last)
    assert model.statistics()["dt_min"] == model.statistics()["dt_max"] == 0.1  # of the steps that are not shortened


def test_gravity_waves_run_as_linear_theory_says():
    errors = []
    for points in (150, 300):
        model = inertia_gravity_waves(points, time_step=6000.0 / points, **ON)
        model.advance(1500.0)
        height = model.levels.height
        exact = channel_wave(model.grid.x, height, 1500.0)
        errors.append(np.sqrt(np.mean((model.field("theta_perturbation") - exact) ** 2)) / np.sqrt(np.mean(exact**2)))
    assert errors[1] < 0.1 and errors[0] / errors[1] > 3.0, errors


def test_stratified_air_at_rest_stays_at_rest_over_a_hill():
    grid = Grid.from_points(33, 1, 32e3, 1e3, -16e3, periodic=(True, True))
    hill = 600.0 / (1.0 + (grid.x / 3000.0) ** 2)[None]
    for air in (Atmosphere.boussinesq(buoyancy_frequency=0.01), Atmosphere.anelastic(buoyancy_frequency=0.01)):
        model = AnelasticFlow(grid, 17, top_height=8e3, atmosphere=air, terrain_height=hill, time_step=20.0, **ON)
        model.advance(400.0)
        assert max(np.abs(model.field(name)).max() for name in "uvw") == 0.0


def test_air_that_is_warmer_everywhere_stays_at_rest_over_a_hill():
    """The pressure that bears it is linear in z: its differences along the slopes of levels cancel to the tolerance."""
    grid = Grid.from_points(33, 1, 32e3, 1e3, -16e3, periodic=(True, True))
    hill = 600.0 / (1.0 + (grid.x / 3000.0) ** 2)[None]
    model = AnelasticFlow(
        grid, 17, top_height=8e3, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01), terrain_height=hill,
        time_step=20.0,
        theta_perturbation=np.ones((17, 1, 33)), tolerance=1e-10, **ON,
    )  # fmt: skip
    model.advance(400.0)
    assert max(np.abs(model.field(name)).max() for name in "uvw") < 1e-8
    np.testing.assert_allclose(model.field("theta_perturbation"), 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("precision", [pytest.param("single", marks=pytest.mark.slow), "double"])
def test_wind_over_a_hill_has_no_divergence_and_does_not_pass_through_it(precision):
    grid = Grid.from_points(32, 1, 32e3, 1e3, -16e3, periodic=(True, True))
    hill = 1000.0 / (1.0 + (grid.x / 3000.0) ** 2)[None]
    air = Atmosphere.anelastic(buoyancy_frequency=0.01, wind=(10.0, 0.0))
    model = AnelasticFlow(
        grid, 17, top_height=8e3, atmosphere=air, terrain_height=hill, device="cpu", precision=precision, tolerance=1e-6
    )
    model.advance(300.0)
    assert model.diagnostics()["scaled_divergence"] <= 1e-6
    u, w = (model.field(name)[0, 0] for name in "uw")
    slope = (np.roll(hill[0], -1) - np.roll(hill[0], 1)) / (2.0 * grid.dx)
    through = np.abs(w - u * slope).max()
    assert through < (1e-5 if precision == "single" else 1e-12) * 10.0, through
    assert np.abs(u - 10.0).max() > 0.5


def oblique(**options):
    """Vortices of 0.06 of a wind that blows from corner to corner of a cube."""
    count = 20
    grid = Grid.from_points(count, count, PERIOD, PERIOD, periodic=(True, True))
    x, y, z = grid.x, grid.y[:, None], grid.x[:, None, None]
    u, v = 1.0 + 0.06 * np.sin(x) * np.cos(y) * np.cos(z), 1.0 - 0.06 * np.cos(x) * np.sin(y) * np.cos(z)
    return AnelasticFlow(
        grid,
        count,
        top_height=PERIOD,
        velocity=(u, v, 1.0),
        boundaries={"z": "periodic"},
        tolerance=1e-8,
        **options,
        **ON,
    )


def test_a_wind_across_the_grid_that_is_too_fast_ends_the_run_with_the_step_to_write():
    """A Courant number of 0.93 lets short waves grow though each step keeps signs; what the error says does not."""
    model = oblique(time_step=0.31 * PERIOD / 20)
    with pytest.raises(BlowUpError, match="above 1") as caught:
        model.advance(30.0)
    assert model.time > 3.0 and "can amplify short waves" in dict(model.summary_rows)["Courant number"]
    found = re.search(r"time_step = (\S+), or courant_number = (\S+) without time_step", caught.value.advice)
    assert found is not None
    for options in ({"time_step": float(found[1])}, {"courant_number": float(found[2])}):
        model = oblique(**options)
        first = model.diagnostics()["mean_kinetic_energy"]
        model.advance(30.0)
        assert 1.5 < model.diagnostics()["mean_kinetic_energy"] < first
        assert "can amplify" not in dict(model.summary_rows)["Courant number"]


def test_a_courant_number_at_which_waves_grow_is_refused():
    with pytest.raises(InputError, match=r"courant_number = 0.6\b.*\n.*0.529 in 3 dim"):
        oblique(courant_number=0.6)
    with pytest.raises(InputError, match=r"0.592 in 2 dim"):
        taylor_green(8, courant_number=0.6, **ON)


def test_no_step_goes_above_the_courant_number_of_the_case():
    """Cold air that falls from rest: as its wind is known before a step, even the first ones keep to it."""
    for most in (0.5, 0.2):
        model = density_current(400.0, time_step=None, courant_number=most, viscosity=0.0, **ON)
        model.advance(300.0)
        assert 0.96 * most < model.engine.fastest <= most


@pytest.mark.parametrize("courant", [0.2, 0.5])
@pytest.mark.parametrize("wind", [(1.0, 0.0, 0.0), (0.5, 0.3, 0.2)])
def test_where_waves_of_what_mixes_and_is_carried_begin_to_grow(courant, wind, monkeypatch):
    """Noise that a uniform wind carries: 4 % on either side of the limit, whatever the limiter."""
    monkeypatch.setattr("eagre.models.anelastic.stability.EXPLICIT", 10.0)
    grid, noise = Grid.from_points(8, 8, 8.0, 8.0, periodic=(True, True)), np.random.default_rng(1).random((8, 8, 8))
    spread = []
    for share in (0.96, 1.04):
        model = AnelasticFlow(
            grid, 8, top_height=8.0, velocity=tuple(courant * one for one in wind), boundaries={"z": "periodic"},
            time_step=1.0, diffusivity=share * max_explicit_number(courant) / 12.0, scalars={"dye": noise}, **ON,
        )  # fmt: skip
        model.advance(400.0)
        spread.append(np.std(model.field("dye")))
    assert spread[0] < 1e-3 and spread[1] > 1.0, spread


def test_steps_that_begin_anew_keep_the_wind(monkeypatch):
    """As behind a step that is a thousandth of the next: half forces are made anew, and the wind goes on."""
    monkeypatch.setattr("eagre.models.anelastic.engine.SHORT", 2.0)  # before each step
    falling = density_current(800.0, time_step=4.0, viscosity=0.0, **ON)
    speeds = []
    for _ in range(4):
        falling.advance(1e9, max_steps=1)
        speeds.append(-falling.field("w").min())
    np.testing.assert_allclose(speeds, speeds[0] * np.arange(1.0, 5.0), rtol=0.03)


def test_turbulence_keeps_its_energy_at_first_and_its_momentum():
    model = decaying_turbulence(24, "solenoidal", time_step=0.04, tolerance=1e-8, **ON)
    first = model.diagnostics()["mean_kinetic_energy"]
    assert abs(first - 0.25) < 1e-12
    model.advance(0.8)
    assert abs(model.diagnostics()["mean_kinetic_energy"] / first - 1.0) < 1e-3
    assert max(abs(model.field(name).mean()) for name in "uvw") < 1e-12


def test_the_printed_start_keeps_two_thirds_of_its_energy():
    model = decaying_turbulence(24, "printed", time_step=0.04, tolerance=1e-10, **ON)
    grid = model.grid
    x, y, z = grid.x, grid.y[:, None], (model.levels.height - np.pi)[:, None, None]
    np.testing.assert_allclose(model.field("u"), np.sin(x) * np.cos(y) * np.cos(z) / 3.0, atol=1e-9)
    assert abs(model.diagnostics()["mean_kinetic_energy"] - 1.0 / 6.0) < 1e-9


def test_a_scalar_is_kept_and_stays_in_its_bounds():
    grid = Grid.from_points(33, 1, 3200.0, 1.0)
    z = np.linspace(0.0, 1600.0, 17)[:, None, None]
    warm = 1.0 * (np.hypot(grid.x - 1600.0, z - 500.0) < 300.0)
    dye = (z < 400.0) * np.ones((17, 1, 33))
    model = AnelasticFlow(
        grid, 17, top_height=1600.0, atmosphere=Atmosphere.boussinesq(), theta_perturbation=warm,
        boundaries={"x": "wall"},
        scalars={"dye": dye}, tolerance=1e-10, **ON,
    )  # fmt: skip
    first = model.diagnostics()["total_dye"]
    model.advance(240.0)
    assert model.steps > 10
    assert abs(model.diagnostics()["total_dye"] / first - 1.0) < 1e-8
    dye = model.field("dye")
    assert dye.min() > -1e-9 and dye.max() < 1.0 + 1e-9 and dye[8:].max() > 0.05
    w = model.field("w")
    assert np.abs(w[[0, -1]]).max() < 1e-12 and np.abs(model.field("u")[:, :, [0, -1]]).max() < 1e-12


def test_viscosity_is_of_second_order_in_time():
    """A shear along an axis without flow, against the exact decay of its differences."""
    grid = Grid.from_points(16, 1, 16.0, 1.0, periodic=(True, True))
    wave, rate, errors = np.cos(np.pi * grid.x / 8.0) * np.ones((1, 1, 16)), 4.0 * 0.5 * np.sin(np.pi / 16.0) ** 2, []
    for steps in (40, 80):
        model = AnelasticFlow(grid, 1, velocity=(0.0, wave, 0.0), viscosity=0.5, time_step=8.0 / steps, **ON)
        model.advance(8.0)
        errors.append(np.abs(model.field("v") - np.exp(-8.0 * rate) * wave).max())
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 3.5, errors


def test_noise_does_not_grow_with_the_longest_step_that_viscosity_bears():
    grid = Grid.from_points(16, 1, 16.0, 1.0, periodic=(True, True))
    zigzag = (-1.0) ** np.arange(16) * np.ones((1, 1, 16))
    longest = longest_explicit_step(4.0 * 0.5)
    model = AnelasticFlow(grid, 1, velocity=(0.0, zigzag, 0.0), viscosity=0.5, time_step=longest, **ON)
    model.advance(100.0 * longest)
    assert np.abs(model.field("v")).max() <= 1.0
    with pytest.raises(InputError, match="time_step"):
        AnelasticFlow(grid, 1, viscosity=0.5, time_step=1.01 * longest, **ON)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_noise_does_not_grow_in_layers_at_the_ends_that_a_wind_blows_through(precision):
    """Waves of a few spacings, which the layers' decay of the step before meets out of phase."""
    rate, grid = 0.05, Grid.from_points(40, 1, 16e3, 1.0, periodic=(True, True))
    longest, noise = longest_explicit_step(rate), 0.1 * np.random.default_rng(1).standard_normal((9, 1, 40))
    air = Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(0.5 * grid.dx / longest, 0.0))
    model = AnelasticFlow(
        grid, 9, top_height=4000.0, atmosphere=air, theta_perturbation=noise, side_sponges={"x": (7e3, rate)},
        time_step=longest, device="cpu", precision=precision,
    )  # fmt: skip
    model.advance(80.0 * longest)
    assert np.abs(model.field("theta_perturbation")).max() < 0.02


def test_parts_of_the_advection_are_chosen():
    """Third-order terms carry smooth fields better; without the limiter there are extrema."""
    grid = Grid.from_points(32, 1, 32.0, 1.0, periodic=(True, True))
    smooth = 1.0 + 0.5 * np.sin(np.pi * grid.x / 8.0) * np.ones((1, 1, 32))
    block = 1.0 * (np.abs(grid.x - 16.0) < 5.0) * np.ones((1, 1, 32))
    known = {"velocity": (1.0, 0.0, 0.0), "scalars": {"smooth": smooth, "block": block}, "time_step": 0.25}
    missed, highest = {}, {}
    for third, limited in ((False, True), (True, True), (False, False)):
        model = AnelasticFlow(grid, 1, **known, third_order=third, nonoscillatory=limited, **ON)
        model.advance(32.0)
        missed[third, limited] = np.abs(model.field("smooth") - smooth).mean()
        highest[third, limited] = model.field("block").max()
    assert missed[True, True] < 0.7 * missed[False, True]
    assert highest[False, False] > 1.01 and highest[False, True] < 1.0 + 1e-12


@pytest.mark.parametrize("devices", ["cpu", ["cpu", "cpu"]])
def test_rotation_does_not_lag_by_half_of_the_first_step(devices):
    """An eighth of an inertial circle: forces act from the beginning, so that errors are of second order in time."""
    f, errors = 1e-4, []
    grid = Grid.from_points(6, 32, 6e4, 32e4, periodic=(True, True))
    for count in (20, 40):
        step = 0.25 * np.pi / f / count
        model = AnelasticFlow(
            grid, 3, top_height=4000.0, velocity=(3.0, 0.0, 0.0), coriolis=f, time_step=step, precision="double",
            device=devices,
        )  # fmt: skip
        model.advance(count * step)
        found = complex(model.field("u").mean(), model.field("v").mean())
        errors.append(abs(found - 3.0 * np.exp(-0.25j * np.pi)))
    assert errors[0] < 2e-3 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)


def test_waves_do_not_lag_by_half_of_the_first_step():
    """A standing gravity wave of the grid's own frequency: theta' is 0 after a quarter of its period."""
    grid, levels, n = Grid.from_points(32, 1, 2000.0, 1.0, periodic=(True, True)), 17, 0.02
    z = np.linspace(0.0, 1000.0, levels)[:, None, None]
    along, up = (np.sin(1e-3 * np.pi * d) / d for d in (grid.dx, 62.5))
    quarter, errors = 0.5 * np.pi * np.hypot(along, up) / (n * along), []
    warm = 1e-3 * np.cos(1e-3 * np.pi * grid.x) * np.sin(1e-3 * np.pi * z)
    for count in (10, 20):
        model = AnelasticFlow(
            grid, levels, top_height=1000.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=n),
            theta_perturbation=warm,
            time_step=quarter / count, tolerance=1e-12, precision="double", device="cpu",
        )  # fmt: skip
        model.advance(quarter)
        errors.append(float((model.field("theta_perturbation") * warm).sum() / (warm**2).sum()))
    assert abs(errors[0]) < 5e-3 and errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
