"""Generalized conjugate residuals with k kept directions for a linear operator that is given as a function.

    r = L(x) - f,   p_1 = P(r)
    beta = -<r, L p> / <L p, L p>,   x += beta p,   r += beta L p
    q = P(r),   p_new = q + sum_j alpha_j p_j,   alpha_j = -<L q, L p_j> / <L p_j, L p_j>

After k directions the newest is kept and the others are dropped. L p follows from the same recurrence, so an iteration
applies L and P once each. Source: S. C. Eisenstat, H. C. Elman, M. H. Schultz, SIAM J. Numer. Anal. 20, 345-357
(1983), doi:10.1137/0720023; the order is that of P. K. Smolarkiewicz, L. G. Margolin, Appl. Math. Comput. Sci. 4,
527-551 (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from eagre.backend.arrays import array_module
from eagre.checks import one_of
from eagre.errors import ConvergenceError, InputError

NORMS = ("max", "2")


class Found(NamedTuple):
    """A solution.

    Attributes
    ----------
    solution : array
    iterations : int
    norm : float
        Of the last residual.
    norms : list of float
        Of all residuals, that of the guess first.
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
    """Solve operator(x) = right.

    Parameters
    ----------
    operator : function
        L: an array of the shape of `right` to another one.
    right : array
        f, NumPy or CuPy, of any shape, float32 or float64, in C or Fortran order; the solution is of its kind.
    guess : array, optional
        Else zero.
    kept : int
        k >= 1, directions. Where L P is symmetric in the inner product one is as good as many.
    preconditioner : function, optional
        P: a residual to about L^-1 of it.
    weights : array or number
        Of the inner product <a, b> = sum(weights a b), above 0: those in which L is symmetric, if there are such.
    tolerance : float
        Of the norm of r.
    norm : {"max", "2"}
        max |r|, or sqrt(sum(weights r^2)).
    least, most : int
        Iterations.

    Raises
    ------
    ConvergenceError
        If the norm is not reached after `most` iterations, stops being finite, or no direction is left.

    Examples
    --------
    >>> import numpy as np
    >>> found = gcr(lambda x: np.array([2.0, 3.0]) * x, np.array([4.0, 9.0]))
    >>> found.solution, found.iterations
    (array([2., 3.]), 2)
    """
    _check(right, kept, tolerance, norm, most)
    module = array_module(right)

    def product(a: Any, b: Any) -> float:
        return float(module.sum(weights * a * b, dtype=module.float64))

    def size(r: Any) -> float:
        return float(abs(r).max()) if norm == "max" else math.sqrt(product(r, r))

    precondition = preconditioner or (lambda r: r.copy(order="K"))
    x = module.zeros_like(right) if guess is None else guess.copy(order="K")
    r = -right if guess is None else operator(x) - right
    directions, images, lengths = [], [], []
    norms = [size(r)]
    while not (norms[-1] <= tolerance and len(norms) > least):
        p = precondition(r)
        image = operator(p)
        for one, its, length in zip(directions, images, lengths, strict=True):
            alpha = -product(image, its) / length
            p, image = p + p.dtype.type(alpha) * one, image + p.dtype.type(alpha) * its
        if len(directions) == kept:
            directions, images, lengths = [], [], []
        length = product(image, image)
        if len(norms) > most or not 0.0 < length < math.inf or not math.isfinite(norms[-1]):
            raise ConvergenceError(len(norms) - 1, norms[-1], tolerance)
        directions, images, lengths = [*directions, p], [*images, image], [*lengths, length]
        beta = r.dtype.type(-product(r, image) / length)
        x, r = x + beta * p, r + beta * image
        norms.append(size(r))
    return Found(x, len(norms) - 1, norms[-1], norms)


def _check(right: Any, kept: int, tolerance: float, norm: str, most: int) -> None:
    """Refuse what cannot be solved for."""
    one_of("norm", norm, NORMS)
    if str(getattr(right, "dtype", "")) not in ("float32", "float64"):
        raise InputError("this right side", allowed="a float32 or float64 array of NumPy or CuPy")
    if kept != int(kept) or kept < 1:
        raise InputError(f"kept = {kept!r}", allowed="1 or more", fix="kept=3")
    if not tolerance > 0.0 or not most >= 0:
        raise InputError(f"tolerance, most = {tolerance!r}, {most!r}", allowed="above 0; 0 or more")
