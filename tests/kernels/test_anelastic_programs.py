"""What is generated for a GPU from all that drives and mixes the air."""

from __future__ import annotations

import pytest

from anelastic_runs import RUNS
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.mean_profiles import MeanProfiles
from kernels.recording import RecordingDevice, doubles_of, name_of

NEW = {"add_push", "hold_x", "hold_y", "add_heat", "add_stress", "stress", "diffuse", "eddy_viscosity", "match_ground",
       "largest_mixing", "upward_flux", "add_drag", "dissipation", "add_tendency", "ends_x", "ends_y"}  # fmt: skip


@pytest.mark.parametrize("name", ["closed-hill", "closed-flat", "forced", "open"])
def test_no_double_arithmetic_in_single_precision(name):
    setup = RUNS[name](device="cpu").setup
    device = RecordingDevice()
    engine = Engine(setup, device, "single")
    device.run(engine.steps.explicit())
    if setup.closure is not None:
        engine.steps.fastest_mixing()
        MeanProfiles(engine, 0.0)
    found = {name_of(program): (program, signature) for program, signature in device.found.items()}
    for entry in NEW & set(found):
        assert doubles_of(*found[entry]) == (0, False), entry
    eddies = {"stress", "diffuse", "eddy_viscosity", "match_ground", "add_stress", "add_heat", "largest_mixing"}
    eddies |= {"upward_flux", "add_drag", "dissipation"}
    wanted = {"closed": eddies, "forced": {"add_push", "add_tendency"}, "open": {"hold_x", "hold_y", "add_push"}}
    assert wanted[name.partition("-")[0]] <= set(found)
