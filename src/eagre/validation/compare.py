"""How far two runs are apart: norms of the difference of their fields."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Difference:
    """Norms of first - second at the points where both have a value, in the unit of the field.

    After K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture (2014), equations
    4 to 6; its third norm is the largest difference divided by the points, and so smaller than the mean: both are here.
    """

    l1: float  # mean of the modulus
    l2: float  # root of the mean square
    largest: float  # modulus
    size: float  # mean modulus of the second field
    points: int
    alone: int  # points where only one of the two has a value

    @property
    def largest_over_points(self) -> float:
        """Linf as equation 6 defines it: the largest modulus over the number of points."""
        return self.largest / self.points if self.points else math.nan

    @property
    def relative(self) -> float:
        """L1 over the mean modulus of the second field; 0 of two fields of zeros, NaN where only the second is 0."""
        if self.l1 == self.size == 0.0:
            return 0.0
        return self.l1 / self.size if self.size > 0.0 else math.nan


def difference(first: np.ndarray, second: np.ndarray) -> Difference:
    """Compare two fields of one shape point by point, in double precision; NaN is no value.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    a, b = (np.asarray(one, np.float64) for one in (first, second))
    if a.shape != b.shape:
        raise ValueError(f"fields of the shapes {a.shape} and {b.shape}; allowed: the same points")
    both = ~np.isnan(a) & ~np.isnan(b)
    apart, alone = np.abs(a[both] - b[both]), int(np.sum(np.isnan(a) != np.isnan(b)))
    if not apart.size:
        return Difference(math.nan, math.nan, math.nan, math.nan, 0, alone)
    l2 = math.sqrt(float(np.mean(apart**2)))
    return Difference(float(apart.mean()), l2, float(apart.max()), float(np.abs(b[both]).mean()), apart.size, alone)
