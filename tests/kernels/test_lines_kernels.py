"""Discharge through lines by the kernels of a GPU, simulated: that of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import ShallowWater, ShallowWaterADI
from eagre.models.shallow_water import schedules
from kernels.conftest import options_of

LINES = {"across": [(3.2, 0.0), (3.2, 6.0)], "ring": [(1.0, 1.0), (5.0, 1.0), (5.0, 4.6), (1.0, 4.6), (1.0, 1.0)]}


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("kernel", "precision", "scheme"),
    [
        ("march", "double", "euler"),
        ("march", "single", "rk2"),
        ("tiles", "double", "rk2"),
        ("sweeps", "double", "srk2"),
        ("sweeps", "single", "ds2"),
        ("implicit", "double", ""),
    ],
)
def test_simulated_lines_equal_the_cpu(kernel, precision, scheme, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    found = []
    for device in (SimulatedDevice(), "cpu"):
        options = {**options_of(6, 4, seed=2), "device": device, "precision": precision, "cross_sections": LINES}
        if kernel == "implicit":
            del options["time_step"], options["desingularisation_depth"]
            model = ShallowWaterADI(time_step=0.05, **options)
        else:
            model = ShallowWater(**{**options, "time_step": None, "scheme": scheme})
            assert model.settings()["kernels"] == "fast"
        model.advance(0.1)
        found.append(list(model.cross_sections.volumes().values()))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol={"single": 1e-5, "double": 1e-13}[precision])
    assert abs(np.array(found[1])).min() > 1e-3
