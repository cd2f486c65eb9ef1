"""Finite-difference weights of any order, vertical grid, and modes of the vertical operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.solvers.finite_differences import weights

ORDERS = (2, 4, 6, 8)
DIFFERENCE_RATIO = {2: 1.0, 4: 4.0 / 3.0, 6: 68.0 / 45.0, 8: 512.0 / 315.0}
"""Ratio of the second difference to that of order 2 for the shortest wave; 1 for long waves."""

FACTORS = {2: (1.0,), 4: (1.15, 0.79, 0.9, 1.0), 6: (1.23, 0.79, 0.9, 1.0), 8: (1.31, 0.79, 0.9, 1.0)}
"""Factors of the differences in the preconditioner. Sweeps on the finest grid act on short waves, which are stiffer at
higher orders; on coarser grids the differences underestimate waves that are short there (decision 0066)."""

RELAXATION = {2: 1.0, 4: 0.93, 6: 0.93, 8: 0.93}
"""Relaxation factors of the corrections, for these factors of differences."""


class Modes(NamedTuple):
    """Factorised second sigma derivative over a flat bed, -to_layers diag(decay) to_modes, of layers 1 to nz - 1."""

    decay: np.ndarray  # (nz - 1,), positive
    to_modes: np.ndarray  # (nz - 1, nz - 1)
    to_layers: np.ndarray


def check_layers(nz: int, order: int) -> None:
    """Raise `InputError` if a column of `nz` points is too short for differences of an order."""
    if nz > order:
        return
    allowed = f"{order + 1} or more at order {order}"
    if nz == order:
        allowed += f"; the {nz} layers and one ghost layer of madsen2010 are vertical_points = {nz + 1} here"
    raise InputError(
        f"vertical_points = {nz}", allowed=allowed, fix=f"vertical_points = {order + 1 + 2 * (nz < order)}"
    )


@dataclass(frozen=True)
class Vertical:
    """Vertical grid: layer 0 is the surface, sigma = 1, layer nz - 1 the bed, sigma = 0, layer nz a ghost layer.

    Parameters
    ----------
    nz : int
        Number of points of a column, larger than `order`.
    order : {2, 4, 6, 8}
        Order of the differences, which have order + 1 points.
    clustered : bool
        sigma = sin(pi i / (2 (nz - 1))), i from the bed, which clusters points at the surface; otherwise equidistant.

    Attributes
    ----------
    sigma : (nz + 1,)
        Coordinates of the layers.
    first, second : (nz + 1, nz + 1)
        First and second sigma derivatives at a layer (row) from all layers (column); centred where possible.

    Raises
    ------
    InputError
        If the order is unknown, or nz too small for it.
    """

    nz: int
    order: int
    clustered: bool = True

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise InputError(f"order = {self.order}", allowed="2, 4, 6, 8", fix="order = 6")
        check_layers(self.nz, self.order)

    @property
    def sigma(self) -> np.ndarray:
        up = np.arange(self.nz) / (self.nz - 1.0)
        up = np.sin(0.5 * np.pi * up) if self.clustered else up
        return np.concatenate([up[::-1], [-up[1]]])

    @cached_property  # kernel code generation reads single weights thousands of times
    def first(self) -> np.ndarray:
        return self._derivative(1)

    @cached_property
    def second(self) -> np.ndarray:
        return self._derivative(2)

    def _derivative(self, derivative: int) -> np.ndarray:
        matrix = np.zeros((self.nz + 1, self.nz + 1))
        for k in range(self.nz + 1):
            low = min(max(k - self.order // 2, 0), self.nz - self.order)
            window = slice(low, low + self.order + 1)
            matrix[k, window] = weights(self.sigma[k], self.sigma[window], derivative)
        return matrix

    def modes(self) -> Modes:
        """Return the modes that diagonalise the vertical operator of the preconditioner.

        Equidistant layers of order 6 and 8 have complex pairs, of which the real part is used. This changes the
        preconditioner only, not the solution.
        """
        nz, first = self.nz, self.first[self.nz - 1]
        extended = np.vstack([np.eye(nz), -first[:nz] / first[nz]])
        return _modes_of((self.second @ extended)[1:nz, 1:nz])

    def line_modes(self) -> Modes:
        """Return the modes of second-order differences, with a mirrored layer below the bed.

        All columns share one matrix, so solving columns along sigma is equivalent to solving each mode at a point:
        red-black sweeps of these modes are zebra sweeps of lines.
        """
        nz, sigma = self.nz, self.sigma
        operator = np.zeros((nz + 1, nz + 1))
        for k in range(1, nz):
            operator[k, k - 1 : k + 2] = weights(sigma[k], sigma[k - 1 : k + 2], 2)
        operator[:, nz - 2] += operator[:, nz]
        return _modes_of(operator[1:nz, 1:nz])


def _modes_of(operator: np.ndarray) -> Modes:
    values, vectors = np.linalg.eig(operator)
    order = np.argsort(-np.real(values))
    values, vectors = values[order], vectors[:, order]
    second_of_pair = np.imag(values) < 0.0
    to_layers = np.where(second_of_pair, np.imag(vectors), np.real(vectors))
    return Modes(-np.real(values), np.linalg.inv(to_layers), to_layers)
