"""Prescribed stage: the surface elevation outside is given."""

import math
from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.series import Series


@cell
def stage_ghost(w_1, n_1, t_1, w_k, n_k, t_k, bed_1, bed_k, value, level, p):
    """Surface `value`; velocity from the invariant u - 2 c that leaves the domain.

    Inflow is at most critical; where the outflow is supercritical, nothing outside matters and the
    interior is copied.
    """
    zero = real(0.0)
    h_1 = max(w_1 - bed_1, zero)
    over_h = desingularised_inverse(h_1, p.kappa4)
    u_1 = n_1 * over_h
    c_1 = math.sqrt(p.g * h_1)
    h = max(value - bed_k, zero)
    c = math.sqrt(p.g * h)
    u = min(u_1 + real(2.0) * (c - c_1), c)
    fast = u_1 < -c_1
    return w_k if fast else max(value, bed_k), n_k if fast else h * u, t_k if fast else h * (t_1 * over_h)


@dataclass(frozen=True)
class Stage(Condition):
    """Prescribed surface elevation.

    Parameters
    ----------
    level : float or Series
        Surface elevation, m, in the datum of the bed. Below the bed it means a dry outside.
    """

    level: float | Series = 0.0
    ghost = stage_ghost

    def value(self, width: float) -> Series:
        return Series.of(self.level)
