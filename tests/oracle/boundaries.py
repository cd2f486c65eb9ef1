"""Plain formulas of open sides, one cell at a time, after docs/models; nothing is shared with the package.

Explicit model: what stands in the first or second cell outside a side, `away` = 1, 2, from the water in the two cells
inside. Implicit model: the residual of the equation on a face, a linear function of the new fluxes there and at the
next face inside. Discharges and speeds are positive into the domain; metres and seconds.
"""

from __future__ import annotations

from math import cbrt, sqrt
from typing import NamedTuple

from scipy.optimize import brentq

from oracle.shallow_water import velocity

G, THETA, KAPPA = 9.81, 1.3, 1e-4
LARGEST_CHANGE = 0.1  # of a speed that goes on with its slope, from cell to cell, over the wave speed


class Water(NamedTuple):
    """A cell's bed and surface, m, and its discharge a metre of width across and along the side, m2 s-1."""

    bed: float
    surface: float
    across: float
    along: float

    @property
    def depth(self):
        return max(self.surface - self.bed, 0.0)

    @property
    def speed(self):
        return float(velocity(self.depth, self.across, KAPPA))

    @property
    def speed_along(self):
        return float(velocity(self.depth, self.along, KAPPA))

    @property
    def wave(self):
        return sqrt(G * self.depth)


def clipped(x, most):
    """x, between -most and most."""
    return max(-most, min(x, most))


def column(bed, depth, speed, along):
    """Water of some depth that moves."""
    return Water(bed, bed + depth, depth * speed, depth * along)


# -- what stands outside -------------------------------------------------------------------------------------------


def stage(level, bed, bed_at_face, away, first, second, mirrored):
    """The surface is `level` at the face, half way to the mirrored cell; the speed goes on as inside."""
    if first.speed < -first.wave:
        return column(bed, first.depth, first.speed, first.speed_along)
    most = min(max(level - bed, 0.0), max(first.surface - bed_at_face, 0.0)) / 4
    surface = level + clipped(level - mirrored.surface, most)
    depth = max(surface - bed, 0.0)
    speed = first.speed + away * clipped(first.speed - second.speed, LARGEST_CHANGE * first.wave)
    return column(bed, depth, min(speed, sqrt(G * depth)), first.speed_along)


def outflow(bed, first):
    """The water of the first cell, no higher than its surface; none comes back."""
    depth = max(min(first.depth, first.surface - bed), 0.0)
    return Water(bed, bed + depth, min(first.across, 0.0), first.along)


def absorbing(wave, level, bed, away, first, second):
    """u + 2c from outside, that of the wave; u - 2c from inside, as it goes on there: both over still water."""

    def over_still(water):
        rise = 2 * (water.wave - sqrt(G * max(level - water.bed, 0.0)))
        return water.speed + rise, water.speed - rise

    still = sqrt(G * max(level - bed, 0.0))
    (in_1, out_1), (in_2, out_2) = over_still(first), over_still(second)
    given = 4 * (sqrt(G * max(level + wave - bed, 0.0)) - still)
    most = LARGEST_CHANGE * first.wave
    coming = given + clipped(given - (in_1 if away == 1 else in_2), most)
    going = out_1 + away * clipped(out_1 - out_2, most)
    speed, c = (coming + going) / 2, max(still + (coming - going) / 4, 0.0)
    depth = c**2 / G
    along = first.speed_along if speed < 0 else 0.0
    surface = max(level, bed) + (c**2 - still**2) / G
    return Water(bed, surface, depth * speed, depth * along)


def normal_depth(rating, bed, first):
    """u = rating h^(2/3) outwards; one Newton step, from the depth inside, for the u + 2c outwards that it is to meet.

    Fast water leaves as it is.
    """
    out, c = -first.speed, first.wave
    if out > c:
        return column(bed, first.depth, -out, first.speed_along)

    def excess(wave):
        return rating * (wave**2 / G) ** (2 / 3) + 2 * wave - (out + 2 * c)

    if c > 0:
        slope = rating * 4 / 3 * (c / G**2) ** (1 / 3) + 2
        c = max(c - excess(c) / slope, 0.0)
    depth = c**2 / G
    return column(bed, depth, -rating * depth ** (2 / 3), first.speed_along)


def behind(rise, ahead):
    """Smallest difference to the next cell behind with the minmod half slope `rise`, or what comes nearest to it."""
    if ahead == 0:
        return 0.0
    share = min(max(rise / ahead, 0.0), THETA / 2)
    return ahead * max(2 * share / THETA, 4 * share - 1)


