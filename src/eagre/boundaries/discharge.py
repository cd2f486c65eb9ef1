"""Prescribed discharge: the water that enters is given."""

from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition
from eagre.series import Series


@cell
def discharge_ghost(w_1, n_1, t_1, w_k, n_k, t_k, bed_1, bed_k, value, level, p):
    """Unit discharge `value` at the face, the mean of ghost and interior; depth from the interior.

    The depth is at least the critical one, (q^2 / g)^(1/3): water enters a dry cell at Froude 1.
    """
    q = max(value, -value)
    critical = (q * q / p.g) ** real(1.0 / 3.0)
    h_1 = max(w_1 - bed_1, real(0.0))
    shallow = h_1 < critical
    h = max(h_1, critical) if value > real(0.0) else h_1
    return bed_k + h, value if shallow else value + value - n_1, real(0.0)


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
