"""Generalized conjugate residual method with k stored directions for a linear operator given as a function.

    r = L(x) - f,   p_1 = P(r)
    beta = -<r, L p> / <L p, L p>,   x += beta p,   r += beta L p
    q = P(r),   p_new = q + sum_j alpha_j p_j,   alpha_j = -<L q, L p_j> / <L p_j, L p_j>

After k directions only the newest is kept. L p follows from the same recurrence, so an iteration applies L and P once
each. Source: S. C. Eisenstat, H. C. Elman, M. H. Schultz, SIAM J. Numer. Anal. 20, 345-357 (1983),
doi:10.1137/0720023; in the order of P. K. Smolarkiewicz, L. G. Margolin, Appl. Math. Comput. Sci. 4, 527-551 (1994).

Chebyshev polynomial preconditioner: weighted sweeps whose weights are reciprocal roots of a Chebyshev polynomial.

    q = -w_1 r,    q <- q + w_n (L q - r),    n = 2 .. m

gives r - L q = prod_n (1 + w_n L) r. For an operator with eigenvalues between -b and 0 the polynomial is small for
eigenvalues of size b / reach to b. GCR(1) then needs about m times fewer iterations, each with m - 1 additional
applications of L and no additional sums. Source: O. G. Johnson, C. A. Micchelli, G. Paul, SIAM J. Numer. Anal. 20,
362-376 (1983), doi:10.1137/0720025; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

from eagre.backend.device import array_module
from eagre.checks import one_of
from eagre.errors import ConvergenceError, InputError

NORMS = ("max", "2")
NO_DIRECTION = "another right-hand side: the operator maps the residual to zero"
NOT_FINITE = "a check of the operator and the preconditioner: their results are not finite"
REACH = 1.5  # ratio b / a divided by sweeps^2; values of 1 to 2 perform similarly


class Found(NamedTuple):
    """Solution of `gcr`.

    Attributes
    ----------
    solution : array
    iterations : int
        Number of iterations.
    norm : float
        Norm of the final residual, computed from the solution.
    norms : list of float
        Norms of all residuals, from the initial guess on; intermediate norms follow from the recurrence.
    """

    solution: Any
    iterations: int
    norm: float
    norms: list[float]


def gcr(
    operator: Callable[[Any], Any],
    right: Any,
    guess: Any = None,
    *,
    kept: int = 3,
    preconditioner: Callable[[Any], Any] | None = None,
    weights: Any = 1.0,
    tolerance: float = 1e-8,
    norm: str = "max",
    least: int = 0,
    most: int = 1000,
) -> Found:
    """Solve operator(x) = right by the generalized conjugate residual method GCR(k).

    Parameters
    ----------
    operator : function
        Linear operator L: returns an array of the shape of its argument; the result is converted to the type of
        `right`.
    right : array
        Right-hand side f, NumPy or CuPy, of any shape, float32 or float64, in C or Fortran order; determines the kind
        of the solution.
    guess : array of the shape of `right`, optional
        Initial guess; zero by default.
    kept : int
        Number of directions k >= 1. If L P is symmetric in the inner product, 1 is sufficient.
    preconditioner : function, optional
        Preconditioner P: returns an approximation of L^-1 r for a residual r.
    weights : array or number
        Weights of the inner product <a, b> = sum(weights a b), above 0; choose weights for which L is symmetric, if
        any.
    tolerance : float
        Absolute tolerance of the norm of r.
    norm : {"max", "2"}
        max |r|, or sqrt(sum(weights r^2)).
    least, most : int
        Minimum and maximum number of iterations.

    Raises
    ------
    InputError
        For arguments outside these ranges, and for an operator or preconditioner that returns another shape.
    ConvergenceError
        If the tolerance is not reached after `most` iterations, the norm is not finite, or no direction remains.

    Notes
    -----
    When the recurrence reaches the tolerance, the residual operator(x) - right is recomputed; in single precision the
    two differ by rounding. If the recomputed norm exceeds the tolerance, the iteration continues from the new residual.

    Examples
    --------
    >>> import numpy as np
    >>> found = gcr(lambda x: np.array([2.0, 3.0]) * x, np.array([4.0, 9.0]))
    >>> found.solution, found.iterations
    (array([2., 3.]), 2)
    """
    _check_function("the operator", operator)
    _check(right, kept, tolerance, norm, most)
    _check_arrays(right, guess, weights)
    module = array_module(right)

    def product(a: Any, b: Any) -> float:
        return float(module.sum(weights * a * b, dtype=module.float64))

    def size(r: Any) -> float:
        return float(abs(r).max()) if norm == "max" else math.sqrt(product(r, r))

    def residual(x: Any) -> Any:
        return _answer("operator", operator, x) - right

    x = module.zeros_like(right) if guess is None else guess.astype(right.dtype, order="K")
    r = -right if guess is None else residual(x)
    directions: list[tuple[Any, Any, float]] = []  # p, L p and <L p, L p>
    norms = [size(r)]
    while True:
        if norms[-1] <= tolerance and (len(norms) > least or norms[-1] == 0.0):
            r, directions = residual(x), []
            norms[-1] = size(r)
            if norms[-1] <= tolerance:
                return Found(x, len(norms) - 1, norms[-1], norms)
        p = r.copy(order="K") if preconditioner is None else _answer("preconditioner", preconditioner, r)
        image = _answer("operator", operator, p)
        for one, its, length in directions:
            alpha = p.dtype.type(-product(image, its) / length)
            p, image = p + alpha * one, image + alpha * its
        length = product(image, image)
        if directions and length == 0.0:  # the stored directions span the space; the remainder is rounding
            directions = []
            continue
        if len(norms) > most or not 0.0 < length < math.inf or not math.isfinite(norms[-1]):
            raise ConvergenceError(len(norms) - 1, size(residual(x)), tolerance, _advice(length, norms[-1]))
        directions = [*(directions if len(directions) < kept else []), (p, image, length)]
        beta = r.dtype.type(-product(r, image) / length)
        x, r = x + beta * p, r + beta * image
        norms.append(size(r))


def _answer(name: str, function: Callable[[Any], Any], a: Any) -> Any:
    """Return a copy of a function's result in the precision of its argument; the function may reuse its array."""
    result = function(a)
    if getattr(result, "shape", None) != a.shape or result.dtype.kind not in "iuf":
        shape, dtype = getattr(result, "shape", "?"), getattr(result, "dtype", "?")
        got = f"{type(result).__name__} of shape {shape} and type {dtype}"
        raise InputError(
            f"from the {name} {got}", allowed=f"an array of shape {a.shape} and type {a.dtype}",
            problem=f"The {name} returns an array of another shape or type.",
        )  # fmt: skip
    return result.astype(a.dtype, order="K")


