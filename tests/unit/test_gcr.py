"""GCR(k) for operators that are functions."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import ConvergenceError, InputError
from eagre.solvers.gcr import chebyshev, gcr
from eagre.solvers.gcr.solver import REACH, chebyshev_weights
from oracle.anelastic_pressure import Pressure
from oracle.anelastic_pressure import gcr as transcribed


@pytest.fixture(scope="module")
def box():
    """Matrix, weights and right side of a column of air over a hill, not to its checkerboards."""
    hill = 0.5 * np.exp(-((np.arange(17) - 8.0) ** 2) / 9.0)[None]
    problem = Pressure((9, 1, 17), (1.0, 1.0, 1.0), (False, True, True), hill=hill)
    hat = np.zeros((3, *problem.shape))
    hat[0] = 1.0
    return problem, problem.divergence(problem.start(hat)), problem.weight * problem.rho


def operator_of(problem):
    return lambda q: (problem.matrix.astype(q.dtype) @ q.ravel()).reshape(q.shape)


@pytest.mark.parametrize("kept", [1, 2, 3, 7])
def test_iterations_are_those_of_the_transcription(box, kept):
    problem, right, weights = box
    found = gcr(operator_of(problem), right, kept=kept, weights=weights, tolerance=1e-8)
    x, made = transcribed(operator_of(problem), right, kept=kept, small=1e-8, weight=weights)
    assert found.iterations == made == 25
    assert np.abs(found.solution - x).max() < 1e-12 * np.abs(x).max()
    assert np.abs(operator_of(problem)(found.solution) - right).max() == pytest.approx(found.norm, rel=1e-4)
    assert len(found.norms) == made + 1 and found.norms[0] == np.abs(right).max()


def test_a_preconditioner_that_is_the_inverse_needs_one_iteration():
    matrix = np.random.default_rng(1).standard_normal((6, 6)) + 6.0 * np.eye(6)
    right = np.arange(6.0)
    found = gcr(lambda x: matrix @ x, right, preconditioner=lambda r: np.linalg.solve(matrix, r), tolerance=1e-12)
    assert found.iterations == 1 and np.allclose(matrix @ found.solution, right)


@pytest.mark.parametrize("sweeps", [2, 3, 6, 16])
def test_weights_are_those_of_the_polynomial_that_stays_smallest(sweeps):
    """prod(1 - w x) = T_m((a + b - 2 x) / (b - a)) / T_m((a + b) / (b - a)), a = b / (1.5 m^2)."""
    largest = 7.0
    least, x = largest / (1.5 * sweeps**2), np.linspace(0.0, largest, 50)
    polynomial = np.polynomial.chebyshev.Chebyshev.basis(sweeps)
    there, at_zero = (largest + least - 2.0 * one for one in (x, 0.0))
    expected = polynomial(there / (largest - least)) / polynomial(at_zero / (largest - least))
    left = np.prod([1.0 - weight * x for weight in chebyshev_weights(largest, sweeps)], axis=0)
    np.testing.assert_allclose(left, expected, atol=1e-10)
    assert REACH == 1.5


def test_the_order_of_weights_keeps_what_rounding_left_small():
    """A rounding made in a sweep is multiplied by the sweeps behind it: 2.5e7 times in the order of the roots."""
    weights, x = np.array(chebyshev_weights(1.0, 16)), np.linspace(0.0, 1.0, 1001)
    for order in (weights, weights[::-1]):
        assert abs(np.cumprod(1.0 - order[:, None] * x, axis=0)).max() < 200.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweeps_of_a_polynomial_divide_iterations(dtype):
    """By about their number, and the answer is the same."""

    def second(u):
        return np.roll(u, 1) - 2 * u + np.roll(u, -1)

    right = second(np.cumsum(np.random.default_rng(1).standard_normal(256))).astype(dtype)
    small = 1e-3 * float(abs(right).max())
    counts, answers = [], []
    for sweeps in (1, 2, 4, 8):
        before = chebyshev(second, 4.0, sweeps) if sweeps > 1 else None
        found = gcr(second, right, kept=1, tolerance=small, preconditioner=before)
        assert found.solution.dtype == dtype and abs(second(found.solution) - right).max() < 1.1 * small
        counts.append(found.iterations)
        answers.append(found.solution - found.solution.mean())
    for sweeps, count in zip((2, 4, 8), counts[1:], strict=True):
        assert count <= 1.25 * counts[0] / sweeps + 1


@pytest.mark.parametrize(
    ("largest", "sweeps", "told"), [(4.0, 1, "2 to 16"), (4.0, 2.5, "2 to 16"), (0.0, 4, "above 0")]
)
def test_sweeps_that_are_refused(largest, sweeps, told):
    with pytest.raises(InputError, match=told):
        chebyshev(lambda u: -u, largest, sweeps)


def test_an_operator_that_is_not_symmetric_wants_directions():
    matrix = 5.0 * np.eye(12) + np.random.default_rng(2).standard_normal((12, 12))
    counts = [gcr(lambda x: matrix @ x, np.ones(12), kept=k, tolerance=1e-10, most=5000).iterations for k in (1, 4, 12)]
    assert counts[0] > counts[1] > counts[2] == 12
    assert counts == [transcribed(lambda x: matrix @ x, np.ones(12), kept=k, small=1e-10)[1] for k in (1, 4, 12)]


def test_guesses_norms_and_least():
    right, scale = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 8.0])
    exact = right / scale
    assert gcr(lambda x: scale * x, right, exact).iterations == 0
    assert gcr(lambda x: scale * x, right, exact + 1e-3, least=1).iterations >= 1
    found = gcr(lambda x: scale * x, right, norm="2", weights=scale, tolerance=1e-9)
    assert found.norms[0] == pytest.approx(np.sqrt(np.sum(scale * right**2))) and found.norm <= 1e-9


def test_single_precision_stays_single(box):
    problem, right, weights = box
    found = gcr(operator_of(problem), right.astype(np.float32), weights=weights.astype(np.float32), tolerance=1e-5)
    assert found.solution.dtype == np.float32


def test_errors_say_what_happened(box):
    problem, right, weights = box
    with pytest.raises(ConvergenceError, match=r"after 3 iterations\.\nallowed: up to 1e-08"):
        gcr(operator_of(problem), right, weights=weights, most=3)
    with pytest.raises(ConvergenceError, match=r"(?s)after 0 iterations.*another right-hand side"):
        gcr(lambda x: 0.0 * x, np.ones(3))
    with pytest.raises(ConvergenceError, match=r"(?s)after 0 iterations.*not finite"):
        gcr(lambda x: np.nan * x, np.ones(3))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"kept": 0}, "kept = 0"),
        ({"kept": 1.5}, "kept = 1.5"),
        ({"norm": "1"}, "norm"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"right": np.ones(3, int)}, "float32 or float64"),
        ({"right": np.array([1.0, np.nan, 1.0])}, "finite numbers"),
        ({"right": np.zeros(0)}, r"shape \(0,\)"),
        ({"guess": np.zeros(4)}, r"guess, ndarray of shape \(4,\)"),
        ({"guess": [0.0, 0.0, 0.0]}, "guess, list"),
        ({"weights": np.ones(4)}, r"weights of shape \(4,\)"),
        ({"weights": np.ones((2, 3))}, r"weights of shape \(2, 3\)"),
        ({"weights": np.array([1.0, 0.0, 1.0])}, "above 0"),
        ({"weights": np.array([1.0, np.inf, 1.0])}, "finite numbers above 0"),
        ({"operator": lambda x: x[:1]}, r"from the operator ndarray of shape \(1,\)"),
        ({"operator": lambda x: None}, "from the operator NoneType"),
        ({"preconditioner": lambda r: 1j * r}, "from the preconditioner ndarray .* complex128"),
    ],
)
def test_what_is_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        gcr(**{"operator": lambda x: 2.0 * x, "right": np.ones(3), **wrong})


def test_functions_that_use_their_arrays_again():
    """The operator and the preconditioner may give the same array at every call."""
    matrix = 5.0 * np.eye(12) + np.random.default_rng(2).standard_normal((12, 12))
    made, better = np.empty(12), np.empty(12)

    def operator(x):
        return np.matmul(matrix, x, out=made)

    def preconditioner(r):
        return np.multiply(r, 0.2, out=better)

    found = gcr(operator, np.ones(12), preconditioner=preconditioner, tolerance=1e-10)
    assert abs(matrix @ found.solution - 1.0).max() < 1e-10


def test_a_norm_is_that_of_the_solution():
    """In single precision the recurrence goes on to fall where the residual has come to rounding."""
    matrix = (5.0 * np.eye(12) + np.random.default_rng(2).standard_normal((12, 12))).astype(np.float32)
    right = np.full(12, 0.3, np.float32)
    for small in (1e-5, 1e-7):
        found = gcr(lambda x: matrix @ x, right, tolerance=small)
        assert found.norm == abs(matrix @ found.solution - right).max() <= small
    with pytest.raises(ConvergenceError) as error:
        gcr(lambda x: matrix @ x, right, tolerance=1e-12, most=200)
    assert 1e-9 < error.value.norm < 1e-6


def test_what_an_operator_gives_is_taken_in_the_precision_of_the_right_side():
    found = gcr(lambda x: np.array([2.0, 3.0]) * x, np.array([4.0, 9.0], np.float32))
    assert found.solution.dtype == np.float32 and np.array_equal(found.solution, [2.0, 3.0])


def test_a_right_side_that_is_met_already_needs_no_iterations():
    assert gcr(lambda x: 2.0 * x, np.zeros(3), least=2).iterations == 0
