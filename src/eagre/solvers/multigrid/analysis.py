"""Local Fourier analysis of smoothers for second differences of any order, in one to three dimensions.

An error mode exp(i theta . j) on an infinite grid with indices j remains a mode, or a pair of modes, in a sweep:

    e_new = -(A- / A+) e          A = A+ + A-, applied to new and to old values
    Jacobi                  A+ = the diagonal D; with a weight w: 1 - w A / D
    Gauss-Seidel            A+ = D and the points before it in lexicographic order
    red-black Gauss-Seidel  two half sweeps, each Jacobi on one colour; they couple theta and theta + pi
    line                    D includes all differences along one axis, whose lines are solved exactly

Sources: U. Trottenberg, C. W. Oosterlee, A. Schueller, Multigrid, Academic Press (2001), ISBN 012701070X, chapter 4;
M. G. Madsen, M.Sc. thesis, Technical University of Denmark (2010), sections 2.2 and 2.3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import coo_array, csc_array, eye_array, kron
from scipy.sparse.linalg import spsolve

from eagre.checks import checked_count, checked_number, one_of
from eagre.errors import InputError
from eagre.solvers.finite_differences import weights

__all__ = ["Smoother", "SmoothingFactor"]

METHODS = ("jacobi", "gauss-seidel", "red-black")
SAMPLES = 65  # frequencies from -pi to pi per axis; pi / 2 is one of them


@dataclass(frozen=True)
class Smoother:
    """Smoother for a sum of second differences along one to three axes, on an infinite grid.

    Parameters
    ----------
    method : {"jacobi", "gauss-seidel", "red-black"}
        Damped Jacobi, lexicographic Gauss-Seidel or red-black Gauss-Seidel.
    spacing : sequence of float
        Grid spacing along each axis, in any common unit; its length is the number of dimensions.
    order : int
        Order of the central differences; a difference has order + 1 points. Even, 2 to 12.
    points_before : int, optional
        Number of points before the centre of each difference; default: order / 2, a central difference.
    line : int, optional
        Axis whose lines are solved exactly: line relaxation. Default: point relaxation.
    weight : float
        Relaxation weight of Jacobi sweeps.

    Raises
    ------
    InputError
        If an argument is outside its range.
    """

    method: str
    spacing: Sequence[float] = (1.0,)
    order: int = 2
    points_before: int | None = None
    line: int | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        if not 1 <= self._dimensions <= 3 or not all(step > 0.0 for step in self.spacing):
            raise InputError(
                f"spacing = {self.spacing!r}", allowed="1 to 3 positive numbers", fix="spacing = (1.0, 1.0)"
            )
        if self.order % 2 or not 2 <= self.order <= 12:
            raise InputError(f"order = {self.order!r}", allowed="2, 4, 6, 8, 10 or 12", fix="order = 6")
        checked_count("points_before", self._before, 1, self.order - 1)
        checked_number("weight", self.weight, 0.0, 2.0)
        if self.line is not None:
            checked_count("line", self.line, 0, self._dimensions - 1)

    @property
    def _dimensions(self) -> int:
        return len(self.spacing)

    @property
    def _before(self) -> int:
        return self.order // 2 if self.points_before is None else self.points_before

    @property
    def _offsets(self) -> np.ndarray:
        """Offsets of the points of a difference, (order + 1,)."""
        return np.arange(-self._before, self.order + 1 - self._before)

    @property
    def coefficients(self) -> np.ndarray:
        """Weights of the differences along each axis, (dimensions, order + 1), in units of 1 / spacing^2."""
        one = weights(0.0, self._offsets.astype(float), 2)
        return one / np.square(np.asarray(self.spacing, dtype=float))[:, None]

    # -- symbols -------------------------------------------------------------------------------

    def _sums(self, theta: np.ndarray, sides: Sequence[np.ndarray]) -> np.ndarray:
        """Return the sum of the differences over the offsets that `sides` selects along each axis, (...)."""
        waves = np.exp(1j * theta[..., None] * self._offsets)
        return np.einsum("...dk,dk,dk->...", waves, self.coefficients, np.array(sides, dtype=float))

    def _ratio(self, theta: np.ndarray) -> np.ndarray:
        """Return A / D at frequencies, (..., dimensions); D includes the line."""
        every = np.ones(self.order + 1, dtype=bool)
        diagonal = [every if axis == self.line else self._offsets == 0 for axis in range(self._dimensions)]
        return self._sums(theta, [every] * self._dimensions) / self._sums(theta, diagonal)

    def symbol(self, theta: np.ndarray) -> np.ndarray:
        """Return the amplification of modes in one sweep.

        Parameters
        ----------
        theta : (..., dimensions) array
            Phase difference between neighbouring points along each axis, -pi to pi.

        Returns
        -------
        (...) array, complex
            Factor of the mode; for red-black sweeps (..., 2, 2) of the modes theta and theta + pi, where pi is added
            along all axes except the line.
        """
        theta = np.asarray(theta, dtype=float)
        if self.method == "jacobi":
            return 1.0 - self.weight * self._ratio(theta)
        if self.method == "gauss-seidel":
            axes = range(self._dimensions)
            new = [np.full(self.order + 1, True) if axis == self.line else self._offsets <= 0 for axis in axes]
            return -self._sums(theta, [~one for one in new]) / self._sums(theta, new)
        a, b = self._ratio(theta), self._ratio(self._partner(theta))
        return _half_sweep(a, b, -1.0) @ _half_sweep(a, b, 1.0)

    def _partner(self, theta: np.ndarray) -> np.ndarray:
        """Return the frequency that the two colours couple with `theta`."""
        return theta + np.pi * (np.arange(self._dimensions) != self.line)

    def gain(self, theta: np.ndarray) -> np.ndarray:
        """Return the ratio of the 2-norms of a mode after and before one sweep, (...); see `symbol`."""
        symbol = self.symbol(theta)
        return np.linalg.norm(symbol[..., 0], axis=-1) if self.method == "red-black" else np.abs(symbol)

    # -- factors -------------------------------------------------------------------------------

    def smoothing_factor(self, coarsened: Collection[int] | None = None, samples: int = SAMPLES) -> SmoothingFactor:
        """Return the largest gain of modes that a coarser grid does not represent.

        Parameters
        ----------
        coarsened : collection of int, optional
            Axes whose spacing the coarser grid doubles; default: all except the line. A mode is not represented if its
            frequency is at least pi / 2 along one of them.
        samples : int
            Number of sampled frequencies from -pi to pi per axis; pi / 2 is one of them if 4 divides samples - 1.

        Returns
        -------
        SmoothingFactor
            For red-black sweeps the spectral radius of a sweep after which represented modes are set to zero.
        """
        theta, axes = self._frequencies(samples), self._coarsened(coarsened)
        if self.method == "red-black":
            projection = np.stack([_is_high(theta, axes), _is_high(self._partner(theta), axes)], axis=-1)
            gain = np.abs(np.linalg.eigvals(projection[..., None] * self.symbol(theta))).max(axis=-1)
        else:
            theta = theta[_is_high(theta, axes)]
            gain = self.gain(theta)
        worst = int(np.argmax(gain))
        return SmoothingFactor(float(gain[worst]), np.abs(theta[worst]))

    def best_weight(self, coarsened: Collection[int] | None = None, samples: int = SAMPLES) -> tuple[float, float]:
        """Return the weight of Jacobi sweeps with the smallest smoothing factor, and this factor.

        The arguments are those of `smoothing_factor`.
        """
        if self.method != "jacobi":
            raise InputError(f"the best weight of {self.method!r}", allowed="damped Jacobi", fix='Smoother("jacobi")')
        theta = self._frequencies(samples)
        ratio = self._ratio(theta[_is_high(theta, self._coarsened(coarsened))])
        best = minimize_scalar(
            lambda weight: np.abs(1.0 - weight * ratio).max(),
            bounds=(0.0, 2.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return float(best.x), float(best.fun)

    def directional_gain(self, axis: int, theta: np.ndarray, samples: int = SAMPLES) -> np.ndarray:
        """Return the largest gain at frequencies along one axis over all frequencies along the other axes.

        Source: Madsen (2010), equations 2.85 to 2.87.

        Parameters
        ----------
        axis : int
        theta : (n,) array
            Frequencies along the axis, -pi to pi.
        samples : int
            Number of sampled frequencies per other axis.

        Returns
        -------
        (n,) array
        """
        checked_count("axis", axis, 0, self._dimensions - 1)
        one = np.atleast_1d(np.asarray(theta, dtype=float))
        others = np.linspace(-np.pi, np.pi, samples)
        every = np.meshgrid(*(one if n == axis else others for n in range(self._dimensions)), indexing="ij")
        gain = self.gain(np.stack(every, axis=-1))
        return gain.max(axis=tuple(n for n in range(self._dimensions) if n != axis))

    def measured_gain(self, mode: Sequence[int], points: int = 16) -> float:
        """Return the gain of a mode in one sweep over a periodic grid, computed without symbols.

        Parameters
        ----------
        mode : sequence of int
            Number of waves along each axis: theta = 2 pi mode / points.
        points : int
            Number of points along each axis, even. Gauss-Seidel sweeps begin with old values before the first points;
            their gain is measured at the last point whose differences do not cross the end of the grid. The error
            decreases exponentially with `points`.
        """
        checked_count("points", points, 2 * self.order, 1024)
        across = [axis for axis in range(self._dimensions) if axis != self.line]
        axes = across + [axis for axis in range(self._dimensions) if axis == self.line]
        index = np.indices((points,) * self._dimensions).reshape(self._dimensions, -1)
        error = np.exp(2j * np.pi / points * (np.asarray(mode, dtype=float)[axes] @ index))
        relaxed = error
        matrix, new = self._matrices(axes, points)
        colours = index[: len(across)].sum(axis=0) % 2
        masks = [colours == 0, colours == 1] if self.method == "red-black" else [np.ones(error.size, dtype=bool)]
        for mask in masks:
            relaxed = relaxed - self._relaxation * mask * spsolve(new, matrix @ relaxed, permc_spec="NATURAL")
        if self.method != "gauss-seidel":
            return float(np.linalg.norm(relaxed) / np.linalg.norm(error))
        last = (points - 1 - int(self._offsets[-1]),) * self._dimensions
        return float(np.abs(relaxed.reshape((points,) * self._dimensions)[last]))

    @property
    def _relaxation(self) -> float:
        return self.weight if self.method == "jacobi" else 1.0

    def _matrices(self, axes: Sequence[int], points: int) -> tuple[Any, Any]:
        """Return the operator on a periodic grid, and its part that acts on new values; the last axis is the line."""
        every = np.arange(points)
        matrix = csc_array((points**self._dimensions,) * 2)
        for position, axis in enumerate(axes):
            rows, columns = np.repeat(every, self.order + 1), (every[:, None] + self._offsets).ravel() % points
            along = coo_array((np.tile(self.coefficients[axis], points), (rows, columns)), shape=(points, points))
            left, right = (eye_array(points**n) for n in (position, self._dimensions - 1 - position))
            matrix = matrix + kron(kron(left, along), right)
        matrix = coo_array(matrix)
        block = 1 if self.line is None else points
        rows, columns = matrix.row // block, matrix.col // block
        new = rows >= columns if self.method == "gauss-seidel" else rows == columns
        implicit = coo_array((matrix.data[new], (matrix.row[new], matrix.col[new])), shape=matrix.shape)
        return matrix.tocsr(), implicit.tocsc()

    # -- frequencies ---------------------------------------------------------------------------

    def _frequencies(self, samples: int) -> np.ndarray:
        """Return sampled frequencies, (samples ** dimensions, dimensions)."""
        along = np.linspace(-np.pi, np.pi, checked_count("samples", samples, 5, 1001))
        return np.stack(np.meshgrid(*[along] * self._dimensions, indexing="ij"), axis=-1).reshape(-1, self._dimensions)

    def _coarsened(self, axes: Collection[int] | None) -> list[int]:
        """Return the coarsened axes; default: all except the line."""
        every = [axis for axis in range(self._dimensions) if axis != self.line]
        return every if axes is None else [checked_count("coarsened", axis, 0, self._dimensions - 1) for axis in axes]


class SmoothingFactor(NamedTuple):
    """Smoothing factor of a sweep.

    Attributes
    ----------
    factor : float
        Largest gain of the modes that a coarser grid does not represent.
    theta : (dimensions,) array
        Magnitudes of the frequencies of this mode, 0 to pi.
    """

    factor: float
    theta: np.ndarray


def _is_high(theta: np.ndarray, axes: Collection[int]) -> np.ndarray:
    """Return whether a grid with doubled spacing along `axes` does not represent a mode, (...)."""
    wrapped = np.abs((theta[..., list(axes)] + np.pi) % (2.0 * np.pi) - np.pi)
    return np.any(wrapped >= 0.5 * np.pi - 1e-12, axis=-1)


def _half_sweep(a: np.ndarray, b: np.ndarray, sign: float) -> np.ndarray:
    """Return the matrix of a Jacobi sweep over one colour, (..., 2, 2); sign : 1 for red, -1 for black."""
    rows = np.stack([np.stack([a, sign * b], axis=-1), np.stack([sign * a, b], axis=-1)], axis=-2)
    return np.eye(2) - 0.5 * rows