def _advice(length: float, norm: float) -> str | None:
    """Return advice for an iteration without a solution, or None for the default advice."""
    if not (math.isfinite(length) and math.isfinite(norm)):
        return NOT_FINITE
    return None if length > 0.0 else NO_DIRECTION


def _check_function(name: str, function: Any) -> None:
    """Raise `InputError` for an object that is not callable, such as a matrix."""
    if not callable(function):
        raise InputError(
            f"{name} of type {type(function).__name__}", allowed="a function of an array", fix="lambda x: A @ x",
            problem=f"{name[0].upper()}{name[1:]} is not callable.",
        )  # fmt: skip


def _check(right: Any, num_directions: int, tolerance: float, norm: str, max_iterations: int) -> None:
    """Raise `InputError` for invalid parameters or right-hand sides."""
    one_of("norm", norm, NORMS)
    if str(getattr(right, "dtype", "")) not in ("float32", "float64"):
        raise InputError(
            f"a right-hand side of type {getattr(right, 'dtype', type(right).__name__)}",
            allowed="a float32 or float64 array of NumPy or CuPy",
            problem="The right-hand side is not an array of real numbers.",
        )
    if not isinstance(num_directions, Integral) or num_directions < 1:
        raise InputError(f"kept = {num_directions!r}", allowed="1 or more", fix="kept=3")
    if not tolerance > 0.0 or not max_iterations >= 0:
        raise InputError(
            f"tolerance, most = {tolerance!r}, {max_iterations!r}", allowed="above 0; 0 or more",
            problem="The tolerance or the maximum number of iterations is not allowed.",
        )  # fmt: skip


