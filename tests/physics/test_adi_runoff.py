"""The implicit model where rain runs down hillsides whose bed falls by many depths from cell to cell."""

from __future__ import annotations

import numpy as np
import pytest

import eagre

RAIN = 72e-3 / 3600.0  # m/s
CELL = 20.0  # m; up to 13 mm of water on falls of 0.4 to 6 m
HILLS = [(0.02, 0.03), (0.1, 0.06), (0.3, 0.1)]  # slope and Manning's n: Froude numbers 0.8, 0.8, 0.9


def hillside(slope, manning, along, precision="double", step=2.0, cells=20):
    """A dry plane of `cells` cells that falls along x or y to an outlet at normal depth; rain on all of it."""
    shape = (cells, 2) if along == "x" else (2, cells)
    grid = eagre.Grid(*shape, CELL, CELL)
    down = grid.mesh("corner")[0 if along == "x" else 1]
    out = {"east" if along == "x" else "north": eagre.NormalDepth(slope=slope, manning=manning)}
    return eagre.ShallowWaterADI(
        grid, slope * (cells * CELL - down), step, depth=0.0, manning=manning, sources=[eagre.Rain(RAIN)],
        boundaries=eagre.Boundaries(**out), dry_depth=1e-4, precision=precision, device="cpu",
    )  # fmt: skip


def concentration(slope, manning, length):
    """Time of concentration of a plane, s: h = R t there until R L = h^(5/3) sqrt(S) / n."""
    return (length * manning / slope**0.5) ** 0.6 / RAIN**0.4


def outflow(model, time, width):
    """Discharge through the outlet around `time`, m2/s."""
    out = []
    for moment in (time - 10.0, time + 10.0):
        model.advance(moment)
        out.append(-sum(model.inflow.values()))
    return (out[1] - out[0]) / (20.0 * width)


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize(("slope", "manning"), HILLS)
def test_a_hillside_drains_as_a_kinematic_wave(slope, manning, along):
    """Manning's flow of the rain that fell until the time of concentration, then the rain on the whole plane."""
    model, length = hillside(slope, manning, along), 20 * CELL
    end = concentration(slope, manning, length)
    for part, close in ((0.5, 0.02), (0.8, 0.03), (1.3, 0.015), (2.0, 1e-3)):
        depth = RAIN * min(part, 1.0) * end
        expected = depth ** (5.0 / 3.0) * slope**0.5 / manning
        assert outflow(model, part * end, 2 * CELL) == pytest.approx(expected, rel=close)
    middle = np.arange(1, 20) + 0.5
    steady = (RAIN * middle * CELL * manning / slope**0.5) ** 0.6
    found = model.field("depth").mean(axis=0 if along == "x" else 1)[1:]
    assert found == pytest.approx(steady, rel=0.2) and found[10:] == pytest.approx(steady[10:], rel=0.03)


def test_a_film_that_would_be_faster_than_its_waves_is_held_back():
    """Slope 0.3, n = 0.02, Froude number 3.9: it runs about as fast as its waves, and ends at the rain's rate."""
    model = hillside(0.3, 0.02, "x")
    assert outflow(model, 400.0, 2 * CELL) < 0.5 * RAIN * 20 * CELL
    model.advance(4000.0)
    assert outflow(model, 4100.0, 2 * CELL) == pytest.approx(RAIN * 20 * CELL, rel=1e-3)
    depth, speed = model.field("depth")[0, 5:18], model.field("velocity_x")[0, 5:18]
    assert speed / np.sqrt(9.81 * depth) == pytest.approx(1.0, abs=0.1)


def test_the_water_of_a_hillside_is_rain_less_outflow():
    model = hillside(0.1, 0.06, "x")
    model.advance(1200.0)
    held = model.field("depth").sum() * CELL**2
    assert held == pytest.approx(RAIN * 1200.0 * 40 * CELL**2 + sum(model.inflow.values()), rel=1e-9)


def test_a_film_on_a_plane_askew_to_the_grid_has_mannings_speed():
    """A slope of 0.03 by 0.04: speed h^(2/3) sqrt(S) / n along it, S = 0.05, where the film is as deep as the rain."""
    grid = eagre.Grid(24, 24, CELL, CELL)
    x, y = grid.mesh("corner")
    model = eagre.ShallowWaterADI(
        grid, -0.03 * x - 0.04 * y, 1.0, depth=0.0, manning=0.05, sources=[eagre.Rain(RAIN)], dry_depth=1e-4,
        precision="double", device="cpu",
    )  # fmt: skip
    model.advance(400.0)
    depth = RAIN * 400.0
    speed = depth ** (2.0 / 3.0) * 0.05**0.5 / 0.05
    low = np.s_[15:20, 15:20]
    assert model.field("depth")[low] == pytest.approx(depth, rel=1e-3)
    assert model.field("velocity_x")[low] == pytest.approx(0.6 * speed, rel=0.02)
    assert model.field("velocity_y")[low] == pytest.approx(0.8 * speed, rel=0.02)
