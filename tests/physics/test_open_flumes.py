"""Fast water that enters a flume, rivers that leave at normal depth, and an outflow that says what it does not fix."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries.base import GhostCell
from eagre.boundaries.conditions.normal_depth import normal_ghost
from eagre.errors import InputError
from eagre.models.shallow_water.kernels import Parameters

GRAVITY = 9.81
P = Parameters(0.65, 1.0 / 2.6, 1e-4, 1e-16, 1e-7, GRAVITY, 1.0, 1.0, 0.0, 0.0)


def sloped(side, slope, cells=12, dx=1.0):
    """A grid along the side's axis and its bed, which falls from that side."""
    along_x, low = side in ("west", "east"), side in ("west", "south")
    grid = eagre.Grid(cells, 1, dx, dx) if along_x else eagre.Grid(1, cells, dx, dx)
    along = grid.mesh("corner")[0 if along_x else 1]
    return grid, slope * ((cells * dx - along) if low else along)


def line(model, side, name="depth"):
    """Values from that side on."""
    values = model.field(name).ravel()
    return values if side in ("west", "south") else values[::-1]


OPPOSITE = {"west": "east", "east": "west", "south": "north", "north": "south"}


@pytest.mark.parametrize("wet_dry", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize(
    ("side", "film"), [("west", 0.3), ("west", 0.02), ("east", 0.0), ("south", 0.5), ("north", 0.1)]
)
def test_a_flume_at_froude_1_8(side, film, wet_dry, light_device):
    """Its depth from the first cell on, over dry ground, under thin and under deep water.

    All water comes in, but for at most 3 % of the first 30 s while deep, slow water stands inside.
    """
    depth = 0.3
    speed = 1.8 * np.sqrt(GRAVITY * depth)
    grid, bed = sloped(side, (0.02 * speed) ** 2 / depth ** (4.0 / 3.0))
    sides = eagre.Boundaries(**{side: eagre.Inflow(speed * depth, depth), OPPOSITE[side]: eagre.Outflow()})
    model = eagre.ShallowWater(
        grid, bed, depth=film, manning=0.02, boundaries=sides, wet_dry=wet_dry, device=light_device, precision="double"
    )
    model.advance(30.0)
    assert line(model, side)[0] == pytest.approx(depth, rel=1e-3)
    assert line(model, side) == pytest.approx(depth, rel=5e-3)
    assert model.inflow[side] == pytest.approx(speed * depth * 30.0, rel=0.03 if film > 0.0 else 1e-9)
    before = model.inflow[side]
    model.advance(31.0)
    assert model.inflow[side] - before == pytest.approx(speed * depth, rel=1e-6)
    assert OPPOSITE[side] not in dict(model.summary_rows)  # it leaves faster than its waves: nothing to say


def test_fast_water_enters_over_a_bed_that_rises_inland(light_device):
    grid, bed = sloped("east", 0.05)
    speed = 2.5 * np.sqrt(GRAVITY * 0.3)
    model = eagre.ShallowWater(
        grid, bed, depth=0.0, device=light_device, precision="double",
        boundaries=eagre.Boundaries(west=eagre.Inflow(speed * 0.3, 0.3), east=eagre.Outflow()),
    )  # fmt: skip
    model.advance(1.0)
    first = model.inflow["west"]
    assert first == pytest.approx(speed * 0.3, rel=3e-3)
    model.advance(2.0)
    assert model.inflow["west"] - first == pytest.approx(speed * 0.3, rel=1e-9)


def test_what_an_inflow_refuses():
    grid = eagre.Grid(6, 2, 1.0, 1.0)
    with pytest.raises(
        InputError, match=r"(?s)inflow of 0\.6 m3/s, 0\.3 m deep, on the west side.*more than 1\.029 m3/s.*Discharge"
    ):
        eagre.ShallowWater(grid, 0.0, depth=0.3, boundaries=eagre.Boundaries(west=eagre.Inflow(0.6, 0.3)))
    with pytest.raises(InputError, match="depth = 0 m"):
        eagre.ShallowWater(grid, 0.0, depth=0.3, boundaries=eagre.Boundaries(west=eagre.Inflow(0.6, 0.0)))
    with pytest.raises(InputError, match=r"(?s)Inflow on the west side of shallow-water-adi.*west = Discharge\(\.\.\)"):
        eagre.ShallowWaterADI(grid, 0.0, 1.0, depth=0.3, boundaries=eagre.Boundaries(west=eagre.Inflow(9.0, 0.3)))
    inside = eagre.Boundaries(internal=[eagre.boundaries.InternalLine([(2.0, 1.0)], eagre.Inflow(9.0, 0.3))])
    with pytest.raises(InputError, match="Inflow on internal 1"):
        eagre.ShallowWater(grid, 0.0, depth=0.3, boundaries=inside)


def river(kind, side, start, device, froude=0.5):
    """1.2 m of uniform flow that leaves at `side`, begun at `start` times its depth."""
    depth, manning = 1.2, 0.03
    speed = froude * np.sqrt(GRAVITY * depth)
    slope = (manning * speed) ** 2 / depth ** (4.0 / 3.0)
    grid, bed = sloped(OPPOSITE[side], slope, 15, 10.0)
    sides = {OPPOSITE[side]: eagre.Discharge(speed * depth * 10.0), side: eagre.NormalDepth(slope, manning)}
    axis = "velocity_x" if side in ("west", "east") else "velocity_y"
    given = {
        "depth": start * depth, axis: (speed if side in ("east", "north") else -speed), "manning": manning,
        "boundaries": eagre.Boundaries(**sides), "device": device, "precision": "double",
    }  # fmt: skip
    if kind == "explicit":
        return eagre.ShallowWater(grid, bed, **given)
    return eagre.ShallowWaterADI(grid, bed, 1.0, start="zero", **given)  # the other start knows no friction


@pytest.mark.parametrize("side", ["east", "south"])
@pytest.mark.parametrize("kind", ["explicit", "implicit"])
def test_a_river_leaves_at_normal_depth(kind, side, light_device):
    """As it is where it is uniform, and back to that from off it."""
    model = river(kind, side, 1.0, light_device)
    model.advance(20.0)
    assert np.abs(model.field("depth") - 1.2).max() < 1e-12
    model = river(kind, side, 1.2, light_device)
    off = []
    for until in (60.0, 300.0):
        model.advance(until)
        off.append(np.abs(model.field("depth") - 1.2).max())
    assert off[1] < 0.1 * off[0] and off[1] < 5e-3, off
    assert min(model.inflow.values()) < 0.0


def test_fast_water_leaves_a_normal_depth_as_it_is():
    c = np.sqrt(GRAVITY)
    ghost = normal_ghost(GhostCell((1.0, -1.6 * c, 0.4), None, None, 0.0, -0.1, -0.05, 1.0), 0.7 * c, 0.0, P)
    assert ghost == pytest.approx((0.9, -1.6 * c, 0.4), rel=1e-12)


def test_a_normal_depth_meets_what_travels_out():
    """u = K h^(2/3), and u + 2 c is that of the cell to second order in how far that is from normal flow."""
    rating, apart = 1.7, []
    for change in (0.08, 0.04, 0.02):
        u, h = rating * (1.0 + change), 1.0
        w, n, t = normal_ghost(GhostCell((h, -u * h, 0.3 * h), None, None, 0.0, -0.5, -0.25, 1.0), rating, 0.0, P)
        depth = w + 0.5
        assert -n / depth == pytest.approx(rating * depth ** (2.0 / 3.0), rel=1e-12)
        assert t / depth == pytest.approx(0.3, rel=1e-12)
        apart.append(-n / depth + 2.0 * np.sqrt(GRAVITY * depth) - u - 2.0 * np.sqrt(GRAVITY * h))
    orders = np.log2(np.abs(np.array(apart[:-1]) / apart[1:]))
    assert np.abs(apart).max() < 5e-3 and orders == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("name", ["slope", "manning"])
def test_what_a_normal_depth_refuses(name):
    given = {"slope": 1e-3, "manning": 0.03} | {name: 0.0}
    grid = eagre.Grid(6, 2, 1.0, 1.0)
    for make in (eagre.ShallowWater, lambda *a, **k: eagre.ShallowWaterADI(*a, 1.0, **k)):
        with pytest.raises(InputError, match=f"{name} = 0 "):
            make(grid, 0.0, depth=0.3, boundaries=eagre.Boundaries(east=eagre.NormalDepth(**given)))


def test_an_outflow_says_that_nothing_fixes_its_level(light_device):
    for speed, wanted in ((1.0, True), (4.0, False)):
        grid = eagre.Grid(6, 2, 10.0, 10.0)
        model = eagre.ShallowWater(
            grid, 0.0, depth=1.0, velocity_x=speed, device=light_device, precision="double",
            boundaries=eagre.Boundaries(west=eagre.Discharge(20.0 * speed), east=eagre.Outflow()),
        )  # fmt: skip
        model.advance(1.0)
        said = dict(model.summary_rows).get("east", "")
        assert ("outflow is subcritical in 2 of 2 cells (Froude number 0.3" in said) == wanted, said
