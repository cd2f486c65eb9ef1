"""Lines along sigma as the preconditioner of potential-flow waves: against their transcription, and their counts."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Grid, PotentialWaves
from eagre.backend.device import PlainDevice
from eagre.errors import InputError
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from oracle.potential_waves import Tank
from oracle.wave_lines import iterations

pytestmark = pytest.mark.nojit  # in plain Python: cells that only this would compile
DEVICE = PlainDevice()


def tank_of(shape, periodic, vertical, slope, depth=0.25):
    """The problem with its surface, the transcription's tank, the elevation and the potential."""
    ny, nx = shape
    dy, dx = (1.0 / (n if round_ else max(n - 1, 1)) for n, round_ in zip(shape, periodic, strict=True))
    x, y = np.meshgrid(dx * np.arange(nx), dy * np.arange(ny))
    wave = 2.0 * np.pi
    h = depth + slope * np.cos(wave * x) * np.cos(wave * y) / wave
    eta, phi = 0.02 * np.cos(wave * x), np.cos(wave * x) * np.cos(wave * y)
    problem = LaplaceProblem(h, (dy, dx), vertical, periodic, DEVICE, "double", preconditioner="lines")
    DEVICE.fill(problem.fields, np.stack([eta, phi]))
    return problem, Tank(h, dx, dy, vertical.nz, vertical.order, periodic[1], periodic[0], vertical.clustered), eta, phi


@pytest.mark.parametrize(
    ("shape", "periodic", "vertical"),
    [
        ((9, 8), (False, True), Vertical(7, 6)),
        ((1, 33), (False, False), Vertical(6, 4, clustered=False)),
        ((8, 8), (True, True), Vertical(4, 2)),
    ],
)
def test_iterations_are_those_of_columns(shape, periodic, vertical):
    """Modes of the matrix along sigma, each with its own sweeps, are zebra sweeps that solve whole columns."""
    problem, tank, eta, phi = tank_of(shape, periodic, vertical, 0.3)
    grids, sweeps = problem.multigrid.grids, problem.multigrid._coarsest_sweeps
    wanted, norms = iterations(tank, eta, phi, len(grids), sweeps, 3)
    DEVICE.run(problem.start())
    for norm in norms:
        problem.go_on()
        DEVICE.run(problem.iteration(1.0))
        assert problem.norm() / np.sqrt(wanted[1:-1].size) == pytest.approx(norm, rel=1e-9)
    assert np.abs(DEVICE.host(problem.psi) - wanted).max() < 1e-12 * np.abs(wanted).max()


@pytest.mark.parametrize(("order", "nz"), [(2, 5), (6, 8)])
def test_the_answer_of_elimination(order, nz):
    problem, tank, eta, phi = tank_of((1, 16), (False, True), Vertical(nz, order), 0.3)
    problem.solve(1e-13)
    potential, w = tank.solved(eta, phi)
    assert np.abs(DEVICE.host(problem.w)[0] - w).max() < 1e-9 * np.abs(w).max()
    assert np.abs(DEVICE.host(problem.psi)[:-1] + phi - potential).max() < 1e-10


@pytest.mark.parametrize(("order", "most"), [(2, 7), (4, 9), (6, 11)])
def test_iterations_do_not_depend_on_the_points(order, most):
    """From nothing to a correction of 1e-6 of the potential, under a wave over a flat bed, at two spacings."""
    found = []
    for n in (32, 64):
        problem, *_ = tank_of((1, n), (False, True), Vertical(9, order), 0.0)
        found.append(problem.solve(1e-6).iterations)
        assert problem.convergence.method == "one weight"
    assert max(found) <= most and abs(found[0] - found[1]) <= 2


def test_a_model_with_lines():
    """The surface of modes, after other iterations."""
    grid, found = Grid.from_points(9, 1, 1.0, 1.0), []
    known = {
        "surface_elevation": 0.01 * np.cos(np.pi * grid.x)[None],
        "order": 2,
        "vertical_points": 4,
        "tolerance": 1e-8,
    }
    for kind in ("modes", "lines"):
        model = PotentialWaves(grid, 0.5, device=DEVICE, precision="double", preconditioner=kind, **known)
        model.advance(2.0 * model.time_step)
        found.append(model.field("surface_elevation"))
        assert model.settings()["preconditioner"] == kind
    assert 0.0 < np.abs(found[0] - found[1]).max() < 1e-9
    with pytest.raises(InputError, match="preconditioner = 'line'"):
        PotentialWaves(grid, 0.5, device=DEVICE, preconditioner="line")
    with pytest.raises(InputError, match="on several devices"):
        PotentialWaves(Grid.from_points(9, 17, 1.0, 2.0), 0.5, device="cpu,cpu", preconditioner="lines")
