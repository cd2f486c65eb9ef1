"""The implicit model in single precision, the default, on high ground: what it is by the sea, to the last bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import eagre
from eagre.kernels.water_sums import rounding_rows, water_balance
from eagre.local_rows import LocalRows
from eagre.models.shallow_water_adi.inputs import level_of

HIGH = 1024.0  # m; added to multiples of 2^-10 it is exact
NAMES = ("max_surface_elevation", "max_depth", "time_of_max_depth")


def estuary(ground, device="cpu", precision="single"):
    """A tide, an incoming wave and a river over a rough, partly dry bed with an island, everything gathered."""
    grid = eagre.Grid(30, 80, 100.0, 80.0)
    rng = np.random.default_rng(3)
    bed = ground - np.round(1024 * rng.uniform(-1.0, 6.0, grid.shape_of("corner"))) / 1024
    land = np.zeros(grid.shape, bool)
    land[8:11, 12:16] = True
    times = [0.0, 600.0, 1200.0, 3000.0]
    lines = {"across": [(1500.0, 0.0), (1500.0, 6400.0)]} if device == "cpu" else None
    return eagre.ShallowWaterADI(
        grid, bed, 5.0, surface_elevation=ground, manning=0.03, land_mask=land, device=device, precision=precision,
        sources=[eagre.Rain(2.0**-16)], cross_sections=lines,
        boundaries=eagre.Boundaries(
            west=eagre.Stage(eagre.Series(times, ground + np.array([0.0, 0.5, 0.75, -0.5]))),
            east=eagre.Absorbing(level=ground, incoming=eagre.Series(times, [0.0, 0.25, 0.0, 0.0])),
            south=eagre.Discharge(64.0), north=eagre.Wall(),
        ),
        maps=eagre.Maps(variables=NAMES, arrival_rises=[0.1]),
        time_statistics=eagre.TimeStatistics(mean=["surface_elevation", "depth"], variance=["surface_elevation"],
                                             minimum=["surface_elevation"]),
    )  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_on_high_ground_a_run_has_the_bits_of_one_by_the_sea(device):
    low, high = (estuary(ground, device) for ground in (0.0, HIGH))
    for until in (1000.0, 1990.0):
        low.advance(until)
        high.advance(until)
    assert low.field("velocity_x").max() > 0.3
    bounds = [dataclasses.astuple(model._stepper.bounds) for model in (low, high)]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
    state, other = low.state(), high.state()
    assert (state.pop("level"), other.pop("level")) == (0.0, HIGH)
    for name in ("bed_rows", "bed_columns"):
        assert (other.pop(name) > state.pop(name) + 0.5 * HIGH).all()
    for name, values in state.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)
    for name in low.variables:
        raised = HIGH if name in ("surface_elevation", "bed") else 0.0
        wanted = (low.field(name).astype(np.float64) + raised).astype(np.float32)
        np.testing.assert_array_equal(high.field(name), wanted, err_msg=name)
    found, theirs = high.maps.sample(), low.maps.sample()
    for name, values in theirs.items():
        raised = HIGH if name.endswith("surface_elevation") and "variance" not in name else 0.0
        np.testing.assert_allclose(found[name], values + raised, rtol=1e-7, err_msg=name)
    assert np.isfinite(found["max_surface_elevation"]).any() and high.inflow == low.inflow
    sums, others = high.diagnostics(), low.diagnostics()
    raised = 9.81 * HIGH * others["volume"]
    assert sums.pop("potential_energy") == pytest.approx(others.pop("potential_energy") + raised, rel=1e-12)
    assert sums == others


def test_values_on_the_way_and_at_points_are_elevations():
    model = estuary(HIGH)
    model.advance(900.0)
    at = model.sample(["surface_elevation", "depth", "bed"], [(20, 7), (9, 13)])
    for name, values in at.items():
        np.testing.assert_array_equal(values, model.field(name)[[20, 9], [7, 13]])
    assert (at["bed"] > HIGH - 7.0).all()


def test_a_lake_on_high_ground_keeps_its_water():
    """With elevations as the unknown it won 3e-3 in these 6 hours, 1.5 % in a day."""
    grid = eagre.Grid(24, 24, 100.0, 100.0)
    x, y = grid.mesh("corner")
    bed = 1000.0 - 10.0 + 5.0 * ((x - 1200.0) ** 2 + (y - 1200.0) ** 2) / 1200.0**2
    surface = 995.0 + 0.5 * np.cos(np.pi * grid.mesh()[0] / 2400.0)
    model = eagre.ShallowWaterADI(grid, bed, 5.0, surface_elevation=surface, manning=0.02, device="cpu")
    model.advance(6 * 3600.0)
    assert abs(model.diagnostics()["volume_error"]) < 4e-5


def hill(precision, rain):
    grid = eagre.Grid(10, 3, 50.0, 50.0)
    model = eagre.ShallowWaterADI(
        grid, 0.4 * grid.mesh("corner")[0], 5.0, depth=0.0, sources=[eagre.Rain(rain)], manning=0.03, device="cpu",
        precision=precision,
    )  # fmt: skip
    model.advance(600.0)
    return model


def test_rain_that_rounding_loses_is_told_before_and_after():
    """1 mm/h on a hill 200 m high: 7e-7 m in half a step, of elevations in steps of 1.5e-5 m."""
    lost, kept = hill("single", 1e-3 / 3600), hill("double", 1e-3 / 3600)
    assert "1.5e-05 m" in lost.notes[0] and "6.9e-07" in lost.notes[0]
    rows = dict(lost.summary_rows)
    assert abs(lost.diagnostics()["volume_error"]) > 0.5 and 'precision = "double"' in rows["rounding"]
    assert not kept.notes and "rounding" not in dict(kept.summary_rows)
    assert abs(kept.diagnostics()["volume_error"]) < 1e-8
    assert not hill("single", 1e-3).notes


def test_water_that_came_and_is_gone_is_an_error():
    assert water_balance(0.0, 0.0, 0.0, 8.0)["volume_error"] == -1.0
    assert water_balance(2.0, 0.0, 5.0, 3.0)["volume_error"] == -0.75
    assert water_balance(1.0, 8.0, -7.0, 0.0)["volume_error"] == 0.0
    assert np.isnan(water_balance(0.0, 0.0, 0.0, 0.0)["volume_error"])
    found = {"volume_error": 0.5, "volume_change": 12.0, "volume_inflow": 2.0, "volume_rain": 4.0}
    assert "6 m3 (0.5 of the volume) gained by rounding" in rounding_rows(found)[0][1]
    assert "lost by rounding" in rounding_rows(found | {"volume_error": -0.5})[0][1]
    assert not rounding_rows(found | {"volume_error": 9e-4}) and not rounding_rows(found | {"volume_error": np.nan})


def test_restarts_go_on_over_any_level():
    """An older file, or a run that began elsewhere, counts from another level."""
    whole, first = estuary(HIGH), estuary(HIGH)
    whole.advance(1000.0)
    first.advance(500.0)
    state = first.state()
    assert state["level"] == HIGH and abs(state["z"]).max() < 10.0
    again = estuary(HIGH)
    again.restore(state)
    again.advance(1000.0)
    np.testing.assert_array_equal(again.state()["z"], whole.state()["z"])
    older = {name: values for name, values in state.items() if name != "level"}
    older["z"] = (older["z"].astype(float) + HIGH).astype(np.float32)
    other = estuary(HIGH)
    other.restore(older)
    assert abs(other.field("depth") - first.field("depth")).max() < 1e-4  # of elevations of 1 km


def test_the_level():
    land, rows = np.array([[False, True]]), LocalRows.whole(eagre.Grid(2, 1, 1.0, 1.0))
    assert level_of("single", np.array([[995.0, -1e4]]), land, rows) == 992.0
    assert level_of("single", np.array([[-7.0, 5.0]]), land, rows) == 0.0
    assert level_of("double", np.array([[995.0, 5.0]]), land, rows) == 0.0
    assert level_of("single", np.array([[995.0, 5.0]]), np.ones((1, 2), bool), rows) == 0.0
