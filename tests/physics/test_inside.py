"""Walls and discharges inside the domain, in both shallow-water models."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre import Boundaries, Discharge, Series, Wall
from eagre.boundaries import InternalArea, InternalLine

MODELS = ("explicit", "implicit")
NX, NY, DX, DY = 12, 9, 2.0, 1.5
pytestmark = pytest.mark.nojit


def made(kind, grid, bed, boundaries, given, device="cpu", time_step=0.2, **options):
    """A model of either kind in double precision."""
    options = {"boundaries": boundaries, "device": device, "precision": "double", "manning": 0.03, **given, **options}
    if kind == "explicit":
        return eagre.ShallowWater(grid, bed, **options)
    return eagre.ShallowWaterADI(grid, bed, time_step, **options)


def rough(nx=NX, ny=NY, **grid):
    """A grid, a rough bed of which islands stand out, and moving water."""
    rng = np.random.default_rng(3)
    grid = eagre.Grid(nx, ny, DX, DY, **grid)
    bed = rng.uniform(-1.0, 0.2, grid.shape_of("corner"))
    given = {"surface_elevation": 0.1 * rng.standard_normal(grid.shape), "velocity_x": 0.2, "velocity_y": -0.1}
    return grid, bed, given


def fields(model):
    return [model.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")]


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize("kind", MODELS)
def test_wall_through_a_basin_makes_two_basins(kind, along):
    """To rounding as a run of each half alone, whose walls are the sides of its domain."""
    grid, bed, given = rough()
    x, y = (10.0, 0.0), (0.0, 6.0)
    ends = [x, (10.0, NY * DY)] if along == "x" else [y, (NX * DX, 6.0)]
    low = (slice(None), slice(0, 5)) if along == "x" else (slice(0, 4), slice(None))
    high = (slice(None), slice(5, None)) if along == "x" else (slice(4, None), slice(None))
    corners = {"x": [(slice(None), slice(0, 6)), (slice(None), slice(5, None))],
               "y": [(slice(0, 5), slice(None)), (slice(4, None), slice(None))]}[along]  # fmt: skip
    alone = []
    for part, corner in zip((low, high), corners, strict=True):
        ny, nx = given["surface_elevation"][part].shape
        own = given | {"surface_elevation": given["surface_elevation"][part]}
        if kind == "explicit":
            own |= {"time_step": 0.05, "desingularisation_depth": 1e-4}
        else:
            own |= {"dry_depth": 1e-3}
        alone.append(made(kind, eagre.Grid(nx, ny, DX, DY), bed[corner], None, own, kernels="reference"))
    if kind == "explicit":
        options = {"time_step": 0.05, "desingularisation_depth": 1e-4}
    else:
        options = {"dry_depth": 1e-3}
    wall = Boundaries(internal=[InternalLine(ends, Wall())])
    both = made(kind, grid, bed, wall, given | options, kernels="reference")
    for model in (both, *alone):
        model.advance(1.0)
    for field, first, second in zip(fields(both), *map(fields, alone), strict=True):
        np.testing.assert_allclose(field[low], first, rtol=0, atol=1e-13)
        np.testing.assert_allclose(field[high], second, rtol=0, atol=1e-13)
    assert abs(fields(both)[1]).max() > 0.05


@pytest.mark.parametrize("kind", MODELS)
def test_lakes_on_both_sides_of_a_ring_stay_at_rest(kind):
    grid, bed, _ = rough(x0=100.0, y0=-50.0)
    ring = [(103.0, -47.0), (118.0, -46.0), (119.0, -39.5), (110.0, -42.0), (104.0, -39.0)]
    inside = Boundaries(internal=[InternalArea(ring, Wall())])
    held = eagre.boundaries.internal.cells_in_area(np.array([*ring, ring[0]]), grid) > 0
    level = np.where(held, 1.0, 0.3)
    model = made(kind, grid, bed, inside, {"surface_elevation": level})
    model.advance(5.0)
    np.testing.assert_allclose(model.field("surface_elevation"), level, atol=1e-14)
    assert abs(model.field("speed")).max() < 1e-13 and held.sum() > 20
    assert model.settings()["walls_inside"] == model.setup.walls.astype(bool).sum() > 20


@pytest.mark.parametrize("kind", MODELS)
def test_water_goes_round_the_end_of_a_wall_and_none_is_lost(kind):
    grid = eagre.Grid(NX, NY, DX, DY)
    x, _ = grid.mesh()
    level = np.where(x < 12.0, 1.0, 0.5)
    wall = Boundaries(internal=[InternalLine([(12.0, 0.0), (12.0, 9.0)], Wall())])
    model = made(kind, grid, 0.0, wall, {"depth": level, "dry_depth": 1e-3} if kind == "implicit" else {"depth": level})
    model.advance(0.6)
    u = model.field("discharge_x")
    assert abs(model.diagnostics()["volume_error"]) < 1e-15
    assert u[7:, 5:7].min() > 0.4 and abs(u[:4, 5:7]).max() < 0.01  # past the end, and beside the wall
    assert model.field("depth")[:4, 5].min() > 0.9 > 0.65 > model.field("depth")[:4, 6].max()


@pytest.mark.parametrize("kind", MODELS)
def test_discharges_bring_what_was_asked(kind):
    """On dry and on wet ground: the volume is the integral of the series, in the balance by name and in the water."""
    grid = eagre.Grid(NX, NY, DX, DY)
    series = Series([0.0, 1.0, 1.7, 9.0], [0.0, 0.5, 0.1, 0.1])
    lines = [
        InternalLine([(3.0, 3.0), (9.0, 7.0)], Discharge(series), name="river"),
        InternalArea([(14.0, 2.0), (22.0, 2.0), (22.0, 10.0)], Discharge(0.4)),
    ]
    x, _ = grid.mesh()
    given = {"depth": np.where(x < 12.0, 0.0, 0.5), "sources": [eagre.Rain(1e-4)], "manning": 0.05}
    model = made(kind, grid, 0.02 * grid.mesh("corner")[0], Boundaries(internal=lines), given)
    model.advance(1.0)
    model.advance(4.0)
    river = 0.25 + 0.5 * 0.7 * 0.6 + 0.1 * 2.3
    assert model.inflow == pytest.approx({"river": river, "internal 2": 1.6}, rel=1e-3 if kind == "explicit" else 1e-12)
    found = model.diagnostics()
    assert found["volume_rain"] == pytest.approx(4e-4 * NX * DX * NY * DY, rel=1e-12)
    assert abs(found["volume_error"]) < 1e-13
    assert found["volume_change"] == pytest.approx(found["volume_inflow"] + found["volume_rain"], rel=1e-12)
    assert any("river" in text for _, text in model.summary_rows)
    if kind == "explicit":
        assert model.settings()["kernels"] == "fast"


@pytest.mark.parametrize("kind", MODELS)
def test_restart_goes_on_with_walls_and_discharges(kind):
    grid, bed, given = rough()
    lines = [InternalLine([(10.0, 0.0), (14.0, 11.0)], Wall()), InternalLine([(3.0, 3.0)], Discharge(0.4))]
    whole, cut, on = (made(kind, grid, bed, Boundaries(internal=lines), given) for _ in range(3))
    whole.advance(10.0, max_steps=6)
    cut.advance(10.0, max_steps=3)
    on.restore(cut.state())
    on.advance(10.0, max_steps=3)
    for field, other in zip(fields(whole), fields(on), strict=True):
        np.testing.assert_array_equal(field, other)
    assert whole.inflow == on.inflow


@pytest.mark.parametrize("kind", MODELS)
def test_several_devices(kind):
    """Discharges and walls run on several devices."""
    limit = 0.0 if kind == "explicit" else 1e-13  # the lines of thin slabs are joined to rounding
    grid, bed, given = rough(nx=5, ny=48 if kind == "explicit" else 124)
    pour = [InternalLine([(3.0, 3.0), (9.0, 60.0)], Discharge(0.4)), InternalLine([(7.0, 50.0)], Discharge(0.2))]
    one, two = (made(kind, grid, bed, Boundaries(internal=pour), given, device, 0.05) for device in ("cpu", "cpu,cpu"))
    for model in (one, two):
        model.advance(1.0)
    for field, other in zip(fields(one), fields(two), strict=True):
        assert np.abs(field - other).max() <= limit * np.abs(field).max()
    assert two.inflow == pytest.approx(one.inflow, rel=1e-14)
    assert one.inflow["internal 2"] == pytest.approx(0.2, rel=1e-12)
    again = made(kind, grid, bed, Boundaries(internal=pour), given, "cpu,cpu", 0.05)
    again.restore(two.state())
    assert again.inflow == two.inflow
    walls = Boundaries(internal=[InternalLine([(3.0, 0.0), (8.0, 70.0)], Wall())])
    one, two = (made(kind, grid, bed, walls, given, device, 0.05) for device in ("cpu", "cpu,cpu"))
    for model in (one, two):
        model.advance(1.0)
    for field, other in zip(fields(one), fields(two), strict=True):
        assert np.abs(field - other).max() <= limit * np.abs(field).max()
