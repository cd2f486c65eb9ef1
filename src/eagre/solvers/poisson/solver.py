"""Direct solver of (Lap - screening) psi = f with constant coefficients, by fast transforms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np

from eagre.backend.device import array_module, on_gpu
from eagre.backend.select import device_of
from eagre.checks import one_of
from eagre.errors import InputError
from eagre.solvers.poisson.axes import SYMBOLS, Axis, workers


class PoissonSolver:
    """Fast direct solver of (Lap - screening) psi = f on a uniform grid in one, two or three dimensions.

    Parameters
    ----------
    shape : sequence of int
        Number of unknowns along each axis, in the order of the arrays: (ny, nx) or (nz, ny, nx).
    spacing : sequence of float
        Grid spacing along each axis.
    boundaries : str or sequence of str
        ``"dirichlet"`` (psi = 0), ``"neumann"`` (zero normal gradient) or ``"periodic"``; one for all axes or one per
        axis.
    screening : float
        Helmholtz coefficient, 1 / length^2, >= 0.
    symbol : {"five-point", "spectral"}
        Second-order differences (three points per axis), or spectral derivatives.
    location : {"points", "centres"}
        Whether walls are at grid points or half a spacing outside (see `eagre.solvers.poisson.axes`).
    kernels : {"fast", "reference"}
        For CuPy arrays: fused kernels of `eagre.solvers.poisson.box_cuda` where available, or library transforms only.

    Raises
    ------
    InputError
        For values outside these ranges.

    Notes
    -----
    Null space: without Dirichlet walls and without screening psi is determined up to a constant, and f must have zero
    mean. The mean of f is then removed and psi has zero mean (`singular` is True; for Neumann walls at points the end
    points have half weight in the mean). An axis of one unknown without Dirichlet walls has no differences.

    Precision and array type of the solution are those of f: float32 or float64, NumPy or CuPy.

    References
    ----------
    U. Schumann and R. A. Sweet, J. Comput. Phys. 75, 123-137 (1988), doi:10.1016/0021-9991(88)90102-7.
    """

    def __init__(
        self,
        shape: Sequence[int],
        spacing: Sequence[float],
        boundaries: str | Sequence[str] = "dirichlet",
        *,
        screening: float = 0.0,
        symbol: str = "five-point",
        location: str = "points",
        kernels: str = "fast",
    ) -> None:
        self.shape, steps, kinds = _checked(shape, spacing, boundaries)
        if symbol not in SYMBOLS:
            raise InputError(f"symbol = {symbol!r}", allowed=", ".join(SYMBOLS), fix='symbol = "five-point"')
        if not isinstance(screening, Real) or not 0.0 <= screening < np.inf:
            raise InputError(f"screening = {screening!r}", allowed="a number >= 0, 1 / length^2")
        self.axes = tuple(Axis(n, h, kind, location) for n, h, kind in zip(self.shape, steps, kinds, strict=True))
        self.screening, self.symbol = float(screening), symbol
        self._periodic = tuple(k for k, axis in enumerate(self.axes) if axis.periodic)
        self._walled = tuple(k for k, axis in enumerate(self.axes) if not axis.periodic)
        self.singular = self.screening == 0.0 and all(axis.boundary != "dirichlet" for axis in self.axes)
        self._kernels = one_of("kernels", kernels, ("fast", "reference"))
        self._factors: dict[tuple[str, bool], Any] = {}
        self._fast: dict[str, Any] = {}

    def _factor(self, f: Any) -> Any:
        """Return 1 / (eigenvalue - screening) in the type of f, computed in double precision; 0 for the null space."""
        key = (str(f.dtype), on_gpu(f))
        if key not in self._factors:
            total = np.full((1,) * len(self.shape), -self.screening)
            for k, axis in enumerate(self.axes):
                values = axis.eigenvalues(self.symbol)
                if self._periodic and k == self._periodic[-1]:
                    values = values[: axis.n // 2 + 1]  # a real field has half a spectrum
                total = total + values.reshape([-1 if k == m else 1 for m in range(len(self.shape))])
            with np.errstate(divide="ignore"):
                inverse = 1.0 / total
            if self.singular:
                inverse.flat[0] = 0.0
            self._factors[key] = array_module(f).asarray(inverse.astype(f.dtype))
        return self._factors[key]

    def solve(self, f: Any) -> Any:
        """Return the solution psi for the right-hand side f, an array of `shape`, as a new array.

        Raises
        ------
        InputError
            If f has another shape, or is neither float32 nor float64.
        """
        _check_array(f)
        if tuple(f.shape) != self.shape:
            raise InputError(
                f"a right-hand side of shape {tuple(f.shape)}", allowed=f"shape {self.shape}",
                problem="The shape of the right-hand side does not match the solver.",
            )  # fmt: skip
        if self._kernels == "fast" and on_gpu(f) and (fast := self._box(f)) is not None:
            return fast.solve(f)
        x = f
        for k in self._walled:
            x = self.axes[k].forward(x, k)
        factor = self._factor(f)
        if self._periodic:
            fft = _real_fourier(f)
            x = fft.rfftn(x, axes=self._periodic) * factor
            x = fft.irfftn(x, s=[self.shape[k] for k in self._periodic], axes=self._periodic)
        else:
            x = x * factor
        for k in self._walled:
            x = self.axes[k].backward(x, k)
        return x.astype(f.dtype, copy=False)

    def _box(self, f: Any) -> Any:
        """Return the fused kernels of `box_cuda` if they support this problem, otherwise None."""
        from eagre.solvers.poisson.box_cuda import ArrayBox

        key = str(f.dtype)
        if key not in self._fast:
            self._fast[key] = ArrayBox.of(self, device_of(f), "single" if f.dtype == np.float32 else "double")
        return self._fast[key]


def _checked(
    shape: Any, spacing: Any, boundaries: str | Sequence[str]
) -> tuple[tuple[int, ...], tuple[float, ...], tuple[str, ...]]:
    """Return the checked shape, spacing and boundaries, one per axis."""
    try:
        sizes, steps = tuple(shape), tuple(spacing)
        kinds = (boundaries,) * len(sizes) if isinstance(boundaries, str) else tuple(boundaries)
    except TypeError:
        sizes, steps, kinds = (), (), ()
    numbers = all(isinstance(n, Integral) for n in sizes) and all(isinstance(h, Real) for h in steps)
    if not numbers or not 1 <= len(sizes) <= 3 or not len(sizes) == len(steps) == len(kinds):
        raise InputError(
            f"shape {shape}, spacing {spacing}, boundaries {boundaries!r}",
            allowed="one, two or three axes, each with a number of unknowns, a spacing and a boundary",
            fix='PoissonSolver((99, 199), (0.1, 0.1), ("dirichlet", "periodic"))',
            problem="The shape, spacing and boundaries do not define one to three axes.",
        )
    return tuple(map(int, sizes)), tuple(map(float, steps)), kinds


def _check_array(f: Any) -> None:
    """Raise `InputError` unless f is an array of real numbers."""
    if getattr(f, "dtype", None) not in (np.float32, np.float64):
        raise InputError(
            f"a right-hand side that is {getattr(f, 'dtype', type(f).__name__)}",
            allowed="an array of float32 or float64",
            fix="solver.solve(np.asarray(f, dtype=np.float64))",
            problem="The right-hand side is not an array of real numbers.",
        )


class _ScipyFourier:
    """Real transforms of SciPy with the threads that CPU drivers have."""

    @staticmethod
    def rfftn(x: Any, axes: Sequence[int]) -> Any:
        import scipy.fft

        return scipy.fft.rfftn(x, axes=axes, workers=workers())

    @staticmethod
    def irfftn(x: Any, s: Sequence[int], axes: Sequence[int]) -> Any:
        import scipy.fft

        return scipy.fft.irfftn(x, s=s, axes=axes, workers=workers())


def _real_fourier(f: Any) -> Any:
    if on_gpu(f):
        return array_module(f).fft
    return _ScipyFourier


@lru_cache(maxsize=16)
def _cached(*key: Any) -> PoissonSolver:
    shape, spacing, boundaries, screening, symbol, location = key
    return PoissonSolver(shape, spacing, boundaries, screening=screening, symbol=symbol, location=location)


def solve_poisson(
    f: Any,
    spacing: Sequence[float],
    boundaries: str | Sequence[str] = "dirichlet",
    *,
    screening: float = 0.0,
    symbol: str = "five-point",
    location: str = "points",
) -> Any:
    """Solve (Lap - screening) psi = f; the plan is kept for the next call (see `PoissonSolver`)."""
    _check_array(f)
    shape, steps, kinds = _checked(f.shape, spacing, boundaries)
    return _cached(shape, steps, kinds, screening, symbol, location).solve(f)
