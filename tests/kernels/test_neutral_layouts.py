"""Parameters of layouts that are declared bit-neutral change no bit: kernels in the simulator with two tables.

Rows of a march are not declared so: a card's compiler fuses products and sums otherwise where a march begins
(decision 0059). Formulas are the same, and the simulator fuses nothing: there they change no bit either.
"""

from __future__ import annotations

import numpy as np
import pytest

from eagre import ShallowWater
from eagre.layouts.declared import PARAMETERS
from kernels.conftest import BOUNDARIES, options_of

USUAL = {"march": {"longest": 4, "shortest": 4}, "boundary": {"threads": 64}, "balance": {"threads": 64}}
OTHER = {"march": {"longest": 2, "shortest": 2}, "boundary": {"threads": 32}, "balance": {"threads": 32}}


@pytest.mark.simulator
def test_marches_and_boundaries(own_layout):
    from eagre.backend.simulated import SimulatedDevice

    neutral = {
        kernel for kernel in OTHER for name in OTHER[kernel] if PARAMETERS[f"shallow-water.{kernel}.{name}"].neutral
    }
    assert neutral == {"boundary", "balance"}
    found = []
    for table in (USUAL, OTHER):
        own_layout(**{"shallow-water": {**table, "tiles": {"most": 0}}})
        model = ShallowWater(boundaries=BOUNDARIES["open"], device=SimulatedDevice(), **options_of(5, 7, 3))
        model.advance(0.02)
        found.append([model.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")])
        found[-1].append(np.array(list(model.inflow.values())))
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
