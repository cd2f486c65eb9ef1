"""Means, variances and extremes of the surface of waves: what NumPy finds in the fields of every step."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.waves import AiryWave
from physics.test_averages import assert_right, assert_same, followed
from physics.test_potential_waves_model import basin

SURFACE = ["surface_elevation"]
ASKED = eagre.TimeStatistics(
    ["surface_elevation", "velocity"], ["surface_elevation", "velocity"], [("surface_elevation", "velocity_x")],
    start=0.02, maximum=["surface_elevation", "velocity_z"], minimum=["velocity_y"], time_of_maximum=["velocity_z"],
)  # fmt: skip
NAMES = ["surface_elevation", "surface_potential", "velocity_x", "velocity_y", "velocity_z"]


@pytest.mark.parametrize("options", [{}, {"linear": True, "precision": "single"}], ids=["double", "linear, single"])
def test_averages_of_waves_are_those_of_every_step(options):
    model = basin(length_y=1.0, time_statistics=ASKED, time_step=0.015, **options)  # an eighth more apart along y
    times, fields = followed(model, NAMES, 9)
    assert_right(model, ASKED, times, fields, 1e-12 if not options else 2e-6)


def test_extremes_of_waves_include_the_first_instant():
    """The hump is highest where and when the run begins."""
    asked = eagre.TimeStatistics(maximum=SURFACE, minimum=SURFACE, time_of_maximum=SURFACE)
    model = basin(time_statistics=asked, time_step=0.015)
    times, fields = followed(model, NAMES, 9)
    assert_right(model, asked, times, fields, 1e-12)
    times = model.maps.sample()["time_of_max_surface_elevation"]
    assert 0.2 < np.mean(times == 0.0) < 0.9


def test_averages_of_waves_go_on_after_a_restart_whoever_looks():
    """Of every second step, over a landing between steps; on two devices the same."""
    asked = eagre.TimeStatistics(["velocity"], SURFACE, every=2, time_of_maximum=SURFACE)
    whole, looked, cut, on, several = (
        basin(ny=17, time_statistics=asked, time_step=0.015, device=device) for device in [*("cpu",) * 4, "cpu,cpu"]
    )
    for _ in range(4):
        looked.advance(looked.time + 1.0, max_steps=1)
        looked.maps.sample()
    for one in (whole, looked, cut, several):
        one.advance(0.07)
    on.restore(cut.state())
    several.restore(several.state())
    for one in (whole, looked, on, several):
        one.advance(0.2)
    assert_same(whole, on)
    assert_same(whole, looked)
    for name, values in whole.maps.sample().items():
        np.testing.assert_allclose(several.maps.sample()[name], values, rtol=0, atol=1e-6, err_msg=name)


def test_height_and_drift_of_regular_waves():
    """Of waves of amplitude a the height is 4 a / sqrt(2); water at the surface goes with them, a^2 k omega / 2.

    That is how much faster the crests go than the troughs: u at still water's level grows by k a omega cos a metre up.
    """
    length, a = 1.0, 0.004
    grid = eagre.Grid.from_points(32, 1, length, 1.0, periodic=(True, False))
    wave = AiryWave(height=2.0 * a, depth=0.5, length=length)
    start = wave.elevation(grid.x[None], 0.0, 0.0), wave.surface_potential(grid.x[None], 0.0, 0.0)
    asked = eagre.TimeStatistics(["velocity"], SURFACE)
    model = eagre.PotentialWaves(
        grid, 0.5, surface_elevation=start[0], surface_potential=start[1], periodic="x", device="cpu", order=4,
        vertical_points=6, precision="double", time_statistics=asked, time_step=wave.period / 32,
    )  # fmt: skip
    model.advance(4.0 * wave.period)
    found = model.maps.sample()
    assert found["significant_height"] == pytest.approx(4.0 * a / np.sqrt(2.0), rel=0.02)
    k, omega = 2.0 * np.pi / length, 2.0 * np.pi / wave.period
    assert found["mean_velocity_x"].mean() == pytest.approx(0.5 * a**2 * k * omega, rel=0.03)


def test_averages_of_waves_leave_the_run_as_it_is():
    plain, model = basin(time_step=0.015), basin(time_statistics=ASKED, time_step=0.015)
    for one in (plain, model):
        one.advance(0.1)
    np.testing.assert_array_equal(plain.field("surface_elevation"), model.field("surface_elevation"))
    assert plain.maps is None
    found = {one.name: one for one in model.maps.variables}
    assert found["significant_height"].standard_name == "sea_surface_wave_significant_height"
    assert found["mean_velocity_x"].standard_name == "sea_water_x_velocity"
    assert found["time_of_max_velocity_z"].units == "s"
    with pytest.raises(eagre.InputError, match="velocity_x"):
        basin(time_statistics=eagre.TimeStatistics(maximum=["still_water_depth"]))
