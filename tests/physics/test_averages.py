"""Means, variances and covariances that runs gather: what NumPy finds in the fields of every step, restarts, bands."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from barotropic_runs import model_on
from case_texts import still_water
from eagre.models.registry import find_kind
from eagre.stepping.averages import product_of_units, statistics_array_count
from oracle.averages import extremes_of, moments_of
from physics.test_maps import dam_break, flood

GYRE = eagre.TimeStatistics(
    ["streamfunction", "velocity", "speed", "relative_vorticity"], ["velocity"], [("velocity_x", "velocity_y")],
    start=0.014, maximum=["speed"], minimum=["streamfunction"],
)  # fmt: skip
FROM_THE_START = eagre.TimeStatistics(
    maximum=["speed", "relative_vorticity"], minimum=["speed"], time_of_maximum=["relative_vorticity"]
)
TWO_LAYERS = eagre.TimeStatistics(
    [
        "streamfunction_lower", "relative_vorticity", "relative_vorticity_lower", "potential_vorticity",
        "potential_vorticity_lower", "tracer", "velocity",
    ]
)  # fmt: skip

WATER = eagre.TimeStatistics(
    ["surface_elevation", "depth", "velocity", "discharge"], ["surface_elevation", "speed"], [("depth", "velocity_x")],
    maximum=["depth"], minimum=["depth"], time_of_maximum=["speed"],
)  # fmt: skip


def gyre(precision="double", device="cpu", time_statistics=GYRE, **options):
    """Noise in a box."""
    return model_on(device, 13, 12, time_step=4e-3, precision=precision, time_statistics=time_statistics, **options)


def followed(model, names, steps):
    """Times and fields of every step, from the start on."""
    times, fields = [model.time], {name: [model.field(name)] for name in names}
    for _ in range(steps):
        model.advance(model.time + 1e9, max_steps=1)
        times.append(model.time)
        for name in names:
            fields[name].append(model.field(name))
    return np.array(times), {name: np.array(values, np.float64) for name, values in fields.items()}


def assert_right(model, averages, times, fields, tolerance):
    """The averages and extremes of a model are those of NumPy."""
    found, expected, scales = model.maps.sample(), {}, {}
    for name, values in fields.items():
        scales[name] = np.abs(values).max()
        expected[f"mean_{name}"], expected[f"variance_{name}"] = moments_of(times, values, start=averages.start)
        extremes = extremes_of(times, values, averages.start)
        expected |= dict(zip((f"max_{name}", f"min_{name}", f"time_of_max_{name}"), extremes, strict=True))
    for one, other in averages.covariance:
        _, expected[f"covariance_{one}_{other}"] = moments_of(times, fields[one], fields[other], averages.start)
    if "eddy_kinetic_energy" in found:
        axes = [axis for axis in "xyz" if f"variance_velocity_{axis}" in expected]
        expected["eddy_kinetic_energy"] = 0.5 * sum(expected[f"variance_velocity_{axis}"] for axis in axes)
    if "turbulent_kinetic_energy" in found:
        expected["turbulent_kinetic_energy"] = 0.5 * sum(expected[f"variance_{name}"] for name in "uvw")
    if "significant_height" in found:
        expected["significant_height"] = 4.0 * np.sqrt(expected["variance_surface_elevation"])
    found = {one.name: found[one.name] for one in model.setup.time_statistics.outputs}
    assert set(found) <= set(expected) and len(found) >= len(averages.mean)
    assert set(found) >= {f"covariance_{one}_{other}" for one, other in averages.covariance}
    for name, values in found.items():
        if name.startswith("time_of"):
            assert_times(values, times, fields[name.removeprefix("time_of_max_")], averages.start, tolerance)
            continue
        named = [one for one in scales if one in name]
        own = [scales[one] for one in named if not any(one != more and one in more for more in named)]
        own = own or [scales.get("velocity_x", scales.get("u"))]
        largest = np.abs(expected[name]).max()
        moment = name.startswith(("variance", "covariance", "eddy", "turbulent"))
        scale = max(own) * (np.sqrt(largest) if moment else 1.0)  # what rounding of values does
        assert largest > 1e3 * tolerance * scale, name
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=tolerance * scale, err_msg=name)


def assert_times(found, times, values, start, tolerance):
    """At each of the times that were found the value is the largest from `start` on; few if any are not the first."""
    largest, _, first = extremes_of(times, values, start)
    assert (found >= start).all() and np.ptp(found) > 0.0
    at = np.array([int(np.argmin(np.abs(times - one))) for one in found.ravel()])
    np.testing.assert_allclose(times[at], found.ravel(), rtol=1e-12)
    there = values.reshape(times.size, -1)[at, np.arange(at.size)]
    np.testing.assert_allclose(there, largest.ravel(), rtol=0, atol=tolerance * np.abs(values).max())
    assert np.mean(np.isclose(found, first, rtol=1e-12)) > 0.9


def test_vorticity_of_a_gyre_of_reduced_gravity_is_the_relative_one():
    """q + psi / R^2, of which a model keeps q."""
    model = gyre(deformation_radius=0.5)
    names = ["streamfunction", "velocity_x", "velocity_y", "speed", "relative_vorticity"]
    assert_right(model, GYRE, *followed(model, names, 9), 1e-12)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_averages_of_a_gyre_are_those_of_every_step(precision):
    model = gyre(precision)
    times, fields = followed(model, ["streamfunction", "velocity_x", "velocity_y", "speed", "relative_vorticity"], 9)
    assert_right(model, GYRE, times, fields, 1e-12 if precision == "double" else 2e-6)


def test_extremes_of_a_gyre_include_the_first_instant():
    """Noise fades: what was largest at most points was so at the start, which no step led to."""
    model = gyre(time_statistics=FROM_THE_START)
    times, fields = followed(model, ["speed", "relative_vorticity"], 4)
    assert_right(model, FROM_THE_START, times, fields, 1e-12)
    found = model.maps.sample()["time_of_max_relative_vorticity"]
    assert 0.1 < np.mean(found == 0.0) < 0.9
    again = gyre(time_statistics=FROM_THE_START)
    again.restore(model.state())
    assert_same(model, again)


@pytest.mark.parametrize("basin", ["box", "channel"])
def test_averages_of_layers_and_a_tracer(basin):
    model = gyre(time_statistics=TWO_LAYERS, all_terms=True, basin=basin)
    names = ["streamfunction_lower", "tracer", "velocity_x", "velocity_y"]
    names += ["relative_vorticity", "relative_vorticity_lower", "potential_vorticity", "potential_vorticity_lower"]
    assert_right(model, TWO_LAYERS, *followed(model, names, 4), 1e-12)


NAMES = ["surface_elevation", "depth", "velocity_x", "velocity_y", "discharge_x", "discharge_y", "speed"]


@pytest.mark.parametrize(
    "options",
    [{"time_step_control": "predicted", "scheme": "euler", "courant_number": 0.25},
     {"precision": "single"}, {"scheme": "ds1"}],
    ids=["refused steps", "single", "sweeps"],
)  # fmt: skip
def test_averages_of_a_dam_break_are_those_of_every_accepted_step(options):
    model = dam_break(maps=None, time_statistics=WATER, **options)
    times, fields = followed(model, NAMES, 60)
    assert "courant_number" not in options or model.statistics()["redone_steps"] > 0
    assert_right(model, WATER, times, fields, 3e-6 if "precision" in options else 1e-12)


def test_averages_of_the_implicit_model_are_those_of_every_step():
    dry_land = np.zeros((124, 24), bool)
    dry_land[3:5, 4:9] = True
    model = flood(maps=None, time_statistics=WATER, land_mask=dry_land)
    assert_right(model, WATER, *followed(model, NAMES, 20), 1e-12)
    assert "max_depth" in model.maps.sample()


@pytest.mark.parametrize("make", [dam_break, flood])
def test_averages_of_water_go_on_and_look_on_bands_alike(make):
    middle, end = (1.3, 3.0) if make is dam_break else (21.0, 60.0)
    whole, cut, on = (make(maps=None, time_statistics=WATER) for _ in range(3))
    several = make(maps=None, time_statistics=WATER, device="cpu,cpu")
    whole._stepper.checkpoint.seconds = 1e9  # as on a GPU, which copies the state now and then
    for one in (whole, cut, several):
        one.advance(middle)  # the implicit model changes its time step here
    on.restore(cut.state())
    several.restore(several.state())
    for one in (whole, on, several):
        one.advance(end)
    assert_same(whole, on)
    for name, values in whole.maps.sample().items():
        np.testing.assert_allclose(several.maps.sample()[name], values, rtol=1e-9, atol=1e-12, err_msg=name)


def test_averages_of_bands_are_those_of_one_device():
    one, several = gyre(), gyre(device="cpu,cpu")
    for model in (one, several):
        model.advance(0.02)
        model.restore(model.state())
        model.advance(0.04)
    for name, values in one.maps.sample().items():
        np.testing.assert_allclose(several.maps.sample()[name], values, rtol=1e-9, atol=1e-9, err_msg=name)
    one.restore(several.state())
    np.testing.assert_array_equal(one.maps.sample()["mean_speed"], several.maps.sample()["mean_speed"])


def test_of_every_third_step_the_last_counts_for_the_time_of_all():
    """Looks and a restart between change nothing."""
    asked = eagre.TimeStatistics(["depth", "speed"], ["speed"], every=3)
    model, on = (dam_break(maps=None, time_statistics=asked) for _ in range(2))
    times, fields = followed(model, NAMES, 17)
    assert_right(model, asked, times[::3], {name: values[::3] for name, values in fields.items()}, 1e-12)
    for steps in (4, 13):
        on.advance(1e9, max_steps=steps)
        on.restore(on.state())
        assert np.isfinite(on.maps.sample()["mean_speed"]).all()
    assert on.steps == model.steps
    assert_same(model, on)


def test_averages_go_on_after_a_restart_bit_for_bit():
    whole, cut, on = (gyre("single") for _ in range(3))
    for one in (whole, cut):
        one.advance(0.02)
    whole.maps.sample()
    whole.advance(0.04)
    on.restore(cut.state())
    on.advance(0.04)
    assert_same(whole, on)


def assert_same(one, other):
    """The same averages to the bit."""
    expected = one.maps.sample()
    for name, values in other.maps.sample().items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)
        assert np.isfinite(values).all()


def test_averages_leave_the_run_as_it_is_and_other_averages_begin_anew():
    plain, model, other = gyre(time_statistics=None), gyre(), gyre(time_statistics=eagre.TimeStatistics(["speed"]))
    for one in (plain, model):
        one.advance(0.02)
    np.testing.assert_array_equal(plain.field("relative_vorticity"), model.field("relative_vorticity"))
    assert plain.maps is None and "maps_averages" not in plain.state()
    other.restore(model.state())
    assert np.isnan(other.maps.sample()["mean_speed"]).all()
    other.advance(other.time + 1e9, max_steps=1)
    np.testing.assert_allclose(other.maps.sample()["mean_speed"], other.field("speed"), rtol=1e-15)


def test_names_units_and_methods():
    found = {one.name: one for one in gyre().maps.variables}
    assert found["mean_velocity_x"].standard_name == "sea_water_x_velocity"
    assert found["mean_velocity_x"].long_name == "x-component of mean velocity"
    assert found["mean_velocity_x"].cell_methods == "time: mean (comment: from 0.014 s on)"
    assert found["variance_velocity_x"].units == "m2 s-2"
    assert found["max_speed"].cell_methods == "time: maximum (comment: from 0.014 s on)"
    assert found["max_speed"].long_name == "maximum speed" and found["min_streamfunction"].units == "m2 s-1"
    assert found["variance_velocity_x"].cell_methods.startswith("time: variance")
    assert found["eddy_kinetic_energy"].standard_name == "specific_kinetic_energy_of_sea_water"
    assert product_of_units("m2 s-1", "m s-1") == "m3 s-2" and product_of_units("m", "m-1") == "1"
    assert product_of_units("1", "1") == "1"


def test_only_means_of_components_are_a_vector_to_a_gis():
    """QGIS draws arrows of fields whose long names differ by "x-component" and "y-component" alone (MDAL)."""
    both = ["velocity"]
    asked = eagre.TimeStatistics(
        mean=both, variance=both, covariance=[("velocity_x", "velocity_y")], maximum=both, minimum=both,
        time_of_maximum=both,
    )  # fmt: skip
    found = {one.name: one.long_name for one in flood(time_statistics=asked, maps=None).maps.variables}
    assert [name for name, text in found.items() if "component" in text] == ["mean_velocity_x", "mean_velocity_y"]
    assert found["max_velocity_y"] == "maximum depth-averaged velocity along y"
    assert len(set(found.values())) == len(found) == 12


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"mean": ["depth"]}, "streamfunction"),
        ({"mean": ["tracer"]}, "streamfunction"),
        ({"mean": ["velocit"]}, r'mean = \["velocity"\]'),
        ({"covariance": [("sped", "velocity_x")]}, r'covariance = \[\["speed", "velocity_x"\]\]'),
        ({"covariance": [("speed", "speed")]}, "two different fields"),
        ({"covariance": [("speed", "velocity")]}, "velocity_x"),
        ({"mean": ["speed"], "start": np.nan}, "a time"),
        ({"mean": ["speed"], "every": 0}, "whole number"),
        ({}, "one"),
    ],
)
def test_what_averages_refuse(options, what):
    with pytest.raises(eagre.InputError, match=what):
        gyre(time_statistics=eagre.TimeStatistics(**options))


@pytest.mark.parametrize("kind", [eagre.ShallowWater, eagre.ShallowWaterADI])
def test_a_map_and_an_extreme_of_one_name_are_refused(kind):
    """One would be written in place of the other; those of other names stand beside each other."""
    options = {"depth": 1.0, "device": "cpu"} | ({"time_step": 0.1} if kind is eagre.ShallowWaterADI else {})
    grid, asked = eagre.Grid(6, 5, 1.0, 1.0), eagre.TimeStatistics(maximum=["depth"], minimum=["speed"])
    with pytest.raises(eagre.InputError, match="maximum that makes max_depth") as told:
        kind(grid, 0.0, maps=eagre.Maps(["max_speed", "max_depth"]), time_statistics=asked, **options)
    assert told.value.fix == 'variables = ["max_speed"]'
    model = kind(grid, 0.0, maps=eagre.Maps(["max_speed"]), time_statistics=asked, **options)
    assert [one.name for one in model.maps.variables] == ["max_speed", "max_depth", "min_speed"]


@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi"])
def test_a_case_of_water_asks_for_extremes_of_any_field(kind):
    """As of all models; then the usual maps are there only if they are asked for."""
    names = 'maximum = ["speed"]\nminimum = ["velocity"]\ntime_of_maximum = ["speed"]'
    text = still_water("1 s", more=f'[maps]\nfile = "maps.nc"\n{names}').replace('"shallow-water"', f'"{kind}"')
    numerics = "[numerics]\ntime_step = 0.1" if kind == "shallow-water-adi" else ""
    case = find_kind(kind).case_class().loads(text + numerics)
    found = [one.name for one in case.build().maps.variables]
    assert found == ["max_speed", "min_velocity_x", "min_velocity_y", "time_of_max_speed"]
    assert case.maps.note == "largest speed; smallest velocity; times of the largest speed"


def test_thresholds_beside_averages_bring_no_other_maps():
    """Without `variables` and with averages the first four maps are not meant, whatever else is asked for."""
    text = still_water("1 s", more='[maps]\nfile = "maps.nc"\nmaximum = ["depth"]\narrival_depths = ["1 cm"]')
    model = find_kind("shallow-water").case_class().loads(text).build()
    assert [one.name for one in model.maps.variables] == ["arrival_time_10mm", "max_depth"]


def test_the_variances_of_a_vector_alone_bring_the_energy_of_eddies():
    asked = eagre.TimeStatistics(variance=["velocity"])
    model = gyre(time_statistics=asked)
    names = {one.name for one in model.maps.variables}
    assert names == {"variance_velocity_x", "variance_velocity_y", "eddy_kinetic_energy"}
    assert "eddy_kinetic_energy" not in {
        one.name for one in gyre(time_statistics=eagre.TimeStatistics(mean=["speed"])).maps.variables
    }


def test_memory_of_averages_is_that_of_double_precision():
    """Four planes, two means and two mean squares, each two words of a run in single precision."""
    asked = gyre(time_statistics=eagre.TimeStatistics(variance=["velocity"])).setup.time_statistics
    assert (
        statistics_array_count(asked, "double"),
        statistics_array_count(asked, "single"),
        statistics_array_count(None, "single"),
    ) == (4, 8, 0)
