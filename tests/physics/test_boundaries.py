"""What comes in through an open side, what leaves, and what a wall sends back."""

from __future__ import annotations

import math

import numpy as np
import pytest

import eagre
from eagre.laboratory.cases.waves import travelling_wave
from eagre.laboratory.validation.measures import run_case

SPEED = math.sqrt(9.81)  # of a long wave on 1 m of water


def flume(device, west, east, bump=0.0, at=50.0, slope=0.0, level=1.0, **options):
    """100 m of flume, `level` deep at the east end, with a small hump of water about `at`."""
    grid = eagre.Grid(200, 4, 0.5, 0.5)
    hump = bump * np.exp(-(((grid.x - at) / 8.0) ** 2)) * np.ones((4, 1))
    bed = slope * (100.0 - grid.x_corner) * np.ones((5, 1))
    return eagre.ShallowWater(
        grid, bed, surface_elevation=level + hump, boundaries=eagre.Boundaries(west=west, east=east),
        device=device, precision="double", **options,
    )  # fmt: skip


def largest(model):
    return float(np.abs(model.field("surface_elevation") - 1.0).max())


def test_wall_sends_the_wave_back_whole(device):
    model = flume(device, eagre.Wall(), eagre.Wall(), 1e-3, at=25.0)
    model.advance(50.0 / SPEED)  # half of it has gone to the wall and back
    surface = model.field("surface_elevation")[1] - 1.0
    grid = model.grid
    west, east = surface[:100], surface[100:]
    for half, place in ((west, 25.0), (east, 75.0)):
        assert half.max() == pytest.approx(5e-4, rel=0.12)
        x = grid.x[:100] if half is west else grid.x[100:]
        assert x[half.argmax()] == pytest.approx(place, abs=1.0)
    assert abs(model.diagnostics()["volume_error"]) < 1e-13


@pytest.mark.parametrize("kind", ["absorbing", "outflow", "stage"])
def test_pulse_leaves(kind, device):
    side = {"absorbing": eagre.Absorbing(level=1.0), "outflow": eagre.Outflow(), "stage": eagre.Stage(1.0)}[kind]
    limit = {"absorbing": 0.02, "outflow": 0.05, "stage": 1.2}[kind]  # a given stage reflects, upside down
    model = flume(device, side, side, 1e-2)
    model.advance(80.0 / SPEED)
    assert largest(model) < limit * 0.5e-2


@pytest.mark.parametrize("kind", ["absorbing", "stage"])
def test_incoming_wave_has_its_height_and_speed(kind, device):
    times = np.linspace(0.0, 100.0, 2001)
    height = 1e-3 * np.exp(-(((times - 20.0) / 4.0) ** 2))
    side = {
        "absorbing": eagre.Absorbing(incoming=eagre.Series(times, height), level=1.0),
        "stage": eagre.Stage(eagre.Series(times, 1.0 + height)),
    }[kind]
    model = flume(device, side, eagre.Absorbing(level=1.0))
    model.advance(20.0 + 50.0 / SPEED)
    surface = model.field("surface_elevation")[1] - 1.0
    assert surface.max() == pytest.approx(1e-3, rel=0.03)
    assert model.grid.x[surface.argmax()] == pytest.approx(50.0, abs=1.0)


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("slope", [0.0, 0.002, -0.002])
def test_discharge_enters_to_rounding(slope, wet_dry, device):
    model = flume(device, eagre.Discharge(0.4), eagre.Wall(), slope=slope, manning=0.02, wet_dry=wet_dry)
    model.advance(60.0)
    assert model.diagnostics()["volume_change"] == pytest.approx(0.4 * 60.0, rel=1e-12)


