"""MPDATA as launches on a device: three axes (k, j, i), fixed arrays, one precision.

Stage-by-stage MPDATA: all fields in memory between stages, with ghost points; any device, any option.

Reference of the fused kernels. The fields are in one array, (FIELDS, nz + 2 d + 1, ny + 2 d + 1, nx + 2 d + 1);
position d of an axis is point 0 and the face left of it. `low` is the first position of a stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from eagre.advection.ghosts import Open, Tables, tables_of
from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.kernels.mpdata import (
    corrective_flux,
    donor_flux,
    inflow,
    limiter,
    magnitude,
    pseudo_velocity,
    ratio_of_four,
    share_of,
    third_across,
    third_along,
    third_corners,
)

THIRD_ORDER = switch("THIRD_ORDER", False)
NONOSCILLATORY = switch("NONOSCILLATORY", True)

FIRST, X, H, U1, U2, U3, V1, V2, V3, UP, DOWN = range(11)
FIELDS = 11


@cell
def fill(k, j, i, s, field, a, along_k, along_j, along_i):
    """Copy a field with its ghost points; along_k, along_j, along_i : `Table`."""
    value = a[along_k.indices[k], along_j.indices[j], along_i.indices[i]]
    value = along_i.factor[i] * value + along_i.outside[i]
    value = along_j.factor[j] * value + along_j.outside[j]
    s[field, k, j, i] = along_k.factor[k] * value + along_k.outside[k]


@cell
def set_one(k, j, i, s, field):
    """Set 1 everywhere."""
    s[field, k, j, i] = real(1.0)


@cell
def advect(k, j, i, s, low):
    """First pass, donor cell: X from FIRST."""
    k, j, i = k + low, j + low, i + low
    x = s[FIRST, k, j, i]
    net = donor_flux(x, s[FIRST, k, j, i + 1], s[U1, k, j, i + 1])
    net -= donor_flux(s[FIRST, k, j, i - 1], x, s[U1, k, j, i])
    net += donor_flux(x, s[FIRST, k, j + 1, i], s[U2, k, j + 1, i])
    net -= donor_flux(s[FIRST, k, j - 1, i], x, s[U2, k, j, i])
    net += donor_flux(x, s[FIRST, k + 1, j, i], s[U3, k + 1, j, i])
    net -= donor_flux(s[FIRST, k - 1, j, i], x, s[U3, k, j, i])
    s[X, k, j, i] = x - net / s[H, k, j, i]


@cell
def size(s, k, j, i):
    """Return the quantity whose differences define pseudo velocities."""
    return magnitude(s[X, k, j, i])


@cell
def four_faces(s, u, k, j, i, along, back):
    """Return the sum of faces of field u at a point, one further `along` its own axis, and both one `back`."""
    ak, aj, ai = along
    bk, bj, bi = back
    here = s[u, k, j, i] + s[u, k + ak, j + aj, i + ai]
    return here + s[u, k - bk, j - bj, i - bi] + s[u, k + ak - bk, j + aj - bj, i + ai - bi]


@cell
def two(s, k, j, i, back):
    """Return the sum of the values at a point and one `back`."""
    bk, bj, bi = back
    return size(s, k, j, i) + size(s, k - bk, j - bj, i - bi)


@cell
def third_order(s, k, j, i, u, over_r, sums, axes):
    """Return the third-order terms at a face: along its axis, across it along two other axes, and of their corners."""
    (bk, bj, bi), (mk, mj, mi), (nk, nj, ni) = axes
    s_m, s_n = sums
    v = third_along(
        u, over_r, size(s, k + bk, j + bj, i + bi), size(s, k, j, i), size(s, k - bk, j - bj, i - bi),
        size(s, k - 2 * bk, j - 2 * bj, i - 2 * bi),
    )  # fmt: skip
    v += third_across(
        u, over_r, s_m, size(s, k + mk, j + mj, i + mi), size(s, k + mk - bk, j + mj - bj, i + mi - bi),
        size(s, k - mk, j - mj, i - mi), size(s, k - mk - bk, j - mj - bj, i - mi - bi),
    )  # fmt: skip
    v += third_across(
        u, over_r, s_n, size(s, k + nk, j + nj, i + ni), size(s, k + nk - bk, j + nj - bj, i + ni - bi),
        size(s, k - nk, j - nj, i - ni), size(s, k - nk - bk, j - nj - bj, i - ni - bi),
    )  # fmt: skip
    same = two(s, k + mk + nk, j + mj + nj, i + mi + ni, axes[0])
    same += two(s, k - mk - nk, j - mj - nj, i - mi - ni, axes[0])
    opposite = two(s, k + mk - nk, j + mj - nj, i + mi - ni, axes[0])
    opposite += two(s, k - mk + nk, j - mj + nj, i - mi + ni, axes[0])
    return v + third_corners(u, over_r, s_m, s_n, same, opposite)


@cell
def velocity(s, k, j, i, fields, axes):
    """Return the pseudo velocity of a face; axes : its own and two others; fields : the advector along these."""
    (bk, bj, bi), (mk, mj, mi), (nk, nj, ni) = axes
    u = s[fields[0], k, j, i]
    over_r = real(2.0) / (s[H, k, j, i] + s[H, k - bk, j - bj, i - bi])
    s_m = four_faces(s, fields[1], k, j, i, axes[1], axes[0])
    s_n = four_faces(s, fields[2], k, j, i, axes[2], axes[0])
    m = ratio_of_four(two(s, k + mk, j + mj, i + mi, axes[0]), two(s, k - mk, j - mj, i - mi, axes[0]))
    n = ratio_of_four(two(s, k + nk, j + nj, i + ni, axes[0]), two(s, k - nk, j - nj, i - ni, axes[0]))
    v = pseudo_velocity(u, over_r, size(s, k - bk, j - bj, i - bi), size(s, k, j, i), s_m, m, s_n, n)
    if THIRD_ORDER:
        v += third_order(s, k, j, i, u, over_r, (s_m, s_n), axes)
    return v


@cell
def velocities(k, j, i, s, low, passable_k, passable_j, passable_i):
    """Compute V1, V2, V3 of X and the advector."""
    k, j, i = k + low, j + low, i + low
    x, y, z = (0, 0, 1), (0, 1, 0), (1, 0, 0)
    s[V1, k, j, i] = passable_i[i] * velocity(s, k, j, i, (U1, U2, U3), (x, y, z))
    s[V2, k, j, i] = passable_j[j] * velocity(s, k, j, i, (U2, U1, U3), (y, x, z))
    s[V3, k, j, i] = passable_k[k] * velocity(s, k, j, i, (U3, U1, U2), (z, x, y))


@cell
def fluxes(s, k, j, i):
    """Return the corrective fluxes through the faces left of, south of and below a point."""
    x = s[X, k, j, i]
    f1 = corrective_flux(s[X, k, j, i - 1], x, s[V1, k, j, i])
    f2 = corrective_flux(s[X, k, j - 1, i], x, s[V2, k, j, i])
    return f1, f2, corrective_flux(s[X, k - 1, j, i], x, s[V3, k, j, i])


@cell
def bounds(s, k, j, i):
    """Return the maximum and minimum of a point and its neighbours, at the start of the step and now."""
    high = max(s[FIRST, k, j, i], s[X, k, j, i])
    low = min(s[FIRST, k, j, i], s[X, k, j, i])
    for field in (FIRST, X):
        west, east = s[field, k, j, i - 1], s[field, k, j, i + 1]
        south, north = s[field, k, j - 1, i], s[field, k, j + 1, i]
        below, above = s[field, k - 1, j, i], s[field, k + 1, j, i]
        high = max(high, max(max(max(west, east), max(south, north)), max(below, above)))
        low = min(low, min(min(min(west, east), min(south, north)), min(below, above)))
    return high, low


@cell
def allowed_fractions(k, j, i, s, low):
    """Compute UP and DOWN: the allowed fractions of inflow and outflow of a point."""
    k, j, i = k + low, j + low, i + low
    highest, lowest = bounds(s, k, j, i)
    w, south, below = fluxes(s, k, j, i)
    e, north, above = fluxes(s, k, j, i + 1)[0], fluxes(s, k, j + 1, i)[1], fluxes(s, k + 1, j, i)[2]
    h, x = s[H, k, j, i], s[X, k, j, i]
    s[UP, k, j, i] = share_of((highest - x) * h, inflow(w, e) + inflow(south, north) + inflow(below, above))
    s[DOWN, k, j, i] = share_of((x - lowest) * h, inflow(-w, -e) + inflow(-south, -north) + inflow(-below, -above))


@cell
def limited_flux(s, k, j, i, field, back):
    """Return the corrective flux of V1, V2 or V3 through the face between a point and the one `back`, limited."""
    bk, bj, bi = back
    left, right, v = s[X, k - bk, j - bj, i - bi], s[X, k, j, i], s[field, k, j, i]
    if NONOSCILLATORY:
        up, down = s[UP, k - bk, j - bj, i - bi], s[DOWN, k - bk, j - bj, i - bi]
        v *= limiter(corrective_flux(left, right, v), up, down, s[UP, k, j, i], s[DOWN, k, j, i])
    return corrective_flux(left, right, v)


@cell
def correct(k, j, i, s, low, out):
    """Corrective pass; out : (nz, ny, nx)."""
    to_k, to_j, to_i, k, j, i = k, j, i, k + low, j + low, i + low
    x, y, z = (0, 0, 1), (0, 1, 0), (1, 0, 0)
    net = limited_flux(s, k, j, i + 1, V1, x) - limited_flux(s, k, j, i, V1, x)
    net += limited_flux(s, k, j + 1, i, V2, y) - limited_flux(s, k, j, i, V2, y)
    net += limited_flux(s, k + 1, j, i, V3, z) - limited_flux(s, k, j, i, V3, z)
    out[to_k, to_j, to_i] = s[X, k, j, i] - net / s[H, k, j, i]


@cell
def take(k, j, i, s, field, low, out):
    """Copy a field without its ghost points."""
    out[k, j, i] = s[field, k + low, j + low, i + low]


@cell
def outflow(k, j, i, s, low, out):
    """Compute the outflow Courant number of a point: outflow in a step divided by its content; out : (nz, ny, nx)."""
    to_k, to_j, to_i, k, j, i = k, j, i, k + low, j + low, i + low
    total = inflow(-s[U1, k, j, i], -s[U1, k, j, i + 1])
    total += inflow(-s[U2, k, j, i], -s[U2, k, j + 1, i])
    total += inflow(-s[U3, k, j, i], -s[U3, k + 1, j, i])
    out[to_k, to_j, to_i] = total / s[H, k, j, i]


NOWHERE = (False, False, False)
DIVISION_FLOOR = {"single": 1e-37, "double": 1e-300}


class Options(NamedTuple):
    """Options of a step; see `eagre.advection.Mpdata`."""

    passes: int = 2
    gauge: bool = True
    third_order: bool = False
    nonoscillatory: bool = True

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
        return self.device.zeros((FIELDS, *self.padded), self.dtype)

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

    def _loop(self, cell: Any, region: tuple[int, ...], *arguments: Any) -> Launch:
        if cell not in self._programs:
            switches = {**self.options.switches, "MIN_DIVISOR": DIVISION_FLOOR[self.precision]}
            self._programs[cell] = self.device.loop(cell, self.precision, switches)
        return self.device.over(self._programs[cell], region, arguments)

    def _stage(self, cell: Any, low: int, trailing: int, *arguments: Any) -> Launch:
        """Return a stage from position `low` on, without `trailing` positions at the other end."""
        region = tuple(n - low - trailing for n in self.padded)
        return self._loop(cell, region, self.fields, low, *arguments)

    def fill(self, field: int, a: Any, odd: tuple[bool, bool, bool]) -> Launch:
        """Return a launch that copies a, (nz, ny, nx), with its ghost points to one of `fields`."""
        tables = [axis.field for axis in self.tables(odd)]
        return self._loop(fill, self.padded, self.fields, field, a, *tables)

    def fill_advector(self, v: Advector) -> list[Work]:
        """Return launches that copy the advector with its ghost points; fluxes along axes of one point are not read."""
        tables, launches = self.tables(NOWHERE), []
        for along, field, a in ((2, U1, v.v1), (1, U2, v.v2), (0, U3, v.v3)):
            if self.shape[along] == 1:
                continue
            ways = [axis.along if n == along else axis.across for n, axis in enumerate(tables)]
            launches.append(self._loop(fill, self.padded, self.fields, field, a, *ways))
        return launches

    def fill_h(self, h: Any) -> Launch:
        """Return a launch that copies density times Jacobian with its ghost points; 1 for None."""
        if h is None:
            return self._loop(set_one, self.padded, self.fields, H)
        tables = [axis.jacobian for axis in self.tables(NOWHERE)]
        return self._loop(fill, self.padded, self.fields, H, h, *tables)

    def take(self, field: int, out: Any) -> Launch:
        """Return a launch that copies a field without its ghost points to out."""
        return self._loop(take, tuple(out.shape), self.fields, field, self.depth, out)

    def launches(self, x: Any, out: Any, v: Advector, odd: tuple[bool, bool, bool] = NOWHERE) -> list[Work]:
        """Return the launches of one step: x to out, another array of its shape.

        odd : whether x changes its sign across the walls of z, y and x, as the normal velocity does.
        """
        return self.together([(x, out, odd)], v)

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        """Return launches of a step of several fields with one advector; transported : x, out, odd, see `launches`."""
        launches: list[Work] = [self.fill_h(v.h)]
        for n, (x, out, odd) in enumerate(transported):
            if n == 0 or self.options.passes > 2:  # the third pass replaces the advector
                launches += self.fill_advector(v)
            launches += [self.fill(FIRST, x, odd), self._stage(advect, 1, 1)]
            if self.options.passes == 1:
                launches.append(self.take(X, out))
            for left in reversed(range(1, self.options.passes)):
                launches += self._correction(out, left > 1)
                if left > 1:
                    launches += [self.fill(X, out, odd), *self.fill_advector(self._pseudo_velocities)]
        return launches

    def _correction(self, out: Any, again: bool) -> list[Work]:
        """Return a corrective pass: X to out; again : store its unlimited pseudo velocities as an advector."""
        open_faces = [axis.passable for axis in self.tables(NOWHERE)]
        first = self.depth - 1
        launches = [self._stage(velocities, first, 2, *open_faces)]
        if again:
            fields = (V1, V2, V3)
            targets = zip(fields, self._pseudo_velocities, strict=False)
            launches += [self.take(field, target) for field, target in targets]
        if self.options.nonoscillatory:
            launches.append(self._stage(allowed_fractions, first, 3))
        return [*launches, self._loop(correct, self.shape, self.fields, self.depth, out)]

    def courant(self, out: Any, v: Advector) -> list[Work]:
        """Return launches that store outflow Courant numbers of points in out."""
        launches = [*self.fill_advector(v), self.fill_h(v.h)]
        return [*launches, self._loop(outflow, self.shape, self.fields, self.depth, out)]
