"""Currents through the open sides of the implicit model: uniform flow, flow over a bump, a free fall, fast outflow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import eagre
from eagre.laboratory.cases.channels import subcritical_channel

GRAVITY = 9.81


def channel(slot, start, manning=0.0, depth=2.0, froude=0.5, dx=2.0, cells=50, level=None, slope=None, **options):
    """Flow along x or y of one depth, discharge in and its level out, which begins at `start` times its speed.

    slot : the side where it leaves; the bed falls as friction needs.
    """
    speed = froude * np.sqrt(GRAVITY * depth)
    fall = (manning * speed) ** 2 / depth ** (4.0 / 3.0) if slope is None else slope
    along_x, forward = slot in ("east", "west"), slot in ("east", "north")
    grid = eagre.Grid(cells, 2, dx, dx) if along_x else eagre.Grid(2, cells, dx, dx)

    def bed(where):
        along = grid.mesh(where)[0 if along_x else 1]
        return fall * ((cells * dx - along) if forward else along)

    other = {"east": "west", "west": "east", "north": "south", "south": "north"}[slot]
    sides = {slot: eagre.Stage(depth if level is None else level), other: eagre.Discharge(speed * depth * 2.0 * dx)}
    velocity = {"velocity_x" if along_x else "velocity_y": (1.0 if forward else -1.0) * start * speed}
    given = {"precision": "single", "boundaries": eagre.Boundaries(**sides), "device": "cpu"} | velocity | options
    surface = bed("centre") + depth
    return eagre.ShallowWaterADI(
        grid, bed("corner"), 0.22 * dx / speed, surface_elevation=surface, manning=manning, **given
    )  # fmt: skip


def depths(model, slot):
    """Along the flow."""
    depth = model.field("depth")
    line = depth[0] if slot in ("east", "west") else depth[:, 0]
    return line if slot in ("east", "north") else line[::-1]


def zigzag(line):
    """Largest second difference of the ten cells before the outlet."""
    return float(np.abs(np.diff(line[-10:], 2)).max())


@pytest.mark.parametrize("slot", ["east", "west", "north", "south"])
def test_uniform_flow_from_five_per_cent_off(slot):
    """Friction brings it back, and nothing grows at the outlet: 10 min, single precision."""
    model = channel(slot, 0.95, manning=0.02)
    found = []
    for until in (60.0, 300.0, 600.0):
        model.advance(until)
        line = depths(model, slot)
        found.append((np.abs(line - 2.0).max(), zigzag(line)))
    off = [one for one, _ in found]
    assert off[1] < 0.5 * off[0] and off[2] < 5e-4, found
    assert max(one for _, one in found[1:]) < 2e-5, found


@pytest.mark.parametrize(("dx", "froude", "manning"), [(1.0, 0.5, 0.0), (5.0, 0.7, 0.02), (10.0, 0.3, 0.0)])
def test_flow_that_starts_from_rest(dx, froude, manning):
    """Waves run up and down; they leave no zigzag that grows, with friction and without."""
    model = channel("east", 0.0, manning=manning, froude=froude, dx=dx)
    found = []
    for until in (150.0 * dx**0.5, 600.0):
        model.advance(until)
        found.append(zigzag(depths(model, "east")))
    assert found[1] < max(found[0], 1e-2) and found[1] < 0.02, found


def test_water_that_enters_under_a_level():
    """Two levels, nothing but a slope between them: what enters carries its momentum in, and flow stays uniform."""
    model = channel("east", 1.0, manning=0.02, precision="double")
    first = depths(model, "east").copy()
    slope = (0.02 * 0.5 * np.sqrt(GRAVITY * 2.0)) ** 2 / 2.0 ** (4.0 / 3.0)
    sides = eagre.Boundaries(west=eagre.Stage(2.0 + slope * 100.0), east=eagre.Stage(2.0))
    model = channel("east", 0.97, manning=0.02, precision="double", boundaries=sides)
    model.advance(600.0)
    assert np.abs(depths(model, "east") - first).max() < 5e-3
    assert zigzag(depths(model, "east")) < 1e-5 and zigzag(depths(model, "east")[::-1]) < 1e-4


def over_a_bump(n, dissipation):
    """Mean difference of the surface from Bernoulli's, m: q^2 / (2 g h^2) + h + bed is one along the flow."""
    length, u = 400.0, 0.45 * np.sqrt(GRAVITY * 2.0)
    q, dx = 2.0 * u, length / n
    grid = eagre.Grid(n, 2, dx, dx)

    def bump(x):
        return 0.2 * np.exp(-(((x - 0.5 * length) / 25.0) ** 2))

    sides = eagre.Boundaries(west=eagre.Discharge(q * 2.0 * dx), east=eagre.Stage(2.0))
    model = eagre.ShallowWaterADI(
        grid, bump(grid.mesh("corner")[0]), 0.3 * dx / u, surface_elevation=2.0, velocity_x=0.9 * u, boundaries=sides,
        dissipation=dissipation, device="cpu", precision="double",
    )  # fmt: skip
    model.advance(2700.0)
    head, critical = 2.0 + u**2 / (2.0 * GRAVITY), np.cbrt(q**2 / GRAVITY)
    bed = bump(grid.x)
    exact = [brentq(lambda h, b=b: h + q**2 / (2.0 * GRAVITY * h**2) + b - head, critical, 3.0) + b for b in bed]
    return np.abs(model.field("surface_elevation")[0] - exact).mean()


