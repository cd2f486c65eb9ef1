"""Generalized conjugate residuals: the shares of corrections that leave the smallest residual, for steep beds.

    u = M^-1 r,   q = A u        both less their parts along the last KEPT q_i
    alpha = <r, q> / <q, q>,     Psi += alpha u,     r -= alpha q

In the modes of the residual, which A maps to themselves; A u is a difference of residuals, the carried one and that of
Psi + u itself: what rounding puts into one is taken out by the next, so single precision does. Source: S. C. Eisenstat,
H. C. Elman, M. H. Schultz, SIAM J. Numer. Anal. 20, 345-357 (1983), doi:10.1137/0720023: Orthomin(KEPT).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from eagre.backend.cells import cell
from eagre.backend.device import Device
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.stencils import Vertical
from eagre.stepping.until import Iterated

PART = 32  # points of a row that one thread multiplies
KEPT = 8  # directions: with 4 a bed of slope 1.5 takes twice the iterations


class Problem(Protocol):
    """What an iteration takes of a `LaplaceProblem`."""

    preconditioner: str
    device: Device
    vertical: Vertical
    multigrid: Any
    shape: Any
    psi: Any

    def zeros(self, layers: int) -> Any:
        """An array of so many layers."""
        ...

    def product(self, a: Any, b: Any) -> float:
        """Sum of a b over all layers."""
        ...

    def defect(self) -> list[Any]:
        """Launches that find the modes of the residual."""
        ...

    def correction(self, weight: float = 1.0) -> list[Any]:
        """Launches that add the correction that the modes make."""
        ...

    def iteration(self, weight: float) -> list[Any]:
        """One defect correction."""
        ...

    def norm(self) -> float:
        """The 2-norm of the last correction."""
        ...

    def go_on(self) -> None:
        """Let launches of an iteration work outside a stop test."""
        ...


@cell
def subtract(k, j, i, a, b, out):
    """Out = a - b."""
    out[k, j, i] = a[k, j, i] - b[k, j, i]


@cell
def add_share(k, j, i, a, b, share):
    """A += share b; share : (1,)."""
    a[k, j, i] += share[0] * b[k, j, i]


@cell
def take_share(k, j, i, a, b, share):
    """A = share b; share : (1,)."""
    a[k, j, i] = share[0] * b[k, j, i]


@cell
def part_products(i, a, b, parts):
    """Sum of a b over PART points of a row, in double precision; parts : (rows of all layers, parts of a row)."""
    row, first = i // parts.shape[1], i % parts.shape[1] * PART
    k, j = row // a.shape[1], row % a.shape[1]
    total = 0.0
    for n in range(first, min(first + PART, a.shape[2])):
        total += np.float64(a[k, j, n]) * np.float64(b[k, j, n])
    parts[row, i % parts.shape[1]] = total


@cell
def row_sums(i, parts, sums):
    """Sum of the parts of a row."""
    total = 0.0
    for n in range(parts.shape[1]):
        total += parts[i, n]
    sums[i] = total


class ConjugateResiduals:
    """Solutions of a `LaplaceProblem`; holds 2 KEPT + 2 times its unknowns.

    Parameters
    ----------
    laplace : Problem
    """

    def __init__(self, laplace: Problem) -> None:
        self._laplace, self._device = laplace, laplace.device
        layers = laplace.vertical.nz - 1
        shape, real, zeros = (layers, *laplace.shape), laplace.multigrid.real, self._device.field_zeros
        self._psi, self._r = laplace.zeros(layers + 2), zeros(shape, real)
        self._u, self._q = ([zeros(shape, real) for _ in range(KEPT + 1)] for _ in range(2))
        self._squares = [0.0] * (KEPT + 1)
        cells = (subtract, add_share, take_share)
        self._loops = {one.name: self._device.loop(one, laplace.multigrid.precision) for one in cells}
        self._apply = [*laplace.correction(1.0), *laplace.defect()]
        self._correct, self._defect = laplace.correction(1.0), laplace.defect()
        self._cycle = laplace.multigrid.cycle_launches(from_zero=True)

    def run(self, small: float, most: int) -> tuple[Iterated, float]:
        """Iterate until the 2-norm of a correction of Psi is at most `small`; returns the mean rate as well.

        Raises
        ------
        ConvergenceError
            If `most` iterations are not enough.
        """
        self._laplace.go_on()
        self._device.run(self._defect)
        self._device.copy(self._r, self._laplace.multigrid.f)
        norms = [self._iterate(0)]
        while norms[-1] > small and len(norms) < most:
            norms.append(self._iterate(len(norms)))
        if not norms[-1] <= small:
            raise ConvergenceError(len(norms), norms[-1], small)
        fall = norms[-1] / norms[0] if norms[0] > 0.0 else 0.0
        return Iterated(len(norms), norms[-1]), fall ** (1.0 / max(len(norms) - 1, 1))

    def _iterate(self, before: int) -> float:
        """One iteration after so many; returns the norm of the correction."""
        device, multigrid, here = self._device, self._laplace.multigrid, before % (KEPT + 1)
        u, q = self._u[here], self._q[here]
        device.run(self._cycle)
        device.copy(u, multigrid.u)
        device.copy(self._psi, self._laplace.psi)
        device.run([*self._apply, self._over("subtract", self._r, multigrid.f, q)])
        kept = [n for n in range(min(before, KEPT + 1)) if n != here]
        shares = [-self._product(self._q[n], q) / self._squares[n] for n in kept]
        for n, share in zip(kept, shares, strict=True):
            self._add([(u, self._u[n]), (q, self._q[n])], share)
        self._squares[here] = self._product(q, q) or 1.0
        alpha = self._product(self._r, q) / self._squares[here]
        self._add([(self._r, q)], -alpha)
        device.copy(self._laplace.psi, self._psi)
        device.run([self._over("take_share", multigrid.u, u, self._share(alpha)), *self._correct])
        device.copy(multigrid.f, self._r)
        return self._laplace.norm()

    def _over(self, name: str, *arguments: Any) -> Any:
        return self._device.over(self._loops[name], self._r.shape, arguments)

    def _share(self, value: float) -> Any:
        return self._device.array(np.array([value], self._r.dtype))

    def _add(self, pairs: Sequence[tuple[Any, Any]], share: float) -> None:
        self._device.run([self._over("add_share", a, b, self._share(share)) for a, b in pairs])

    def _product(self, a: Any, b: Any) -> float:
        """Sum of a b over all."""
        return self._laplace.product(a, b)
