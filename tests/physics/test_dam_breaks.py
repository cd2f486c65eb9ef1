"""Dam breaks against Stoker's and Ritter's solutions."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.laboratory.cases import dam_breaks
from eagre.laboratory.validation.measures import run_case

KP = {"wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01}


@pytest.mark.parametrize(
    ("low", "options", "limits"),
    [
        (0.1, {}, (0.0045, 0.022)),
        (0.1, KP, (0.005, 0.025)),
        (0.0, {}, (0.0045, 0.026)),
        (0.0, KP, (0.0055, 0.026)),
    ],
    ids=["stoker", "stoker-kp", "ritter", "ritter-kp"],
)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_dam_break(low, options, limits, precision, device):
    run = run_case(dam_breaks.dam_break(200, 1.0, low), device=device, precision=precision, **options)
    assert run.depth.l1 < limits[0] and run.discharge.l1 < limits[1]


def test_default_desingularisation_does_not_brake_the_front(device):
    """A front on a dry bed converges with the defaults, too: a depth of 1 cm out of 1 m is too much."""
    case = dam_breaks.dam_break(400)
    case.options.pop("desingularisation_depth")
    run = run_case(case, device=device, precision="double")
    assert run.discharge.l1 < 0.02


def test_flumes_along_x_and_y_agree(device):
    x = run_case(dam_breaks.dam_break(100, 1.0, 0.1), device=device, precision="double").water
    y = run_case(dam_breaks.dam_break(100, 1.0, 0.1, along="y"), device=device, precision="double").water
    assert np.abs(x.depth - y.depth.T).max() < 1e-13
    assert np.abs(x.discharge_x - y.discharge_y.T).max() < 1e-13
    assert np.ptp(x.depth, axis=0).max() < 1e-13 and np.abs(x.discharge_y).max() == 0.0


@pytest.mark.parametrize(("precision", "limit"), [("single", 1e-5), ("double", 1e-12)])
def test_circular_dam_is_symmetric(precision, limit, device):
    water = run_case(dam_breaks.circular_dam(100, end_time=1.0), device=device, precision=precision).water
    for other in (water.depth.T, water.depth[::-1], water.depth[:, ::-1]):
        assert np.abs(water.depth - other).max() < limit
    assert np.abs(water.discharge_x - water.discharge_y.T).max() < limit
    assert np.abs(water.discharge_x + water.discharge_x[:, ::-1]).max() < limit
