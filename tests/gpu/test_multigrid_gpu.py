"""Multigrid on a real card: the answers and the cycles of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem
from eagre.solvers.multigrid import Multigrid

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("shape", "periodic"), [((65, 129), (False, False)), ((64, 97), (True, False)), ((1, 96), (False, True))]
)
def test_as_the_cpu(shape, periodic, precision):
    rng = np.random.default_rng(0)
    q, f = rng.uniform(0.8, 1.2, shape), rng.standard_normal((3, *shape))
    found = [
        Multigrid(
            shape, (0.1, 0.1), layers=[2.5, 20.0, 60.0], screening=q, periodic=periodic, device=device,
            precision=precision,
        ).solve(f)
        for device in ("cuda", "cpu")
    ]  # fmt: skip
    allowed = 1e-5 if precision == "single" else 1e-13
    assert np.abs(found[0][0] - found[1][0]).max() < allowed * np.abs(found[1][0]).max()
    assert found[0][1].iterations == found[1][1].iterations


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((17, 32), (False, True)), ((129, 257), (False, False)), ((128, 320), (True, True)), ((257, 161), (False, False)),
     ((192, 65), (True, False)), ((321, 257), (False, False)), ((1, 40001), (False, False))],
)  # fmt: skip
def test_a_cycle_from_zero_is_that_of_the_plain_cells(shape, periodic, precision):
    rng = np.random.default_rng(2)
    q, f, found = rng.uniform(0.8, 1.2, shape), rng.standard_normal((5, *shape)), []
    for plain in (False, True):
        solver = Multigrid(
            shape, (0.1, 0.1), layers=[2.5, 20.0, 60.0, 400.0, 3000.0], screening=q, periodic=periodic, device="cuda",
            precision=precision, plain=plain,
        )  # fmt: skip
        solver.device.fill(solver.f, f.astype(solver.real))
        solver.device.run(solver.cycle_launches(from_zero=True))
        found.append(solver.device.host(solver.u))
    allowed = 1e-6 if precision == "single" else 1e-14
    assert np.abs(found[0] - found[1]).max() < allowed * np.abs(found[1]).max()


def test_the_same_bits_every_time():
    f = np.random.default_rng(1).standard_normal((2, 64, 64)).astype(np.float32)
    solver = Multigrid(
        (64, 64), (0.1, 0.1), layers=[2.5, 20.0], periodic=(True, True), device="cuda", precision="single"
    )
    assert np.array_equal(solver.solve(f)[0], solver.solve(f)[0])
