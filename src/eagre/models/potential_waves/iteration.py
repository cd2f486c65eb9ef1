"""Iteration of a Laplace problem: relaxed defect correction, with conjugate residuals if it converges slowly.

A solve starts with one relaxation factor. If the convergence rate exceeds SLOW, three factors are used cyclically: the
Chebyshev factors for the ratio of operator to preconditioner below steep waves. If the rate exceeds FAILING, conjugate
residuals continue the solve. Over a bed steeper than STEEP the solve starts with conjugate residuals. Lines along sigma
always have the factor 1. No information is kept between solves, so a restarted run equals an uninterrupted one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from eagre.errors import ConvergenceError
from eagre.models.potential_waves.residuals import ConjugateResiduals, Problem
from eagre.models.potential_waves.stencils import RELAXATION
from eagre.stepping.until import NOTHING, Iterated, Lead, StopTest, Until

CHEBYSHEV = (1.106, 0.796, 0.622)
"""1 / (c - w cos) for ratios from 0.85 to 1.66."""

SLOW = 0.28  # ratio of the norms of successive corrections
FAILING = 0.6
STEEP = 0.85  # maximum bed slope (decision 0043)
LOOK_EVERY = 3  # iterations between host synchronisations with a GPU; sufficient for most solves
FIRST, MORE = 6, 3  # iterations between checks of the rate: complete cycles of factors


class Convergence(NamedTuple):
    """Convergence report of the last solve."""

    method: str  # final method: "one weight", "three weights" or "conjugate residuals"
    iterations: int
    rate: float  # of the last corrections; NaN after fewer than FIRST + 1 iterations


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
    last : Convergence
    """

    def __init__(self, laplace: Problem, test: StopTest, steepest: float) -> None:
        self._laplace, self._steep = laplace, steepest > STEEP
        order, device = laplace.vertical.order, laplace.device
        self._alone = laplace.preconditioner == "lines"
        one = laplace.iteration(1.0 if self._alone else RELAXATION[order])
        three = [laplace.iteration(weight) for weight in CHEBYSHEV]
        turns = [*three[0], test.launch, *three[1], test.launch, *three[2]]
        self._methods = {
            "one weight": Until(device, test, one, look_every=LOOK_EVERY),
            "three weights": Until(device, test, turns, look_every=1),
        }
        self._residuals: ConjugateResiduals | None = None
        self.last = Convergence("one weight", 0, math.nan)

    def run(self, small: float, most: int, lead: Lead) -> Iterated:
        """Iterate until the 2-norm of a correction of Psi is at most `small`, after the launches of `lead`.

        Raises
        ------
        ConvergenceError
            If `most` iterations are not sufficient, or corrections are not finite.
        """
        method, made, norm, rate = "one weight", 0, math.nan, math.nan
        if self._alone:
            found = self._methods[method].run(small, most, lead)
            return self._ended(method, found.iterations, found.norm, rate)
        while made < most and not self._steep and not rate > FAILING:
            try:
                found = self._methods[method].run(small, min(most - made, MORE if made else FIRST), lead)
                return self._ended(method, made + found.iterations, found.norm, rate)
            except ConvergenceError as slow:
                rate = (slow.norm / norm) ** (1.0 / slow.iterations)
                made, norm = made + slow.iterations, slow.norm
            if not math.isfinite(norm):
                break
            method, lead = "three weights" if rate > SLOW else method, NOTHING
        if made >= most or (made and not math.isfinite(norm)):
            raise ConvergenceError(made, norm, small)
        self._residuals = self._residuals or ConjugateResiduals(self._laplace)
        try:
            found, rate = self._residuals.run(small, most - made, lead)
        except ConvergenceError as slow:
            raise ConvergenceError(made + slow.iterations, slow.norm, small) from None
        return self._ended("conjugate residuals", made + found.iterations, found.norm, rate)

    def _ended(self, method: str, iterations: int, norm: float, rate: float) -> Iterated:
        self.last = Convergence(method, iterations, rate)
        return Iterated(iterations, norm)
