"""What is generated for a GPU from all that drives and mixes the air."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import RUNS
from eagre.backend.group import Group
from eagre.backend.peer_copies import copy_launches
from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.mean_profiles import MeanProfiles
from kernels.recording import RecordingDevice, doubles_of, name_of

NEW = {"add_push", "hold_x", "hold_y", "add_heat", "add_stress", "stress", "diffuse", "eddy_viscosity", "match_ground",
       "max_decay_rate", "upward_flux", "add_drag", "dissipation", "add_tendency", "ends_x", "ends_y",
       "stress_column", "diffuse_column", "eddy_column"}  # fmt: skip


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
    eddies = {"stress", "diffuse", "eddy_viscosity"}
    if not setup.terrain:
        eddies = {"stress_column", "diffuse_column", "eddy_column"}
    eddies |= {"match_ground", "add_stress", "add_heat", "max_decay_rate", "upward_flux", "add_drag", "dissipation"}
    wanted = {"closed": eddies, "forced": {"add_push", "add_tendency"}, "open": {"hold_x", "hold_y", "add_push"}}
    assert wanted[name.partition("-")[0]] <= set(found)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_programs_of_bands_compile(precision):
    """What several GPUs run over flat ground, and the copies that turn modes; these do no arithmetic."""
    setup = decaying_turbulence(16, "solenoidal", device="cpu").setup
    members = [RecordingDevice(), RecordingDevice()]
    engine = Engine(setup, Group(members), precision)
    engine.device.run([*engine.steps.explicit(), *engine.steps.projection.launches])
    rows = np.zeros((2, 6, 7), np.complex64 if precision == "single" else np.complex128)
    turned = np.zeros((2, 7, 9), rows.dtype).transpose(0, 2, 1)[:, 2:8]
    for pairs in ([(turned, rows)], [(rows, turned)] * 6):  # one launch, two
        members[0].run(copy_launches(members[0], pairs))
    turns = [one for one in members[0].found.items() if name_of(one[0]) == "transpose_cuda"]
    assert len(turns) == 3 and all(doubles_of(*one) == (0, False) for one in turns)
    found = {name_of(program): (program, signature) for program, signature in members[0].found.items()}
    wanted = ("faces_cuda", "divergence_cuda", "residual_cuda", "wind_cuda", "transpose_cuda")
    made = {name: doubles_of(*found[name]) for name in wanted}
    assert made["transpose_cuda"] == (0, False) and not any(spills for _, spills in made.values())
