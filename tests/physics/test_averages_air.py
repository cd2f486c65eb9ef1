"""Means, variances and extremes of the air at points: what NumPy finds in the fields of every step."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from anelastic_runs import flow_over_a_hill, forced
from eagre.config.problems import Problems
from eagre.config.section import check
from eagre.models.anelastic.case.measured_sections import AnelasticMapsSection
from oracle.averages import extremes_of
from physics.test_averages import assert_right, assert_same, followed

ASKED = eagre.TimeStatistics(
    ["u", "theta", "dye"], ["u", "v", "w", "theta_perturbation"], [("w", "theta_perturbation")], start=3.0,
    maximum=["wind_speed", "theta"], minimum=["theta"], time_of_maximum=["w"],
)  # fmt: skip
NAMES = ["u", "v", "w", "wind_speed", "theta", "theta_perturbation", "dye"]
GUSTS = eagre.TimeStatistics(mean=["u"], maximum=["wind_speed"], time_of_maximum=["wind_speed"], levels=[0])


@pytest.mark.parametrize("precision", ["single", "double"])
def test_averages_of_air_are_those_of_every_step(precision):
    model = forced(precision=precision, time_statistics=ASKED, device="cpu")
    times, fields = followed(model, NAMES, 7)
    assert_right(model, ASKED, times, fields, 1e-12 if precision == "double" else 1e-6)


def test_gusts_at_the_ground_include_the_first_instant():
    """One level is a map of (y, x)."""
    model = flow_over_a_hill(time_statistics=GUSTS, device="cpu", precision="double")
    times, fields = followed(model, ["wind_speed"], 6)
    found = model.maps.sample()
    highest, _, when = extremes_of(times, fields["wind_speed"][:, 0])
    np.testing.assert_allclose(found["max_wind_speed"][0], highest, rtol=1e-14)
    assert np.mean(found["time_of_max_wind_speed"][0] == when) > 0.95
    assert 0.05 < np.mean(when == 0.0) < 0.95
    assert model.maps.dimensions["max_wind_speed"] == ("y", "x")


def test_a_map_of_one_level_over_a_hill_says_its_altitude():
    """z = h + (1 - h / H) Z, not the height over the ground."""
    model = flow_over_a_hill(time_statistics=eagre.TimeStatistics(mean=["u"], levels=[3]), device="cpu")
    found = {one.name: one for one in model.maps.axes}["altitude"]
    levels = model.setup.levels
    ground, top, z = np.asarray(levels.terrain_height), levels.height[-1], levels.height[3]
    assert ground.max() > 100.0 and 0.0 < z < top
    np.testing.assert_allclose(found.values, ground + (1.0 - ground / top) * z, rtol=1e-12)
    assert found.dimensions == ("y", "x") and found.attributes["standard_name"] == "altitude"


def test_averages_of_air_go_on_after_a_restart_whoever_looks():
    """Of every third step, with a restart between, steps that follow the flow, and on two devices."""
    asked = eagre.TimeStatistics(["u"], ["theta"], [("u", "w")], every=3)
    options = {"time_statistics": asked, "time_step": None, "courant_number": 0.4, "precision": "double"}
    whole, looked, cut, on, several = (forced(device=device, **options) for device in [*("cpu",) * 4, "cpu,cpu"])
    for _ in range(5):
        looked.advance(looked.time + 1e3, max_steps=1)
        looked.maps.sample()
        looked.restore(looked.state())
    cut.advance(1e3, max_steps=4)
    on.restore(cut.state())
    several.advance(1e3, max_steps=4)
    several.restore(several.state())
    for one in (whole, looked, on, several):
        one.advance(1e3, max_steps=11 - one.steps)
    assert_same(whole, on)
    assert_same(whole, looked)
    for name, values in whole.maps.sample().items():
        size = np.abs(values).max()
        np.testing.assert_allclose(several.maps.sample()[name], values, rtol=0, atol=1e-6 * size, err_msg=name)


def test_of_every_third_step_of_air_the_last_counts():
    asked = eagre.TimeStatistics(["w", "wind_speed"], ["w"], every=3, levels=[2, 5])
    model = forced(time_statistics=asked, device="cpu", precision="double")
    times, fields = followed(model, ["w", "wind_speed"], 8)
    assert_right(model, asked, times[::3], {name: values[::3, [2, 5]] for name, values in fields.items()}, 1e-12)
    axes = {one.name: one for one in model.maps.axes}
    np.testing.assert_array_equal(axes["z"].values, [100.0, 250.0])


def test_averages_of_air_leave_the_run_as_it_is():
    plain, model = (forced(time_statistics=one, device="cpu") for one in (None, ASKED))
    for one in (plain, model):
        one.advance(8.0)
    np.testing.assert_array_equal(plain.field("w"), model.field("w"))
    assert plain.maps is None and not any(name.startswith("maps") for name in plain.state())
    model.restore(plain.state())  # begins anew
    assert np.isnan(model.maps.sample()["mean_u"]).all()
    np.testing.assert_array_equal(model.maps.sample()["min_theta"], model.maps.sample()["max_theta"])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mean": ["pressure"]}, "wind_speed"),
        ({"mean": ["u"], "levels": [13]}, "0 to 12"),
        ({"mean": ["u"], "levels": []}, "0 to 12"),
        ({"mean": ["u"], "levels": [3, 1]}, "0 to 12"),
    ],
)
def test_what_averages_of_air_refuse(options, what):
    with pytest.raises(eagre.InputError, match=what):
        forced(time_statistics=eagre.TimeStatistics(**options), device="cpu")


def test_water_has_no_levels():
    from physics.test_maps import dam_break

    with pytest.raises(eagre.InputError, match="no levels"):
        dam_break(maps=None, time_statistics=eagre.TimeStatistics(mean=["depth"], levels=[0]))


def test_a_section_without_anything_names_a_field_of_air():
    with pytest.raises(Problems) as told:
        check(AnelasticMapsSection, {"file": "maps.nc"})
    assert told.value.problems[0].fix == 'mean = ["u"]'
