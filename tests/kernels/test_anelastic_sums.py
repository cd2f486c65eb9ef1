"""Sums and extremes of the anelastic model as a GPU's programs, compiled without one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import eagre
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.sampling.extremes import Maxima
from eagre.models.anelastic.sampling.mean_profiles import MeanProfiles
from eagre.models.anelastic.step_kernels import Slopes, Velocity
from kernels.recording import RecordingDevice, doubles_of, name_of


def engine_of(device, precision, hill) -> Any:
    """As much of an engine as measures, on a device that runs nothing."""
    grid = eagre.Grid.from_points(8, 6, 800.0, 600.0, periodic=(True, True))
    ground = 50.0 * np.exp(-(((grid.x - 400.0) / 100.0) ** 2)) * np.ones((6, 1)) if hill else None
    model = eagre.AnelasticFlow(
        grid, 5, top_height=400.0, atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.01), scalars={"dye": 0.0},
        terrain_height=ground, device="cpu", precision=precision,
    )  # fmt: skip
    own = model.engine
    present = {name: device.array(array) for name, array in own.steps.fields.present.items()}
    fields = SimpleNamespace(velocity=Velocity(*(present[name] for name in "uvw")), present=present)
    steps = SimpleNamespace(previous_dt=1.0, fields=fields, projection=SimpleNamespace(phi=device.array(present["u"])))
    slopes = Slopes(**own.metric.arrays(device, precision))
    return SimpleNamespace(
        setup=own.setup,
        device=device,
        precision=precision,
        real=own.real,
        steps=steps,
        slopes=slopes,
        counts=own.counts,
        subdomains=[SimpleNamespace(device=device, setup=own.setup, fields=fields, slopes=slopes)],
    )


@pytest.mark.parametrize("hill", [False, True])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_averages_are_in_double_precision_and_in_registers(precision, hill):
    device = RecordingDevice()
    MeanProfiles(engine_of(device, precision, hill), 0.0)
    found = {name_of(program): doubles_of(program, signature) for program, signature in device.found.items()}
    assert set(found) == {"sum_field", "sum_wind", "sum_carried", "average", "set_shear", "accumulate"}
    assert all(doubles > 0 and not local for doubles, local in found.values()), found


@pytest.mark.parametrize("hill", [False, True])
def test_extremes_have_no_double_arithmetic_in_single_precision(hill):
    device = RecordingDevice()
    engine = engine_of(device, "single", hill)
    Maxima(lambda: engine).sample()
    found = {name_of(program): doubles_of(program, signature) for program, signature in device.found.items()}
    assert set(found) == {"max_wind", "max_value", "max_of_row"}
    assert all(counts == (0, False) for counts in found.values()), found
