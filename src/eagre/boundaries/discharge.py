"""Prescribed discharge: the water that enters is given."""

from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.series import Series


@cell
def discharge_ghost(near, w_2, copied, bed_1, bed_k, m, value, level, p):
    """Unit discharge `value` at the face, the mean of ghost and interior; depth from the interior.

    The surface goes on with the slope of the two cells inside, so that a uniform flow enters as it
    is. The depth is at least the critical one, (q^2 / g)^(1/3): water enters a dry cell at Froude 1.
    """
    zero = real(0.0)
    w_1, n_1, _ = near
    h_1 = max(w_1 - bed_1, zero)
    rise = min(max(w_1 - w_2, real(-0.5) * h_1), real(0.5) * h_1)
    h_k = max(w_1 + m * rise - bed_k, zero)
    bed_face = bed_1 + (bed_k - bed_1) * real(0.5) / m
    h_face = max(w_1 + real(0.5) * rise - bed_face, zero)
    q = max(value, zero)
    critical = (q * q / p.g) ** real(1.0 / 3.0)
    u = real(2.0) * value * desingularised_inverse(h_face, p.kappa4) - n_1 * desingularised_inverse(h_1, p.kappa4)
    shallow = h_face < critical
    h_k = max(h_k, critical) if shallow else h_k
    u = q * desingularised_inverse(max(h_face, critical), p.kappa4) if shallow else u
    return bed_k + h_k, h_k * u, zero


@dataclass(frozen=True)
class Discharge(Condition):
    """Prescribed discharge through the part, spread evenly over its width.

    Parameters
    ----------
    rate : float or Series
        Discharge, m3 s-1, positive into the domain.
    """

    rate: float | Series = 0.0
    ghost = discharge_ghost

    def value(self, width: float) -> Series:
        rate = Series.of(self.rate)
        return Series(rate.times, rate.values / width, rate.name)