def minmod(a, b, c):
    """Of the smallest modulus, or 0 where signs differ."""
    return min(a, b, c) if min(a, b, c) > 0 else max(a, b, c) if max(a, b, c) < 0 else 0.0


def half_slope(low, high):
    """Half the limited difference of a cell, from the differences to both neighbours."""
    return 0.5 * minmod(THETA * low, 0.5 * (low + high), THETA * high)


def around(face, inside, most, away):
    """Value of a ghost for which the first one has `face` at the face."""
    first = face + clipped(face - inside, most)
    return first if away == 1 else first - behind(face - first, inside - first)


def inflow(rate, depth, bed, bed_at_face, away, first, of_discharges):
    """Depth and discharge at the face, each by at most a quarter off in the ghost; the speed, or the discharge, too."""
    stands = around(bed_at_face + depth, first.surface, depth / 4, away) - bed
    if of_discharges:
        return Water(bed, bed + stands, around(rate, first.across, rate / 4, away), 0.0)
    speed = float(velocity(depth, rate, KAPPA))
    return Water(bed, bed + stands, stands * around(speed, first.speed, speed / 4, away), 0.0)


def flux_speed(outer, inner, c):
    """Speed of the central-upwind flux between two sides as deep, with waves of speed c."""
    up, down = max(0.0, outer + c, inner + c), min(0.0, outer - c, inner - c)
    if up - down == 0:
        return 0.0
    return (up * outer - down * inner) / (up - down)


def balanced(inner, wanted, c):
    """Outer speed for which that of the flux is `wanted`.

    No speed lets more than c out; from half of that on, and where the water inside leaves faster than its waves, it is
    a line's that has the right slope at c/2.
    """
    if c == 0:
        return wanted if min(inner, wanted) >= 0 else inner
    if min(inner, wanted) >= c:
        return wanted
    if wanted < inner and (wanted < -c / 2 or inner < -c):
        return inner + 2 * c * (wanted - inner) / (c + max(wanted, -c / 2))
    low, high = -1e3 * (c + abs(inner) + abs(wanted)), 1e3 * (c + abs(inner) + abs(wanted))
    return brentq(lambda outer: flux_speed(outer, inner, c) - wanted, low, high, xtol=1e-14, rtol=1e-14)


def discharge(rate, bed, bed_at_face, away, first, second, of_discharges):
    """Ghosts from which the march finds the flux `rate`; see docs/development/decisions/0006-discharge-boundary.md."""
    slope = 2 * (bed_at_face - first.bed)
    shore = not of_discharges and slope < -2 * first.depth
    if shore:  # over a bed of its own, as deep at the face as 2 h, under a level surface
        slope, rise = -2 * first.depth, 0.0
    else:
        room = first.depth / 2
        least = min(slope, 0.0) - max(first.surface - max(first.bed, bed_at_face), 0.0) / 2
        rise = min(max(first.surface - second.surface, least), max(slope, 0.0) + room)
    face_bed = first.bed + slope / 2
    surface = first.surface + rise
    face = first.surface + half_slope(first.surface - second.surface, rise)
    if of_discharges and slope < -2 * first.depth:
        surface = face = face_bed + 2 * first.depth
    elif away == 2:
        surface -= behind(face - surface, first.surface - surface)
    depth, deep = max(surface - bed, 0.0), max(face - face_bed, 0.0)
    if rate <= 0 and first.surface <= face_bed:
        depth = deep = 0.0
    wanted = max(float(velocity(deep, rate, KAPPA)), -4 * sqrt(G * deep))
    inner, next_inner = first.speed, second.speed
    if of_discharges:
        inner, next_inner = (float(velocity(deep, one.across, KAPPA)) for one in (first, second))
    if shore:
        next_inner = inner
    speed = 2 * wanted - inner
    if away == 2:
        outer = balanced(inner - half_slope(inner - speed, next_inner - inner), wanted, sqrt(G * deep))
        speed -= behind(outer - speed, inner - speed)
    critical = cbrt(max(rate, 0.0) ** 2 / G)
    runs_off = first.across**2 >= G * first.depth**3
    if deep < critical / 2 or (deep < critical and runs_off):
        deep, speed = critical, float(velocity(critical, rate, KAPPA))
        depth = face_bed + critical - bed
    return Water(bed, bed + depth, (deep if of_discharges else depth) * speed, 0.0)


# -- the face of an implicit line -----------------------------------------------------------------------------------