def test_discharge_leaves_at_its_rate(device):
    """What a pump takes out, to second order: its velocity is not bounded by that of the water inside."""
    model = flume(device, eagre.Discharge(-0.2), eagre.Wall(), manning=0.02)
    first = model.diagnostics()["volume"]
    model.advance(60.0)
    assert model.diagnostics()["volume"] - first == pytest.approx(-0.2 * 60.0, rel=1e-5)


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("slope", [0.0, 0.002, 0.02, 0.5])  # the last falls by 1.6 critical depths in a cell
def test_discharge_into_a_dry_channel(slope, wet_dry, device):
    """To rounding from the first drop, although nothing in the channel is wet."""
    grid = eagre.Grid(200, 4, 0.5, 0.5)
    bed = slope * (100.0 - grid.x_corner) * np.ones((5, 1))
    model = eagre.ShallowWater(
        grid, bed, depth=0.0, boundaries=eagre.Boundaries(west=eagre.Discharge(0.4)), manning=0.02,
        device=device, precision="double", wet_dry=wet_dry,
    )  # fmt: skip
    model.advance(40.0)
    assert model.diagnostics()["volume"] == pytest.approx(0.4 * 40.0, rel=1e-10)
    assert model.diagnostics()["min_depth"] > -1e-12


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("film", [0.0, 0.02, 0.15])
@pytest.mark.parametrize("rise", [0.05, 0.3])  # 2 and 13 critical depths a cell
def test_discharge_onto_ground_that_rises_inland(rise, film, wet_dry, light_device):
    """Dry, or under a film that runs out against it: over the bed of the first cell, as over a crest.

    Too much by less than 1.1 % of what the first cell holds at critical depth.
    """
    grid = eagre.Grid(8, 2, 10.0, 150.0)
    model = eagre.ShallowWater(
        grid, rise * grid.mesh("corner")[0], depth=film, boundaries=eagre.Boundaries(west=eagre.Discharge(100.0)),
        manning=0.03, device=light_device, precision="double", wet_dry=wet_dry,
    )  # fmt: skip
    critical = ((100.0 / 300.0) ** 2 / 9.81) ** (1.0 / 3.0)
    for until in (5.0, 30.0):
        model.advance(until)
        assert -1e-3 * 100.0 * until < model.inflow["west"] - 100.0 * until < 0.011 * critical * 3000.0
    assert abs(model.diagnostics()["volume_error"]) < 1e-13
    assert any("of +3000 m3 prescribed" in text for _, text in model.summary_rows)


BANK = {"pool below": (-0.3, None), "film": (None, 0.01), "sheet": (None, 1.0), "pool above": (0.5, None)}
"""Level above the bed of the face, or depth, m."""


def beside_a_bank(side, condition, rise, water, device, **options):
    """Bed that falls by `rise` per cell from the side into the domain, over 6 of 20 cells 10 m long."""
    distance = 10.0 * np.arange(21)
    line = rise * np.maximum(6.0 - 0.1 * distance, 0.0)
    line = line if side in ("west", "south") else line[::-1]
    bed = np.tile(line, (3, 1)) if side in ("west", "east") else np.tile(line, (3, 1)).T
    grid = eagre.Grid(bed.shape[1] - 1, bed.shape[0] - 1, 10.0, 10.0)
    level, depth = water
    given = {"depth": depth} if level is None else {"surface_elevation": 6.0 * rise + level}
    return eagre.ShallowWater(
        grid, bed, boundaries=eagre.Boundaries(**{side: condition}), manning=0.03,
        device=device, precision="double", **given, **options,
    )  # fmt: skip


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
@pytest.mark.parametrize("rise", [0.5, 2.0, 10.0])
def test_discharge_over_a_bank_into_water(rise, side, wet_dry, device):
    """The bed of the face is far above that of the first cell, and above or below its surface."""
    for name, water in BANK.items():
        model = beside_a_bank(side, eagre.Discharge(10.0), rise, water, device, wet_dry=wet_dry)
        model.advance(20.0)
        assert model.inflow[side] == pytest.approx(200.0, rel=2e-3), name
        assert abs(model.diagnostics()["volume_error"]) < 1e-12


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("rate", [0.0, -10.0])
def test_no_water_enters_over_a_bank_if_water_should_leave(rate, wet_dry, device):
    """A film or a sheet that runs off the bank, and a pool that does not reach it, give nothing."""
    for name in ("pool below", "film", "sheet"):
        for rise in (2.0, 10.0):
            model = beside_a_bank("east", eagre.Discharge(rate), rise, BANK[name], device, wet_dry=wet_dry)
            model.advance(20.0)
            assert abs(model.inflow["east"]) < 1e-3, name


