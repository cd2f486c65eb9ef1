"""Absorbing boundary: a given wave comes in, reflected ones go out."""

import math
from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.series import Series


@cell
def absorbing_ghost(near, second, copied, bed_1, bed_k, m, value, level, p):
    """State where the given incoming invariant meets the one that leaves.

    u + 2 c comes from outside: a wave of elevation `value` over still water at `level` that travels
    in, u = 2 (c - c_0); u - 2 c comes from the cell inside. At rest the ghost is at rest exactly.
    """
    zero = real(0.0)
    w_1, n_1, t_1 = near
    h_1 = max(w_1 - bed_1, zero)
    over_h = desingularised_inverse(h_1, p.kappa4)
    c_1 = math.sqrt(p.g * h_1)
    h_0 = max(level - bed_k, zero)
    c_0 = math.sqrt(p.g * h_0)
    c_in = math.sqrt(p.g * max(level + value - bed_k, zero))
    coming = real(2.0) * (c_in - c_0)
    c_still = math.sqrt(p.g * max(level - bed_1, zero))
    going = n_1 * over_h - real(2.0) * (c_1 - c_still)
    u = real(0.5) * (coming + coming + going)
    c = max(c_0 + real(0.25) * (coming + coming - going), zero)
    rise = (c - c_0) * (c + c_0) / p.g
    h = c * c / p.g
    inside = real(1.0) if u < zero else zero
    return max(level, bed_k) + rise, h * u, inside * h * (t_1 * over_h)


@dataclass(frozen=True)
class Absorbing(Condition):
    """Characteristic boundary after Riemann invariants.

    Parameters
    ----------
    incoming : float or Series
        Elevation of the incoming wave above `level`, m; 0 lets waves out and nothing in.
    level : float
        Still-water level, m.
    """

    incoming: float | Series = 0.0
    level: float = 0.0
    ghost = absorbing_ghost

    def value(self, width: float) -> Series:
        return Series.of(self.incoming)

    def still_level(self) -> float:
        return float(self.level)

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        wave = self.value(width)
        return 0.0 if wave.is_constant else max(self.level + float(wave.values.max()) - lowest_bed, 0.0)
