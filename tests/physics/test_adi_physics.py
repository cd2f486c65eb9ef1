"""The ADI model against exact solutions, and what enters through its sides."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.laboratory.validation import validate
from eagre.laboratory.validation.shallow_water_adi import BESIDE, ROTATION
from physics.test_monai import needs_monai_data

NAMES = ["standing-wave-1d", "standing-wave-2d", "pool", "lake", "tide", "wind-set-up", "bowl", *ROTATION]


def validated(name, folder):
    """Results on a CPU, in double precision, with pictures."""
    return validate("shallow-water-adi", [name], folder, "cpu", "double")


@pytest.mark.parametrize("name", NAMES)
def test_validation(name, tmp_path):
    for result in validated(name, tmp_path):
        if result.limit is not None:
            assert result.value >= result.limit if result.at_least else result.value <= result.limit, result


@pytest.mark.slow
@pytest.mark.parametrize("name", BESIDE)
def test_beside_the_explicit_model(name, tmp_path):
    if name == "monai":
        needs_monai_data()
    found = validated(name, tmp_path)
    assert [r.row() for r in found if not r.passed] == []
    assert any(r.limit is not None for r in found)


def test_order_falls_with_the_zero_start(tmp_path):
    order = validated("standing-wave-2d-zero-start", tmp_path)[0].value
    assert 0.8 < order < 1.3


def test_discharge_enters_to_rounding():
    """Volume gained = integral of the imposed flux: the mean of both ends of each step along x."""
    grid = eagre.Grid(40, 9, 50.0, 40.0)
    river = eagre.Series(np.array([0.0, 100.0, 400.0]), np.array([0.0, 30.0, 10.0]))
    sides = eagre.Boundaries(west=eagre.Discharge(river))
    model = eagre.ShallowWaterADI(
        grid, -4.0, 5.0, surface_elevation=0.0, manning=0.03, boundaries=sides, device="cpu", precision="double"
    )
    before = model.diagnostics()["volume"]
    model.advance(300.0)
    times = np.arange(0.0, 300.1, 5.0)
    flow = np.array([river(t) for t in times])
    wanted = float(np.sum(0.5 * (flow[1:] + flow[:-1]) * 5.0))
    assert model.diagnostics()["volume"] - before == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("side", "slope", "time_step"), [("west", 0.0, 1.0), ("east", 0.01, 6.0), ("south", 0.01, 1.0), ("north", 0.0, 2.0)]
)
def test_a_discharge_takes_no_more_than_there_is(side, slope, time_step):
    """The pond runs dry, no depth is negative, the summary tells of it; the explicit model takes the same."""
    along_x, low = side in ("west", "east"), side in ("west", "south")
    grid = eagre.Grid(*((20, 6) if along_x else (6, 20)), 10.0, 10.0)
    along = grid.mesh("corner")[0 if along_x else 1]
    bed = -1.0 + slope * (along if low else 200.0 - along)
    sides = eagre.Boundaries(**{side: eagre.Discharge(-30.0)})
    given = {"surface_elevation": 0.0, "boundaries": sides, "device": "cpu", "precision": "double"}
    ours = eagre.ShallowWaterADI(grid, bed, time_step, **given)
    before = ours.diagnostics()["volume"]
    for until in np.arange(30.0, 601.0, 30.0):
        ours.advance(until)
        assert ours.diagnostics()["min_depth"] > -1e-12
    taken, told = -ours.inflow[side], f"of -1.8e+04 m3 prescribed (limited by the available water) through {side}"
    assert taken == pytest.approx(before - ours.diagnostics()["volume"], rel=1e-12)
    assert 0.8 * before < taken < before and any(told in text for _, text in ours.summary_rows)
    if slope == 0.0:
        theirs = eagre.ShallowWater(grid, bed, **given)
        theirs.advance(600.0)
        assert taken == pytest.approx(-theirs.inflow[side], rel=0.02)
        assert any(told in text for _, text in theirs.summary_rows)


def test_a_discharge_takes_nothing_from_dry_ground_and_all_of_deep_water():
    """From the first instant on; of deep water what is asked for, to rounding, at |u| dt / dx = 0.5."""
    grid = eagre.Grid(20, 6, 10.0, 10.0)
    given = {"device": "cpu", "precision": "double"}
    dry = eagre.ShallowWaterADI(
        grid, 1.0, 1.0, surface_elevation=0.0, boundaries=eagre.Boundaries(west=eagre.Discharge(-30.0)), **given
    )
    dry.advance(60.0)
    assert dry.inflow["west"] == dry.diagnostics()["min_depth"] == 0.0
    through = eagre.Boundaries(west=eagre.Discharge(-60.0), east=eagre.Discharge(60.0))
    deep = eagre.ShallowWaterADI(grid, -1.0, 5.0, surface_elevation=0.0, velocity_x=-1.0, boundaries=through, **given)
    deep.advance(600.0)
    assert deep.inflow["west"] == pytest.approx(-60.0 * 600.0, rel=1e-12)


def test_steady_level_brings_a_basin_to_rest():
    level = eagre.Series(np.array([0.0, 10_000.0, 40_000.0]), np.array([0.0, 0.3, 0.3]))
    grid = eagre.Grid(30, 12, 50.0, 50.0)
    model = eagre.ShallowWaterADI(
        grid, -4.0, 20.0, surface_elevation=0.0, manning=0.5, device="cpu", precision="double",
        boundaries=eagre.Boundaries(north=eagre.Stage(level)),
    )  # fmt: skip
    model.advance(40_000.0)
    assert abs(model.field("surface_elevation") - 0.3).max() < 2e-3  # seiches of millimetres die slowly


def test_water_falls_over_an_open_edge():
    """A level below the bed, however low, is a free fall: Ritter's discharge 8/27 h sqrt(g h) through the edge."""
    grid = eagre.Grid(200, 4, 5.0, 5.0)
    depth, found = 2.0, {}
    for level in (-100.0, -0.5):
        model = eagre.ShallowWaterADI(
            grid, 0.0, 0.1, surface_elevation=depth, device="cpu", precision="double",
            boundaries=eagre.Boundaries(east=eagre.Stage(level)),
        )  # fmt: skip
        model.advance(20.0)
        before = model.diagnostics()["volume"]
        model.advance(80.0)
        found[level] = (before - model.diagnostics()["volume"]) / (60.0 * grid.ny * grid.dy)
    assert found[-100.0] == found[-0.5]
    assert found[-0.5] == pytest.approx(8.0 / 27.0 * depth * np.sqrt(9.81 * depth), rel=0.05)
