"""Wave breaking: detection of breaking crests, and dissipation by an eddy viscosity around them.

A crest breaks where the water speed approaches the crest speed, u_c / c > 0.855: X. Barthelemy, M. L. Banner,
W. L. Peirson, F. Fedele, M. Allis, F. Dias, J. Fluid Mech. 841, 463-488 (2018), doi:10.1017/jfm.2018.93; or where its
front is steeper than 30 degrees: M. L. McAllister, N. Pizzo, S. Draycott, T. S. van den Bremer, J. Fluid Mech. 974,
A14 (2023), doi:10.1017/jfm.2023.766. The crest speed is the speed of the point of zero slope,
c = -(e . grad eta_t) / (e . grad grad eta . e) along the flow direction e, but at least 0.8 of the phase speed of the
linear wave with the curvature of the crest, k^2 = -eta_ee / eta: breaking crests slow down by a fifth (M. L. Banner,
X. Barthelemy, F. Fedele, M. Allis, A. Benetazzo, F. Dias, W. L. Peirson, Phys. Rev. Lett. 112, 114502 (2014),
doi:10.1103/PhysRevLett.112.114502), and crests of standing waves do not travel.

In a region that moves with a breaking crest, for one wave period; the region of a crest at rest stays::

    eta_t += div(2 nu grad eta),   phi~_t += div(2 nu grad phi~),   nu = 0.02 H_br L_br / T_br

of Z. Tian, M. Perlin, W. Choi, J. Fluid Mech. 655, 217-257 (2010), doi:10.1017/S0022112010000832; the terms are those
of F. Dias, A. I. Dyachenko, V. E. Zakharov, Phys. Lett. A 372, 1297-1302 (2008), doi:10.1016/j.physleta.2007.09.027.
Differences from the sources: H_br is the crest height and L_br / T_br the crest speed, instead of measured scales close
to them. The region is as long as a linear wave of that speed, and nu decreases as a squared cosine. The terms are
divergences, so volume is conserved where nu varies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.errors import InputError
from eagre.kernels.bits import is_bad
from eagre.kernels.neighbour_indices import neighbour
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.surface.forcing import Forcing
from eagre.models.potential_waves.surface.reference_kernels import along_x, along_y
from eagre.solvers.finite_differences import centred

MAX_CREST_SPEED_RATIO = 0.855
MAX_FRONT_SLOPE = math.tan(math.radians(30.0))
STRENGTH = 0.02
DEFAULTS = {"max_crest_speed_ratio": MAX_CREST_SPEED_RATIO, "max_front_slope": MAX_FRONT_SLOPE, "strength": STRENGTH}
SLOWEST = 0.8  # minimum crest speed, relative to the linear wave with the curvature of the crest
LONGEST = 10.0  # length, in depths, for crests faster than any linear wave
STANDING = 1e-6  # u_c / c below which the direction of the crest speed is rounding, as at a wall
SAME = 0.25  # wave lengths: crests closer than this to an active event belong to it; farther out, nu is below one half
CREST_FIELDS = 4
RATIO, SPEED_X, SPEED_Y, SLOPE = range(CREST_FIELDS)
MAX_ADVECTION = 2.0  # limit of the advection frequency times dt; of the stability limit 2.83 the rest is for gravity
MAX_SUBSTEPS = 16
MAX_DAMPING = 2.0
"""Limit of the damping rate times dt, below the stability limit 2.78 of the Runge-Kutta method; nu is clipped to it."""

PART = 64  # points of a row per thread in partial maxima
BAD = 1e30  # partial maximum of values that are not finite


class Breaker(NamedTuple):
    """Breaking event.

    Parameters
    ----------
    time, x, y : float
        Time, s, and position of the crest, m.
    ratio, slope : float
        u_c / c and front slope; one of the two exceeds its limit.
    speed_x, speed_y : float
        Components of the crest velocity, m/s.
    crest, length : float
        Crest height above still water, and length of the linear wave with this speed, m.
    """

    time: float
    x: float
    y: float
    ratio: float
    slope: float
    speed_x: float
    speed_y: float
    crest: float
    length: float

    @property
    def steepness(self) -> float:
        """Wave number times crest height."""
        return 2.0 * math.pi * self.crest / self.length

    @property
    def speed(self) -> float:
        """Crest speed, m/s."""
        return math.hypot(self.speed_x, self.speed_y)

    @property
    def period(self) -> float:
        """Duration of the event, s."""
        return self.length / self.speed


# -- cells ----------------------------------------------------------------------------------------


@cell
def twice_along(a, k, j, i, e_x, e_y, lines):
    """Return the second derivative of a along (e_x, e_y) at point (j, i)."""
    mixed, half = real(0.0), lines.y.shape[0] // 2
    for m in range(lines.y.shape[0]):
        row = neighbour(j, m - half, a.shape[1], lines.periodic_y)
        mixed += lines.y[m] * along_x(a, k, row, i, lines.x, lines.periodic_x)
    a_xx, a_yy = along_x(a, k, j, i, lines.xx, lines.periodic_x), along_y(a, k, j, i, lines.yy, lines.periodic_y)
    return e_x * e_x * a_xx + real(2.0) * e_x * e_y * mixed + e_y * e_y * a_yy


@cell
def is_crest(a, j, i, e_x, e_y, lines):
    """Return whether a is a local maximum at (j, i) along the axis closest to (e_x, e_y)."""
    here = a[0, j, i]
    if abs(e_x) >= abs(e_y):
        plus, minus = neighbour(i, 1, a.shape[2], lines.periodic_x), neighbour(i, -1, a.shape[2], lines.periodic_x)
        return here > real(0.0) and here >= a[0, j, plus] and here >= a[0, j, minus]
    plus, minus = neighbour(j, 1, a.shape[1], lines.periodic_y), neighbour(j, -1, a.shape[1], lines.periodic_y)
    return here > real(0.0) and here >= a[0, plus, i] and here >= a[0, minus, i]


@cell
def find_crests(j, i, surface, rates, h, gravity, crests, lines):
    """Compute u_c / c (0 away from crests), the crest velocity and the front slope; h is the still-water depth, m.

    surface : eta, phi~ and w~
    """
    eta, phi, w = surface
    e_x, e_y = along_x(eta, 0, j, i, lines.x, lines.periodic_x), along_y(eta, 0, j, i, lines.y, lines.periodic_y)
    u = along_x(phi, 0, j, i, lines.x, lines.periodic_x) - w[0, j, i] * e_x
    v = along_y(phi, 0, j, i, lines.y, lines.periodic_y) - w[0, j, i] * e_y
    q = (u * u + v * v) ** real(0.5)
    ratio, speed, slope = real(0.0), real(0.0), real(0.0)
    if q > real(0.0):
        slope = -(e_x * u + e_y * v) / q
        e_x, e_y = u / q, v / q
        if is_crest(eta, j, i, e_x, e_y, lines):
            bend = twice_along(eta, 0, j, i, e_x, e_y, lines)
            if bend < real(0.0):
                rise = e_x * along_x(rates, 0, j, i, lines.x, lines.periodic_x)
                rise += e_y * along_y(rates, 0, j, i, lines.y, lines.periodic_y)
                k = (-bend / eta[0, j, i]) ** real(0.5)
                min_speed = SLOWEST * (gravity / k * math.tanh(k * h[0, j, i])) ** real(0.5)
                speed = max(-rise / bend, min_speed)
                ratio = q / speed
    crests[RATIO, j, i] = ratio
    crests[SPEED_X, j, i] = e_x * speed
    crests[SPEED_Y, j, i] = e_y * speed
    crests[SLOPE, j, i] = slope


@cell
def set_carried(j, i, surface, frequency, over_dx, over_dy, lines):
    """Compute the frequency, rad/s, at which the surface flow advects the shortest waves of the differences."""
    eta, phi, w = surface
    e_x, e_y = along_x(eta, 0, j, i, lines.x, lines.periodic_x), along_y(eta, 0, j, i, lines.y, lines.periodic_y)
    u = along_x(phi, 0, j, i, lines.x, lines.periodic_x) - w[0, j, i] * e_x
    v = along_y(phi, 0, j, i, lines.y, lines.periodic_y) - w[0, j, i] * e_y
    frequency[0, j, i] = abs(u) * over_dx + abs(v) * over_dy


@cell
def set_row_maxima(k, j, i, fields, maxima):
    """Set the maximum of 0 and every so many points of a row; BAD if one of them is not finite."""
    maximum = real(0.0)
    for m in range(np.int64(i), fields.shape[2], maxima.shape[2]):
        value = fields[k, j, m]
        maximum = max(maximum, real(BAD) if is_bad(value) else value)
    maxima[k, j, i] = maximum


@cell
def spread(k, j, i, rates, fields, nu, inverse, lines):
    """Add div(2 nu grad) of a field to its rate; inverse : 1 / dx^2 and 1 / dy^2, 0 along one point."""
    inverse_x, inverse_y = inverse
    here, eddy = fields[k, j, i], nu[0, j, i]
    total = real(0.0)
    for side in range(-1, 2, 2):
        m = neighbour(i, side, fields.shape[2], lines.periodic_x)
        total += inverse_x * (nu[0, j, m] + eddy) * (fields[k, j, m] - here)
        m = neighbour(j, side, fields.shape[1], lines.periodic_y)
        total += inverse_y * (nu[0, m, i] + eddy) * (fields[k, m, i] - here)
    rates[k, j, i] += total


# -- breaking events ------------------------------------------------------------------------------


class Breaking(Forcing):
    """`Forcing` that detects breaking crests once per step and dissipates energy around them.

    Parameters
    ----------
    laplace : Laplace
    h : (ny, nx)
        Still-water depth, m.
    spacing : (dy, dx)
        Grid spacing, m.
    periodic : (y, x)
    gravity : float
        Acceleration of gravity, m/s2.
    max_crest_speed_ratio : float
        Ratio u_c / c above which a crest breaks.
    max_front_slope : float
        Front slope above which a crest breaks.
    strength : float
        Eddy viscosity in units of H_br L_br / T_br.

    Attributes
    ----------
    log : list of Breaker
        All breaking events, in chronological order.
    active : list of Breaker
        Events in progress.
    detected : dict of Breaker
        Events of the log, and after a blow-up also those between the last valid state and the blow-up.

    Notes
    -----
    Good values: the defaults. A run without breaking events is bitwise identical to a run without `breaking`. Limits:
    the criteria hold for travelling waves; standing waves are detected from 30 degrees on, before they break. The
    shallow surf zone, where bores break over many wave lengths, is outside the range of the sources. A GPU copies
    partial maxima to the host twice per step, and the crest fields if a crest exceeds a limit.
    """

    def __init__(
        self, laplace: Laplace, h: np.ndarray, spacing: tuple[float, float], periodic: tuple[bool, bool],
        gravity: float, max_crest_speed_ratio: float = MAX_CREST_SPEED_RATIO, max_front_slope: float = MAX_FRONT_SLOPE,
        strength: float = STRENGTH,
    ) -> None:  # fmt: skip
        for name, value in zip(DEFAULTS, (max_crest_speed_ratio, max_front_slope, strength), strict=True):
            if not (math.isfinite(value) and value > 0.0):
                fix = f"{name} = {DEFAULTS[name]:.3g}"
                raise InputError(f"{name} = {value:g} of breaking", allowed="above 0", fix=fix)
        self._laplace, self._h, self._gravity = laplace, np.asarray(h, np.float64), float(gravity)
        self._max_ratio, self._max_slope, self._strength = max_crest_speed_ratio, max_front_slope, strength
        self.log: list[Breaker] = []
        self.active: list[Breaker] = []
        self.detected: dict[Breaker, None] = {}  # an ordered set: repeated steps find the same events
        x, y = laplace.points
        self._around = tuple(
            n * d if n > 1 and round_ else math.inf
            for n, d, round_ in zip((x.size, y.size), spacing[::-1], periodic[::-1], strict=True)
        )
        self._inverse = tuple(
            1.0 / d**2 if n > 1 else 0.0 for n, d in zip((x.size, y.size), spacing[::-1], strict=True)
        )
        device = laplace.device
        self._crest_fields, self._nu = laplace.surface_zeros(CREST_FIELDS), laplace.surface_zeros(1)
        self._bed = device.field(self._h[None])
        self._loops = {c.name: device.loop(c, "double") for c in (find_crests, set_carried, spread, set_row_maxima)}
        self._maxima = self._crest_fields  # a CPU reads the fields
        if device.kind == "cuda":
            shape = CREST_FIELDS, laplace.shape[0], -(-laplace.shape[1] // PART)
            self._maxima = device.field_zeros(shape, np.float64)
        max_symbol = max_first_difference(laplace.vertical.order)
        self._over = tuple(max_symbol * math.sqrt(inverse) for inverse in self._inverse)

    def substeps(self, dt: float) -> int:
        """Return the number of substeps of a step of dt s, from the present water speed at the surface.

        The water in a breaking crest is as fast as the crest and advects short waves. For any wave length, u dt / dx
        times the largest eigenvalue of the first difference must not exceed the stability limit of the Runge-Kutta
        method.
        """
        self._set_carried()
        [fastest] = self._maxima_of(1)
        return min(MAX_SUBSTEPS, math.ceil(fastest * dt / MAX_ADVECTION)) if 0.0 < fastest < BAD else 1

    @cached_property
    def _set_carried(self) -> Callable[[], None]:
        laplace, device = self._laplace, self._laplace.device
        known = ((laplace.eta, laplace.phi, laplace.w), self._crest_fields, *self._over, laplace.lines)
        carried = device.over(self._loops["set_carried"], laplace.shape, known)
        return device.repeated([carried, *self._set_maxima(1)], 1)

    def _set_maxima(self, count: int) -> list[Any]:
        """Return launches that set the partial maxima of the first crest fields; none on a CPU."""
        if self._maxima is self._crest_fields:
            return []
        region, known = (count, *self._maxima.shape[1:]), (self._crest_fields, self._maxima)
        return [self._laplace.device.over(self._loops["set_row_maxima"], region, known)]

    def _maxima_of(self, count: int) -> np.ndarray:
        """Return the maxima of the first crest fields."""
        return self._laplace.device.host(self._maxima[:count]).max(axis=(1, 2))

    def detection(self, rates: Any) -> list[Any]:
        """See `Forcing.detection`; finds crests."""
        laplace = self._laplace
        arguments = (
            (laplace.eta, laplace.phi, laplace.w), rates, self._bed, self._gravity, self._crest_fields, laplace.lines,
        )  # fmt: skip
        search = laplace.device.over(self._loops["find_crests"], laplace.shape, arguments)
        return [search, *self._set_maxima(CREST_FIELDS)]

    def begin_stage(self, time: float, dt: float, stage: int) -> bool:
        """See `Forcing.begin_stage`; stage 0 begins and ends events, and sets nu."""
        if stage == 0:
            self._detect(time)
            if self.active:
                self._laplace.device.fill(self._nu, self._viscosity(time, dt)[None])
        return bool(self.active)

    def launches(self, rates: Any) -> list[Any]:
        """See `Forcing.launches`."""
        laplace = self._laplace
        arguments = (rates, laplace.fields, self._nu, self._inverse, laplace.lines)
        return [laplace.device.over(self._loops["spread"], (2, *laplace.shape), arguments)]

    def _detect(self, time: float) -> None:
        """End past events, and begin events of the crests found."""
        self.active = [breaker for breaker in self.active if time < breaker.time + breaker.period]
        maxima = self._maxima_of(CREST_FIELDS)
        if maxima[RATIO] <= self._max_ratio and maxima[SLOPE] <= self._max_slope:
            return
        values = self._laplace.device.host(self._crest_fields)
        crests = np.argwhere(values[RATIO] > 0.0)
        for j, i in np.argwhere((values[RATIO] > self._max_ratio) | (values[SLOPE] > self._max_slope)):
            if crests.size:
                crest = self._nearest(j, i, crests)
                self._begin(time, crest, values[:, *crest], max(float(values[SLOPE, j, i]), 0.0))

    def _nearest(self, j: int, i: int, crests: np.ndarray) -> tuple[int, int]:
        """Return the crest closest to point (j, i)."""
        x, y = self._laplace.points
        away = [
            _shorter(along[crests[:, 1 - n]] - along[index], around)
            for n, (along, index, around) in enumerate(zip((x, y), (i, j), self._around, strict=True))
        ]
        k = int(np.argmin(np.hypot(*away)))
        return int(crests[k, 0]), int(crests[k, 1])

    def _begin(self, time: float, point: tuple[int, int], values: np.ndarray, slope: float) -> None:
        """Log a breaking event, unless the crest belongs to an active event."""
        laplace, (j, i) = self._laplace, point
        x, y = float(laplace.points[0][i]), float(laplace.points[1][j])
        for other in self.active:
            away = self._away(other, time, np.array([x]), np.array([y]))
            if math.hypot(*(float(distance[0]) for distance in away)) < SAME * other.length:
                return
        crest = float(laplace.device.sample(laplace.eta, np.array([j]), np.array([i]))[0, 0])
        ratio, speed_x, speed_y = (float(value) for value in values[:SLOPE])
        length = length_of_speed(math.hypot(speed_x, speed_y), float(self._h[j, i]), self._gravity)
        self.log.append(Breaker(time, x, y, ratio, slope, speed_x, speed_y, crest, length))
        self.active.append(self.log[-1])
        self.detected[self.log[-1]] = None

    def _away(self, breaker: Breaker, time: float, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Return the distances of positions from the present position of a crest along x and y, m, periodic."""
        passed, away = (time - breaker.time if breaker.ratio >= STANDING else 0.0), []
        for position, start, speed, around in (
            (x, breaker.x, breaker.speed_x, self._around[0]),
            (y, breaker.y, breaker.speed_y, self._around[1]),
        ):
            away.append(_shorter(position - start - speed * passed, around))
        return away

    def _viscosity(self, time: float, dt: float) -> np.ndarray:
        """Return nu, (ny, nx), m2/s: the maximum over all active events, clipped to the stability limit."""
        x, y = self._laplace.points
        nu = np.zeros(self._laplace.shape)
        for breaker in self.active:
            away_x, away_y = self._away(breaker, time, x, y)
            columns, rows = (np.flatnonzero(np.abs(away) <= 0.5 * breaker.length) for away in (away_x, away_y))
            region = np.ix_(rows, columns)  # nu is 0 elsewhere
            away = np.hypot(away_x[None, columns], away_y[rows, None]) / breaker.length
            shape = np.where(away < 0.5, np.cos(np.pi * np.minimum(away, 0.5)) ** 2, 0.0)
            nu[region] = np.maximum(nu[region], self._strength * breaker.crest * breaker.speed * shape)
        return np.minimum(nu, MAX_DAMPING / (8.0 * sum(self._inverse) * dt))


def max_first_difference(order: int) -> float:
    """Return the largest eigenvalue of the first centred difference of an order, times the spacing."""
    weights, theta = centred(order, 1.0, 1), np.linspace(0.0, np.pi, 1001)
    return float(np.abs(np.exp(1j * np.outer(theta, np.arange(order + 1) - order // 2)) @ weights).max())


def _shorter(apart: np.ndarray, around: float) -> np.ndarray:
    """Return the distance, the shorter of the two along a periodic axis."""
    return apart if math.isinf(around) else apart - around * np.round(apart / around)


def length_of_speed(speed: float, depth: float, gravity: float) -> float:
    """Return the length, m, of the linear wave of a speed, m/s, in a depth, m; at most `LONGEST` depths."""
    slowest, k_least = speed**2 / (gravity * depth), 2.0 * math.pi / LONGEST
    if slowest >= math.tanh(k_least) / k_least:
        return LONGEST * depth
    k = max(1.0 / slowest, k_least)  # deep-water value; then tanh(k) / k = slowest by Newton's method
    for _ in range(60):
        k = max(k - (math.tanh(k) - slowest * k) / (1.0 / math.cosh(min(k, 300.0)) ** 2 - slowest), k_least)
    return 2.0 * math.pi * depth / k
