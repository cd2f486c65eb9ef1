"""Iteration of a Laplace problem: relaxed defect correction, with conjugate residuals if it converges slowly.

A solve starts with one relaxation factor. If the convergence rate exceeds SLOW, three factors are used cyclically: the
Chebyshev factors for the ratio of operator to preconditioner below steep waves. If the rate exceeds FAILING, conjugate
residuals continue the solve. Over a bed steeper than STEEP the solve starts with conjugate residuals. Lines along sigma
always have the factor 1. No information is kept between solves, so a restarted run equals an uninterrupted one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.errors import ConvergenceError
from eagre.models.potential_waves.laplace.conjugate_residuals import ConjugateResiduals, Problem
from eagre.models.potential_waves.laplace.stencils import RELAXATION
from eagre.stepping.convergence_loop import NO_PROLOGUE, ConvergenceLoop, IterationResult, Prologue, StopTest

CHEBYSHEV = (1.106, 0.796, 0.622)
"""1 / (c - w cos) for ratios from 0.85 to 1.66."""

SLOW = 0.28  # ratio of the norms of successive corrections
FAILING = 0.6
STEEP = 0.85  # maximum bed slope (decision 0043)
SYNC_INTERVAL = 3  # iterations between host synchronisations with a GPU; sufficient for most solves
FIRST, LATER = 6, 3  # iterations between checks of the rate: complete cycles of factors


class Convergence(NamedTuple):
    """Convergence history of a Laplace solve.

    Attributes
    ----------
    method : {"one weight", "three weights", "conjugate residuals"}
        Method of the last iterations: defect correction with one relaxation factor or with three, used cyclically, or
        conjugate residuals.
    iterations : int
        Number of iterations.
    rate : float
        Geometric mean of the ratios of the norms of successive corrections with this method; NaN if it has no two
        iterations or a correction is zero.
    norms : (iterations,) array, m2/s
        Root mean square over the unknowns of the correction of the potential in each iteration.
    tolerance : float, m2/s
        Tolerance of the norm.
    """

    method: str
    iterations: int
    rate: float
    norms: np.ndarray
    tolerance: float


class Solve(NamedTuple):
    """Method and length of the last solve."""

    method: str = "one weight"
    iterations: int = 0
    previous_iterations: int = 0  # iterations before this method
    tolerance: float = math.nan  # tolerance of the 2-norm

    def convergence(self, norms: np.ndarray, scale: float) -> Convergence:
        """Return the history; norms : 2-norms of all iterations, `scale` times the root mean square."""
        norms, steps = norms[: self.iterations] / scale, self.iterations - self.previous_iterations - 1
        falls = steps > 0 and min(norms[self.previous_iterations], norms[-1]) > 0.0
        rate = float(norms[-1] / norms[self.previous_iterations]) ** (1.0 / steps) if falls else math.nan
        return Convergence(self.method, self.iterations, rate, norms, self.tolerance / scale)


class Iteration:
    """Iterative solver of a `LaplaceProblem`.

    Parameters
    ----------
    laplace : Problem
    test : StopTest
    steepest : float
        Maximum slope of the bed.

    Attributes
    ----------
    last : Solve
    """

    def __init__(self, laplace: Problem, test: StopTest, bed_slope: float) -> None:
        self._laplace, self._steep = laplace, bed_slope > STEEP
        order, device = laplace.vertical.order, laplace.device
        self._alone = laplace.preconditioner == "lines"
        one = laplace.iteration(1.0 if self._alone else RELAXATION[order])
        three = [laplace.iteration(weight) for weight in CHEBYSHEV]
        weighted_iterations = [*three[0], test.launch, *three[1], test.launch, *three[2]]
        self._methods = {
            "one weight": ConvergenceLoop(device, test, one, iterations_per_check=SYNC_INTERVAL),
            "three weights": ConvergenceLoop(device, test, weighted_iterations, iterations_per_check=1),
        }
        self._residuals: ConjugateResiduals | None = None
        self.last = Solve()

    def run(self, tolerance: float, max_iterations: int, prologue: Prologue) -> IterationResult:
        """Iterate until the 2-norm of a correction of Psi is at most `tolerance`, after the launches of `prologue`.

        Raises
        ------
        ConvergenceError
            If `max_iterations` are not sufficient, or corrections are not finite.
        """
        method, count, norm, rate = "one weight", 0, math.nan, math.nan
        while count < max_iterations and not self._steep and not rate > FAILING:
            stop = max_iterations if self._alone else min(max_iterations, count + (LATER if count else FIRST))
            try:
                return self._run(self._methods[method], method, tolerance, stop, prologue, count)
            except ConvergenceError as slow:
                rate = (slow.norm / norm) ** (1.0 / (slow.iterations - count))
                count, norm = slow.iterations, slow.norm
            if not math.isfinite(norm):
                break
            method, prologue = "three weights" if rate > SLOW else method, NO_PROLOGUE
        if count >= max_iterations or (count and not math.isfinite(norm)):
            raise ConvergenceError(count, norm, tolerance)
        self._residuals = self._residuals or ConjugateResiduals(self._laplace)
        return self._run(self._residuals, "conjugate residuals", tolerance, max_iterations, prologue, count)

    def _run(
        self, iteration: ConvergenceLoop | ConjugateResiduals, method: str, tolerance: float, max_iterations: int,
        prologue: Prologue, completed: int,
    ) -> IterationResult:  # fmt: skip
        """Run a method up to a total of `max_iterations` iterations, and set `last`."""
        previous = self.last.previous_iterations if completed and method == self.last.method else completed
        try:
            result = iteration.run(tolerance, max_iterations, prologue, completed)
        except ConvergenceError as slow:
            self.last = Solve(method, slow.iterations, previous, tolerance)
            raise
        self.last = Solve(method, result.iterations, previous, tolerance)
        return result
