"""The model in double precision equals the plain NumPy reference to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from oracle.shallow_water import ShallowWaterOracle

SIDES = {"wall": eagre.Wall, "periodic": eagre.Periodic}
FILMS = True  # as the model's cells are now; True with the thin-film terms of the reference


def pools(rng, deepest):
    """Random bed and water, from 1e-6 m up, that moves; the bed is periodic."""
    grid = eagre.Grid(33, 26, 1.0, 1.5)
    bed = rng.standard_normal(grid.shape_of("corner"))
    bed[-1], bed[:, -1] = bed[0], bed[:, 0]
    depth = np.maximum(rng.standard_normal(grid.shape), 0) * 10.0 ** rng.uniform(-6, deepest, grid.shape)
    return grid, bed, depth, *(2.0 * rng.standard_normal((2, *grid.shape)))


@pytest.mark.parametrize("treatment", ["hydrostatic", "kurganov-petrova"])
@pytest.mark.parametrize("scheme", ["rk2", "euler"])
@pytest.mark.parametrize("side", ["wall", "periodic"])
@pytest.mark.parametrize("manning", [0.0, 0.03])
def test_model_equals_the_reference(rng, treatment, scheme, side, manning, device):
    grid, bed, depth, u, v = pools(rng, 0.5)
    sides = {name: side for name in ("west", "east", "south", "north")}
    reference = ShallowWaterOracle(
        bed, 1.0, 1.5, wet_dry=treatment, scheme=scheme, kappa=0.01, manning=manning, sides=sides, films=FILMS
    )
    q = np.stack([reference.bed_centre + depth, depth * u, depth * v])
    model = eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, velocity_y=v, wet_dry=treatment, scheme=scheme, manning=manning,
        boundaries=eagre.Boundaries(*(SIDES[side]() for _ in range(4))), desingularisation_depth=0.01,
        time_step_control="exact", device=device, precision="double",
    )  # fmt: skip
    for steps in (1, 10):
        model.advance(1e9, max_steps=steps)
        for _ in range(steps):
            q = reference.step(q)
        assert model.time == pytest.approx(reference.time, rel=1e-12)
        assert np.abs(model.field("depth") - reference.depth(q)).max() < (1e-10 if steps == 1 else 1e-9)
        for name, expected in (("discharge_x", q[1]), ("discharge_y", q[2])):
            wet = reference.depth(q) > 1e-4
            assert np.abs(np.where(wet, model.field(name) - expected, 0.0)).max() < (1e-10 if steps == 1 else 1e-9)
