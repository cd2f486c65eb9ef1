"""Maps gathered by the kernels of a GPU, simulated: those that the plain pass of the CPU gathers."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Maps, ShallowWater, ShallowWaterADI
from eagre.models.shallow_water import schedules
from kernels.conftest import options_of

pytestmark = pytest.mark.simulator
TOLERANCE = {"single": 1e-5, "double": 1e-13}
MAPS = Maps(
    ["max_surface_elevation", "max_depth", "time_of_max_depth", "max_speed", "max_unit_discharge", "max_hazard_rating",
     "hazard_class"],
    arrival_depths=[0.1], arrival_rises=[0.01], duration_depths=[0.02, 0.1], wet_depth=0.01,
)  # fmt: skip


def gathered(device, precision, until, **more):
    """Maps after some steps of which some are refused."""
    options = {**options_of(6, 4, seed=2), "time_step": None, "maps": MAPS, "precision": precision, **more}
    model = ShallowWater(device=device, **options)
    model.advance(until / 2)
    model.restore(model.state())
    model.advance(until)
    return model


@pytest.mark.parametrize(
    ("kernel", "precision", "scheme"),
    [
        ("march", "single", "rk2"),
        ("march", "double", "euler"),
        ("tiles", "double", "rk2"),
        ("sweeps", "double", "srk2"),
        ("sweeps", "single", "ds2"),
    ],
)
def test_simulated_maps_equal_the_cpu(kernel, precision, scheme, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = (gathered(device, precision, 0.1, scheme=scheme) for device in (SimulatedDevice(), "cpu"))
    assert ours.steps == theirs.steps >= 2
    expected = theirs.maps.sample()
    for name, values in ours.maps.sample().items():
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=TOLERANCE[precision], err_msg=name)
    assert not np.array_equal(expected["max_depth"], theirs.field("depth"))  # there is something to gather


@pytest.mark.parametrize("precision", ["single", "double"])
def test_simulated_maps_of_the_implicit_model_equal_the_cpu(precision):
    from eagre.backend.simulated import SimulatedDevice

    found = []
    for device in (SimulatedDevice(), "cpu"):
        options = options_of(6, 4, seed=2)
        for name in ("time_step", "desingularisation_depth"):
            del options[name]
        model = ShallowWaterADI(time_step=0.05, device=device, precision=precision, maps=MAPS, **options)
        model.advance(0.1)
        found.append(model.maps.sample())
    for name, values in found[0].items():
        np.testing.assert_allclose(values, found[1][name], rtol=0, atol=20 * TOLERANCE[precision], err_msg=name)
