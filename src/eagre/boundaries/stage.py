"""Prescribed stage: the surface elevation outside is given."""

import math
from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import LARGEST_CHANGE, Condition
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.limiters import within
from eagre.series import Series


@cell
def stage_ghost(near, second, copied, bed_1, bed_k, m, value, level, p):
    """Surface `value` at the face, the mean of ghost and interior; the velocity goes on with its slope inside.

    Inflow is at most critical; where the outflow is supercritical, nothing outside matters. The
    ghost differs from `value` by a quarter of its depth at most, so that a dry interior fills.
    """
    zero = real(0.0)
    w_1, n_1, t_1 = near
    w_k, _, _ = copied
    h_1 = max(w_1 - bed_1, zero)
    u_1 = n_1 * desingularised_inverse(h_1, p.kappa4)
    c_1 = math.sqrt(p.g * h_1)
    fast = u_1 < -c_1
    w_2, n_2, bed_2 = second
    u_2 = n_2 * desingularised_inverse(max(w_2 - bed_2, zero), p.kappa4)
    bound = real(LARGEST_CHANGE) * c_1
    u_k = u_1 + m * within(u_1 - u_2, bound)
    room = real(0.25) * max(value - bed_k, zero)
    w = value + within(value - w_k, room)
    h = h_1 if fast else max(w - bed_k, zero)
    u = u_1 if fast else min(u_k, math.sqrt(p.g * h))
    return bed_k + h if fast else max(w, bed_k), h * u, h * (t_1 * desingularised_inverse(h_1, p.kappa4))


@dataclass(frozen=True)
class Stage(Condition):
    """Prescribed surface elevation.

    Parameters
    ----------
    level : float or Series
        Surface elevation, m, in the datum of the bed. Below the bed it means a dry outside.

    Notes
    -----
    The level holds at the face. Small waves and tides come in with second order; the velocity changes by at
    most a tenth of the wave speed a cell across the face.
    """

    level: float | Series = 0.0
    ghost = stage_ghost
    gives_level = True

    def value(self, width: float) -> Series:
        return Series.of(self.level)

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        level = self.value(width)
        return 0.0 if level.is_constant else max(float(level.values.max()) - lowest_bed, 0.0)
