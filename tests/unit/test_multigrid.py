"""Multigrid for screened equations: answers against dense matrices, rates, grids, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import ConvergenceError, InputError
from eagre.solvers.multigrid import Multigrid, kernels
from eagre.solvers.multigrid.plan import Axis, sequence


def second(n, spacing, periodic):
    """The second difference along a line of points, dense."""
    found = np.zeros((n, n))
    for i in range(n if n > 1 else 0):
        for place in (i - 1, i + 1):
            place = place % n if periodic else (n - 1) - abs((n - 1) - abs(place))
            found[i, place] += spacing**-2
            found[i, i] -= spacing**-2
    return found


def direct(shape, spacing, s, q, periodic, f):
    """The equation of a layer, by elimination."""
    y, x = (second(*numbers) for numbers in zip(shape, spacing, periodic, strict=True))
    matrix = np.kron(y, np.eye(shape[1])) + np.kron(np.eye(shape[0]), x) - s * np.diag(q.ravel())
    return np.linalg.solve(matrix, f.ravel()).reshape(shape)


CASES = {
    "walls": ((17, 33), (0.1, 0.1), (False, False)),
    "periodic": ((16, 24), (0.1, 0.1), (True, True)),
    "channel": ((9, 16), (0.1, 0.1), (False, True)),
    "line": ((1, 33), (1.0, 0.1), (False, False)),
    "ring": ((32, 1), (0.1, 1.0), (True, False)),
    "odd": ((10, 7), (0.3, 0.25), (False, False)),
    "two": ((2, 2), (0.3, 0.25), (True, False)),
    "stretched": ((17, 33), (0.4, 0.1), (False, False)),
}


def problem(name, seed=0):
    shape, spacing, periodic = CASES[name]
    rng = np.random.default_rng(seed)
    q, f = rng.uniform(0.5, 2.0, shape), rng.standard_normal((3, *shape))
    return shape, spacing, periodic, q, f


@pytest.mark.parametrize("cycle", ["V", "W", "F"])
@pytest.mark.parametrize("name", CASES)
def test_the_answer_of_elimination(name, cycle):
    shape, spacing, periodic, q, f = problem(name)
    layers = (1.0, 7.0, 300.0)
    solver = Multigrid(shape, spacing, layers=layers, screening=q, periodic=periodic, cycle=cycle, device="cpu")
    u, made = solver.solve(f)
    for m, s in enumerate(layers):
        expected = direct(shape, spacing, s, q, periodic, f[m])
        assert np.abs(u[m] - expected).max() < 1e-8 * np.abs(expected).max()
    assert made.iterations <= 14
    again, none = solver.solve(f, guess=u)
    assert none.iterations == 0 and np.array_equal(again, u)


@pytest.mark.nojit
def test_a_small_channel():
    """Small, so that it runs as plain Python too."""
    rng = np.random.default_rng(3)
    q, f = rng.uniform(0.5, 2.0, (5, 8)), rng.standard_normal((2, 5, 8))
    solver = Multigrid((5, 8), (0.1, 0.12), layers=[30.0, 3.0], screening=q, periodic=(False, True), device="cpu")
    expected = direct((5, 8), (0.1, 0.12), 3.0, q, (False, True), f[1])
    assert np.abs(solver.solve(f)[0][1] - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize("periodic", [False, True])
def test_the_rate_does_not_depend_on_the_points(periodic):
    rates = []
    for n in (32, 128):
        points, rng = n + (not periodic), np.random.default_rng(n)
        solver = Multigrid(
            (points, points), (1.0 / n, 1.0 / n), layers=[2.5], periodic=(periodic, periodic), device="cpu"
        )
        zero = np.zeros((1, points, points))
        solver.device.fill(solver.u, rng.standard_normal(zero.shape))
        solver.device.fill(solver.f, zero)
        norms = []
        for _ in range(9):
            solver.device.run(solver.cycle_launches())
            norms.append(np.linalg.norm(solver.device.host(solver.u)))
        rates.append((norms[-1] / norms[3]) ** 0.2)
    assert max(rates) < 0.13 and abs(rates[0] - rates[1]) < 0.04


def by_hand(level, cycle, u, f, h, s, sweeps, last, coarsest):
    """A cycle on a line between walls, (n,), as Trottenberg et al. draw it, section 2.4."""

    def neighbours(a):
        mirrored = np.concatenate([a[1:2], a, a[-2:-1]])
        return mirrored[:-2] + mirrored[2:]

    def sweep(u):
        for colour in (0, 1):
            u[colour::2] = ((neighbours(u) / h**2 - f) / (2.0 / h**2 + s))[colour::2]

    if level == last:
        for _ in range(coarsest):
            sweep(u)
        return u
    for _ in range(sweeps[0]):
        sweep(u)
    r = f - neighbours(u) / h**2 + (2.0 / h**2 + s) * u
    coarse = (0.25 * neighbours(r) + 0.5 * r)[::2]
    known = (coarse, 2.0 * h, s, sweeps, last, coarsest)
    e = by_hand(level + 1, cycle, np.zeros_like(coarse), *known)
    if cycle != "V" and level + 1 < last:
        e = by_hand(level + 1, "W" if cycle == "W" else "V", e, *known)
    u += np.interp(np.arange(u.size), 2.0 * np.arange(e.size), e)
    for _ in range(sweeps[1]):
        sweep(u)
    return u


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("cycle", "sweeps", "levels"), [("V", (1, 2), 5), ("W", (2, 1), 5), ("F", (1, 1), 5), ("W", (1, 1), 3)]
)
def test_a_cycle_is_that_of_its_letter_sweeps_and_levels(cycle, sweeps, levels, plain):
    f = np.random.default_rng(5).standard_normal(33)
    choices = {"cycle": cycle, "pre": sweeps[0], "post": sweeps[1], "levels": levels, "enough": 0.0, "plain": plain}
    solver = Multigrid((1, 33), (1.0, 0.1), layers=[3.0], device="cpu", **choices)
    solver.device.fill(solver.f, f[None, None])
    solver.device.run(solver.cycle_launches(from_zero=True))
    known = by_hand(0, cycle, np.zeros(33), f, 0.1, 3.0, sweeps, levels - 1, solver._coarsest_sweeps)
    assert len(solver.grids) == levels
    assert np.abs(solver.device.host(solver.u)[0, 0] - known).max() < 1e-12 * np.abs(known).max()


def test_more_sweeps_need_fewer_cycles():
    shape, spacing, _, q, f = problem("walls")
    counts = [
        Multigrid(shape, spacing, layers=[1.0, 2.0, 3.0], screening=q, pre=n, post=n, device="cpu")
        .solve(f)[1]
        .iterations
        for n in (1, 2, 3)
    ]
    assert counts[0] > counts[1] >= counts[2]


@pytest.mark.parametrize("more", [{"smoother": "jacobi"}, {"stretched": 1.0}, {"stretched": np.inf, "pre": 2}])
@pytest.mark.parametrize("name", ["walls", "channel", "line", "stretched"])
def test_other_smoothers_and_coarser_grids(name, more):
    shape, spacing, periodic, q, f = problem(name)
    known = {"screening": q, "periodic": periodic, "device": "cpu", **more}
    u, _ = Multigrid(shape, spacing, layers=[1.0, 7.0, 300.0], **known).solve(f, most=200)
    expected = direct(shape, spacing, 7.0, q, periodic, f[1])
    assert np.abs(u[1] - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("shape", "weight", "factor"), [((1, 16), 2.0 / 3.0, 1.0 / 3.0), ((16, 16), 0.8, 0.6), ((16, 16), 1.0, 1.0)]
)
def test_a_jacobi_sweep_smooths_as_theory_says(shape, weight, factor):
    """Trottenberg et al., section 2.1.2: the largest factor of waves that the coarser grid cannot have."""
    ny, nx = shape
    solver = Multigrid(
        shape, (1.0, 1.0), layers=[1.0], screening=np.full(shape, 1e-9), periodic=(True, True), levels=1,
        smoother="jacobi", weight=weight, device="cpu",
    )  # fmt: skip
    found = []
    for m, n in np.ndindex(ny, nx):
        if max(min(m, ny - m) / ny, min(n, nx - n) / nx) >= 0.25:
            wave = np.cos(2.0 * np.pi * (m * np.arange(ny)[:, None] / ny + n * np.arange(nx) / nx))
            solver.device.fill(solver.u, wave[None])
            solver.device.run(solver._sweeps(0, 1))
            found.append(np.abs(solver.device.host(solver.u)[0]).max() / np.abs(wave).max())
    assert max(found) == pytest.approx(factor, abs=1e-6)


def test_single_precision():
    shape, spacing, periodic, q, f = problem("periodic")
    solver = Multigrid(
        shape, spacing, layers=[1, 7, 300], screening=q, periodic=periodic, device="cpu", precision="single"
    )
    u, _ = solver.solve(f)
    assert u.dtype == np.float32
    expected = direct(shape, spacing, 1.0, q, periodic, f[0])
    assert np.abs(u[0] - expected).max() < 3e-5 * np.abs(expected).max()


def test_another_screening_and_a_cycle_as_preconditioner():
    shape, spacing, periodic, q, f = problem("walls")
    solver = Multigrid(shape, spacing, layers=[1.0, 7.0, 300.0], device="cpu")
    solver.set_screening(q)
    expected = direct(shape, spacing, 7.0, q, periodic, f[1])
    assert np.abs(solver.solve(f)[0][1] - expected).max() < 1e-8 * np.abs(expected).max()
    solver.device.fill(solver.u, f)  # a guess that must not count
    solver.device.run(solver.cycle_launches(from_zero=True))
    assert np.abs(solver.device.host(solver.u)[1] - expected).max() < 0.1 * np.abs(expected).max()


# -- parts of a cycle, as plain Python --------------------------------------------------------------


def matrix_of(cell, fine, coarse, grid, to_fine):
    """The matrix of a transfer between two grids, column by column."""
    ny, nx = fine if to_fine else coarse
    columns = []
    for place in np.ndindex(coarse if to_fine else fine):
        given = np.zeros((1, *(coarse if to_fine else fine)))
        given[(0, *place)] = 1.0
        out = np.zeros((1, ny, nx))
        for j, i in np.ndindex(ny, nx):
            cell(0, j, i, given, out, grid)
        columns.append(out.ravel())
    return np.array(columns).T


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("steps", [(2, 2), (1, 2), (2, 1)])
def test_transfers(steps, periodic):
    """Both keep constants, and restriction is the adjoint of prolongation in sums over the plane, walls by half."""
    fine = (8, 4) if periodic else (9, 5)
    coarse = tuple((n // step if periodic else (n - 1) // step + 1) for n, step in zip(fine, steps, strict=True))
    grid = kernels.Points(1.0, 1.0, periodic, periodic, steps[1], steps[0])
    down = matrix_of(kernels.restrict, fine, coarse, grid, to_fine=False)
    up = matrix_of(kernels.prolong, fine, coarse, grid, to_fine=True)
    assert np.abs(down.sum(axis=1) - 1.0).max() < 1e-15 and np.abs(up.sum(axis=1) - 1.0).max() < 1e-15
    fine_area, coarse_area = np.ones(fine), float(steps[0] * steps[1]) * np.ones(coarse)
    for area in (fine_area, coarse_area) if not periodic else ():
        for lines in (area[0], area[-1], area[:, 0], area[:, -1]):
            lines *= 0.5
    assert np.abs(coarse_area.ravel()[:, None] * down - (fine_area.ravel()[:, None] * up).T).max() < 1e-15


def test_a_colour_leaves_no_residual_of_its_own():
    rng = np.random.default_rng(5)
    u, f, q, out = rng.standard_normal((1, 4, 6)), rng.standard_normal((1, 4, 6)), np.ones((4, 6)), np.ones((1, 4, 6))
    s, grid = np.array([3.0]), kernels.Points(16.0, 25.0, 1, 1, 1, 1)
    for colour in (0, 1):
        for j, i in np.ndindex(4, 3):
            kernels.relax(0, j, i, u, f, kernels.Screening(s, q), grid, colour)
    for j, i in np.ndindex(4, 6):
        kernels.residual(0, j, i, u, f, out, kernels.Screening(s, q), grid)
    odd = np.add.outer(np.arange(4), np.arange(6)) % 2 == 1
    assert np.abs(out[0][odd]).max() < 1e-12 < 1e-3 < np.abs(out[0][~odd]).max()


# -- grids ----------------------------------------------------------------------------------------


def shapes(y, x, levels=None):
    return [grid.shape for grid in sequence(y, x, levels)]


def test_walls_and_periodic_axes_are_halved():
    wall, ring = Axis(1537, 0.1, False), Axis(48, 0.1, True)
    lines = shapes(Axis(1, 1.0, False), wall)
    assert [nx for _, nx in lines] == [1537, 769, 385, 193, 97, 49, 25, 13, 7, 4]
    assert [nx for _, nx in shapes(Axis(1, 1.0, False), ring)] == [48, 24, 12, 6]
    assert [nx for _, nx in shapes(Axis(1, 1.0, False), Axis(16, 0.1, True))] == [16, 8, 4, 2, 1]
    assert len(shapes(Axis(1, 1.0, False), wall, levels=3)) == 3


def test_the_finer_axis_is_halved_first():
    found = shapes(Axis(17, 0.4, False), Axis(33, 0.1, False))
    assert found[:4] == [(17, 33), (17, 17), (17, 9), (9, 5)]
    assert shapes(Axis(6, 0.4, False), Axis(33, 0.1, False))[-1] == (6, 2)  # what cannot be halved holds nothing up
    solver = Multigrid((17, 33), (0.4, 0.1), stretched=np.inf, device="cpu")
    assert [grid.shape for grid in solver.grids[:3]] == [(17, 33), (9, 17), (5, 9)]


def test_factors_belong_to_an_axis_and_how_often_it_was_halved():
    factors = (1.3, 0.8, 1.0)
    found = sequence(Axis(17, 0.4, False, factors), Axis(33, 0.1, False, factors))
    weights = [(round(grid.y.weight * 0.4**2, 9), round(grid.x.weight * 0.1**2, 9)) for grid in found[:4]]
    assert weights == [(1.3, 1.3), (1.3, 0.2), (1.3, 0.0625), (0.2, 1.0 / 64.0)]


def test_factors_of_the_finest_grid_are_of_the_equation_and_coarser_ones_of_the_way_to_it():
    shape, spacing, periodic, q, f = problem("walls")
    expected = direct(shape, (spacing[0] / 1.2**0.5, spacing[1] / 1.2**0.5), 3.0, q, periodic, f[0])
    solver = Multigrid(shape, spacing, layers=[3.0], screening=q, factors=(1.2, 0.8), device="cpu")
    assert np.abs(solver.solve(f[:1])[0] - expected).max() < 1e-8 * np.abs(expected).max()


# -- refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shape": (9, 15), "periodic": (False, True)}, "15 points along periodic x"),
        ({"shape": (1, 1)}, "shape"),
        ({"spacing": (0.1, 0.0)}, "spacing"),
        ({"layers": [1.0, 0.0]}, "layers"),
        ({"cycle": "X"}, "V, W, F"),
        ({"pre": 0, "post": 0}, "at least one smoothing sweep"),
        ({"levels": 0}, "levels"),
        ({"screening": np.zeros((9, 9))}, "above 0"),
        ({"screening": np.ones((9, 8))}, "above 0"),
        ({"shape": (28, 30), "spacing": (0.02, 0.02)}, "29 along y and 29 or 33 along x"),
        ({"screening": np.full((9, 9), 1e-9)}, "hardly controls the mean"),
    ],
)
def test_refused(given, said):
    arguments = {"shape": (9, 9), "spacing": (0.1, 0.1), "device": "cpu", **given}
    shape, spacing = arguments.pop("shape"), arguments.pop("spacing")
    with pytest.raises(InputError) as refused:
        Multigrid(shape, spacing, **arguments)
    assert said in str(refused.value)


def test_a_right_side_of_another_shape_or_too_few_cycles():
    solver = Multigrid((9, 9), (0.1, 0.1), device="cpu")
    with pytest.raises(InputError, match="right-hand side"):
        solver.solve(np.ones((9, 9)))
    with pytest.raises(ConvergenceError, match="after 2 iterations"):
        solver.solve(np.random.default_rng(0).standard_normal((1, 9, 9)), most=2)


def test_levels_of_ones_own_may_take_long():
    rng = np.random.default_rng(1)
    f = rng.standard_normal((1, 28, 30))
    slow = Multigrid((28, 30), (0.1, 0.1), layers=[5.0], levels=1, device="cpu")
    assert slow.solve(f, tolerance=1e-6)[1].iterations < 10


@pytest.mark.parametrize("wrong", [{"smoother": "zebra"}, {"weight": 2.0}, {"stretched": 0.5}, {"factors": (1.0, 0.0)}])
def test_smoothers_and_ratios_that_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Multigrid((9, 9), (0.1, 0.1), device="cpu", **wrong)
