"""Closed basins keep their water, and no depth is negative."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.laboratory.cases import amundsen2014

MASS = {"single": 2e-5, "double": 1e-13}
TREATMENTS = [("hydrostatic", 1e-4), ("kurganov-petrova", 1e-2)]


@pytest.mark.parametrize(("scheme", "precision"), [("rk2", "single"), ("rk2", "double"), ("euler", "double")])
@pytest.mark.parametrize(("treatment", "kappa"), TREATMENTS)
def test_pools_on_a_random_bed(rng, treatment, kappa, scheme, precision, device):
    grid = eagre.Grid(41, 37, 1.0, 1.5)
    bed = rng.standard_normal(grid.shape_of("corner"))
    depth = np.maximum(rng.standard_normal(grid.shape), 0) * 10.0 ** rng.uniform(-6, 0.5, grid.shape)
    u, v = 3.0 * rng.standard_normal((2, *grid.shape))
    options = {"wet_dry": treatment, "desingularisation_depth": kappa, "scheme": scheme}
    model = eagre.ShallowWater(
        grid, bed, depth=depth, velocity_x=u, velocity_y=v, device=device, precision=precision, **options
    )
    model.advance(1e9, max_steps=100)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < MASS[precision]
    assert facts["min_depth"] >= (-1e-6 if precision == "single" else -1e-14)
    assert np.isfinite(model.field("discharge_x")).all()


@pytest.mark.parametrize("precision", ["single", "double"])
def test_dry_circular_dam(precision, device):
    model = amundsen2014.circular_dam_dry(125).model(device=device, precision=precision, desingularisation_depth=1e-4)
    model.advance(2.0)
    facts = model.diagnostics()
    assert abs(facts["volume_error"]) < MASS[precision] and facts["min_depth"] >= 0.0
    assert facts["max_depth"] < 2.5 and 0.2 < facts["wet_fraction"] < 1.0
