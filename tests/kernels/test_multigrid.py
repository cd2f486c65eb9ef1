"""Multigrid cycles on a simulated GPU, in one block and by marches, do what the plain cells do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.solvers.multigrid import Multigrid, plan_cuda


@pytest.mark.simulator
def test_simulated_cycle():
    from eagre.backend.simulated import SimulatedDevice

    rng = np.random.default_rng(3)
    q, f, found = rng.uniform(0.5, 2.0, (3, 4)), rng.standard_normal((2, 3, 4)), []
    for device, plain in ((SimulatedDevice(), False), ("cpu", True)):
        solver = Multigrid(
            (3, 4), (0.1, 0.12), layers=[3.0, 30.0], screening=q, periodic=(False, True), device=device, plain=plain,
            factors=(1.3, 0.8),
        )  # fmt: skip
        solver.device.fill(solver.f, f)
        solver.device.run(solver.cycle_launches(from_zero=True))
        found.append(solver.device.host(solver.u))
    assert np.abs(found[0] - found[1]).max() < 1e-14


@pytest.mark.simulator
@pytest.mark.parametrize(("shape", "periodic"), [((9, 17), (False, False)), ((12, 20), (True, True))])
def test_simulated_march(shape, periodic, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    monkeypatch.setattr(plan_cuda, "SHORTEST", 8)
    monkeypatch.setattr(plan_cuda.CudaCycle, "_first_in_block", lambda self: 1)
    rng = np.random.default_rng(4)
    q, f, found = rng.uniform(0.5, 2.0, shape), rng.standard_normal((1, *shape)), []
    for device, plain in ((SimulatedDevice(), False), ("cpu", True)):
        known = {"layers": [2.5], "screening": q, "periodic": periodic, "device": device, "plain": plain}
        solver = Multigrid(shape, (0.1, 0.13), factors=(1.3, 0.8), **known)
        solver.device.fill(solver.f, f)
        launches = solver.cycle_launches(from_zero=True)
        solver.device.run(launches)
        found.append(solver.device.host(solver.u))
        assert plain or len(launches) == 3
    assert np.abs(found[0] - found[1]).max() < 1e-14


@pytest.mark.simulator
@pytest.mark.parametrize(("shape", "periodic", "layers"), [((9, 9), (False, False), 3), ((8, 16), (True, True), 2)])
def test_simulated_pairs_of_layers(shape, periodic, layers, monkeypatch):
    """Two layers in a word: each number of the answer is the nearest of 8 bits, of right sides that have no more."""
    from eagre.backend.simulated import SimulatedDevice

    monkeypatch.setattr(plan_cuda, "SHORTEST", 8)
    monkeypatch.setattr(plan_cuda.CudaCycle, "_first_in_block", lambda self: 1)
    rng = np.random.default_rng(4)
    q, halves = rng.uniform(0.5, 2.0, shape), rng.integers(0x3F00, 0x4000, (layers + layers % 2, *shape), np.uint32)
    f, words = np.ascontiguousarray(halves << 16).view(np.float32), halves[::2] | halves[1::2] << 16
    known: Any = {"layers": [2.5, 4.0, 3000.0][:layers], "screening": q, "periodic": periodic, "precision": "single"}
    device = SimulatedDevice().with_parameters({"solver:multigrid.march.warps": 1 + layers // 3}, "a test")
    pairs = Multigrid(shape, (0.1, 0.13), **known, device=device, paired=True)
    pairs.device.fill(pairs.f, words)
    pairs.device.run(pairs.cycle_launches(from_zero=True))
    plain = Multigrid(shape, (0.1, 0.13), **known, device="cpu", plain=True, paired=True)
    plain.device.fill(plain.f, f[:layers])
    plain.device.run(plain.cycle_launches(from_zero=True))
    found, expected = pairs.device.host(pairs.u), plain.device.host(plain.u)
    assert pairs.paired and not plain.paired and found.dtype == np.uint32
    for m in range(layers):
        ours = (found[m // 2] << np.uint32(16) if m % 2 == 0 else found[m // 2] & np.uint32(0xFFFF0000)).view(
            np.float32
        )
        assert (np.abs(ours - expected[m]) <= 2.0**-8 * np.abs(expected[m])).all()
    with pytest.raises(InputError, match="separate"):
        pairs.cycle_launches()
    pairs.separate()
    assert pairs.f.dtype == np.float32 and pairs.cycle_launches(from_zero=True)[0].arguments[0] is pairs.f


def test_threads_of_a_block_go_round_as_seldom_as_they_can():
    """A row of 17 of 129 points of a colour: three times with 43 threads each, of at most 1024."""
    assert plan_cuda.threads_of(17, 257) == (43, 17)
    assert plan_cuda.threads_of(1, 257) == (129, 1) and plan_cuda.threads_of(2, 2) == (1, 2)
    for shape in ((129, 129), (1, 4097), (4097, 1), (65, 33)):
        columns, rows = plan_cuda.threads_of(*shape)
        assert 0 < columns * rows <= 1024
