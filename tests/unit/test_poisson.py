"""The Poisson solver: transforms, round trips, precision, null space, and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.fft

from eagre.errors import InputError
from eagre.solvers.poisson import PoissonSolver, reference, solve_poisson
from eagre.solvers.poisson.sine_plan import FACTORS, sine_plan


def plain_sine(x):
    n = x.shape[-1] + 1
    j = np.arange(1, n)
    return x @ np.sin(np.pi * np.outer(j, j) / n)


@pytest.mark.parametrize("size", [*range(1, 65), 127, 255, 511, 1023])
def test_documents_transforms(size):
    x = np.random.default_rng(size).standard_normal((3, size))
    expected = plain_sine(x)
    scale = np.abs(expected).max()
    for transform in (reference.sine_by_odd_extension, reference.sine_by_half_length):
        assert np.abs(transform(x) - expected).max() < 1e-13 * scale


def test_transforms_along_any_axis():
    """Of three-dimensional arrays: each line as if it were alone."""
    x = np.random.default_rng(1).standard_normal((4, 7, 5))
    for transform in (reference.sine_by_odd_extension, reference.sine_by_half_length):
        assert np.abs(transform(x) - plain_sine(x)).max() < 1e-13 * np.abs(x).max()


def test_two_signals_in_one_transform():
    f, g = np.random.default_rng(0).standard_normal((2, 4, 24))
    for found, signal in zip(reference.spectra_of_two(f, g), (f, g), strict=True):
        assert np.abs(found - np.fft.fft(signal)).max() < 1e-13


@pytest.mark.parametrize("n", sorted(FACTORS))
def test_plans_hold_together(n):
    """The passes of the plan, in NumPy, give the sine transform: indices and tables are right."""
    plan = sine_plan(n)
    last, factors = plan.last, plan.factors
    assert plan.inner % 8 == 0, "a step along a row of tiles ends in the same column of another tile"
    assert np.prod(factors) * last == 2 * n and last % 2 == 0 and factors[0] % 2 == 0
    assert plan.threads % 8 == 0 and plan.threads <= 1024 and plan.stride * 16 < 227 * 1024
    x = np.random.default_rng(n).standard_normal(n - 1)
    odd = np.concatenate([[0], x, [0], -x[::-1]])
    inner = np.fft.fft(odd.reshape(plan.inner, last).T, axis=1)  # Y_r(k)
    k = np.arange(plan.inner // 2 + 1)
    table = plan.table[:, 0] + 1j * plan.table[:, 1]
    rotations = table[-(last // 2 + 1) * k.size :].reshape(last // 2 + 1, k.size)
    v = np.zeros((last, k.size), complex)
    for r in range(last // 2 + 1):
        v[r] = rotations[r] * inner[r, k]
        if 0 < r < last // 2:
            v[last - r] = -rotations[r].conj() * inner[r, -k]
    z = np.fft.fft(v, axis=0)
    found = np.zeros(2 * n)
    for s in range(last):
        found[k + plan.inner * s] = -0.5 * z[s].imag
    expected = scipy.fft.dst(x, type=1) / 2
    for s, kk in itertools.product(range(last // 2), (0, 1, plan.inner // 2)):
        q = kk + plan.inner * s
        if 0 < q < n:
            assert abs(found[q] - expected[q - 1]) < 1e-12 * n


@pytest.mark.parametrize("n", [5, 11, 43, 258, 514, 1030, 3000])
def test_lengths_without_a_plan(n):
    """Chirp, transform, filter, transform and chirp, in NumPy with the plan's table."""
    plan = sine_plan(n)
    assert plan.n in FACTORS and plan.n >= 2 * n - 2
    first = plan.switches()["CHIRP"]
    table = plan.table[first:, 0] + 1j * plan.table[first:, 1]
    chirp, filters, outputs = table[:n], table[n : n + plan.n], table[n + plan.n :]
    x = np.random.default_rng(n).standard_normal(n - 1)
    z = np.zeros(plan.n - 1, complex)
    z[: n - 1] = x * chirp[1:]
    for _ in range(2):
        z = (scipy.fft.dst(z.real, type=1) + 1j * scipy.fft.dst(z.imag, type=1)) / 2
        z *= filters[1:]
        filters = np.ones(plan.n)
    found = (z[: n - 1] * outputs[1:]).real
    assert np.abs(found - scipy.fft.dst(x, type=1) / 2).max() < 1e-13 * n


def test_too_long_rows_have_no_plan():
    assert sine_plan(4095) is None and sine_plan(4096) is not None


CASES = [
    ((17,), "dirichlet"),
    ((12, 19), "dirichlet"),
    ((12, 19), "neumann"),
    ((12, 18), "periodic"),
    ((12, 19), ("neumann", "periodic")),
    ((12, 19), ("periodic", "dirichlet")),
    ((6, 9, 7), ("dirichlet", "periodic", "neumann")),
    ((6, 8, 7), ("periodic", "periodic", "neumann")),
]


