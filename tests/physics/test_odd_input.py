"""Grids and water at the edge of what makes sense: dry, one cell wide, below the bed."""

from __future__ import annotations

import numpy as np
import pytest

import eagre


def test_wholly_dry_domain_stays_dry(light_device):
    grid = eagre.Grid(9, 7, 1.0, 1.0)
    model = eagre.ShallowWater(grid, np.ones((8, 10)), surface_elevation=-5.0, device=light_device)
    model.advance(3600.0)
    assert model.time == 3600.0 and model.steps == 1
    assert model.diagnostics()["volume"] == 0.0 and not model.field("speed").any()
    np.testing.assert_array_equal(model.field("surface_elevation"), model.field("bed"))


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("open_ends", [False, True])
def test_one_row_is_a_channel(axis, open_ends, light_device):
    """One cell wide it flows as five cells wide, along x as along y."""
    ends = (eagre.Stage(1.2), eagre.Outflow()) if open_ends else (eagre.Wall(), eagre.Wall())
    found = []
    for width in (1, 5):
        nx, ny = (30, width) if axis == "x" else (width, 30)
        grid = eagre.Grid(nx, ny, 1.0, 1.0)
        x, y = grid.mesh()
        along, sides = (x, ("west", "east")) if axis == "x" else (y, ("south", "north"))
        model = eagre.ShallowWater(
            grid, np.zeros(grid.shape_of("corner")), depth=np.where(along < 10, 1.0, 0.3), device=light_device,
            boundaries=eagre.Boundaries(**dict(zip(sides, ends, strict=True))), precision="double",
        )  # fmt: skip
        model.advance(3.0)
        depth = model.field("depth")
        found.append(depth[0] if axis == "x" else depth[:, 0])
    assert np.abs(found[0] - found[1]).max() < 1e-13 and np.ptp(found[0]) > 0.3


@pytest.mark.parametrize("side", [eagre.Wall, eagre.Periodic])
def test_a_single_cell_keeps_still(side, light_device):
    model = eagre.ShallowWater(
        eagre.Grid(1, 1, 1.0, 1.0), np.zeros((2, 2)), depth=1.0,
        boundaries=eagre.Boundaries(*(side() for _ in range(4))), device=light_device, precision="double",
    )  # fmt: skip
    model.advance(10.0)
    assert model.field("depth").item() == pytest.approx(1.0, rel=1e-14)


def test_stage_below_the_bed_is_a_free_fall(light_device):
    """Nothing comes in; critical flow leaves: (8 / 27) h sqrt(g h) at first from water at rest."""
    grid = eagre.Grid(60, 1, 0.5, 0.5)
    model = eagre.ShallowWater(
        grid, np.zeros(grid.shape_of("corner")), depth=1.0, boundaries=eagre.Boundaries(east=eagre.Stage(-3.0)),
        device=light_device, precision="double",
    )  # fmt: skip
    first = model.diagnostics()["volume"]
    model.advance(4.0)
    lost = (first - model.diagnostics()["volume"]) / (4.0 * 0.5)
    assert lost == pytest.approx(8.0 / 27.0 * np.sqrt(9.81), rel=0.03)


def test_stage_below_the_bed_of_dry_ground_brings_nothing(light_device):
    grid = eagre.Grid(20, 3, 0.5, 0.5)
    model = eagre.ShallowWater(
        grid, np.zeros(grid.shape_of("corner")), depth=0.0, boundaries=eagre.Boundaries(east=eagre.Stage(-3.0)),
        device=light_device,
    )  # fmt: skip
    model.advance(10.0)
    assert model.diagnostics()["volume"] == 0.0


def test_a_wall_one_cell_across_from_an_open_side_is_refused():
    with pytest.raises(eagre.EagreError, match=r"between an open and a closed side .west and east.*\n.*\n.*nx = 2"):
        eagre.Boundaries(west=eagre.Outflow()).segments(eagre.Grid(1, 5, 1.0, 1.0))
    eagre.Boundaries(south=eagre.Outflow()).segments(eagre.Grid(1, 5, 1.0, 1.0))
