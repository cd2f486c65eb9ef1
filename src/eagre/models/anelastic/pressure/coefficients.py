"""Coefficients of the pressure operator on the host: rho* and C, and their agreement with the flat operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure import operator as cells


class Coefficients:
    """rho_b and C at points, each (nz, 1, 1) or (nz, ny, nx); density and c11, c33 above 0.

    Attributes
    ----------
    rho, c11, c12, c33 : arrays, double
        rho* and C.
    turning : bool
        True if c12 is not 0.
    """

    def __init__(self, metric: Metric, density: Any, c11: Any, c12: Any, c33: Any) -> None:
        self.metric = metric
        self.rho = _above_zero("density", density) * metric.jacobian
        self._take(c11, c12, c33)

    def _take(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> None:
        self.c11, self.c12, self.c33 = _above_zero("c11", c11), c12, _above_zero("c33", c33)
        self.turning = bool(np.any(c12))

    def holds(self, *tensor: np.ndarray) -> bool:
        """Return whether C equals c11, c12, c33."""
        return all(map(np.array_equal, tensor, (self.c11, self.c12, self.c33)))

    def update(self, c11: np.ndarray, c12: np.ndarray, c33: np.ndarray) -> bool:
        """Replace C; return False, without a change, if the new arrays need other compiled kernels."""
        pairs = ((self.c11, c11), (self.c12, c12), (self.c33, c33))
        if any(old.shape != new.shape for old, new in pairs) or bool(np.any(c12)) != self.turning:
            return False
        self._take(c11, c12, c33)
        return True

    def accessor(self, values: np.ndarray) -> Any:
        """Return the kernel function that reads values of a profile or of a field."""
        return (
            cells.of_field
            if values.shape == self.metric.shape and self.metric.shape[1:] != (1, 1)
            else cells.of_profile
        )

    def means(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return horizontal means of rho*, rho* c11 and rho* G3 . C G3, each (nz,)."""
        map_, metric = {}, self.metric
        map_["g33"] = 1.0 / metric.jacobian
        total = map_["g33"] ** 2 * self.c33
        if metric.terrain:
            for slope in (metric.slope_x, metric.slope_y):
                total = total + (slope * metric.fade[:, None, None] * map_["g33"]) ** 2 * self.c11
        terms = (self.rho, self.rho * self.c11, self.rho * total)
        return tuple(_level_means(term, metric.shape) for term in terms)  # type: ignore[return-value]

    @property
    def is_flat(self) -> bool:
        """True if metric and coefficients depend on height alone."""
        return not self.metric.terrain and all(
            self.accessor(values) is cells.of_profile for values in (self.rho, self.c11, self.c12, self.c33)
        )

    @property
    def exact(self) -> bool:
        """True if the flat operator with horizontal means is exact."""
        metric = self.metric
        lateral = any(n > 1 and side != "periodic" for n, side in zip(metric.shape[1:], metric.sides[1:], strict=True))
        even = metric.sides[0] != "periodic" or all(np.ptp(mean) == 0.0 for mean in self.means())
        return self.is_flat and even and not (lateral and self.turning)


def _level_means(values: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Return horizontal means of a field, or the values of a profile."""
    return values[:, 0, 0].copy() if values.shape[1:] == (1, 1) else np.broadcast_to(values, shape).mean((1, 2))


def _above_zero(name: str, values: np.ndarray) -> np.ndarray:
    if not (np.isfinite(values) & (values > 0.0)).all():
        raise InputError(
            f"this {name}",
            allowed="finite numbers above 0",
            problem=f"The array {name} has values that are not finite and positive.",
        )
    return values
