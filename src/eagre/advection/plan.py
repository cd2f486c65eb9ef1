"""MPDATA: formulas of a face or a point, and their launches on a device, for three axes (k, j, i) and one precision.

Stage-by-stage MPDATA: all fields in memory between stages, with ghost points; any device, any option.

Reference of the fused kernels. The fields are in one array, (FIELDS, (nz + 2 d + 1) (ny + 2 d + 1) (nx + 2 d + 1));
position d of an axis is point 0 and the face left of it. `low` is the first position of a stage.

In the formulas, U is the flux of the advector through a face, dt/dx times density and Jacobian; h the density times
Jacobian of a point, and over_r = 2 / (h_left + h_right) at a face.

Sources: P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998), doi:10.1006/jcph.1998.5901;
K. A. Rojek et al., Concurrency Computat.: Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417, figures 2 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.ghosts import Open, Tables, tables_of
from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.checks import checked_switch
from eagre.kernels.roots import by_sign, larger, quotient, smaller

GAUGE = switch("GAUGE", True)
"""Infinite-gauge variant: pseudo velocities are fluxes, for fields of both signs. Otherwise sign-preserving."""
MIN_DIVISOR = switch("MIN_DIVISOR", 1e-37)
"""Smallest divisor in the precision of the build; prevents 0 / 0."""
THIRD_ORDER = switch("THIRD_ORDER", False)
NONOSCILLATORY = switch("NONOSCILLATORY", True)
UNIT = switch("UNIT", False)  # True if density times Jacobian is 1

FIRST, X, H, U1, U2, U3, V1, V2, V3, UP, DOWN = range(11)
FIELDS = 11


@cell
def donor_flux(left, right, u):
    """Return the upwind flux through a face: max(0, u) left + min(0, u) right."""
    return u * by_sign(u, left, right)


@cell
def magnitude(x):
    """Return the quantity whose differences define pseudo velocities."""
    return x if GAUGE else abs(x)


@cell
def corrective_flux(left, right, v):
    """Return the flux of the pseudo velocity v."""
    return v if GAUGE else donor_flux(left, right, v)


@cell
def ratio_of_two(plus, minus):
    """Return (plus - minus) / (plus + minus), each one value; half of the difference in the infinite-gauge variant."""
    if GAUGE:
        return real(0.5) * (plus - minus)
    return quotient(plus - minus, larger(plus + minus, real(MIN_DIVISOR)))


@cell
def ratio_of_four(plus, minus):
    """Return the same ratio, each the sum of two values; a quarter of the difference in the infinite-gauge variant."""
    return cross_ratio(plus - minus, plus + minus)


@cell
def cross_ratio(difference, total):
    """Return the ratio for the difference and the sum of two pairs of values; the gauge variant ignores the sum."""
    if GAUGE:
        return real(0.25) * difference
    return quotient(difference, larger(total, real(MIN_DIVISOR)))


@cell
def ratio_of_eight(plus, minus):
    """Return the same ratio, each the sum of four values; an eighth of the difference in the infinite-gauge variant."""
    if GAUGE:
        return real(0.125) * (plus - minus)
    return quotient(plus - minus, larger(plus + minus, real(MIN_DIVISOR)))


@cell
def pseudo_velocity(u, over_r, left, right, s_m, m, s_n, n):
    """Return the pseudo velocity (|U| - U^2/r) D - U/(8 r) (S_m D_m + S_n D_n).

    D is the ratio of the two points, D_m and D_n the ratios of four points (m, n), one step forward along each other
    axis and one step back; S_m and S_n are the sums of the four faces of these axes around the face.
    """
    courant = u * over_r
    along = (abs(u) - u * courant) * ratio_of_two(right, left)
    return along - real(0.125) * courant * (s_m * m + s_n * n)


@cell
def face_velocity(u, over, left, right, s_m, difference_m, total_m, s_n, difference_n, total_n):
    """Return the same from over = 1 / (h_left + h_right) and the differences and sums of pairs (see `cross_ratio`)."""
    courant = u * over
    if GAUGE:
        along = (real(0.5) * abs(u) - u * courant) * (right - left)
        return along - real(0.0625) * courant * (s_m * difference_m + s_n * difference_n)
    along = (abs(u) - real(2.0) * u * courant) * ratio_of_two(right, left)
    cross = s_m * cross_ratio(difference_m, total_m) + s_n * cross_ratio(difference_n, total_n)
    return along - real(0.25) * courant * cross


@cell
def third_along(u, over_r, front, right, left, back):
    """Return -(U - 3 |U| U/r + 2 U^3/r^2)/3 D of the four points of a line about the face."""
    courant = u * over_r
    weight = u - real(3.0) * abs(u) * courant + real(2.0) * u * courant * courant
    return real(-1.0 / 3.0) * weight * ratio_of_four(front + back, right + left)


@cell
def third_across(u, over_r, s, right_up, left_up, right_down, left_down):
    """Return (|U| - 2 U^2/r) S/(4 r) D of the gradient along the axis, one step forward and back along another axis."""
    weight = abs(u) - real(2.0) * u * u * over_r
    return real(0.25) * weight * s * over_r * ratio_of_four(right_up + left_down, left_up + right_down)


@cell
def third_corners(u, over_r, s_m, s_n, same, opposite):
    """Return -U S_m S_n/(24 r^2) D of the corners; same, opposite : pairs of equal, opposite steps."""
    return real(-1.0 / 24.0) * u * s_m * s_n * over_r * over_r * ratio_of_eight(same, opposite)


@cell
def inflow(low, high):
    """Return the inflow of a point from two opposite faces."""
    return larger(low, real(0.0)) - smaller(high, real(0.0))


@cell
def flows(west, east, south, north, below, above):
    """Return the inflow and outflow of a point from six fluxes towards higher indices, to rounding."""
    net = ((west - east) + (south - north)) + (below - above)
    total = ((abs(west) + abs(east)) + (abs(south) + abs(north))) + (abs(below) + abs(above))
    return real(0.5) * (total + net), real(0.5) * (total - net)


@cell
def share_of(capacity, flow):
    """Return the allowed fraction of `flow` for a capacity `capacity` (at least 0), 0 to 1."""
    return quotient(capacity, larger(capacity + real(MIN_DIVISOR), flow))


@cell
def limiter(f, up_left, down_left, up, down):
    """Return the fraction of flux f that both points allow: `up` of the receiving and `down` of the giving point."""
    along, against = smaller(up, down_left), smaller(up_left, down)  # both computed: no load depends on the sign
    return along if f > real(0.0) else against


class Steps(NamedTuple):
    """Distances of the next points along x, y and z in a field with its ghost points, unsigned in kernels."""

    x: Any
    y: Any
    z: Any


@cell
def unsigned(steps):
    """Return the distances as unsigned numbers, as unsigned indices need no test for negative values."""
    return Steps(np.uint64(steps.x), np.uint64(steps.y), np.uint64(steps.z))


@cell
def position(k, j, i, low, d):
    """Return the index of a point in a field, with positions counted from `low` on."""
    return np.uint64(k + low) * d.z + np.uint64(j + low) * d.y + np.uint64(i + low)


@cell
def density(s, n):
    """Return density times Jacobian at a point."""
    if UNIT:
        return real(1.0)
    return s[H, n]


@cell
def fill(k, j, i, s, field, steps, a, along_k, along_j, along_i):
    """Copy a field with its ghost points; along_k, along_j, along_i : `Table`."""
    value = a[np.uint32(along_k.indices[k]), np.uint32(along_j.indices[j]), np.uint32(along_i.indices[i])]
    value = along_i.factor[i] * value + along_i.outside[i]
    value = along_j.factor[j] * value + along_j.outside[j]
    s[np.uint32(field), position(k, j, i, 0, unsigned(steps))] = along_k.factor[k] * value + along_k.outside[k]


@cell
def advect(k, j, i, s, low, steps):
    """First pass, donor cell: X from FIRST."""
    d = unsigned(steps)
    n = position(k, j, i, low, d)
    x = s[FIRST, n]
    net = donor_flux(x, s[FIRST, n + d.x], s[U1, n + d.x])
    net -= donor_flux(s[FIRST, n - d.x], x, s[U1, n])
    net += donor_flux(x, s[FIRST, n + d.y], s[U2, n + d.y])
    net -= donor_flux(s[FIRST, n - d.y], x, s[U2, n])
    net += donor_flux(x, s[FIRST, n + d.z], s[U3, n + d.z])
    net -= donor_flux(s[FIRST, n - d.z], x, s[U3, n])
    s[X, n] = x - net / density(s, n)


@cell
def size(s, n):
    """Return the quantity whose differences define pseudo velocities."""
    return magnitude(s[X, n])


@cell
def four_faces(s, u, n, along, back):
    """Return the sum of faces of field u at a point, one further `along` its own axis, and both one `back`."""
    here = s[u, n] + s[u, n + along]
    return here + s[u, n - back] + s[u, n + along - back]


@cell
def nine(s, n, up, right):
    """Return the sizes at a point and its neighbours: lines from -right to right, each from -up to up."""
    low, high = n - right, n + right
    return (
        size(s, low - up), size(s, low), size(s, low + up),
        size(s, n - up), size(s, n), size(s, n + up),
        size(s, high - up), size(s, high), size(s, high + up),
    )  # fmt: skip


@cell
def third_order(u, over_r, sums, ends, left, right):
    """Return the third-order terms of `face`: along its axis, across it along two other axes, and of their corners."""
    s_m, s_n = sums
    v = third_along(u, over_r, ends[0], right[4], left[4], ends[1])
    v += third_across(u, over_r, s_m, right[5], left[5], right[3], left[3])
    v += third_across(u, over_r, s_n, right[7], left[7], right[1], left[1])
    same = right[8] + left[8]
    same += right[0] + left[0]
    opposite = right[2] + left[2]
    opposite += right[6] + left[6]
    return v + third_corners(u, over_r, s_m, s_n, same, opposite)


@cell
def face(u, over_r, sums, ends, left, right):
    """Return the pseudo velocity of a face.

    sums : of the advector along the two other axes; ends : the points after and before the two of the face
    left, right : `nine` of both points along the other axes
    """
    s_m, s_n = sums
    m_ratio = ratio_of_four(right[5] + left[5], right[3] + left[3])
    n_ratio = ratio_of_four(right[7] + left[7], right[1] + left[1])
    v = pseudo_velocity(u, over_r, left[4], right[4], s_m, m_ratio, s_n, n_ratio)
    if THIRD_ORDER:
        v += third_order(u, over_r, sums, ends, left, right)
    return v


@cell
def velocity(s, n, fields, axes):
    """Return the pseudo velocity of a face; axes : its own and two others; fields : the advector along these."""
    back, up, right = axes
    over_r = real(2.0) / (density(s, n) + density(s, n - back))
    sums = four_faces(s, fields[1], n, up, back), four_faces(s, fields[2], n, right, back)
    ends = size(s, n + back), size(s, n - back - back)
    return face(s[fields[0], n], over_r, sums, ends, nine(s, n - back, up, right), nine(s, n, up, right))


@cell
def velocities(k, j, i, s, low, steps, passable_k, passable_j, passable_i):
    """Compute V1, V2, V3 of X and the advector; all loads precede the stores, so that the axes share them."""
    d = unsigned(steps)
    n = position(k, j, i, low, d)
    v1 = passable_i[np.uint32(i + low)] * velocity(s, n, (U1, U2, U3), (d.x, d.y, d.z))
    v2 = passable_j[np.uint32(j + low)] * velocity(s, n, (U2, U1, U3), (d.y, d.x, d.z))
    v3 = passable_k[np.uint32(k + low)] * velocity(s, n, (U3, U1, U2), (d.z, d.x, d.y))
    s[V1, n] = v1
    s[V2, n] = v2
    s[V3, n] = v3


@cell
def flux(s, n, field, back):
    """Return the corrective flux of V1, V2 or V3 through the face between a point and the one `back`."""
    return corrective_flux(s[X, n - back], s[X, n], s[field, n])


@cell
def bounds(s, n, d):
    """Return the maximum and minimum of a point and its neighbours, at the start of the step and now."""
    high = max(s[FIRST, n], s[X, n])
    low = min(s[FIRST, n], s[X, n])
    for field in (FIRST, X):
        west, east = s[field, n - d.x], s[field, n + d.x]
        south, north = s[field, n - d.y], s[field, n + d.y]
        below, above = s[field, n - d.z], s[field, n + d.z]
        high = max(high, max(max(max(west, east), max(south, north)), max(below, above)))
        low = min(low, min(min(min(west, east), min(south, north)), min(below, above)))
    return high, low


@cell
def allowed_fractions(k, j, i, s, low, steps):
    """Compute UP and DOWN: the allowed fractions of inflow and outflow of a point."""
    d = unsigned(steps)
    n = position(k, j, i, low, d)
    highest, lowest = bounds(s, n, d)
    w, e = flux(s, n, V1, d.x), flux(s, n + d.x, V1, d.x)
    south, north = flux(s, n, V2, d.y), flux(s, n + d.y, V2, d.y)
    below, above = flux(s, n, V3, d.z), flux(s, n + d.z, V3, d.z)
    h, x = density(s, n), s[X, n]
    up = share_of((highest - x) * h, inflow(w, e) + inflow(south, north) + inflow(below, above))
    down = share_of((x - lowest) * h, inflow(-w, -e) + inflow(-south, -north) + inflow(-below, -above))
    s[UP, n] = up
    s[DOWN, n] = down


@cell
def limited_flux(s, n, field, back):
    """Return the corrective flux of V1, V2 or V3 through the face between a point and the one `back`, limited."""
    left, right, v = s[X, n - back], s[X, n], s[field, n]
    if NONOSCILLATORY:
        up, down = s[UP, n - back], s[DOWN, n - back]
        v *= limiter(corrective_flux(left, right, v), up, down, s[UP, n], s[DOWN, n])
    return corrective_flux(left, right, v)


@cell
def correct(k, j, i, s, low, steps, out):
    """Corrective pass; out : (nz, ny, nx)."""
    d = unsigned(steps)
    n = position(k, j, i, low, d)
    net = limited_flux(s, n + d.x, V1, d.x) - limited_flux(s, n, V1, d.x)
    net += limited_flux(s, n + d.y, V2, d.y) - limited_flux(s, n, V2, d.y)
    net += limited_flux(s, n + d.z, V3, d.z) - limited_flux(s, n, V3, d.z)
    out[k, j, i] = s[X, n] - net / density(s, n)


@cell
def take(k, j, i, s, field, low, steps, out):
    """Copy a field without its ghost points."""
    out[k, j, i] = s[np.uint32(field), position(k, j, i, low, unsigned(steps))]


@cell
def outflow(k, j, i, s, low, steps, out):
    """Compute the outflow Courant number of a point: outflow in a step divided by its content; out : (nz, ny, nx)."""
    d = unsigned(steps)
    n = position(k, j, i, low, d)
    total = inflow(-s[U1, n], -s[U1, n + d.x])
    total += inflow(-s[U2, n], -s[U2, n + d.y])
    total += inflow(-s[U3, n], -s[U3, n + d.z])
    out[k, j, i] = total / density(s, n)


NOWHERE = (False, False, False)
DIVISION_FLOOR = {"single": 1e-37, "double": 1e-300}


class Options(NamedTuple):
    """Options of a step; see `eagre.advection.Mpdata`."""

    passes: int = 2
    gauge: bool = True
    third_order: bool = False
    nonoscillatory: bool = True

    @classmethod
    def checked(cls, **switches: Any) -> Options:
        """Return options with checked switches."""
        return cls(**{name: checked_switch(name, value) for name, value in switches.items()})

    @property
    def switches(self) -> dict[str, Any]:
        return {"GAUGE": self.gauge, "THIRD_ORDER": self.third_order, "NONOSCILLATORY": self.nonoscillatory}


class Advector(NamedTuple):
    """Face fluxes along x, y and z, times dt/dx, density and Jacobian; h : density times Jacobian at points, or None.

    v1 : (nz, ny, nx + 1); v2 : (nz, ny + 1, nx); v3 : (nz + 1, ny, nx); h : (nz, ny, nx). Fluxes along axes of one
    point are not read and may be None.
    """

    v1: Any
    v2: Any
    v3: Any
    h: Any = None


class StagedPlan:
    """MPDATA with all fields in memory between stages, for any option and device.

    shape : (nz, ny, nx); sides : boundaries of the axes z, y, x: ``"periodic"``, ``"wall"``, ``"open"`` or `Open`.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        shape: tuple[int, int, int],
        sides: tuple[str | Open, str | Open, str | Open],
        options: Options,
    ) -> None:
        self.device, self.precision, self.shape, self.sides, self.options = device, precision, shape, sides, options
        self.dtype = check_precision(precision)
        self.depth = 4 if options.third_order else 3
        self._tables: dict[tuple[bool, ...], tuple[Tables, ...]] = {}
        self._programs: dict[Any, Any] = {}

    @property
    def padded(self) -> tuple[int, ...]:
        """Shape of a field including its ghost points."""
        return tuple(n + 2 * self.depth + 1 for n in self.shape)

    @cached_property
    def fields(self) -> Any:
        return self.device.zeros((FIELDS, prod(self.padded)), self.dtype)

    @property
    def _steps(self) -> Steps:
        return Steps(1, self.padded[2], self.padded[1] * self.padded[2])

    @cached_property
    def _pseudo_velocities(self) -> Advector:
        """Advector of the third and later passes."""
        nz, ny, nx = self.shape
        shapes = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        return Advector(*(self.device.zeros(shape, self.dtype) for shape in shapes))

    def tables(self, odd: tuple[bool, bool, bool]) -> tuple[Tables, ...]:
        """Return the ghost-point tables along z, y and x of a field that is odd across the walls of some axes."""
        if odd not in self._tables:
            axes = zip(self.shape, self.sides, odd, strict=True)
            self._tables[odd] = tuple(tables_of(n, side, o, self.depth, self.device, self.dtype) for n, side, o in axes)
        return self._tables[odd]

    def _loop(self, cell: Any, region: tuple[int, ...], *arguments: Any, unit: bool = False) -> Launch:
        if (cell, unit) not in self._programs:
            switches = {**self.options.switches, "UNIT": unit, "MIN_DIVISOR": DIVISION_FLOOR[self.precision]}
            self._programs[cell, unit] = self.device.loop(cell, self.precision, switches)
        return self.device.over(self._programs[cell, unit], region, arguments)

    def _stage(self, cell: Any, low: int, trailing: int, *arguments: Any, unit: bool) -> Launch:
        """Return a stage from position `low` on, without `trailing` positions at the other end."""
        region = tuple(n - low - trailing for n in self.padded)
        return self._loop(cell, region, self.fields, low, self._steps, *arguments, unit=unit)

    def fill(self, field: int, a: Any, odd: tuple[bool, bool, bool]) -> Launch:
        """Return a launch that copies a, (nz, ny, nx), with its ghost points to one of `fields`."""
        return self._filled(field, a, [axis.field for axis in self.tables(odd)])

    def _filled(self, field: int, a: Any, tables: Sequence[Any]) -> Launch:
        return self._loop(fill, self.padded, self.fields, field, self._steps, a, *tables)

    def fill_advector(self, v: Advector) -> list[Work]:
        """Return launches that copy the advector with its ghost points; fluxes along axes of one point are not read."""
        tables, launches = self.tables(NOWHERE), []
        for along, field, a in ((2, U1, v.v1), (1, U2, v.v2), (0, U3, v.v3)):
            if self.shape[along] == 1:
                continue
            ways = [axis.along if n == along else axis.across for n, axis in enumerate(tables)]
            launches.append(self._filled(field, a, ways))
        return launches

    def fill_h(self, h: Any) -> list[Work]:
        """Return launches that copy density times Jacobian with its ghost points; none for None, which means 1."""
        return [] if h is None else [self._filled(H, h, [axis.jacobian for axis in self.tables(NOWHERE)])]

    def take(self, field: int, out: Any) -> Launch:
        """Return a launch that copies a field without its ghost points to out."""
        return self._loop(take, tuple(out.shape), self.fields, field, self.depth, self._steps, out)

    def launches(self, x: Any, out: Any, v: Advector, odd: tuple[bool, bool, bool] = NOWHERE) -> list[Work]:
        """Return the launches of one step: x to out, another array of its shape.

        odd : whether x changes its sign across the walls of z, y and x, as the normal velocity does.
        """
        return self.together([(x, out, odd)], v)

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        """Return launches of a step of several fields with one advector; transported : x, out, odd, see `launches`."""
        launches, unit = self.fill_h(v.h), v.h is None
        for n, (x, out, odd) in enumerate(transported):
            if n == 0 or self.options.passes > 2:  # the third pass replaces the advector
                launches += self.fill_advector(v)
            launches += [self.fill(FIRST, x, odd), self._stage(advect, 1, 1, unit=unit)]
            if self.options.passes == 1:
                launches.append(self.take(X, out))
            for left in reversed(range(1, self.options.passes)):
                launches += self._correction(out, left > 1, unit)
                if left > 1:
                    launches += [self.fill(X, out, odd), *self.fill_advector(self._pseudo_velocities)]
        return launches

    def _correction(self, out: Any, again: bool, unit: bool) -> list[Work]:
        """Return a corrective pass: X to out; again : store its unlimited pseudo velocities as an advector."""
        first = self.depth - 1
        launches: list[Work] = [self._velocities(first, [axis.passable for axis in self.tables(NOWHERE)], unit)]
        if again:
            fields = (V1, V2, V3)
            targets = zip(fields, self._pseudo_velocities, strict=False)
            launches += [self.take(field, target) for field, target in targets]
        if self.options.nonoscillatory:
            launches.append(self._stage(allowed_fractions, first, 3, unit=unit))
        arguments = (self.fields, self.depth, self._steps, out)
        return [*launches, self._loop(correct, self.shape, *arguments, unit=unit)]

    def _velocities(self, first: int, passable: Sequence[Any], unit: bool) -> Launch:
        """Return the launch that computes V1, V2 and V3 from position `first` on."""
        return self._stage(velocities, first, 2, *passable, unit=unit)

    def courant(self, out: Any, v: Advector) -> list[Work]:
        """Return launches that store outflow Courant numbers of points in out."""
        launches, arguments = [*self.fill_advector(v), *self.fill_h(v.h)], (self.fields, self.depth, self._steps, out)
        return [*launches, self._loop(outflow, self.shape, *arguments, unit=v.h is None)]
