"""Statistics of the surface at every point, gathered step by step: highest, lowest, mean and variance.

Each step counts by its length. The variance is kept by the update of B. P. Welford, Technometrics 4, 419-420 (1962),
doi:10.1080/00401706.1962.10490022, with weights.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, real
from eagre.models.potential_waves.laplace_base import Laplace

GATHERED = 4
HIGHEST, LOWEST, MEAN, VARIANCE = range(GATHERED)


@cell
def gather(j, i, eta, found, share):
    """Take up an elevation that lasts for a share of the time so far."""
    here = eta[0, j, i]
    apart = here - found[MEAN, j, i]
    found[HIGHEST, j, i] = max(found[HIGHEST, j, i], here)
    found[LOWEST, j, i] = min(found[LOWEST, j, i], here)
    found[MEAN, j, i] += share * apart
    found[VARIANCE, j, i] = (real(1.0) - share) * (found[VARIANCE, j, i] + share * apart * apart)


class Gathering:
    """What is gathered from a time on, s.

    Attributes
    ----------
    lasted : float
        How long it was gathered, s.
    """

    def __init__(self, laplace: Laplace, start: float) -> None:
        self._laplace, self.start, self.lasted = laplace, start, 0.0
        self._found = laplace.surface_zeros(GATHERED)
        self._program = laplace.device.loop(gather, "double")

    def add(self, time: float, dt: float) -> None:
        """Take up the surface at the end, s, of a step of dt, s."""
        if time <= self.start:
            return
        laplace, first = self._laplace, self.lasted == 0.0
        if first:
            laplace.device.copy(self._found[HIGHEST : HIGHEST + 1], laplace.eta)
            laplace.device.copy(self._found[LOWEST : LOWEST + 1], laplace.eta)
        self.lasted += dt
        arguments = (laplace.eta, self._found, dt / self.lasted)
        laplace.device.run([laplace.device.over(self._program, laplace.shape, arguments)])

    def host(self) -> np.ndarray:
        """Highest, lowest and mean elevation, m, and its variance, m2, (4, ny, nx); 0 before the start."""
        return self._laplace.device.host(self._found)

    def restore(self, found: np.ndarray, lasted: float) -> None:
        """Take up what `host` gave, and how long it was gathered, s."""
        self._laplace.device.fill(self._found, found)
        self.lasted = lasted
