"""Still water stays still, over any bed and any shore."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.laboratory.cases import lakes
from eagre.laboratory.validation.measures import water_of

LIMIT = {"single": 5e-6, "double": 1e-13}
LAKES = {"bump": lakes.lake_over_bump, "island": lakes.lake_with_island, "rough": lakes.rough_shores}


def after(case, steps, **options):
    model = case.model(**options)
    model.advance(1e9, max_steps=steps)
    assert model.steps == steps
    water = water_of(model)
    return float(np.hypot(water.discharge_x, water.discharge_y).max()), float(
        np.abs(water.depth - case.initial.depth).max()
    )


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", LAKES)
def test_lake_stays_at_rest(name, precision, device):
    flow, rise = after(LAKES[name](), 1000, device=device, precision=precision)
    assert flow < LIMIT[precision] and rise < LIMIT[precision]


@pytest.mark.parametrize(("precision", "limit"), [("single", 1e-6), ("double", 1e-15)])
def test_hydrostatic_treatment_balances_a_rough_shore(precision, limit, device):
    """What is left comes from dry cells, whose surface is their bed but for one rounding."""
    assert after(lakes.rough_shores(), 200, device=device, precision=precision)[0] < limit


@pytest.mark.parametrize("precision", ["single", "double"])
def test_kurganov_petrova_balances_only_what_is_wet(precision, device):
    options = {"device": device, "precision": precision, "wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01}
    assert after(lakes.lake_over_bump(), 1000, **options)[0] < LIMIT[precision]
    assert 1e-6 < after(lakes.lake_with_island(), 200, **options)[0] < 2e-2
