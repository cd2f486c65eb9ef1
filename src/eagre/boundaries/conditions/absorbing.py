"""Absorbing (characteristic) boundary condition with an optional incoming wave."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.base import MAX_CHANGE, Condition, InitialWater, Key
from eagre.errors import InputError
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import depth, held_out, minimum_depth
from eagre.kernels.limiters import within
from eagre.kernels.roots import larger, reciprocal, root, smaller
from eagre.time_varying.series import Series

LEVEL_PART = 0.5  # range of the initial surface along a side, as a fraction of the depth, that causes a note


@cell
def invariants(w, n, bed, level, p):
    """Riemann invariants u + 2 c and u - 2 c of a cell, relative to still water at `level`."""
    h = max(w - bed, real(0.0))
    u = n * desingularised_inverse(h, p.kappa4)
    rise = real(2.0) * (math.sqrt(p.g * h) - math.sqrt(p.g * max(level - bed, real(0.0))))
    return u + rise, u - rise


@cell
def absorbing_ghost(cell_data, value, level, p):
    """Ghost state from the prescribed incoming invariant and the outgoing invariant of the interior.

    u + 2 c is the invariant of the incoming wave of elevation `value` above still water at `level`, u = 2 (c - c_0). It
    is prescribed at the face, as the mean of the ghost and the interior cell. u - 2 c is extrapolated with its interior
    slope. For water at rest the ghost is at rest exactly.
    """
    near, second, _, bed_1, bed_k, _, m = cell_data
    zero = real(0.0)
    w_1, n_1, t_1 = near
    w_2, n_2, bed_2 = second
    h_1 = max(w_1 - bed_1, zero)
    bound = real(MAX_CHANGE) * math.sqrt(p.g * h_1)
    coming_1, going_1 = invariants(w_1, n_1, bed_1, level, p)
    coming_2, going_2 = invariants(w_2, n_2, bed_2, level, p)
    c_0 = math.sqrt(p.g * max(level - bed_k, zero))
    coming = real(4.0) * (math.sqrt(p.g * max(level + value - bed_k, zero)) - c_0)
    coming += within(coming - (coming_1 if m < real(1.5) else coming_2), bound)
    going = going_1 + m * within(going_1 - going_2, bound)
    u = real(0.5) * (coming + going)
    c = max(c_0 + real(0.25) * (coming - going), zero)
    rise = (c - c_0) * (c + c_0) / p.g
    h = c * c / p.g
    inside = real(1.0) if u < zero else zero
    return max(level, bed_k) + rise, h * u, inside * h * (t_1 * desingularised_inverse(h_1, p.kappa4))


@cell
def absorbing_end(value, end, p):
    """Radiation condition theta P + (1 - theta) p = c (value - Z), theta = min(1, 1/2 + dx / (2 c dt)).

    value : still-water level plus twice the elevation of the incoming wave, m, limited below by the bed (equation 9 of
    the ADI model).
    """
    inward, z, d, p_here, _, r, _ = end
    zero, one = real(0.0), real(1.0)
    h = depth(z, d)
    if h > minimum_depth(p):
        speed = root(p.g * h)
        theta = smaller(one, real(0.5) + real(0.125) * reciprocal(speed * p.w))
        b = theta + held_out(p_here, inward, h, p) + speed * p.w
        return b, -speed * p.w, inward * speed * (larger(value, d) - r) - (one - theta) * p_here
    return one, zero, zero


@dataclass(frozen=True)
class Absorbing(Condition):
    """Absorbing boundary after Riemann invariants: outgoing waves leave the domain, and a prescribed wave can enter.

    With the velocity u into the domain and c = sqrt(g h), the invariant u + 2 c is prescribed from outside: the
    invariant of a wave of the given elevation above still water, u = 2 (c - c_0). The invariant u - 2 c is determined
    by the interior.

    Parameters
    ----------
    incoming : float or Series
        Elevation of the incoming wave above `level`, m; 0 for no incoming wave.
    level : float, optional
        Still-water level, m. The default is the median of the initial surface along the side or segment. If the side is
        dry, the default is a level below the bed.

    Notes
    -----
    The incoming wave is prescribed at the face, with second order for small waves. Waves of normal incidence leave
    without reflection; oblique waves are partly reflected. Place the boundary where the bed is deep and even, far from
    breaking waves. Prescribe the incoming wave only, not the total elevation that a gauge records.

    References
    ----------
    J. J. Stoker, Water Waves, Interscience (1957), section 10.2 (the invariants along characteristics).
    """

    incoming: Annotated[
        float | Series,
        Key("surface elevation of the incoming wave above `level`, metres", "length", quantity="elevation"),
    ] = 0.0
    level: Annotated[
        float | None,
        Key(
            "still-water level, metres; default: median of the initial surface along the side",
            "length",
            quantity="elevation",
        ),
    ] = None
    ghost = absorbing_ghost
    line_end = absorbing_end

    def settled(self, water: InitialWater) -> Condition:
        if self.level is None:
            level = water.level
            return replace(self, level=water.lowest_bed - 2.0 * water.relief if level is None else level)
        wet = water.depth > 0.0
        if wet.any() and self.level <= (lowest := float((water.surface - water.depth)[wet].min())):
            raise InputError(
                f"level = {self.level:g}, and a bed of {lowest:.6g} m or higher in the wet cells along the side",
                allowed=f"a level above {lowest:.6g} m, or no level: the initial surface, {water.level:.6g} m",
                fix=f"level = {water.level:.6g}",
                problem="The still-water level of an absorbing side lies below the bed.",
            )
        return self

    def initial_note(self, water: InitialWater) -> str:
        wet = water.depth > 0.0
        if not wet.any():
            return ""
        low, high = float(water.surface[wet].min()), float(water.surface[wet].max())
        shallow = float(np.median(water.depth[wet]))
        if high - low <= LEVEL_PART * shallow:
            return ""
        return (
            f"The initial surface along this absorbing boundary varies between {low:.6g} and {high:.6g} m; its "
            f"still-water level is {self.still_level():.6g} m. Divide the side into segments with one level each, or "
            "use normal_depth."
        )

    def value(self, width: float) -> Series:
        return Series.of(self.incoming)

    def line_series(self, width: float) -> Series:
        wave = self.value(width)
        return Series(wave.times, self.still_level() + 2.0 * wave.values, wave.name)

    @property
    def line_gives_level(self) -> bool:
        return True

    def still_level(self) -> float:
        """Still-water level, m; the default level requires `settled` first."""
        assert self.level is not None
        return float(self.level)

    def highest_level(self) -> float:
        """Maximum head of the incoming wave, m.

        The surface plus the velocity head is at most `level` plus twice the wave elevation.
        """
        return self.still_level() + 2.0 * max(float(self.value(1.0).values.max()), 0.0)

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        wave = self.value(width)
        return 0.0 if wave.is_constant else max(self.still_level() + float(wave.values.max()) - lowest_bed, 0.0)