def second_differences(psi, spacing, kinds, location):
    """Sum of second differences with ghosts from the boundary conditions."""
    total = np.zeros_like(psi)
    for axis, (h, kind) in enumerate(zip(spacing, kinds, strict=True)):
        p = np.moveaxis(psi, axis, 0)
        if kind == "periodic":
            west, east = p[-1], p[0]
        elif kind == "dirichlet":
            west, east = (0 * p[0], 0 * p[0]) if location == "points" else (-p[0], -p[-1])
        else:
            west, east = (p[1], p[-2]) if location == "points" else (p[0], p[-1])
        whole = np.concatenate([west[None], p, east[None]])
        total += np.moveaxis((whole[2:] - 2 * p + whole[:-2]) / h**2, 0, axis)
    return total


@pytest.mark.parametrize("location", ["points", "centres"])
@pytest.mark.parametrize(("shape", "kinds"), CASES, ids=str)
@pytest.mark.parametrize("screening", [0.0, 0.7])
def test_round_trip(shape, kinds, location, screening):
    spacing = (0.3, 0.2, 0.5)[: len(shape)]
    solver = PoissonSolver(shape, spacing, kinds, screening=screening, location=location)
    kinds = (kinds,) * len(shape) if isinstance(kinds, str) else kinds
    psi = np.random.default_rng(1).standard_normal(shape)
    f = second_differences(psi, spacing, kinds, location) - screening * psi
    found = solver.solve(f)
    if solver.singular:
        weights = np.ones(shape)
        if location == "points":
            for axis, kind in enumerate(kinds):
                if kind == "neumann":
                    np.moveaxis(weights, axis, 0)[[0, -1]] *= 0.5
        psi = psi - (weights * psi).sum() / weights.sum()
    assert np.abs(found - psi).max() < 1e-12


def dense(n, h, kind, location):
    """The matrix of the second difference along one axis, row by row from the boundary conditions."""
    matrix = -2.0 * np.eye(n)
    for j, side in itertools.product(range(n), (-1, 1)):
        m, sign = j + side, 1.0
        if not 0 <= m < n:
            m = m % n if kind == "periodic" else j - side if (kind, location) == ("neumann", "points") else j
            sign = {"dirichlet": 0.0 if location == "points" else -1.0}.get(kind, 1.0)
        matrix[j, m] += sign
    return matrix / h**2


def dense_waves(axis):
    """The matrix with the eigenvalues of d2/dx2 on the axis's basis, -(theta / h)^2."""
    j = np.arange(axis.n) + (0.5 if axis.location == "centres" else float(axis.boundary == "dirichlet"))
    if axis.periodic:
        basis = np.exp(2j * np.pi * np.outer(np.arange(axis.n), np.arange(axis.n)) / axis.n)
    else:
        basis = (np.sin if axis.boundary == "dirichlet" else np.cos)(np.outer(j, axis.angles))
    return (basis * -((axis.angles / axis.h) ** 2) @ np.linalg.inv(basis)).real


def without_mean(psi, kinds, location):
    """Less the mean, in which the ends of Neumann points count half."""
    weights = np.ones(psi.shape)
    for axis, kind in enumerate(kinds):
        if (kind, location) == ("neumann", "points"):
            np.moveaxis(weights, axis, 0)[[0, -1]] *= 0.5
    return psi - (weights * psi).sum() / weights.sum()


SIZES = {1: (1, 2, 3, 4, 5, 8, 9), 2: (1, 2, 3, 4, 5), 3: (1, 2, 3)}


