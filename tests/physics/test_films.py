"""Thin water on rough, steep ground: rain runs off as fast as it falls."""

from __future__ import annotations

import numpy as np
import pytest

import eagre


def test_rain_runs_down_a_rough_slope(device):
    """In the steady state the unit discharge of a cell is the rain that fell uphill of it.

    The bed drops 1 m a cell with 0.2 m of noise (no pits); the film is 7 mm deep.
    """
    rng = np.random.default_rng(2)
    grid = eagre.Grid(30, 4, 10.0, 10.0)
    bed = np.repeat((0.1 * (300.0 - grid.x_corner) + 0.2 * rng.uniform(-1, 1, 31))[None], 5, 0)
    rain = 2e-5
    model = eagre.ShallowWater(
        grid, bed, depth=0.0, manning=0.03, sources=[eagre.Rain(rain)], max_time_step=1.0,
        boundaries=eagre.Boundaries(east=eagre.Outflow()), desingularisation_depth=1e-4,
        device=device, precision="double",
    )  # fmt: skip
    model.advance(600.0)
    found = model.field("discharge_x")[1, 5:-2].mean() / (rain * grid.x[5:-2]).mean()
    assert found == pytest.approx(1.0, abs=0.15)
