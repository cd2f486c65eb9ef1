"""Grids one to three cells wide, where every cell lies at a side, rough and under water, partly or wholly."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from oracle.shallow_water import DepthOracle


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 9), (9, 2), (3, 40), (40, 3), (3, 300)])
@pytest.mark.parametrize("level", [0.3, 1.2])
def test_narrow_grids_equal_the_oracle(shape, level):
    """Rows that water covers beside rows with shores: the first half is deep, the second partly dry (0.3) or not."""
    rng = np.random.default_rng(11)
    ny, nx = shape
    grid = eagre.Grid(nx, ny, 1.0, 1.5)
    bed = rng.uniform(-0.3, 0.8, grid.shape_of("corner"))
    bed[: ny // 2 + 1] -= 1.5
    bed = np.ldexp(np.round(np.ldexp(bed, 30)), -30)
    reference = DepthOracle(bed, 1.0, 1.5, kappa=0.01, manning=0.02)
    depth = np.maximum(level + 0.1 * rng.standard_normal(shape) - reference.bed_centre, 0.0)
    u, v = 0.5 * rng.standard_normal((2, *shape))
    model = eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, velocity_y=v, manning=0.02, desingularisation_depth=0.01,
        time_step_control="exact", device="cpu", precision="double",
    )  # fmt: skip
    q = np.stack([depth, depth * u, depth * v])
    for _ in range(6):
        model.advance(1e9, max_steps=1)
        q = reference.step(q)
        assert model.time == pytest.approx(reference.time, rel=1e-11)
        for name, expected in zip(("depth", "discharge_x", "discharge_y"), q, strict=True):
            wet = q[0] > 1e-4
            assert np.abs(np.where(wet, model.field(name) - expected, 0.0)).max() < 1e-10


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("end", [0, -1])
def test_a_face_on_any_side_sets_the_time_step(axis, end):
    """The fastest water stands at one side, and runs along the normal of it; cells are not square."""
    shape = (9, 11)
    velocity = np.zeros((2, *shape))
    np.moveaxis(velocity[1 - axis], axis, 0)[end] = 3.0
    sizes = (1.0, 1.5)
    model = eagre.ShallowWater(
        eagre.Grid(11, 9, *sizes), -1.0, surface_elevation=0.0, velocity_x=velocity[0], velocity_y=velocity[1],
        boundaries=eagre.Boundaries(), time_step_control="exact", device="cpu", precision="double",
    )  # fmt: skip
    reference = DepthOracle(np.full((10, 12), -1.0), *sizes, kappa=1e-4)
    depth = np.ones(shape)
    q = reference.step(np.stack([depth, *velocity]))
    model.advance(1e9, max_steps=1)
    assert q.shape == (3, *shape)
    assert model.time == pytest.approx(reference.time, rel=1e-13)


def test_the_side_to_the_south_alone_sets_the_time_step():
    """A high stage outside: nothing inside has a rate but the faces on that side."""
    for side in ("west", "east", "south", "north"):
        model = eagre.ShallowWater(
            eagre.Grid(8, 8, 1.0, 1.0), 0.0, depth=0.0, boundaries=eagre.Boundaries(**{side: eagre.Stage(2.0)}),
            time_step_control="exact", max_time_step=10.0, device="cpu", precision="double",
        )  # fmt: skip
        model.advance(1e9, max_steps=1)
        assert 0.01 < model.time < 0.25 / np.sqrt(9.81 * 1.0), side
