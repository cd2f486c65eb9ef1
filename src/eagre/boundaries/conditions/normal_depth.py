"""Normal-depth (uniform-flow) outflow boundary condition."""

import math
from dataclasses import dataclass
from typing import Annotated

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.base import Condition, Key
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import depth, fastest_out, held_out, minimum_depth
from eagre.kernels.roots import power_four_thirds, root, smaller
from eagre.time_varying.series import Series


@cell
def normal_ghost(cell_data, value, level, p):
    """Ghost state at normal depth: the outgoing invariant u + 2 c, u outwards, equals the invariant of uniform flow.

    value : sqrt(S) / n, so that u = value h^(2/3). One Newton step gives c, starting from the interior depth.
    Supercritical outflow is extrapolated.
    """
    near, _, _, bed_1, bed_k, _, _ = cell_data
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
def normal_end(value, end, p):
    """Boundary equation P outwards = q + q' (Z - z), q = value h^(5/3), q' = 5/3 q / h, value = sqrt(S) / n.

    The outflow velocity is limited by `fastest_out`.
    """
    inward, z, d, p_here, carried, r, _ = end
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
    """Outflow at normal depth: uniform flow in a channel with constant slope and roughness, q = h^(5/3) sqrt(S) / n.

    Parameters
    ----------
    slope : float
        Slope S of the channel outside, positive if the bed falls outwards.
    manning : float
        Manning's n of the channel outside, s m-1/3.

    Notes
    -----
    Uniform flow leaves the domain unchanged. Use this condition where a river leaves the domain and the water level is
    unknown; S is typically 1e-5 to 0.02. Waves are partly reflected. Backwater from downstream is not included. Inflow
    is blocked. In the ADI model the outflow is at most critical, unless the interior flow is supercritical.

    References
    ----------
    Manning's formula for a wide channel; J. J. Stoker, Water Waves, Interscience (1957), section 10.2.
    """

    slope: Annotated[
        float, Key("slope of the channel outside, positive downstream, m/m", "number", 1e-3, "channel_slope")
    ]
    manning: Annotated[float, Key("Manning's n of the channel outside, s m-1/3", "number", 0.03, "channel_manning")]
    ghost = normal_ghost
    line_end = normal_end

    def value(self, width: float) -> Series:
        return Series.constant(math.sqrt(self.slope) / self.manning)
