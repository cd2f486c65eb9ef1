"""The Laplace problem in bands on simulated GPUs: the bits of one, also where fine grids of the cycle are in bands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eagre.backend.device import Launch
from eagre.backend.group import Group, LocalTransport
from eagre.models.potential_waves.laplace import arrays, columns_cuda, solver
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.solver_subdomains import DistributedLaplace
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.solvers.multigrid import distributed, plan_cuda


def problem_of(device, shape, periodic, dy=0.125, **more):
    """Over a bed with slopes, under a wave."""
    ny, nx = shape
    x, y = np.meshgrid(np.arange(nx) / 8.0, np.arange(ny) * dy)
    h = 0.9 + 0.1 * np.cos(2.0 * np.pi * x) * np.cos(2.6 * y)
    kind: Any = DistributedLaplace if isinstance(device, Group) else LaplaceProblem
    problem = kind(h, (dy, 0.125), Vertical(4, 2), periodic, device, "double", **more)
    wave = np.cos(2.0 * np.pi * x) + 0.3 * np.sin(0.7 * y)
    problem.device.fill(problem.fields, np.stack([0.02 * wave, 0.05 * wave * np.cos(np.pi * y)]))
    return problem


def corrected(problem, count=2):
    """Psi and w~ after some corrections, and the norm of the last."""
    problem.go_on()
    problem.device.run(problem.start())
    for _ in range(count):
        problem.device.run(problem.iteration(0.8))
    norm = problem.norm()
    problem.device.run(problem.end())
    return problem.device.host(problem.psi), problem.device.host(problem.w), norm


@pytest.fixture
def marches(monkeypatch):
    """Grids of 8 points a side are marched over, those below 60 points are left to one block."""
    monkeypatch.setattr(plan_cuda, "SHORTEST", 8)
    monkeypatch.setattr(distributed, "GATHERED", 0)
    for module, name, size in ((columns_cuda, "SUMMED", 32), (columns_cuda, "LINE", 32), (arrays, "TILE", (4, 8))):
        monkeypatch.setattr(module, name, size)  # simulated threads are slow

    def first(cycle):
        return next(n for n, grid in enumerate(cycle._grids) if grid.shape[0] * grid.shape[1] < 60)

    monkeypatch.setattr(plan_cuda.CudaCycle, "_first_in_block", first)


def same(ours, theirs):
    """Whether both find the same."""
    (psi, w, norm), (other_psi, other_w, other_norm) = corrected(ours), corrected(theirs)
    np.testing.assert_array_equal(psi[:-1], other_psi[:-1])
    np.testing.assert_array_equal(w, other_w)
    assert norm == pytest.approx(other_norm, rel=1e-14)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("shape", "periodic", "count", "first", "correction"),
    [
        ((33, 16), (False, True), 2, 2, "double"),
        ((32, 9), (True, False), 3, 1, "double"),
        ((25, 8), (False, True), 3, 1, "single"),  # of 16 bits
    ],
)
def test_fine_grids_in_bands(marches, monkeypatch, shape, periodic, count, first, correction):
    from eagre.backend.simulated import SimulatedDevice

    monkeypatch.setattr(solver, "LARGE", 1)
    one, group = SimulatedDevice(), Group([SimulatedDevice() for _ in range(count)])
    ours, theirs = (problem_of(device, shape, periodic, correction=correction) for device in (group, one))
    assert ours.multigrid.decomposition.first == first
    assert {part.paired for part in (*ours.multigrid.fine, theirs.multigrid)} == {correction == "single"}
    assert ours.multigrid.visiting > 0 and ours.multigrid.fine[0].used == theirs.multigrid.used
    stages = [*ours.start(), *ours.iteration(0.8), *ours.end()]
    launches = [one for stage in stages for launches in stage for one in launches if isinstance(one, Launch)]
    assert {type(n) for one in launches for n in (*one.grid, *one.block)} == {int}  # not NumPy's
    same(ours, theirs)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("shape", "dy", "more"),
    [
        ((17, 16), 0.4, {}),  # x alone is halved first: nothing but colours asks for even rows
        ((36, 8), 0.125, {"multigrid": {"pre": 2, "post": 2}}),
    ],
)
def test_other_grids_and_cycles_in_bands(marches, shape, dy, more):
    from eagre.backend.simulated import SimulatedDevice

    periodic, one, group = (shape[0] % 2 == 0, True), SimulatedDevice(), Group([SimulatedDevice()] * 2)
    ours, theirs = (problem_of(device, shape, periodic, dy, **more) for device in (group, one))
    assert ours.multigrid.decomposition.first > 0 and ours.multigrid.visiting > 0
    same(ours, theirs)


@pytest.mark.simulator
@pytest.mark.parametrize("lost", ["psi", "halo"])
def test_what_is_lost_shows(marches, monkeypatch, lost):
    from eagre.backend.simulated import SimulatedDevice

    exchange, halo = LocalTransport.exchange, distributed.GridDecomposition._halo
    if lost == "halo":  # by a row and what grids in bands need to nest
        monkeypatch.setattr(distributed.GridDecomposition, "_halo", lambda cut, first: halo(cut, first) - 2)
    else:
        monkeypatch.setattr(
            LocalTransport, "exchange", lambda self, messages: exchange(self, [m for m in messages if m.field != lost])
        )
    shape, periodic = (25, 8), (False, True)
    ours = problem_of(Group([SimulatedDevice()] * 2), shape, periodic)
    theirs = problem_of(SimulatedDevice(), shape, periodic)
    assert ours.multigrid.decomposition.first == 1
    assert np.abs(corrected(ours)[0][:-1] - corrected(theirs)[0][:-1]).max() > 1e-12
