"""Normal-depth outflow: water leaves as uniform flow down a slope would."""

import math
from dataclasses import dataclass
from typing import Annotated

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition, Key
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import depth, fastest_out, held_out, minimum_depth
from eagre.kernels.roots import power_four_thirds, root, smaller
from eagre.series import Series


@cell
def normal_ghost(near, second, copied, bed_1, bed_k, m, value, level, p):
    """Depth for which what travels out of the domain, u + 2 c with u outwards, is that of uniform flow at that depth.

    value : sqrt(S) / n, so that u = value h^(2/3); one step of Newton for c from the depth inside. Where the outflow is
    faster than its waves, nothing outside matters.
    """
    zero = real(0.0)
    w_1, n_1, t_1 = near
    h_1 = max(w_1 - bed_1, zero)
    over = desingularised_inverse(h_1, p.kappa4)
    u_1 = -n_1 * over
    c_1 = math.sqrt(p.g * h_1)
    normal = value * root(power_four_thirds(h_1))
    c = max(c_1 + (u_1 - normal) / (real(2.0) + real(4.0 / 3.0) * normal / (c_1 + real(1e-20))), zero)
    h = c * c / p.g
    u = value * root(power_four_thirds(h))
    if u_1 > c_1:
        h, u = h_1, u_1
    return bed_k + h, -h * u, h * (t_1 * over)


@cell
def normal_end(value, inward, z, d, p_here, carried, r, factor, p):
    """P outwards = q + q' (Z - z), q = value h^(5/3), value = sqrt(S) / n, q' = 5/3 q / h; `fastest_out` at most."""
    zero, one = real(0.0), real(1.0)
    h = depth(z, d)
    if h > minimum_depth(p):
        speed = smaller(value * root(power_four_thirds(h)), fastest_out(h, inward, carried, p))
        change = real(5.0 / 3.0) * speed
        b = one + held_out(p_here, inward, h, p) + change * p.w
        return b, -change * p.w, -inward * (speed * h + change * (r - z))
    return one, zero, zero


@dataclass(frozen=True)
class NormalDepth(Condition):
    """Outflow at normal depth: the channel goes on with one slope and roughness, q = h^(5/3) sqrt(S) / n.

    Parameters
    ----------
    slope : float
        Of the channel outside, S, falling outwards; above 0.
    manning : float
        Manning's n of the channel outside, s m-1/3.

    Notes
    -----
    Uniform flow leaves as it is. Good where a river leaves the domain and no level is known: 1e-5 to 0.02 for S. Waves
    are reflected in part, backwater from further on is not known. No water enters. In the implicit model
    none leaves faster than its waves, unless it comes faster.

    References
    ----------
    Manning's formula for a wide channel; J. J. Stoker, Water Waves, Interscience (1957), section 10.2.
    """

    slope: Annotated[float, Key("slope of the channel outside, falling outwards, m/m", "number", 1e-3, "channel_slope")]
    manning: Annotated[float, Key("Manning's n of the channel outside, s m-1/3", "number", 0.03, "channel_manning")]
    ghost = normal_ghost
    line_end = normal_end

    def value(self, width: float) -> Series:
        return Series.constant(math.sqrt(self.slope) / self.manning)
