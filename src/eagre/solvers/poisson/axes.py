"""Axis of a Poisson problem: basis, eigenvalues and transforms.

| boundaries | location | basis | unknowns of spacing h | mode numbers | period angle theta |
|---|---|---|---|---|---|
| dirichlet | points | DST-I | interior, walls h outside | k = 1 .. n | k pi / (n + 1) |
| dirichlet | centres | DST-II | walls h / 2 outside | k = 1 .. n | k pi / n |
| neumann | points | DCT-I | first and last on the walls | k = 0 .. n - 1 | k pi / (n - 1) |
| neumann | centres | DCT-II | walls h / 2 outside | k = 0 .. n - 1 | k pi / n |
| periodic | either | FFT | one period | k = 0 .. n - 1 | 2 k pi / n |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.backend.arrays import fourier_module, on_gpu
from eagre.backend.select import device_of
from eagre.errors import InputError
from eagre.solvers.poisson.wall_transforms import transformed

BOUNDARIES = ("dirichlet", "neumann", "periodic")
LOCATIONS = ("points", "centres")
SYMBOLS = ("five-point", "spectral")


@dataclass(frozen=True)
class Axis:
    """Axis with n unknowns of spacing h."""

    n: int
    h: float
    boundary: str
    location: str

    def __post_init__(self) -> None:
        if self.boundary not in BOUNDARIES:
            problem = "The boundary condition is unknown."
            raise InputError(
                f"boundary {self.boundary!r}", allowed=", ".join(BOUNDARIES), fix='"dirichlet"', problem=problem
            )
        if self.location not in LOCATIONS:
            problem = "The location of the unknowns is not supported."
            raise InputError(
                f"location {self.location!r}", allowed=", ".join(LOCATIONS), fix='"points"', problem=problem
            )
        min_unknowns = 2 if self.boundary == "neumann" and self.location == "points" else 1
        if self.n < min_unknowns or not 0.0 < self.h < np.inf:
            raise InputError(
                f"{self.n} unknowns of spacing {self.h!r}",
                allowed=f">= {min_unknowns} unknowns ({self.boundary}, on {self.location}), a finite spacing > 0",
                problem="The number of unknowns or the spacing of an axis is not allowed.",
            )

    @property
    def periodic(self) -> bool:
        """Flag for a periodic axis, which has a complex basis."""
        return self.boundary == "periodic"

    @property
    def angles(self) -> np.ndarray:
        """Angles theta of the modes, (n,)."""
        if self.periodic:
            k = np.minimum(np.arange(self.n), self.n - np.arange(self.n))
            return 2.0 * np.pi * k / self.n
        if self.boundary == "dirichlet":
            return np.pi * np.arange(1, self.n + 1) / (self.n + (self.location == "points"))
        return np.pi * np.arange(self.n) / (self.n - (self.location == "points"))

    def eigenvalues(self, symbol: str) -> np.ndarray:
        """Return the eigenvalues of d2/dx2, (n,), double: -(4 / h^2) sin^2(theta / 2), or -(theta / h)^2 if spectral.

        The form -2 + 2 cos(theta) is equivalent, but inaccurate for long waves in single precision.
        """
        if symbol == "five-point":
            return -((2.0 / self.h * np.sin(0.5 * self.angles)) ** 2)
        return -((self.angles / self.h) ** 2)

    def forward(self, x: Any, axis: int) -> Any:
        """Return the transform of an axis that is not periodic."""
        return self._transform(x, axis, inverse=False)

    def backward(self, x: Any, axis: int) -> Any:
        """Return the inverse transform of an axis that is not periodic."""
        return self._transform(x, axis, inverse=True)

    def _transform(self, x: Any, axis: int, inverse: bool) -> Any:
        kind = 1 if self.location == "points" else 2
        if on_gpu(x) and kind == 1:
            return transformed(device_of(x), x, axis, self.boundary == "dirichlet", inverse)
        fft = fourier_module(x)
        name = ("i" if inverse else "") + ("dst" if self.boundary == "dirichlet" else "dct")
        options = {} if on_gpu(x) else {"workers": workers()}
        return getattr(fft, name)(x, type=kind, axis=axis, **options)


def workers() -> int:
    """Return the number of threads for SciPy transforms, equal to that of CPU programs."""
    from eagre.backend.cpu.compiler import threads

    return threads()
