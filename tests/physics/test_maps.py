"""Maps that runs gather: what NumPy finds in the fields of every step, refused steps, restarts, several devices."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from oracle.maps import maps_of

ALL = (
    "max_surface_elevation", "max_depth", "time_of_max_depth", "max_speed", "max_unit_discharge", "max_hazard_rating",
    "hazard_class",
)  # fmt: skip
LEVELS = {"arrival_depths": (0.02, 0.3), "arrival_rises": (0.05,), "duration_depths": (0.01, 0.3)}
MAPS = eagre.Maps(ALL, **LEVELS, wet_depth=0.005)


def dam_break(precision="double", **options):
    """A dam breaks over a rough, dry bed; the water runs up and back."""
    grid = eagre.Grid(24, 8, 1.0, 1.5)
    x, _ = grid.mesh()
    bed = 0.2 + 0.05 * np.random.default_rng(3).random((9, 25)) + np.maximum(0.0, 0.08 * (np.arange(25) - 10.0))
    given = {"surface_elevation": np.where(x < 8.0, 2.5, 0.35), "manning": 0.02, "maps": MAPS} | options
    return eagre.ShallowWater(grid, bed, precision=precision, device=given.pop("device", "cpu"), **given)


def flood(precision="double", **options):
    """The same water in the implicit model."""
    grid = eagre.Grid(24, 124, 10.0, 15.0)
    x, _ = grid.mesh()
    bed = 0.2 + 0.05 * np.random.default_rng(3).random((125, 25)) + np.maximum(0.0, 0.03 * (np.arange(25) - 10.0))
    given = {"surface_elevation": np.where(x < 80.0, 1.2, 0.35), "manning": 0.03, "maps": MAPS} | options
    return eagre.ShallowWaterADI(grid, bed, 2.0, precision=precision, device=given.pop("device", "cpu"), **given)


MODELS = {"explicit": (dam_break, 1.3, 3.0), "implicit": (flood, 21.0, 60.0)}


def followed(model, end):
    """Times and fields of every step to the end, from the start on."""
    times, fields = [], []

    def note():
        times.append(model.time)
        u, v = (model.field(f"discharge_{axis}").astype(float) for axis in "xy")
        own = [model.field(name).astype(float) for name in ("surface_elevation", "depth", "speed")]
        fields.append([*own, np.hypot(u, v)])

    note()
    while model.time < end:
        model.advance(end, max_steps=1)
        note()
    return np.array(times), np.array(fields).swapaxes(0, 1)


def assert_right(model, times, fields, tolerance):
    """The maps of the model are those of NumPy."""
    levels = [LEVELS[name] for name in ("arrival_depths", "arrival_rises", "duration_depths")]
    expected, found = maps_of(times, fields, MAPS.wet_depth, *levels), model.maps.sample()
    assert list(found) == ["time_bounds", *expected]
    assert found["time_bounds"].tolist() == [times[0], times[-1]]
    for name, values in expected.items():
        off = np.isnan(values) != np.isnan(found[name])
        assert off.mean() <= (0.0 if tolerance < 1e-9 else 0.02), name
        same = np.isclose(found[name], values, rtol=tolerance, atol=tolerance) | np.isnan(values) | off
        assert same.mean() >= (1.0 if tolerance < 1e-9 else 0.97), name  # ties, and thresholds that rounding crosses


@pytest.mark.parametrize("time_step", ["predicted", "exact"])
def test_explicit_maps_are_those_of_every_accepted_step(time_step):
    model = dam_break(
        time_step_control=time_step, scheme="rk2" if time_step == "exact" else "euler", courant_number=0.25
    )
    times, fields = followed(model, 3.0)
    assert model.statistics()["redone_steps"] > (0 if time_step == "exact" else -1)
    assert_right(model, times, fields, 1e-12)


def test_maps_in_single_precision():
    model = dam_break("single")
    times, fields = followed(model, 3.0)
    assert_right(model, times, fields, 3e-6)


def test_implicit_maps_are_those_of_every_step():
    model = flood()
    times, fields = followed(model, 50.0)
    assert_right(model, times, fields, 1e-12)


def test_maps_begin_with_the_first_instant():
    still = dam_break(surface_elevation=0.5)
    found = still.maps.sample()
    depth = still.field("depth")
    np.testing.assert_array_equal(found["max_depth"], np.where(depth > 0.005, depth, np.nan))
    assert np.nanmax(found["time_of_max_depth"]) == 0.0 and np.nanmax(found["max_speed"]) == 0.0
    assert np.isnan(found["duration_10mm"]).all()


def test_maps_do_not_change_the_run_and_looks_do_not_change_the_maps():
    plain, model, looked = dam_break(maps=None), dam_break(), dam_break()
    for one in (plain, model):
        one.advance(2.0)
    looked.advance(0.7)
    looked.maps.sample()
    looked.advance(2.0, max_steps=3)
    looked.state()
    looked.advance(2.0)
    np.testing.assert_array_equal(plain.field("depth"), model.field("depth"))
    assert plain.maps is None and "maps" not in plain.state()
    stepped = dam_break()
    stepped.advance(0.7)
    stepped.advance(2.0)
    for name, values in stepped.maps.sample().items():
        np.testing.assert_array_equal(values, looked.maps.sample()[name], err_msg=name)


@pytest.mark.parametrize(
    ("name", "precision"), [("explicit", "single"), ("explicit", "double"), ("implicit", "double")]
)
def test_maps_go_on_after_a_restart_bit_for_bit(name, precision):
    make, middle, end = MODELS[name]
    whole, cut, on = (make(precision) for _ in range(3))
    for one in (whole, cut):
        one.advance(middle)
    whole.advance(end)
    on.restore(cut.state())
    on.advance(end)
    for name, values in whole.maps.sample().items():
        np.testing.assert_array_equal(values, on.maps.sample()[name], err_msg=name)


def test_other_maps_begin_anew():
    model, other = dam_break(), dam_break(maps=eagre.Maps(["max_depth", "time_of_max_depth"]))
    model.advance(1.0)
    other.restore(model.state())
    found = other.maps.sample()
    wet = found["max_depth"] == found["max_depth"]
    np.testing.assert_array_equal(found["max_depth"][wet], model.field("depth")[wet])
    assert (found["time_of_max_depth"][wet] == 1.0).all()


@pytest.mark.parametrize("name", MODELS)
def test_maps_of_bands_are_those_of_one_device(name):
    make, middle, end = MODELS[name]
    one, several = make(), make(device="cpu,cpu")
    for model in (one, several):
        model.advance(middle)
        model.restore(model.state())
        model.advance(end)
    for name, values in one.maps.sample().items():
        np.testing.assert_allclose(several.maps.sample()[name], values, rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_state_goes_on_with_any_number_of_devices():
    one, several = dam_break(), dam_break(device="cpu,cpu")
    several.advance(0.7)
    one.restore(several.state())
    for name, values in several.maps.sample().items():
        np.testing.assert_array_equal(one.maps.sample()[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"variables": ["depth"]}, "max_depth"),
        ({"arrival_depths": [0.1, 0.1]}, "different numbers"),
        ({"arrival_depths": [0.001], "wet_depth": 0.01}, "0.01 m or more"),
        ({"duration_depths": [0.1 * n for n in range(9)]}, "8 at most"),
        ({"wet_depth": -1.0}, "0 or more"),
        ({"variables": []}, "a map"),
    ],
)
def test_what_maps_refuse(options, what):
    with pytest.raises(eagre.InputError, match=what):
        eagre.Maps(**options)


ALONE = [{"variables": [name]} for name in ALL] + [
    {"variables": [], key: [value]}
    for key, value in (("arrival_depths", 0.3), ("arrival_rises", 0.05), ("duration_depths", 0.3))
]


@pytest.mark.parametrize("asked", ALONE, ids=lambda asked: str([*asked.values()][-1]))
def test_a_map_alone_is_that_among_all(asked):
    """Each then is the first that is kept."""
    found, among = (flood(maps=maps) for maps in (eagre.Maps(wet_depth=0.005, **asked), MAPS))
    for until in (300.0, 900.0):  # water falls below 0.3 m again
        found.advance(until)
        among.advance(until)
    maps, theirs = found.maps.sample(), among.maps.sample()
    assert maps.pop("time_bounds", theirs["time_bounds"]).tolist() == theirs["time_bounds"].tolist() == [0.0, 900.0]
    assert len(maps) == 1 and np.isfinite(*maps.values()).any()
    for name, values in maps.items():
        np.testing.assert_array_equal(values, theirs[name], err_msg=name)
