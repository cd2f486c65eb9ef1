"""Fast loop nests of potential-flow waves and multigrid on the CPU: the answers of the plain cells, in vectors."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

from eagre import Grid, PotentialWaves
from eagre.backend.select import select
from eagre.errors import InputError
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.solvers.multigrid import Multigrid
from kernels.recording import ir_of, scattered_of, vectors_of

DEVICE = select("cpu")
GRIDS = {  # points, spacing, periodic
    "walls": ((17, 33), (0.1, 0.1), (False, False)),
    "rings": ((16, 24), (0.1, 0.1), (True, True)),
    "channel": ((9, 16), (0.1, 0.1), (False, True)),
    "line": ((1, 33), (1.0, 0.1), (False, False)),
    "ring": ((1, 16), (1.0, 0.1), (False, True)),
    "row of rows": ((32, 1), (0.1, 1.0), (True, False)),
    "odd": ((10, 7), (0.3, 0.25), (False, False)),
    "two": ((2, 2), (0.3, 0.25), (True, False)),
    "fine in x": ((17, 33), (0.4, 0.1), (False, False)),
    "fine in y": ((32, 9), (0.1, 0.4), (True, False)),
}
LAYERS = (1.0, 7.0, 300.0, 3000.0)  # the last two stay on fine grids
CLOSE = {"double": 1e-12, "single": 1e-4}  # a line of 16 points magnifies rounding by some hundreds


def difference(found, known):
    return np.abs(found - known).max() / np.abs(known).max()


# -- the cycle ------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("cycle", ["V", "W", "F"])
@pytest.mark.parametrize("name", GRIDS)
def test_a_cycle_is_that_of_the_plain_cells(name, cycle, precision):
    shape, spacing, periodic = GRIDS[name]
    rng = np.random.default_rng(0)
    q, f, guess = rng.uniform(0.5, 2.0, shape), rng.standard_normal((4, *shape)), rng.standard_normal((4, *shape))
    for sweeps in (1, 2):
        found = {True: [], False: []}
        for plain, kept in found.items():
            solver = Multigrid(
                shape, spacing, layers=LAYERS, screening=q, periodic=periodic, cycle=cycle, pre=sweeps, enough=0.6,
                device="cpu", precision=precision, plain=plain,
            )  # fmt: skip
            for from_zero in (True, False):
                DEVICE.fill(solver.f, f)
                DEVICE.fill(solver.u, guess)
                DEVICE.run(solver.cycle_launches(from_zero))
                kept.append(DEVICE.host(solver.u))
        assert max(map(difference, found[False], found[True])) < CLOSE[precision]


@pytest.mark.nojit
def test_a_small_cycle():
    """Small, so that it runs as plain Python too."""
    rng, shape, found = np.random.default_rng(2), (3, 5), []
    q, f = rng.uniform(0.5, 2.0, shape), rng.standard_normal((2, *shape))
    for kind in ("plain", "apart", "in_place"):
        choices: Any = {} if kind == "apart" else {kind: True}
        solver = Multigrid(shape, (0.1, 0.3), layers=[1.0, 40.0], screening=q, device="cpu", **choices)
        DEVICE.fill(solver.f, f)
        DEVICE.run(solver.cycle_launches(from_zero=True))
        found.append(DEVICE.host(solver.u))
    assert difference(*found[:2]) < 1e-12
    np.testing.assert_array_equal(*found[1:])
    assert solver.in_place and solver.u is solver.f
    with pytest.raises(InputError, match="separate"):
        solver.cycle_launches()
    solver.separate()
    DEVICE.fill(solver.f, f)
    DEVICE.run(solver.cycle_launches(from_zero=True))
    np.testing.assert_array_equal(DEVICE.host(solver.u), found[1])
    np.testing.assert_array_equal(DEVICE.host(solver.f), f)


def test_strongly_screened_layers_stay_on_fine_grids():
    solver = Multigrid((65, 65), (0.1, 0.1), layers=[1.0, 50.0, 20.0, 5000.0], device="cpu")
    assert solver.used[0] > solver.used[1] == solver.used[2] > solver.used[3] == 1
    f = np.random.default_rng(0).standard_normal((4, 65, 65))
    assert solver.solve(f, tolerance=1e-8)[1].iterations <= 9


# -- the columns ----------------------------------------------------------------------------------

BASINS = [
    ((1, 32), (False, True)),
    ((1, 49), (False, False)),
    ((9, 16), (False, True)),
    ((17, 1), (False, False)),
    ((6, 161), (True, False)),
]


def basin(shape, periodic, order, precision, plain, linear=False, correction=None, preconditioner="modes"):
    """A problem of which no part vanishes: rough in everything, off the mirrors."""
    rng = np.random.default_rng(1)
    h = 0.3 + 0.02 * rng.standard_normal(shape)
    problem = LaplaceProblem(
        h, (0.11, 0.1), Vertical(10, order), periodic, DEVICE, precision, linear, plain, correction=correction,
        preconditioner=preconditioner,
    )  # fmt: skip
    DEVICE.fill(problem.fields, 0.02 * rng.standard_normal((2, *shape)))
    psi = rng.standard_normal(problem.psi.shape)
    psi[0] = 0.0
    DEVICE.fill(problem.psi, psi)
    return problem, rng


def stages(problem, rng):
    """What each part of an iteration, its start and its end make of the same things."""
    rates, shape = problem.surface_zeros(2), problem.multigrid.u.shape
    DEVICE.run(problem.start())
    DEVICE.run(problem.defect())
    found = [*DEVICE.host(problem.geometry), *DEVICE.host(problem.subdomain._sources), DEVICE.host(problem.multigrid.f)]
    DEVICE.run(problem.multigrid.cycle_launches(from_zero=True))
    found.append(DEVICE.host(problem.multigrid.u))
    DEVICE.fill(problem.multigrid.u, rng.standard_normal(shape))
    DEVICE.run([*problem.correction(), *problem.end()])
    found += [DEVICE.host(problem.psi), DEVICE.host(problem.w), np.array(problem.test.partials.sum())]
    DEVICE.fill(problem.w, rng.standard_normal(problem.w.shape))
    DEVICE.run(problem.rates(rates, 9.81))
    return [one for one in (*found, rates) if np.abs(one).max() > 0.0]


KINDS = [(6, "double", False), (2, "double", False), (4, "single", True), (6, "single", False), (8, "single", False),
         (8, "double", True)]  # fmt: skip


@pytest.mark.parametrize(
    ("order", "precision", "linear"), [KINDS[0], *(pytest.param(*kind, marks=pytest.mark.slow) for kind in KINDS[1:])]
)
@pytest.mark.parametrize(("shape", "periodic"), BASINS)
def test_the_stages_are_those_of_the_plain_cells(shape, periodic, order, precision, linear):
    plain, fast = (stages(*basin(shape, periodic, order, precision, kind, linear)) for kind in (True, False))
    assert max(map(difference, fast, plain)) < CLOSE[precision]


@pytest.mark.parametrize(("shape", "periodic"), [BASINS[1], BASINS[-1]])
def test_single_corrections_are_those_of_the_plain_cells(shape, periodic):
    plain, fast = (stages(*basin(shape, periodic, 6, "double", kind, correction="single")) for kind in (True, False))
    assert max(map(difference, fast, plain)) < CLOSE["single"]


@pytest.mark.parametrize(("precision", "correction"), [("double", None), ("double", "single"), ("single", None)])
@pytest.mark.parametrize(("shape", "periodic"), BASINS)
def test_lines_are_those_of_the_plain_cells(shape, periodic, precision, correction):
    """With Psi below the bed as an unknown."""
    options = {"correction": correction, "preconditioner": "lines"}
    plain, fast = (stages(*basin(shape, periodic, 6, precision, kind, **options)) for kind in (True, False))
    assert max(map(difference, fast, plain)) < CLOSE[correction or precision]


@pytest.mark.parametrize("plain", [True, False])
def test_single_precision_converges_to_its_last_digits(plain):
    """Differences are taken of differences: sums of products with psi itself stop at 1e-6 of it."""
    n = 64
    x, y = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n)
    problem = LaplaceProblem(
        np.full(x.shape, 2.0), (1 / n, 1 / n), Vertical(9, 6), (False, False), DEVICE, "single", False, plain,
        max_iterations=16,
    )  # fmt: skip
    eta = 0.04 * np.cos(np.pi * x) * np.cos(np.pi * y)
    DEVICE.fill(problem.fields, np.stack([eta, np.cos(np.pi * x)]))
    problem.solve(1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "most"), [("single", 40.0), ("double", 80.0)])
def test_bytes_an_unknown_of_a_run(precision, most):
    """Everything that NumPy holds at once, with the copy of the last good state; 17 layers."""

    def stepped(points):
        grid = Grid.from_points(points, points, 2.0, 2.0)
        eta = np.broadcast_to(0.01 * np.cos(np.pi * grid.x), grid.shape)
        model = PotentialWaves(grid, 0.5, surface_elevation=eta, vertical_points=17, device="cpu", precision=precision)
        model.advance(1e9, max_steps=2)

    stepped(17)  # compiled programs are not counted
    tracemalloc.start()
    try:
        stepped(129)
        assert 20.0 < tracemalloc.get_traced_memory()[1] / (16 * 129 * 129) < most
    finally:
        tracemalloc.stop()


# -- the compiler's work --------------------------------------------------------------------------


def programs():
    problem, _ = basin((8, 256), (True, True), 6, "single", False)
    start, defect = problem.start(), problem.defect()
    return {
        "residual": defect[1],
        "ends": defect[0],
        "correct": problem.correction()[0],
        "cycle": problem.multigrid.cycle_launches(from_zero=True)[0],
        "surface": start[0],
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "products"), [("residual", 60), ("ends", 8), ("correct", 6), ("cycle", 20)])
def test_loops_are_vectorised(name, products):
    text = ir_of(programs()[name])
    assert vectors_of(text, "fmul") >= products
    assert scattered_of(text) == 0
    assert not re.findall(r"= f(?:sub|mul|div)[^\n]* double", text)
    added = set(re.findall(r"%([\w.]+?)(?:\.\w+)* = fadd[^\n]* double", text))  # copies of an unrolled loop are one
    assert len(added) == (1 if name == "correct" else 0), added  # sums of squares


@pytest.mark.slow
def test_the_surface_is_vectorised():
    text = ir_of(programs()["surface"])
    assert scattered_of(text) == 0 and len(re.findall(r"= fmul (?:\w+ )*<[48] x double>", text)) >= 20
