"""Water that leaves the implicit model through sides that would take more than there is, or faster than it can run."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

GRAVITY = 9.81


def pool(sides, time_step, depth=1.0, cells=(6, 5), **options):
    """A flat pool of cells of 10 m whose named sides have the condition that `sides` makes of their length, m."""
    grid = eagre.Grid(*cells, 10.0, 10.0)
    lengths = {"west": cells[1] * 10.0, "east": cells[1] * 10.0, "south": cells[0] * 10.0, "north": cells[0] * 10.0}
    made = eagre.Boundaries(**{name: make(lengths[name]) for name, make in sides.items()})
    given = {"depth": depth, "boundaries": made, "device": "cpu", "precision": "double"} | options
    return eagre.ShallowWaterADI(grid, 0.0, time_step, **given)


def run_dry(model, steps):
    """Lowest depth after each of so many steps, m; the water balance is exact."""
    before, lowest = model.diagnostics()["volume"], 0.0
    for _ in range(steps):
        model.advance(model.time + model.time_step)
        lowest = min(lowest, model.diagnostics()["min_depth"])
    found = model.diagnostics()["volume"]
    assert found - before == pytest.approx(sum(model.inflow.values()), abs=1e-12 * before)
    return lowest


@pytest.mark.parametrize("rate", [1.0, 5.0, 1000.0])
@pytest.mark.parametrize("time_step", [0.125, 0.4, 2.0])
@pytest.mark.parametrize("corner", [("west", "south"), ("east", "north"), ("south", "east")])
def test_two_discharges_in_a_corner_take_no_more_than_there_is(corner, time_step, rate):
    """Each took a third of the water of the corner, as if it were alone there: it went 2 to 8 % below zero."""
    model = pool(dict.fromkeys(corner, lambda length: eagre.Discharge(-rate * length)), time_step)
    assert run_dry(model, 60) > -1e-12
    assert model.diagnostics()["volume"] < 0.8 * 3000.0


@pytest.mark.nojit
def test_in_a_corner_in_plain_python():
    """The same in each of the kernels; taking from a corner is less than from a side."""
    from eagre.backend.device import PlainDevice

    def taken(device, **options):
        sides = dict.fromkeys(("west", "south"), lambda length: eagre.Discharge(-1000.0 * length))
        model = pool(sides, 2.0, cells=(4, 3), device=device, **options)
        model.advance(6.0)
        return model.state()["z"]

    wanted = taken("cpu")
    np.testing.assert_allclose(taken("cpu", kernels="reference"), wanted, rtol=1e-12)
    np.testing.assert_allclose(taken(PlainDevice(), kernels="reference"), wanted, rtol=1e-12)


@pytest.mark.parametrize("time_step", [0.1, 0.4, 1.0])
@pytest.mark.parametrize(
    "condition", [lambda length: eagre.Discharge(-5.0 * length), lambda _: eagre.NormalDepth(1.0, 0.02)]
)
def test_what_no_water_could_follow_takes_what_falls_freely(condition, time_step):
    """At most Ritter's 8/27 h sqrt(g h), as over an edge. A discharge ended the run, or water left at 57 m/s."""
    model = pool({"west": condition}, time_step, cells=(40, 3))
    assert run_dry(model, round(40.0 / time_step)) > -1e-12
    free = 8.0 / 27.0 * np.sqrt(GRAVITY) * 30.0 * 40.0
    assert -model.inflow["west"] == pytest.approx(free, rel=0.15)
    assert model.diagnostics()["max_speed"] < 2.0 * np.sqrt(GRAVITY)


@pytest.mark.parametrize("kind", ["discharge", "normal depth"])
def test_flow_faster_than_its_waves_leaves_as_it_comes(kind):
    """Froude number 1.6 down its slope: nothing is held back at the speed of waves."""
    depth, manning, dx = 0.5, 0.02, 2.0
    speed = 1.6 * np.sqrt(GRAVITY * depth)
    slope = (manning * speed) ** 2 / depth ** (4.0 / 3.0)
    grid = eagre.Grid(50, 2, dx, dx)
    out = eagre.Discharge(-speed * depth * 2.0 * dx) if kind == "discharge" else eagre.NormalDepth(slope, manning)
    sides = eagre.Boundaries(west=eagre.Discharge(speed * depth * 2.0 * dx), east=out)
    bed = slope * (50 * dx - grid.mesh("corner")[0])
    model = eagre.ShallowWaterADI(
        grid, bed, 0.22 * dx / speed, depth=depth, velocity_x=speed, manning=manning, boundaries=sides, device="cpu",
        precision="double",
    )  # fmt: skip
    model.advance(20.0)  # water from the inlet comes 70 m
    assert abs(model.field("depth")[0, -10:] - depth).max() < 0.02 * depth


def test_rain_leaves_a_hill_above_the_level_of_an_absorbing_side():
    """A level below the bed draws nothing out of the ground: 16,000 m3 too much left, and depths fell to -0.2 m."""
    grid = eagre.Grid(12, 10, 50.0, 50.0)
    x, y = grid.mesh("corner")
    bed = 2.0 + 30.0 * np.exp(-((x - 300.0) ** 2 + (y - 250.0) ** 2) / 200.0**2)
    side = eagre.Absorbing(level=0.0)
    model = eagre.ShallowWaterADI(
        grid, bed, 5.0, depth=0.0, manning=0.03, sources=[eagre.Rain(50.0 / 3.6e6)], device="cpu", precision="double",
        boundaries=eagre.Boundaries(west=side, east=side, south=side, north=side),
    )  # fmt: skip
    model.advance(3600.0)
    before = sum(model.inflow.values())
    model.advance(5400.0)
    found = model.diagnostics()
    assert found["min_depth"] > -1e-9 and abs(found["volume_error"]) < 1e-9
    rain = 50.0 / 3.6e6 * 600.0 * 500.0 * 1800.0
    assert before - sum(model.inflow.values()) == pytest.approx(rain, rel=0.01)