def test_pool_up_to_the_bank(device):
    """The inflow is at most 11 % too large while the surface is less than half the critical depth above the face."""
    model = beside_a_bank("south", eagre.Discharge(10.0), 2.0, (0.0, None), device)
    model.advance(5.0)
    assert 50.0 <= model.inflow["south"] < 1.11 * 50.0
    half = 0.5 * (0.5**2 / 9.81) ** (1.0 / 3.0)
    model.advance(200.0)
    assert model.field("surface_elevation")[0].min() > 12.0 + half
    before = model.inflow["south"]
    model.advance(220.0)
    assert model.inflow["south"] - before == pytest.approx(200.0, rel=1e-9)


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("side", ["west", "north"])
def test_supercritical_inflow_over_a_bank(side, wet_dry, device):
    for rise in (0.5, 2.0, 10.0):
        for name in ("pool below", "film"):
            model = beside_a_bank(side, eagre.Inflow(20.0, 0.3), rise, BANK[name], device, wet_dry=wet_dry)
            model.advance(20.0)
            assert model.inflow[side] == pytest.approx(400.0, rel=0.01), (rise, name)


@pytest.mark.parametrize("side", ["east", "south"])
def test_a_level_above_a_bank_fills_the_ground_behind(side, device):
    """At the critical discharge of the depth above the bank, and to that level in the end."""
    model = beside_a_bank(side, eagre.Stage(12.0 + 1.5), 2.0, (-1.0, None), device)
    model.advance(4.0)
    first, critical = model.inflow[side], 20.0 * math.sqrt(9.81 * 1.5**3)
    model.advance(8.0)
    assert (model.inflow[side] - first) / 4.0 == pytest.approx(critical, rel=0.01)
    model.advance(3000.0)
    assert model.field("surface_elevation") == pytest.approx(13.5, abs=0.02)


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
def test_discharge_into_a_film_that_friction_holds(wet_dry, device):
    """To rounding once the first cell is half as deep as critical flow; too much by less than 1 % of that before."""
    grid = eagre.Grid(20, 3, 5.0, 5.0)
    model = eagre.ShallowWater(
        grid, np.zeros((4, 21)), depth=0.0, boundaries=eagre.Boundaries(west=eagre.Discharge(0.5)), manning=0.025,
        device=device, precision="double", wet_dry=wet_dry,
    )  # fmt: skip
    critical = ((0.5 / 15.0) ** 2 / 9.81) ** (1.0 / 3.0)
    model.advance(4.0)
    first = model.diagnostics()["volume"]
    assert -1e-12 < first - 2.0 < 0.01 * critical * 5.0 * 15.0
    assert 0.3 * critical < model.field("depth")[1, 0] < 0.8 * critical
    model.advance(20.0)  # across the critical depth, with a dry cell not far
    assert model.diagnostics()["volume"] - first == pytest.approx(0.5 * 16.0, rel=1e-12)
    assert model.field("depth")[1, 0] > 1.2 * critical


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
def test_a_pump_that_asks_more_than_there_is(wet_dry, device):
    """Takes what comes down to it in steps of the water's own length: a ghost as fast as is asked would need thousands.

    As much as leaves over an edge, to 0.5 %: all that the film brings is taken either way.
    """
    grid = eagre.Grid(20, 6, 10.0, 10.0)
    bed = 0.02 * grid.mesh("corner")[0]
    taken = []
    for west in (eagre.Discharge(-200.0), eagre.Stage(-100.0)):
        model = eagre.ShallowWater(
            grid, bed, depth=0.5, boundaries=eagre.Boundaries(west=west), manning=0.03, device=device,
            precision="double", wet_dry=wet_dry,
        )  # fmt: skip
        model.advance(200.0)
        taken.append(-model.inflow["west"])
        assert model.steps < 1000
        assert abs(model.diagnostics()["volume_error"]) < 1e-13
    assert taken[0] == pytest.approx(taken[1], rel=5e-3)


