"""Potential-flow waves on a real card: the answers and the iterations of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem, select
from eagre.models.potential_waves.laplace import solver
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]


def stepped(device, shape, periodic, precision, steps=3):
    """Fields after steps, and the iterations that they took, over a bed with slopes."""
    ny, nx = shape
    x, y = np.meshgrid(np.arange(nx) / 32.0, np.arange(ny) / 32.0)
    wave = 2.0 * np.pi
    h = 0.25 + 0.3 * np.cos(wave * x) * np.cos(wave * y) / wave
    start = np.stack([0.02 * np.cos(wave * x), 0.05 * np.cos(wave * x) * np.cos(wave * y)])
    problem = LaplaceProblem(h, (1.0 / 32.0, 1.0 / 32.0), Vertical(9, 6), periodic, select(device), precision)
    problem.device.fill(problem.fields, start)
    run = Steps(problem, 9.81, 1e-6 if precision == "single" else 1e-12)
    iterations = sum(run.step(0.01) for _ in range(steps))
    return problem.device.host(problem.fields), iterations


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize(
    ("shape", "periodic"), [((33, 64), (False, True)), ((1, 65), (False, False)), ((193, 129), (False, False))]
)
def test_as_the_cpu(shape, periodic, precision):
    (ours, our_count), (theirs, their_count) = (stepped(d, shape, periodic, precision) for d in ("cuda", "cpu"))
    assert np.abs(ours - theirs).max() < (1e-6 if precision == "single" else 1e-12)
    assert abs(our_count - their_count) <= (3 if precision == "single" else 0)


@pytest.mark.parametrize(("nz", "order"), [(4, 2), (6, 4), (9, 8)])
def test_other_orders(nz, order):
    x, y = np.meshgrid(np.arange(65) / 32.0, np.arange(33) / 32.0)
    wave, found, norms = np.cos(2.0 * np.pi * x) * np.cos(2.0 * np.pi * y), [], []
    for device, plain in (("cuda", False), ("cpu", True)):
        problem = LaplaceProblem(
            0.25 + 0.02 * wave, (1 / 32, 1 / 32), Vertical(nz, order), (False, False), select(device), "double",
            plain=plain,
        )  # fmt: skip
        problem.device.fill(problem.fields, np.stack([0.01 * wave, 0.05 * wave]))
        problem.solve(1e-12)
        found.append(problem.device.host(problem.w))
        norms.append(problem.convergence.norms[:4])
    assert np.abs(found[0] - found[1]).max() < 1e-11
    assert norms[0] == pytest.approx(norms[1], rel=1e-6) and norms[0].size == 4


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("shape", [(1, 65), (97, 129)])
def test_conjugate_residuals_as_on_the_cpu(shape, precision):
    """Twice, so that directions of the solution before are forgotten; as many iterations within two."""
    x, y = np.meshgrid(np.arange(shape[1]) / 32.0, np.arange(shape[0]) / 32.0)
    h, found = 0.6 - 0.25 * np.tanh((x + 0.2 * y - 2.0) / 0.25), []
    wave = np.cos(2.0 * np.pi * x) * np.cos(2.0 * np.pi * y)
    for device in ("cuda", "cpu"):
        problem = LaplaceProblem(h, (1 / 32, 1 / 32), Vertical(9, 6), (False, False), select(device), precision)
        problem.device.fill(problem.fields, np.stack([0.01 * wave, wave]))
        small = 1e-6 if precision == "single" else 1e-12
        counts = [problem.solve(small).iterations]
        problem.device.fill(problem.psi, np.zeros(problem.psi.shape))
        counts.append(problem.solve(small).iterations)
        assert problem.convergence.method == "conjugate residuals" and 0.2 < problem.convergence.rate < 0.6
        found.append((problem.device.host(problem.w), counts))
    (ours, our_counts), (theirs, their_counts) = found
    assert np.abs(ours - theirs).max() < (1e-4 if precision == "single" else 1e-10)
    assert our_counts[0] == our_counts[1] and abs(our_counts[0] - their_counts[0]) <= 2


def test_the_same_bits_every_time():
    first, second = (stepped("cuda", (32, 64), (True, True), "single")[0] for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(("nz", "precision"), [(9, "double"), (9, "single"), (8, "double")])
def test_modes_of_16_bits_give_the_same_answers(monkeypatch, nz, precision):
    """In as many iterations; of 7 modes the last one has a word of its own."""
    x, y = np.meshgrid(np.arange(257) / 32.0, np.arange(193) / 32.0)
    wave, found = np.cos(2.0 * np.pi * x) * np.cos(2.0 * np.pi * y), []
    for large in (0, 10**9):
        monkeypatch.setattr(solver, "LARGE", large)
        problem = LaplaceProblem(
            0.25 + 0.02 * wave, (1 / 32, 1 / 32), Vertical(nz, 6), (False, False), select("cuda"), precision,
            correction="single",
        )  # fmt: skip
        assert problem.multigrid.paired == (large == 0)
        problem.device.fill(problem.fields, np.stack([0.01 * wave, 0.05 * wave]))
        made = problem.solve(1e-5 if precision == "single" else 1e-9)
        found.append((problem.device.host(problem.w), made.iterations))
    assert np.abs(found[0][0] - found[1][0]).max() < (1e-5 if precision == "single" else 1e-8)
    assert found[0][1] == found[1][1]
