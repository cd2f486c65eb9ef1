"""Columns of potential-flow waves on a simulated GPU do what the plain cells do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.backend.group import Group
from eagre.models.potential_waves.laplace import arrays, columns_cuda, iteration, solver, solver_subdomains
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.solver_subdomains import DistributedLaplace
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps


def problem_of(device, shape, periodic, correction="double", preconditioner="modes"):
    """Over a bed with slopes, under a wave."""
    ny, nx = shape
    x, y = np.meshgrid(np.arange(nx) / 8.0, np.arange(ny) / 8.0)
    h = 0.5 + 0.1 * np.cos(2.0 * np.pi * x) * np.cos(np.pi * y)
    vertical = Vertical(4, 2)
    kinds: Any = {"correction": correction, "preconditioner": preconditioner}
    problem = LaplaceProblem(h, (0.125, 0.125), vertical, periodic, device, "double", **kinds)
    wave = np.cos(2.0 * np.pi * x)
    device.fill(problem.fields, np.stack([0.02 * wave, 0.05 * wave * np.cos(np.pi * y)]))
    return problem


def solved(device, shape, periodic, **more):
    """w~, and the iterations."""
    problem = problem_of(device, shape, periodic, **more)
    made = problem.solve(1e-3)
    return device.host(problem.w), made.iterations


@pytest.mark.simulator
@pytest.mark.parametrize(("shape", "periodic"), [((5, 8), (False, True)), ((1, 9), (False, False))])
def test_simulated_columns(shape, periodic):
    from eagre.backend.simulated import SimulatedDevice

    (ours, our_count), (theirs, their_count) = (
        solved(one, shape, periodic) for one in (SimulatedDevice(), PlainDevice())
    )
    assert np.abs(ours - theirs).max() < 1e-14
    assert our_count == their_count > 2


@pytest.mark.simulator
def test_simulated_conjugate_residuals(monkeypatch):
    """More iterations than directions are kept, on one device and on two, whose bits are those of one."""
    from eagre.backend.simulated import SimulatedDevice

    small = {
        "THREADS": (8, iteration, solver, solver_subdomains),
        "KEPT": (1, iteration),
        "SLOTS": (2, iteration),
    }
    small |= {"FACTORS": (6, iteration), "NUMBERS": (8, iteration), "TILE": ((4, 8), arrays)}
    small |= {"LINE": (8, columns_cuda), "SUMMED": (8, columns_cuda)}  # simulated threads are slow
    for name, (value, *modules) in small.items():
        for module in modules:
            monkeypatch.setattr(module, name, value)
    x, y, found = np.arange(5) / 8.0, np.arange(9)[:, None] / 8.0, []
    h = 0.5 - 0.2 * np.tanh((y + 0.3 * x - 0.5) / 0.2)
    fields = np.stack([np.zeros(h.shape), np.cos(2.0 * np.pi * y) + 0.0 * x])
    devices = PlainDevice(), SimulatedDevice(), Group([SimulatedDevice() for _ in range(2)])
    kinds: Any = LaplaceProblem, LaplaceProblem, DistributedLaplace
    for device, kind in zip(devices, kinds, strict=True):
        problem = kind(h, (0.125, 0.125), Vertical(4, 2), (False, False), device, "double")
        problem.device.fill(problem.fields, fields)
        made = problem.solve(1e-3)
        assert problem.convergence.method == "conjugate residuals" and made.iterations > iteration.SLOTS
        found.append((problem.device.host(problem.psi)[:-1], made.iterations, problem.convergence.rate))
    (plain, count, rate), (one, one_count, one_rate), (two, *_) = found
    assert np.abs(one - plain).max() < 1e-13 and one_count == count and one_rate == pytest.approx(rate, rel=1e-6)
    np.testing.assert_array_equal(two, one)


@pytest.mark.simulator
def test_simulated_lines():
    """Psi below the bottom is an unknown there."""
    from eagre.backend.simulated import SimulatedDevice

    (ours, our_count), (theirs, their_count) = (
        solved(one, (1, 9), (False, False), preconditioner="lines") for one in (SimulatedDevice(), PlainDevice())
    )
    assert np.abs(ours - theirs).max() < 1e-14
    assert our_count == their_count > 2


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("shape", "periodic", "vertical", "tile"),
    [
        ((16, 16), (False, True), Vertical(4, 2), (4, 4)),  # some tiles are at no end
        ((4, 6), (False, True), Vertical(7, 6), (8, 32)),  # a tile has more than a mirror image of the grid
        ((14, 13), (True, False), Vertical(9, 8), (12, 32)),
    ],
)
def test_simulated_tiles(monkeypatch, shape, periodic, vertical, tile):
    """The bottom condition in a tile, in its rim, and where a tile goes on beyond an end of the grid."""
    from eagre.backend.simulated import SimulatedDevice

    for name in ("TILE", "TALL"):
        monkeypatch.setattr(arrays, name, tile)
    found, rng = [], np.random.default_rng(0)
    h, psi = 0.5 + 0.1 * rng.random(shape), rng.standard_normal((vertical.nz, *shape))
    h[:, : shape[1] // 2] = 0.5  # where the bed is level a rim needs no differences
    for device in (SimulatedDevice(), PlainDevice()):
        problem = LaplaceProblem(h, (0.5, 0.5), vertical, periodic, device, "double")
        device.fill(problem.fields, 0.1 * psi[:2])
        device.fill(problem.psi[1:], psi)
        problem.go_on()
        device.run([*problem.start(), *problem.defect()])
        found.append(device.host(problem.multigrid.f))
    assert np.abs(found[0] - found[1]).max() < 1e-13 * np.abs(found[1]).max()


@pytest.mark.simulator
def test_simulated_single_corrections():
    """One of them: what it adds is right to single precision, and is added in double precision."""
    from eagre.backend.simulated import SimulatedDevice

    found = []
    for device in (SimulatedDevice(), PlainDevice()):
        problem = problem_of(device, (1, 9), (False, False), "single")
        problem.go_on()
        device.run([*problem.start(), *problem.iteration(1.0)])
        found.append(device.host(problem.psi)[:-1])
    assert found[0].dtype == np.float64 and problem.multigrid.f.dtype == np.float32
    assert np.abs(found[0] - found[1]).max() < 1e-6 * np.abs(found[1]).max()


@pytest.mark.simulator
def test_simulated_modes_of_16_bits(monkeypatch):
    """One correction: right to 8 bits; of three modes the last has a word of its own."""
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.multigrid import plan_cuda as cycles

    monkeypatch.setattr(solver, "LARGE", 1)
    monkeypatch.setattr(cycles, "SHORTEST", 8)
    monkeypatch.setattr(cycles.CudaCycle, "_first_in_block", lambda self: 1)
    found = []
    for device in (SimulatedDevice().with_parameters({"solver:multigrid.march.warps": 2}, "a test"), PlainDevice()):
        problem = problem_of(device, (9, 9), (False, False), "single")
        problem.go_on()
        device.run([*problem.start(), *problem.iteration(1.0)])
        found.append((device.host(problem.psi)[:-1], problem.multigrid.paired))
    (ours, ours_are), (theirs, theirs_are) = found
    assert ours_are and not theirs_are
    assert 1e-6 < np.abs(ours - theirs).max() / np.abs(theirs).max() < 2.0**-7


@pytest.mark.simulator
def test_conjugate_residuals_carry_whole_words(monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    monkeypatch.setattr(solver, "LARGE", 1)
    monkeypatch.setattr(SimulatedDevice, "run", lambda self, launches: None)
    problem = LaplaceProblem(
        np.ones((257, 257)),
        (0.1, 0.1),
        Vertical(4, 2),
        (False, False),
        SimulatedDevice(),
        "double",
        correction="single",
    )
    weighted = problem.iteration(1.0)
    assert problem.multigrid.paired and weighted[-1].arguments[0].dtype == np.uint32
    iteration.ConjugateResiduals(problem)
    assert [launch.arguments[0].dtype for launch in problem.correction()] == [np.float32]
    assert problem.multigrid.f.shape == (3, 257, 257) and weighted[-1].arguments[0].dtype == np.uint32


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("precision", "correction", "most"),
    [("single", "single", 31.0), ("double", "single", 46.0), ("double", "double", 61.0)],
)
def test_bytes_an_unknown(precision, correction, most, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    device, count = SimulatedDevice(), [0]
    made = SimulatedDevice.zeros

    def zeros(self, shape, dtype):
        count[0] += int(np.prod(shape)) * np.dtype(dtype).itemsize
        return made(self, shape, dtype)

    monkeypatch.setattr(SimulatedDevice, "zeros", zeros)
    monkeypatch.setattr(SimulatedDevice, "run", lambda self, launches: None)
    shape = (385, 385)
    vertical, periodic = Vertical(9, 6), (False, False)
    problem = LaplaceProblem(np.ones(shape), (0.1, 0.1), vertical, periodic, device, precision, correction=correction)
    Steps(problem, 9.81, 1e-6)
    assert 16.0 < count[0] / (8 * shape[0] * shape[1]) < most


@pytest.mark.nojit
def test_weights_of_a_kernel_are_made_once(monkeypatch):
    """With 17 layers its text took two minutes when every weight was asked for anew."""
    count, made = [0], Vertical._derivative

    def counted(self, derivative):
        count[0] += 1
        return made(self, derivative)

    monkeypatch.setattr(Vertical, "_derivative", counted)
    vertical = Vertical(7, 4)
    columns_cuda.residual_cell(vertical, True, vertical.modes().to_modes, (8, 32), ("single", "single"))
    assert count[0] == 2
