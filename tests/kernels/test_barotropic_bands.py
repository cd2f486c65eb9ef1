"""Kernels of one barotropic run over several GPUs: CUDA (simulated) = CPU; no double arithmetic in single precision."""

from __future__ import annotations

import re

import numpy as np
import pytest

from barotropic_runs import CASES, assert_same_states, model_on, run_out_of_step
from eagre import Layers
from eagre.backend.group import Group

SIMULATED = {
    "single": {**CASES["ab2"], "precision": "single"},
    "partial slip": {**CASES["no-slip"], "slip_length": 0.2, "wide": 2},
    "changing wind": CASES["changing wind"],
    "layers, tracer": {"layers": Layers(3.0, 1.0), "potential_vorticity_lower": 3.0, "dye": True},
    "implicit": CASES["implicit"],
    "all terms": {**CASES["all terms"], "biharmonic": 1e-5},
}


@pytest.mark.simulator
@pytest.mark.parametrize("options", SIMULATED.values(), ids=SIMULATED)
def test_simulated_bands_equal_the_cpu(options, monkeypatch, own_layout):
    from eagre.backend.simulated import SimulatedDevice

    options = {"nx": 17, "ny": 12, "time_step": 1e-3, **options}
    monkeypatch.setattr(Group, "run", run_out_of_step)  # buffers are shared otherwise than on the CPU
    own_layout(**{"solver:poisson": {"tiles": {"wide_from": options.pop("wide", 1024)}}})
    ours, theirs = (model_on(device, **options) for device in ([SimulatedDevice() for _ in range(2)], "cpu"))
    for model in (ours, theirs):
        model.advance(2e-3)
    assert_same_states(ours, theirs, 2e-6 if options.get("precision") == "single" else 1e-14)


@pytest.mark.simulator
def test_sizes_without_kernels_are_refused(monkeypatch):
    from eagre.backend.simulated import SimulatedDevice
    from eagre.errors import InputError
    from eagre.models.barotropic import engine

    monkeypatch.setattr(engine.Box, "serves", lambda *size: False)
    with pytest.raises(InputError, match="points along x"):
        model_on([SimulatedDevice(), SimulatedDevice()], nx=17, ny=21)


def test_joining_has_no_double_arithmetic_in_single_precision():
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    from numba import types

    from eagre.backend.compilation.program import load, source_of
    from eagre.backend.cuda.compiler import ptx
    from eagre.solvers.poisson.slabs import join_bands_cuda

    real = types.float32
    program = load(source_of(join_bands_cuda, "cuda", "single", {"WIDTH": 8}), "join_bands_cuda").join_bands_cuda
    text = ptx(program, (real[:, :, ::1], real[:, ::1], real[:, :, ::1], real[::1], types.int32[:, ::1], types.int32))
    assert not re.findall(r"\.f64", text) and ".local" not in text


def test_pieces_hold_every_row_that_is_felt():
    from eagre.solvers.poisson.slabs import coupled_row_blocks

    width, rows, far, threads, rng = 8, 1000, 18.0, 256, np.random.default_rng(0)
    decay = np.sort(rng.uniform(0.001, 2.0, 64 * width))
    touched = np.zeros((64, rows), bool)
    for tile, start in coupled_row_blocks(decay, width, rows, far, threads):
        assert not touched[tile, start]
        touched[tile, start : start + threads // width] = True
    t = np.arange(rows)
    nearest = np.minimum(t + 1, rows - t)
    felt = decay.reshape(64, width).min(axis=1)[:, None] * nearest < far
    assert (touched | ~felt).all() and touched.mean() < felt.mean() + 2 * threads / width / rows