@pytest.mark.parametrize("symbol", ["five-point", "spectral"])
@pytest.mark.parametrize("location", ["points", "centres"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_every_combination_against_a_dense_matrix(axes, location, symbol):
    """All boundaries on all axes, one unknown to some, with and without screening, an f with a mean."""
    rng = np.random.default_rng(0)
    spacing = (0.3, 0.2, 0.5)[:axes]
    for kinds in itertools.product(("dirichlet", "neumann", "periodic"), repeat=axes):
        for shape, screening in itertools.product(itertools.product(SIZES[axes], repeat=axes), (0.0, 0.7)):
            if any(n == 1 and (kind, location) == ("neumann", "points") for kind, n in zip(kinds, shape, strict=True)):
                continue
            solver = PoissonSolver(shape, spacing, kinds, screening=screening, symbol=symbol, location=location)
            matrix = -screening * np.eye(int(np.prod(shape)))
            for k, axis in enumerate(solver.axes):
                one = dense(axis.n, axis.h, kinds[k], location) if symbol == "five-point" else dense_waves(axis)
                before, after = int(np.prod(shape[:k])), int(np.prod(shape[k + 1 :]))
                matrix += np.kron(np.kron(np.eye(before), one), np.eye(after))
            psi = rng.standard_normal(shape)
            f = (matrix @ psi.ravel()).reshape(shape)
            if solver.singular:
                psi, f = without_mean(psi, kinds, location), f + 3.0
            assert np.abs(solver.solve(f) - psi).max() < 1e-12, (shape, kinds, screening)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_and_type_of_the_right_hand_side(dtype):
    """Views, reversed and transposed, give the same; f stays as it was, and the answer has its type."""
    whole = np.random.default_rng(0).standard_normal((14, 20)).astype(dtype)
    f = whole.T[::-1, ::2]
    kept = f.copy()
    for kinds in ("dirichlet", "neumann", ("periodic", "dirichlet")):
        found = solve_poisson(f, (0.1, 0.2), kinds, screening=0.1)
        assert found.dtype == dtype and np.array_equal(f, kept)
        assert np.array_equal(found, solve_poisson(np.ascontiguousarray(f), (0.1, 0.2), kinds, screening=0.1))


def test_spectral_symbol_is_exact_for_waves():
    n, length = 32, 2.0
    h = length / n
    x = h * np.arange(1, n)
    for k in (1, 7, 20):
        wave = np.sin(k * np.pi * x / length)
        found = solve_poisson(wave, (h,), symbol="spectral")
        assert np.abs(found + wave / (k * np.pi / length) ** 2).max() < 1e-13


def test_second_order():
    errors = []
    for n in (16, 32, 64):
        h = np.pi / n
        x = h * np.arange(1, n)
        exact = np.sin(x) * np.sin(3 * x)[:, None] + np.sin(2 * x) * np.sin(x)[:, None]
        f = -10 * np.sin(x) * np.sin(3 * x)[:, None] - 5 * np.sin(2 * x) * np.sin(x)[:, None]
        errors.append(np.abs(solve_poisson(f, (h, h)) - exact).max())
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.abs(orders - 2.0).max() < 0.1


@pytest.mark.parametrize("n", [256, 1024])
def test_single_precision(n):
    """1.5e-7, where eigenvalues from the printed cosine would give 1e-4 to 4e-3."""
    h = np.pi / n
    y = h * np.arange(1, n)
    f = -1.36e5 * np.sin(2 * y)[:, None] * (np.pi - y) / np.pi + 100 * np.random.default_rng(0).standard_normal(
        (n - 1,) * 2
    )
    double = solve_poisson(f, (h, h))
    single = solve_poisson(f.astype(np.float32), (h, h))
    assert single.dtype == np.float32
    assert np.linalg.norm(single - double) < 1e-6 * np.linalg.norm(double)
    cosine = (-4 + 2 * np.cos(np.float32(np.pi / n) * np.arange(1, n, dtype=np.float32))).astype(np.float32)
    symbol = (cosine[:, None] + cosine + np.float32(4)) / np.float32(h**2)
    printed = scipy.fft.idstn(scipy.fft.dstn(f.astype(np.float32), type=1) / symbol, type=1)
    assert np.linalg.norm(printed - double) > 1e-5 * np.linalg.norm(double)


def test_plans_are_kept():
    from eagre.solvers.poisson.solver import _cached

    f = np.ones((5, 6))
    solve_poisson(f, (1.0, 1.0))
    before = _cached.cache_info().hits
    solve_poisson(f, (1.0, 1.0))
    assert _cached.cache_info().hits == before + 1


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (((4, 5), (1.0,)), {}, "each with a number of unknowns, a spacing and a boundary"),
        (((4, 5), (1.0, 1.0), "dirichlt"), {}, "dirichlet"),
        (((4, 5), (1.0, -1.0)), {}, "spacing > 0"),
        (((4, 5), (1.0, 1.0)), {"symbol": "nine"}, "five-point"),
        (((4, 5), (1.0, 1.0)), {"location": "faces"}, "points, centres"),
        (((4, 5), (1.0, 1.0)), {"screening": -1.0}, ">= 0"),
        (((4, 5), (1.0, 1.0)), {"screening": None}, ">= 0"),
        (((4, 5), (1.0, np.inf)), {}, "finite spacing"),
        (((4, 5), (1.0, "2 m")), {}, "each with a number of unknowns"),
        (((4.5, 5), (1.0, 1.0)), {}, "each with a number of unknowns"),
        ((4, (1.0,)), {}, "one, two or three axes"),
        (((4, 5), 1.0), {}, "one, two or three axes"),
        (((4, 5), (1.0, 1.0), None), {}, "a spacing and a boundary"),
        (((4, 5, 6, 7), (1.0,) * 4), {}, "one, two or three axes"),
        (((4, 0), (1.0, 1.0)), {}, ">= 1 unknowns"),
        (((1, 5), (1.0, 1.0), "neumann"), {}, ">= 2 unknowns"),
    ],
)
def test_refusals(arguments, options, words):
    with pytest.raises(InputError, match=words):
        PoissonSolver(*arguments, **options)


def test_refuses_other_arrays():
    solver = PoissonSolver((4, 5), (1.0, 1.0))
    with pytest.raises(InputError, match=r"shape \(4, 5\)"):
        solver.solve(np.ones((5, 4)))
    for bad in (np.ones((4, 5), int), np.ones((4, 5), complex), [[1.0] * 5] * 4, None):
        with pytest.raises(InputError, match="float32 or float64"):
            solver.solve(bad)
        with pytest.raises(InputError, match="float32 or float64"):
            solve_poisson(bad, (1.0, 1.0))
