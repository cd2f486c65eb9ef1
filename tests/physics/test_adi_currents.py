"""Currents of the implicit model: momentum carried across rows and columns, rough beds, staircase coasts."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

SPEED, TIME = 0.5, 24.0  # of a uniform current 1 m deep, m s-1 and s


def profile(shape, y):
    """Velocity across the current, m s-1, with its middle at y = 24 m."""
    return 0.2 * np.exp(-(((y - 24.0) / 6.0) ** 2)) if shape == "smooth" else 0.2 * (abs(y - 24.0) < 8.0)


def carried(shape, cells, along):
    """Velocity across a current along x or y, and the exact one, u(y - v t), which no pressure and no wall changes."""
    width, lines = 64.0 / cells, 24
    through = {"low": eagre.Discharge(SPEED * lines * 10.0), "high": eagre.Discharge(-SPEED * lines * 10.0)}
    if along == "y":
        grid, (_, position) = eagre.Grid(lines, cells, 10.0, width), eagre.Grid(lines, cells, 10.0, width).mesh()
        sides = eagre.Boundaries(south=through["low"], north=through["high"])
        flow = {"velocity_x": profile(shape, position), "velocity_y": SPEED}
    else:
        grid, (position, _) = eagre.Grid(cells, lines, width, 10.0), eagre.Grid(cells, lines, width, 10.0).mesh()
        sides = eagre.Boundaries(west=through["low"], east=through["high"])
        flow = {"velocity_y": profile(shape, position), "velocity_x": SPEED}
    model = eagre.ShallowWaterADI(
        grid, -1.0, 0.4 * width / SPEED, surface_elevation=0.0, boundaries=sides, device="cpu", precision="double",
        **flow,
    )  # fmt: skip
    model.advance(TIME)
    across = model.field("velocity_x")[:, lines // 2] if along == "y" else model.field("velocity_y")[lines // 2]
    line = position[:, 0] if along == "y" else position[0]
    return across, profile(shape, line - SPEED * TIME)


@pytest.mark.parametrize(("along", "limit", "order"), [("x", 0.035, 1.0), ("y", 0.02, 1.7)])
def test_momentum_is_carried_across_lines(along, limit, order):
    """Explicit central differences had 0.07 and order 1.1. Across x the start, whose q has not moved yet half a step
    from time 0, leaves a lag of half a step."""
    errors = []
    for cells in (64, 128):
        found, exact = carried("smooth", cells, along)
        errors.append(abs(found - exact).mean() / exact.mean())
    assert errors[1] < limit and np.log2(errors[0] / errors[1]) > order


@pytest.mark.parametrize("along", ["x", "y"])
def test_a_shear_line_is_carried_without_ripples(along):
    """Explicit central differences made ripples of 0.25 m/s on 64 cells, and of 1.8 m/s on 128."""
    for cells in (64, 128):
        found, exact = carried("edges", cells, along)
        assert found.min() > -1e-3 and found.max() < 0.201
    assert abs(found - exact).mean() < 0.15 * exact.mean()


@pytest.mark.parametrize("time_step", [8.0, 15.0])
def test_a_current_over_a_rough_bed_becomes_steady(time_step):
    """|u| dt / dx of 0.2 and 0.4: eddies of two cells grew until the run stopped with the longer step."""
    grid = eagre.Grid(40, 16, 50.0, 50.0)
    bed = -2.5 + np.random.default_rng(1).choice([-0.2, 0.2], grid.shape_of("corner"))
    through = eagre.Boundaries(west=eagre.Discharge(1.3 * 2.5 * 800.0), east=eagre.Stage(0.0))
    model = eagre.ShallowWaterADI(
        grid, bed, time_step, surface_elevation=0.0, velocity_x=1.3, manning=0.025, boundaries=through, device="cpu",
        precision="double",
    )  # fmt: skip
    model.advance(5.5 * 3600.0)
    before = model.field("surface_elevation")
    model.advance(6.0 * 3600.0)
    after = model.field("surface_elevation")
    assert abs(after - before).max() < 1e-4 and model.field("velocity_y").std() < 0.03
    # Manning's slope of the surface, n^2 q^2 / h^(10/3), and a little more for the roughness of the bed
    slope = (after[:, 2].mean() - after[:, -3].mean()) / (35 * 50.0)
    manning = 0.025**2 * (1.3 * 2.5) ** 2 / model.field("depth").mean() ** (10 / 3)
    assert 1.0 < slope / manning < 1.2


def test_a_tide_past_an_island_leaves_no_stripes():
    """Mean over a tide of the current, away from the staircase coast: what alternates from row to row, m s-1. Without
    upwinding across lines it was 9e-3 (largest current 0.26)."""
    grid = eagre.Grid(60, 40, 100.0, 100.0)
    x, y = grid.mesh()
    away = np.hypot(x - 3000.0, y - 2100.0)
    times = np.linspace(0.0, 28800.0, 481)
    wave = eagre.Series(times, 0.35 * np.sin(2.0 * np.pi * times / 14400.0))
    model = eagre.ShallowWaterADI(
        grid, -10.0, 60.0, surface_elevation=0.0, manning=0.025, land_mask=away < 800.0, device="cpu",
        boundaries=eagre.Boundaries(west=eagre.Absorbing(level=0.0, incoming=wave), east=eagre.Absorbing(level=0.0)),
        precision="double", time_statistics=eagre.TimeStatistics(mean=["velocity"], start=14400.0),
    )  # fmt: skip
    model.advance(28800.0)
    assert model.maps is not None
    u = np.nan_to_num(model.maps.sample()["mean_velocity_x"])
    stripes = 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    water = (away > 1100.0) & (abs(x - 3000.0) < 2500.0)
    assert np.sqrt((stripes[water[1:-1]] ** 2).mean()) < 2e-3


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize(("coast", "limit"), [("island", 3.5e-3), ("headland", 7e-3)])
def test_an_irrotational_tide_leaves_no_current_beside_a_staircase_coast(coast, limit, along):
    """Without friction the flow past a coast is irrotational and has no mean current but that of the wave, 1e-4 m/s."""
    size, cells = (4000.0, 3000.0), (40, 30)
    grid = eagre.Grid(*cells, 100.0, 100.0) if along == "x" else eagre.Grid(*cells[::-1], 100.0, 100.0)
    x, y = grid.mesh() if along == "x" else grid.mesh()[::-1]
    island = np.hypot(x - 0.5 * size[0], y - 1600.0) < 600.0
    land = island if coast == "island" else y < 1500.0 * np.exp(-(((x - 0.5 * size[0]) / 500.0) ** 2))
    times = np.linspace(0.0, 14400.0, 241)
    wave = eagre.Series(times, 0.05 * np.sin(2.0 * np.pi * times / 7200.0))
    low, high = ("west", "east") if along == "x" else ("south", "north")
    sides = {low: eagre.Absorbing(level=0.0, incoming=wave), high: eagre.Absorbing(level=0.0)}
    model = eagre.ShallowWaterADI(
        grid, -10.0, 10.0, surface_elevation=0.0, land_mask=land, device="cpu", precision="double",
        boundaries=eagre.Boundaries(**sides), time_statistics=eagre.TimeStatistics(mean=["velocity"], start=7200.0),
    )  # fmt: skip
    model.advance(14400.0)
    assert model.maps is not None
    mean = model.maps.sample()
    speed = np.nan_to_num(np.hypot(mean["mean_velocity_x"], mean["mean_velocity_y"]))
    assert speed[abs(x - 0.5 * size[0]) < 1500.0].max() < limit, speed.max()


def test_a_stage_through_part_of_a_side_feeds_no_lasting_jet():
    """Level basin after 30 min: the walls beside an open side are no coast along which water slips (7.5 m/s if so);
    the explicit model has 1.6 m/s then."""
    level = eagre.Series(np.array([0.0, 600.0, 7200.0]), np.array([0.0, 0.5, 0.5]))
    model = eagre.ShallowWaterADI(
        eagre.Grid(40, 40, 50.0, 50.0), -4.0, 5.0, surface_elevation=0.0, manning=0.025, device="cpu",
        precision="double",
        boundaries=eagre.Boundaries(west=[eagre.BoundarySegment(850.0, 1100.0, eagre.Stage(level))]),
    )  # fmt: skip
    model.advance(1800.0)
    assert np.hypot(model.field("velocity_x"), model.field("velocity_y")).max() < 1.6
