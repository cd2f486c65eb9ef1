"""Names that a user wrote: the nearest one, vectors by their own name, and what is refused."""

from __future__ import annotations

import pytest

from eagre.errors import InputError
from eagre.fields import WATER_VARIABLES
from eagre.names import components, did_you_mean, field_names, nearest, unknown_field
from eagre.stepping.averages import TimeStatistics

WATER = ("depth", "velocity_x", "velocity_y", "discharge_x", "discharge_y", "speed")


def test_nearest_needs_likeness_and_takes_capitals_and_dashes_for_small_ones():
    assert nearest("devise", ["device", "precision"]) == "device"
    assert nearest("Max-Time-Step", ["max_time_step", "time_step"]) == "max_time_step"
    assert nearest("Bed.ASC", ["bad.txt", "bed.asc"]) == "bed.asc"
    assert nearest("zzz", ["device"]) is None
    assert nearest(3, ["device"]) is None
    assert did_you_mean("dxx", ["nx", "dx"]) == ' (did you mean "dx"?)'
    assert did_you_mean("zzz", ["nx"]) == ""


def test_a_name_that_differs_by_leading_words_only_is_the_nearest():
    assert nearest("theta", ["minmod_theta", "gravity"]) == "minmod_theta"
    assert nearest("fixed_time_step", ["time_step_control", "max_time_step", "time_step"]) == "time_step"
    assert nearest("fixed-Time-Step", ["time_step"]) == "time_step"
    assert nearest("time_step", ["max_time_step", "min_time_step", "time_steps"]) == "time_steps"
    assert nearest("a_dx", ["dx", "a_dy"]) == "a_dy"


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("velocity", WATER, ["velocity_x", "velocity_y"]),
        ("discharge", WATER, ["discharge_x", "discharge_y"]),
        ("velocity", ("velocity_x", "velocity_y", "velocity_z"), ["velocity_x", "velocity_y", "velocity_z"]),
        ("velocity", ("w_max", "u", "v", "w"), ["u", "v", "w"]),
        ("speed", WATER, ["speed"]),
        ("velocity", ("w_max", "w"), []),
        ("flux", ("flux_x",), []),
        ("velocity", ("velocity", "velocity_x"), ["velocity"]),
    ],
)
def test_a_vector_is_its_components(name, known, expected):
    assert components(name, known) == expected


def test_each_field_once_in_the_order_of_the_list():
    assert field_names(["velocity", "depth", "velocity_x"], WATER) == ["velocity_x", "velocity_y", "depth"]


@pytest.mark.parametrize(
    ("names", "known", "key", "words"),
    [
        (["dept"], WATER, "mean", ('mean with "dept" (did you mean "depth"?)', 'mean = ["depth"]')),
        (["velocty", "depth"], WATER, "variables", ('"velocty"', 'variables = ["velocity", "depth"]')),
        (["zzz", "sped"], WATER, "variables", ('"zzz" and "sped" (did you mean "speed"?)', 'variables = ["speed"]')),
        (["zzz"], WATER, "mean", ("depth, velocity_x, velocity_y", "velocity, discharge", 'mean = ["depth"]')),
        (["velocity"], ("w_max",), "variables", ('"velocity"', "allowed: w_max", 'variables = ["w_max"]')),
        (["u"], (), "variables", ('"u"', "none: there are none")),
    ],
)
def test_names_of_none_are_told_all_at_once_with_the_list_to_write(names, known, key, words):
    with pytest.raises(InputError) as caught:
        field_names(names, known, key)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "depht",
            'the field \'depht\' (did you mean "depth"?)\nallowed: depth, velocity_x, velocity_y\nwrite:   "depth"',
        ),
        (
            "velocity",
            'a vector of velocity_x, velocity_y\nallowed: depth, velocity_x, velocity_y\nwrite:   "velocity_x"',
        ),
        ("salt", "got the field 'salt'\nallowed: depth, velocity_x, velocity_y"),
    ],
)
def test_a_field_that_is_not_there(name, words):
    assert str(unknown_field(name, ["depth", "velocity_x", "velocity_y"])).endswith(words)


def test_a_pair_of_averages_names_what_is_not_there():
    with pytest.raises(InputError, match=r'covariance with "sped" \(did you mean "speed"\?\)') as caught:
        TimeStatistics(covariance=[("depth", "sped")]).resolve(WATER_VARIABLES, ["depth", "speed"])
    assert caught.value.fix == 'covariance = [["depth", "speed"]]'
