"""Stage boundary condition: prescribed water level."""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.base import MAX_CHANGE, Condition, InitialWater, Key
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import (
    CONVECTION,
    DRYING,
    MAX_COURANT,
    critical_depth,
    depth,
    held_out,
    minimum_depth,
    resistance,
)
from eagre.kernels.limiters import within
from eagre.kernels.roots import larger, reciprocal, select, smaller
from eagre.time_varying.series import Series

SUDDEN_PART = 0.5  # initial step of the level, as a fraction of the depth, that causes a note


@cell
def stage_ghost(cell_data, value, level, p):
    """Ghost state with surface elevation `value` at the face; the velocity is extrapolated with its interior slope.

    The surface at the face is the mean of ghost and interior. Inflow is at most critical. Supercritical outflow is
    extrapolated. The ghost surface differs from `value` by at most a quarter of the ghost depth and of the depth of the
    interior surface above the bed of the face, so that a dry interior fills.
    """
    near, second, copied, bed_1, bed_k, bed_face, m = cell_data
    zero = real(0.0)
    w_1, n_1, t_1 = near
    w_k, _, _ = copied
    h_1 = max(w_1 - bed_1, zero)
    u_1 = n_1 * desingularised_inverse(h_1, p.kappa4)
    c_1 = math.sqrt(p.g * h_1)
    fast = u_1 < -c_1
    w_2, n_2, bed_2 = second
    u_2 = n_2 * desingularised_inverse(max(w_2 - bed_2, zero), p.kappa4)
    bound = real(MAX_CHANGE) * c_1
    u_k = u_1 + m * within(u_1 - u_2, bound)
    margin = real(0.25) * min(max(value - bed_k, zero), max(w_1 - bed_face, zero))
    w = value + within(value - w_k, margin)
    h = h_1 if fast else max(w - bed_k, zero)
    u = u_1 if fast else min(u_k, math.sqrt(p.g * h))
    return bed_k + h if fast else max(w, bed_k), h * u, h * (t_1 * desingularised_inverse(h_1, p.kappa4))


@cell
def carried_through(p_here, h, p):
    """Advection factor of P in the momentum flux through a face of depth h, times dt / dx.

    The factor follows from the old velocity p / h.
    """
    if not CONVECTION:
        return real(0.0)
    k = real(2.0) * p.w * p_here * reciprocal(larger(h, minimum_depth(p)))
    if DRYING:
        k = smaller(larger(k, -real(MAX_COURANT)), real(MAX_COURANT))
    return k + k


@cell
def friction_loss(p_here, h, factor, p):
    """Head loss of the flow of depth h along half a cell, m; in uniform flow it equals the fall of the bed."""
    over = reciprocal(larger(h, minimum_depth(p)))
    flux = abs(p_here)
    return real(0.5) * p.cell_speed * p.over_g * resistance(flux, over * over, factor) * flux * over


@cell
def stage_end(value, end, p):
    """Boundary equation of a prescribed level: momentum over half a cell; closed if both sides are dry.

    P_t + (F_inside - F) / (dx / 2) = -g H (Z - level) / (dx / 2) with x inwards, H the mean depth of both sides, F = P
    p / h with the upstream depth (equation 7 of the ADI model). Outflow has at least its critical depth, or the depth
    of the interior cell if the outflow is supercritical: a lower level has no effect. Inflow has at least its critical
    depth. Its momentum is limited to the momentum that the interior cell passes on; otherwise an expanding jet inside
    the domain would accelerate itself.
    """
    inward, z, d, p_here, carried, r, factor = end
    zero, one, two = real(0.0), real(1.0), real(2.0)
    min_h = minimum_depth(p)
    h = depth(z, d)
    if larger(z, value) - d > min_h:
        leaves = inward * p_here < zero
        critical = critical_depth(p_here, p)
        brink = select(leaves, smaller(critical, h), zero)
        loss = select(leaves, friction_loss(p_here, h, factor, p), zero)
        level = larger(value, d + brink - loss)
        outside = larger(level - d, smaller(level - d + loss, h))
        mean = real(0.5) * (h + outside)
        gravity = real(4.0) * p.push * mean
        over = reciprocal(larger(mean, min_h))
        drag = resistance(abs(p_here), over * over, factor)
        passing = carried_through(p_here, select(leaves, h, larger(level - d, critical)), p)
        here, inner = carried
        net = select(leaves | (inward * (here + inner) > inward * passing), two * inward, zero)
        b = one + drag + held_out(p_here, inward, h, p) + gravity * p.w + net * (here - passing)
        return b, net * inner - gravity * p.w, p_here - inward * gravity * (r - level)
    return one, zero, zero


@dataclass(frozen=True)
class Stage(Condition):
    """Prescribed water level.

    Parameters
    ----------
    level : float or Series
        Surface elevation, m, relative to the datum of the bed. A level below the bed means that the outside is dry.

    Notes
    -----
    The level is prescribed at the face, with second order for small waves and tides. The velocity changes across the
    face by at most a tenth of the wave speed per cell.
    """

    level: Annotated[float | Series, Key("surface elevation, metres", "length", 1.5, "elevation")]
    ghost = stage_ghost
    line_end = stage_end
    gives_level = True
    level_ghosts = True

    def initial_note(self, water: InitialWater) -> str:
        series, initial = Series.of(self.level), water.level
        if initial is None or not (series.is_constant or series.times[0] <= water.time <= series.times[-1]):
            return ""
        level, depth = float(series(water.time)), float(np.median(water.depth[water.depth > 0.0]))
        if abs(level - initial) <= SUDDEN_PART * depth:
            return ""
        return (
            f"The stage is {level:.6g} m at the start of the run; the initial water level along this side is "
            f"{initial:.6g} m, with a median depth of {depth:.3g} m. Check both levels: a sudden step causes a "
            "steep wave front."
        )

    def value(self, width: float) -> Series:
        return Series.of(self.level)

    def highest_level(self) -> float:
        return float(self.value(1.0).values.max())

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        level = self.value(width)
        return 0.0 if level.is_constant else max(float(level.values.max()) - lowest_bed, 0.0)