class End(NamedTuple):
    """What a line of the implicit model knows at its end; x is along the line, `into` 1 at its low end, else -1."""

    into: int
    surface: float  # of the cell inside, at the old time
    bed: float
    known: float  # surface of the cell at the new time if no water moved along the line
    flux: float  # old, m2 s-1
    passed: tuple[float, float]  # momentum that the cell passes on, over the new flux here and at the next face, m s-1
    dx: float
    dt: float
    dry: float  # least depth, m
    drying: bool = True
    convection: bool = True
    drag: float = 0.0  # g n2, or g over the square of Chezy's factor
    manning: bool = True

    @property
    def depth(self):
        return max(self.surface - self.bed, 0.0)

    @property
    def fastest(self):
        """Speed at which water leaves freely: of its waves, or of the cell, whose momentum this is."""
        outwards = -self.into * sum(self.passed) if self.convection else 0.0
        return max(sqrt(G * self.depth), outwards)

    @property
    def held(self):
        """Drag once half of the cell's water leaves in a step, over the new flux."""
        part = -self.into * self.flux * self.dt / (self.dx * max(self.depth, self.dry))
        return 4 * max(part - 0.5, 0.0) if self.drying else 0.0

    def new_surface(self, flux, inner):
        """What flows in in half a step, half of it at the new time; `known` has the rest."""
        return self.known + self.into * self.dt / (4 * self.dx) * (flux - inner)


def stage_row(given, end, flux, inner):
    """P_t + (F_inside - F) / (dx/2) = -g H (Z - level) / (dx/2) - friction, x into the domain; or 0 = P where dry."""
    here, level = max(end.surface - end.bed, 0.0), given
    if max(end.surface, level) - end.bed <= end.dry:
        return flux
    leaves, critical = end.into * end.flux < 0, cbrt(end.flux**2 / G)
    power = 7 / 3 if end.manning else 2
    level, outside = max(level, end.bed), max(level - end.bed, 0.0)
    if leaves:  # the bed falls from the centre to the face as uniform flow of this depth needs
        flowing = max(here, end.dry)
        friction_slope = end.drag * abs(end.flux) / flowing**power * abs(end.flux) / (G * flowing)
        bed_at_face = end.bed - friction_slope * end.dx / 2
        level = max(given, bed_at_face + min(critical, here))
        outside = min(max(here, level - end.bed), level - bed_at_face)
    depth = (here + outside) / 2
    rate = G * depth * (end.new_surface(flux, inner) - level) / (end.dx / 2)
    if end.convection:
        u = end.flux / max(here if leaves else max(level - end.bed, critical), end.dry)
        if end.drying:
            u = clipped(u, end.dx / end.dt)
        if leaves or end.into * sum(end.passed) > end.into * u:  # what enters brings no more than the cell passes on
            rate += (end.passed[0] * flux + end.passed[1] * inner - u * flux) / (end.dx / 2)
    divisor = max(depth, end.dry) ** power
    return (1 + end.held) * flux - end.flux + end.dt * (end.into * rate + end.drag * abs(end.flux) / divisor * flux)


def discharge_row(rate, end, flux, inner, part=1 / 3):
    """P is given; no water enters land, and no more leaves than a part of what the old flux leaves, nor faster."""
    if end.drying:
        each = end.dt / (4 * end.dx)
        left = max(max(end.known - end.bed, 0.0) + each * min(end.into * end.flux, 0.0), 0.0)
        rate = max(rate, -min(part * left / (2 * each), end.depth * end.fastest))
    return flux - (end.into * rate if end.bed < 1e29 else 0.0)


def absorbing_row(value, end, flux, inner):
    """Waves leave: theta P + (1 - theta) p = c (value - Z), into the domain; theta as far above 1/2 as a wave needs."""
    depth = max(end.surface - end.bed, 0.0)
    if depth <= end.dry:
        return flux
    c = sqrt(G * depth)
    theta = min(1.0, 0.5 + end.dx / (2 * c * end.dt))
    outside = max(value, end.bed)
    known = (1 - theta) * end.flux - end.into * c * (outside - end.new_surface(flux, inner))
    return (theta + end.held) * flux + known


def normal_row(rating, end, flux, inner):
    """Outwards leaves rating h^(5/3), linear about the old depth."""
    depth = max(end.surface - end.bed, 0.0)
    if depth <= end.dry:
        return flux
    speed = min(rating * depth ** (2 / 3), end.fastest)
    leaves = speed * depth + 5 / 3 * speed * (end.new_surface(flux, inner) - end.surface)
    return (1 + end.held) * flux + end.into * leaves


def row_of(residual):
    """(B, E, D) of B P + E P_inner = D, from a linear residual (P, P_inner)."""
    nothing = residual(0.0, 0.0)
    return residual(1.0, 0.0) - nothing, residual(0.0, 1.0) - nothing, -nothing