def _check_arrays(right: Any, guess: Any, weights: Any) -> None:
    """Raise `InputError` for arrays of other shapes or with invalid values."""
    module = array_module(right)
    if not right.size or not bool(module.isfinite(right).all()):
        raise InputError(
            f"a right-hand side of shape {right.shape}", allowed="finite numbers, one or more",
            problem="The right-hand side is empty or contains values that are not finite.",
        )  # fmt: skip
    if guess is not None and (getattr(guess, "shape", None) != right.shape or guess.dtype.kind not in "iuf"):
        got = f"{type(guess).__name__} of shape {getattr(guess, 'shape', '?')}"
        problem = "The initial guess does not match the right-hand side."
        raise InputError(
            f"guess, {got}", allowed=f"real numbers of shape {right.shape}", fix="guess=None", problem=problem
        )
    weight = module.asarray(weights)
    if not _fits(weight.shape, right.shape) or not bool(((weight > 0.0) & (weight < math.inf)).all()):
        raise InputError(
            f"weights of shape {weight.shape}", allowed=f"finite numbers above 0, one or {right.shape}",
            problem="The weights are not positive numbers that match the right-hand side.",
        )  # fmt: skip


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Return whether an array of a shape can be broadcast to another shape."""
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return len(shape) <= len(whole) and all(n in (1, size) for n, size in pairs)


def chebyshev_weights(largest: float, sweeps: int) -> list[float]:
    """Return the weights w_n, ordered so that partial products remain small.

    Parameters
    ----------
    largest : float
        Upper bound b of the absolute eigenvalues of L, above 0.
    sweeps : int
        Number of sweeps m, 2 to 16.

    Raises
    ------
    InputError
        For values outside these ranges.
    """
    if not largest > 0.0:
        raise InputError(f"largest = {largest!r}", allowed="an upper bound of the eigenvalues, above 0")
    if sweeps != int(sweeps) or not 2 <= sweeps <= 16:
        raise InputError(f"sweeps = {sweeps!r}", allowed="2 to 16", fix="sweeps=6")
    lower = largest / (REACH * sweeps**2)
    centre, half = 0.5 * (largest + lower), 0.5 * (largest - lower)
    roots = [centre + half * math.cos(math.pi * (n + 0.5) / sweeps) for n in range(sweeps)]
    ordered = [roots.pop(0)]
    while roots:  # next root: maximum product of distances to the previous ones
        ordered.append(max(roots, key=lambda root: math.prod(abs(root - one) for one in ordered)))
        roots.remove(ordered[-1])
    return [1.0 / root for root in ordered]


def chebyshev(operator: Callable[[Any], Any], largest: float, sweeps: int = 6) -> Callable[[Any], Any]:
    """Return a preconditioner for `gcr` that approximates L^-1 by sweeps - 1 applications of L.

    Parameters
    ----------
    operator : function
        L, negative (semi-)definite: eigenvalues from -largest to 0.
    largest : float
        Upper bound of the absolute eigenvalues: twice the largest absolute diagonal element if L is diagonally
        dominant.
    sweeps : int
        Number of sweeps, 2 to 16.

    Raises
    ------
    InputError
        For values outside these ranges.

    Examples
    --------
    >>> import numpy as np
    >>> from eagre.solvers.gcr import gcr
    >>> def second(u):
    ...     return np.roll(u, 1) - 2.0 * u + np.roll(u, -1)
    >>> right = np.sin(0.1 * np.arange(64.0) ** 2)
    >>> right -= right.mean()
    >>> gcr(second, right, preconditioner=chebyshev(second, 4.0)).iterations < gcr(second, right).iterations
    True
    """
    first, *weights = chebyshev_weights(largest, sweeps)

    def precondition(r: Any) -> Any:
        real = r.dtype.type
        q = real(-first) * r
        for weight in weights:
            q += real(weight) * (operator(q) - r)
        return q

    return precondition