@pytest.mark.parametrize("dry", [False, True])
def test_hydrograph_brings_its_volume(dry, device):
    """The integral of the series, but for its kinks within a time step; from dry it starts at no water at all."""
    rate = eagre.Series(np.array([0.0, 20.0, 40.0, 200.0]), np.array([0.0, 0.4, 0.1, 0.1]), "hydrograph")
    model = flume(device, eagre.Discharge(rate), eagre.Wall(), level=0.0 if dry else 1.0, manning=0.02)
    first = model.diagnostics()["volume"]
    model.advance(60.0)
    brought = 0.5 * 0.4 * 20.0 + 0.25 * 20.0 + 0.1 * 20.0
    assert model.diagnostics()["volume"] - first == pytest.approx(brought, rel=1e-5)


@pytest.mark.parametrize("kind", ["stage", "absorbing"])
def test_a_tide_floods_dry_ground(kind, device):
    """The time step is bounded before the water comes: as much comes in as with tiny time steps."""
    tide = eagre.Series(np.array([0.0, 50.0, 500.0]), np.array([-1.0, 1.0, 1.0]), "tide")
    side = {"stage": eagre.Stage(tide), "absorbing": eagre.Absorbing(incoming=tide)}[kind]
    volumes = []
    for bound in (None, 0.02):
        model = flume(device, side, eagre.Wall(), level=0.0, manning=0.02, max_time_step=bound)
        model.advance(60.0)
        volumes.append(model.diagnostics()["volume"])
    assert volumes[1] > 1.0 and volumes[0] == pytest.approx(volumes[1], rel=0.01)


def test_stage_fills_a_basin_to_its_level(device):
    model = flume(device, eagre.Stage(1.05), eagre.Wall(), manning=0.1)
    model.advance(3000.0)
    assert model.field("surface_elevation") == pytest.approx(1.05, abs=5e-3)  # a slow seiche is left


def test_periodic_sides_carry_a_wave_round(device):
    x = run_case(travelling_wave(64), device=device, precision="double").water
    y = run_case(travelling_wave(64, along="y"), device=device, precision="double").water
    assert np.abs(x.depth - y.depth.T).max() < 1e-12
    assert np.abs(x.discharge_x - y.discharge_y.T).max() < 1e-12


def chute(device, west, slope, depth, u=0.0):
    """One row of 20 m downhill to a free outflow."""
    grid = eagre.Grid(20, 1, 1.0, 1.0)
    bed = slope * (20.0 - grid.x_corner) * np.ones((2, 1))
    return eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, boundaries=eagre.Boundaries(west=west, east=eagre.Outflow()),
        manning=0.03, device=device, precision="double",
    )  # fmt: skip


def test_a_reservoir_feeds_a_chute_at_most_at_critical_depth(light_device):
    """1 m above the sill: more than critical flow of that head, and not much more than of that depth."""
    model = chute(light_device, eagre.Stage(2.0 + 1.0), 0.1, 0.01)
    model.advance(12.0)
    q = model.field("discharge_x")[0]
    assert np.ptp(q[5:]) < 0.02 * q[5]
    assert (2.0 / 3.0) ** 1.5 * SPEED <= q[5] <= 1.2 * SPEED


def test_nothing_comes_back_through_an_outflow(light_device):
    """Uniform flow that leaves its upstream end behind drains the channel."""
    model = chute(light_device, eagre.Outflow(), 0.02, 0.3, u=2.1)
    model.advance(30.0)
    assert model.diagnostics()["volume"] < 0.2 * 0.3 * 20.0


def test_discharge_through_a_part_is_that_of_the_part(light_device):
    """3 m3/s through 6 of 12 m; nothing beside them."""
    grid = eagre.Grid(6, 6, 2.0, 2.0)
    sides = eagre.Boundaries(south=[eagre.BoundarySegment(4.0, 10.0, eagre.Discharge(3.0))])
    model = eagre.ShallowWater(grid, 0.0, depth=1.0, boundaries=sides, device=light_device, precision="double")
    model.advance(2.0)
    assert model.diagnostics()["volume"] - 144.0 == pytest.approx(6.0, rel=1e-12)
    assert model.field("discharge_y")[0].argmax() in (2, 3, 4)
