"""How a Laplace problem is iterated: by weights of the corrections, and by conjugate residuals where those are slow.

A solution begins with one weight. Where its rate is above SLOW, three follow in turn, the Chebyshev weights of the
interval in which the ratios of the operator to the preconditioner lie under steep waves; above FAILING conjugate
residuals go on. Over a bed steeper than STEEP they begin at once. Lines along sigma have one weight, 1, always. Nothing
is carried from one solution to the next, so that a run that is continued equals an unbroken one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from eagre.errors import ConvergenceError
from eagre.models.potential_waves.residuals import ConjugateResiduals, Problem
from eagre.models.potential_waves.stencils import RELAXATION
from eagre.stepping.until import NOTHING, Iterated, Lead, StopTest, Until

CHEBYSHEV = (1.106, 0.796, 0.622)
"""1 / (c - w cos), of ratios from 0.85 to 1.66."""

SLOW = 0.28  # of the norm of a correction to that before
FAILING = 0.6
STEEP = 0.85  # slope of the bed, at its steepest point (decision 0043)
LOOK_EVERY = 3  # iterations between looks of the host at a GPU: as many as most solutions need
FIRST, MORE = 6, 3  # iterations between looks at the rate: whole turns


class Convergence(NamedTuple):
    """How the last solution was found."""

    method: str  # that it ended with: "one weight", "three weights" or "conjugate residuals"
    iterations: int
    rate: float  # of the last few corrections, NaN where there were fewer than FIRST + 1


class Iteration:
    """Iterations of a `LaplaceProblem`.

    Parameters
    ----------
    laplace : Problem
    test : StopTest
    steepest : float
        Slope of the bed.

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
        """Iterate until the 2-norm of a correction of Psi is at most `small`, after what leads.

        Raises
        ------
        ConvergenceError
            If `most` iterations are not enough, or corrections stop being finite.
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