@pytest.mark.parametrize(("dissipation", "order"), [("froude", 1.0), ("none", 1.8)])
def test_flow_over_a_bump_converges(dissipation, order):
    errors = [over_a_bump(n, dissipation) for n in (50, 100, 200)]
    assert errors[0] < 1e-3
    assert min(np.log2(errors[k] / errors[k + 1]) for k in range(2)) > order, errors


def error_in_macdonalds_channel(dx, dissipation):
    """Depth less the exact one after half an hour, m: subcritical, of Froude number 0.987 at the outlet."""
    exact = subcritical_channel()
    cells = round(exact.length / dx)
    grid = eagre.Grid(cells, 2, dx, dx)
    bed = np.broadcast_to(exact.bed(dx * np.arange(cells + 1)), (3, cells + 1))
    depth = exact.depth(grid.x)
    level = float(exact.depth(np.array([exact.length]))[0])
    sides = eagre.Boundaries(west=eagre.Discharge(exact.discharge * 2.0 * dx), east=eagre.Stage(level))
    model = eagre.ShallowWaterADI(
        grid, bed, dx / 20.0, depth=np.tile(depth, (2, 1)), velocity_x=np.tile(exact.discharge / depth, (2, 1)),
        manning=exact.manning, boundaries=sides, device="cpu", precision="double", dissipation=dissipation,
    )  # fmt: skip
    model.advance(1800.0)
    return depths(model, "east") - depth


def test_a_stage_near_critical_flow_has_second_order():
    """The stage is below the critical depth over the bed of the last cell, but not over that of the side."""
    errors = [error_in_macdonalds_channel(dx, "froude") for dx in (20.0, 10.0, 5.0)]
    last = [abs(error[-1]) for error in errors]
    assert min(np.log2(last[k] / last[k + 1]) for k in range(2)) > 1.7, last
    assert last[0] < 1e-3 and np.abs(errors[-1]).mean() < 3e-4


def test_a_stage_near_critical_flow_without_dissipation():
    """The whole channel has second order."""
    errors = [error_in_macdonalds_channel(dx, "none") for dx in (20.0, 10.0, 5.0)]
    mean = [np.abs(error).mean() for error in errors]
    assert min(np.log2(mean[k] / mean[k + 1]) for k in range(2)) > 1.8, mean
    assert max(np.abs(error).max() for error in errors) < 1e-3


def test_water_falls_off_an_edge_at_its_critical_depth():
    """However low the level outside: nothing below the edge acts on what flows over it."""
    found = []
    for level in (-0.5, -100.0):
        model = channel("east", 1.0, depth=1.0, level=level, dx=5.0, precision="double")
        model.advance(900.0)
        found.append(depths(model, "east"))
    critical = np.cbrt(0.25)  # Froude number 1/2 at 1 m
    assert np.abs(found[0] - found[1]).max() < 1e-6
    assert found[0][-1] == pytest.approx(critical, rel=0.02)
    assert (np.diff(found[0][10:]) < 0.0).all() and found[0][0] < 1.5


def test_fast_water_leaves_as_if_nothing_were_there():
    """Froude number 1.6 down its slope: a low level behind the outlet draws nothing out and holds nothing back."""
    model = channel("east", 1.0, manning=0.02, depth=0.5, froude=1.6, level=-3.0, precision="double")
    model.advance(20.0)  # water from the inlet comes 70 m
    off = np.abs(depths(model, "east") - 0.5)
    assert off[-1] < 0.02 * 0.5 and off[-2] < 0.005 * 0.5 and off[-10:-4].max() < 2e-4


def test_a_tide_over_an_uneven_bed_stays_what_it_is():
    """Jets of the flood beside each other along the side drove themselves, to 7 m/s and 3 m above the tide."""
    times = np.linspace(0.0, 60_000.0, 301)
    tide = 1.5 * np.minimum(1.0, times / 7200.0) * np.sin(2.0 * np.pi * times / 44_712.0)
    grid = eagre.Grid(41, 23, 100.0, 80.0)
    x, y = grid.mesh("corner")
    bed = -4.0 + x / 900.0 + 0.5 * np.sin(y / 300.0) * np.cos(x / 500.0)
    model = eagre.ShallowWaterADI(
        grid, bed, 10.0, surface_elevation=0.0, manning=0.025, device="cpu", precision="double",
        boundaries=eagre.Boundaries(west=eagre.Stage(eagre.Series(times, tide))),
    )  # fmt: skip
    model.advance(50_400.0)
    now = np.interp(50_400.0, times, tide)
    assert abs(model.field("surface_elevation")[:, :20] - now).max() < 0.02
    assert np.hypot(model.field("velocity_x"), model.field("velocity_y"))[model.field("depth") > 0.1].max() < 0.5
