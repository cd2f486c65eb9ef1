"""Chebyshev polynomial preconditioner of the pressure solver for flat terrain."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Work, check_precision
from eagre.errors import InputError
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.separable import FlatKernels, eigenvalue_bound, is_separable, stencil_of
from eagre.solvers.gcr.solver import chebyshev_weights


class Polynomial:
    """Preconditioner q = P r by sweeps of `eagre.solvers.gcr.solver`; the first two sweeps are fused.

    Parameters
    ----------
    operator : PressureOperator
        Operator for flat terrain, with profiles as coefficients and without Coriolis.
    sweeps : int
        Number of sweeps, 2 to 16.
    flat : FlatKernels, optional
        GPU kernels that do nothing after convergence, read from `control`.
    control : array, optional
        Control numbers of the iteration.

    Raises
    ------
    InputError
        For another operator or number of sweeps.
    """

    def __init__(
        self, operator: PressureOperator, sweeps: int, flat: FlatKernels | None = None, control: Any = None
    ) -> None:
        if not is_separable(operator):
            said = "preconditioner = 'chebyshev' over terrain, with Coriolis or coefficients that vary along x or y"
            raise InputError(
                said,
                allowed='"fft", "line-jacobi", "richardson", "none"',
                fix='preconditioner="fft"',
                problem="The preconditioner chebyshev requires flat terrain and constant coefficients.",
            )
        self._operator, self._flat, self._control, self._sweeps = operator, flat, control, sweeps
        device, self._real = operator.device, check_precision(operator.precision)
        self._other = device.zeros(operator.metric.shape, self._real)
        self._numbers = [device.zeros((1, 1, 3), self._real) for _ in range(sweeps - 1)]
        self._image = device.array(np.array([[[0.0, 1.0, 0.0]]], self._real))
        self.refresh()

    def refresh(self) -> None:
        """Update the coefficients of the operator."""
        first, second, *others = chebyshev_weights(eigenvalue_bound(stencil_of(self._operator)), self._sweeps)
        numbers = [(-first - second, -first * second, 0.0), *((1.0, one, -one) for one in others)]
        for array, values in zip(self._numbers, numbers, strict=True):
            self._operator.device.fill(array, np.array([[values]], self._real))

    def _sweep(self, q: Any, r: Any, numbers: Any, out: Any) -> Work:
        if self._flat is not None:
            return self._flat.sweep(q, r, numbers, out, self._control)
        return self._operator.sweep(q, r, numbers, out)

    def apply(self, q: Any, image: Any) -> list[Work]:
        """Return launches of image = L q."""
        return [self._sweep(q, q, self._image, image)]

    def launches(self, r: Any, q: Any) -> list[Work]:
        """Return launches of q = P r, both (nz, ny, nx)."""
        there, sweeps = (q, self._other), []
        last = r
        for n, numbers in enumerate(self._numbers):
            out = there[(len(self._numbers) - 1 - n) % 2]
            sweeps.append(self._sweep(last, r, numbers, out))
            last = out
        return sweeps
