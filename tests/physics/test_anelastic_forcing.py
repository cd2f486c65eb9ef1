"""What drives the anelastic model by profiles of height, against exact solutions."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import forced
from eagre import Forcing, Nudging
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.vertical_profiles import TableProfile
from eagre.models.anelastic.model import AnelasticFlow

ON = {"device": "cpu", "precision": "double"}
COLUMN = Grid.from_points(1, 1, 100.0, 100.0, periodic=(True, True))


@pytest.mark.parametrize("f", [1e-4, -1e-4])
def test_wind_circles_about_the_geostrophic_one(f):
    """Its distance from (u_g, v_g) stays, and it comes round in 2 pi / f, to the right where f > 0."""
    period = 2.0 * np.pi / abs(f)
    model = AnelasticFlow(
        COLUMN, 3, top_height=100.0, coriolis=f, velocity=(2.0, 0.0, 0.0), forcing=Forcing(geostrophic=(8.0, 3.0)),
        time_step=period / 400, tolerance=1e-12, **ON,
    )  # fmt: skip
    start = np.hypot(2.0 - 8.0, 0.0 - 3.0)
    for quarter in range(1, 5):
        model.advance(quarter * period / 4)
        wind = (model.field("u") - 8.0) + 1j * (model.field("v") - 3.0)
        np.testing.assert_allclose(np.abs(wind), start, rtol=2e-3)
        expected = (-6.0 - 3.0j) * np.exp(-1j * f * model.time)
        np.testing.assert_allclose(wind, expected * np.ones((3, 1, 1)), atol=0.02 * start)


def test_ekman_spiral_stays():
    """Over ground where the wind is held by nudging of the lowest level: u_g - u = c exp(-(1 + i) z / d), for 6 h."""
    f, nu, count, height = 1e-4, 5.0, 81, 2000.0
    z = np.linspace(0.0, height, count)
    spiral = 10.0 * (1.0 - np.exp(-(1.0 + 1.0j) * z / np.sqrt(2.0 * nu / f)))
    tau = TableProfile(np.array([0.0, 1.0, height]), np.array([16.0, 1e15, 1e15]))
    model = AnelasticFlow(
        COLUMN, count, top_height=height, coriolis=f, viscosity=nu, time_step=5.0, tolerance=1e-12,
        velocity=(spiral.real[:, None, None], spiral.imag[:, None, None], 0.0),
        forcing=Forcing(geostrophic=(10.0, 0.0), nudging=Nudging(tau, u=0.0, v=0.0)), **ON,
    )  # fmt: skip
    model.advance(6 * 3600.0)
    found = model.field("u")[:, 0, 0] + 1j * model.field("v")[:, 0, 0]
    ground = found[0]
    assert abs(ground) < 0.3
    expected = 10.0 + (ground - 10.0) * np.exp(-(1.0 + 1.0j) * z / np.sqrt(2.0 * nu / f))
    assert np.abs(found - expected).max() < 0.02 * 10.0, np.abs(found - expected).max()


def test_nudging_is_exponential():
    """Towards profiles, wind, theta itself and scalars, with the error of second order in the step."""
    theta = TableProfile(np.array([0.0, 400.0]), np.array([302.0, 310.0]))
    nudging = Nudging(200.0, u=5.0, v=-1.0, theta=theta, scalars={"dye": 2.0})
    errors = []
    for dt in (20.0, 10.0):
        model = AnelasticFlow(
            COLUMN, 5, top_height=400.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01),
            scalars={"dye": np.zeros((5, 1, 1))}, forcing=Forcing(nudging=nudging), time_step=dt, tolerance=1e-12, **ON,
        )  # fmt: skip
        z, left = model.levels.height[:, None, None], np.exp(-400.0 / 200.0)
        model.advance(400.0)
        ambient = 300.0 * (1.0 + 1e-4 / 9.81 * z)
        goals = {"u": 5.0, "v": -1.0, "dye": 2.0, "theta": 302.0 + 0.02 * z}
        starts = {"theta": ambient}
        misses = [
            np.abs(model.field(name) - goal - left * (starts.get(name, 0.0) - goal)).max() / np.abs(goal).max()
            for name, goal in goals.items()
        ]
        errors.append(max(misses))
    assert errors[1] < 1e-3 and errors[0] / errors[1] > 3.0, errors


def test_cooling_is_exact():
    profile = TableProfile(np.array([0.0, 200.0, 400.0]), np.array([-2e-5, -1e-5, 0.0]))
    model = AnelasticFlow(
        Grid.from_points(6, 1, 600.0, 1.0, periodic=(True, True)), 5, top_height=400.0,
        forcing=Forcing(heating=profile), atmosphere=Atmosphere.boussinesq(), time_step=50.0, tolerance=1e-12, **ON,
    )  # fmt: skip
    model.advance(3600.0)
    expected = 3600.0 * profile(model.levels.height)[:, None, None] * np.ones((5, 1, 6))
    np.testing.assert_allclose(model.field("theta_perturbation"), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("speed", [-0.01, 0.01])
def test_subsidence_of_straight_profiles_is_exact(speed):
    """theta and a scalar that rise with height change by -w_s t times their slope, at all levels; so does wind."""
    z = np.linspace(0.0, 400.0, 5)[:, None, None]
    model = AnelasticFlow(
        COLUMN, 5, top_height=400.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01),
        theta_perturbation=0.004 * z,
        scalars={"dye": 0.1 * z}, velocity=(0.02 * z, -0.01 * z, 0.0), forcing=Forcing(subsidence=speed),
        time_step=50.0, tolerance=1e-12, **ON,
    )  # fmt: skip
    model.advance(1000.0)
    slopes = {"theta_perturbation": (0.004, 0.004 + 300.0 * 1e-4 / 9.81), "dye": (0.1, 0.1), "u": (0.02, 0.02)}
    for name, (own, total) in slopes.items():
        np.testing.assert_allclose(
            model.field(name), own * z - speed * 1000.0 * total, rtol=0, atol=1e-11, err_msg=name
        )


def test_what_is_refused():
    short = TableProfile(np.array([0.0, 100.0]), np.array([1.0, 1.0]))
    for forcing, more, words in (
        (Forcing(heating=0.1), {}, "incompressible"),
        (Forcing(subsidence=short), {}, "up to 100 m"),
        (Forcing(nudging=Nudging(100.0)), {}, "nudging without a target profile"),
        (Forcing(nudging=Nudging(0.0, u=1.0)), {}, "time_scale = 0 s"),
        (Forcing(nudging=Nudging(10.0, u=1.0)), {"time_step": 11.0}, "time_step"),
        (Forcing(nudging=Nudging(10.0, scalars={"dust": 1.0})), {}, "'dust'"),
        (Forcing(geostrophic=(1.0, 0.0)), {}, "without a Coriolis parameter"),
    ):
        with pytest.raises(InputError, match=words):
            AnelasticFlow(COLUMN, 5, top_height=400.0, forcing=forcing, **more, **ON)


def test_a_time_step_that_does_not_quite_divide_the_interval_makes_no_noise():
    """Single precision, records each 20 s: steps of 2e-5 s before them made noise of half the wind."""
    fields = []
    for step in (2.0, 2.0 - 2e-6):
        model = forced(time_step=step, device="cpu", precision="single")
        for record in range(1, 7):
            model.advance(20.0 * record)
        assert model.steps == 60
        fields.append(model.field("u"))
    assert np.abs(fields[1] - fields[0]).max() < 1e-3 * np.ptp(fields[0])


def test_times_that_are_next_to_each_other_make_no_noise():
    """As of records each 1/3 s, written with seven digits, and each second: single precision is as double."""
    fields = []
    for precision in ("single", "double"):
        model = forced(time_step=2.0, device="cpu", precision=precision)
        for record in range(1, 7):
            model.advance(20.0 * record)
            model.advance(20.0 * record + 2e-6)
        assert model.steps == 66
        fields.append(model.field("u"))
    assert np.abs(fields[1] - fields[0]).max() < 1e-3 * np.ptp(fields[0])
