"""A case of the implicit model in plain NumPy: what goes in at which time, and the state it begins with.

Nothing here is taken from the package. Sections are those of the specification of MIKE 21's scheme, numbers in
brackets those of equations in the model's README. SI units; arrays [j, i], bed (ny + 1, nx + 1) at corners.
A series is a number or a pair (times, values), linear in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from oracle import adi

OMEGA = 7.292115e-5  # angular velocity of the Earth, s-1
DENSITY = 1000.0  # of water, kg m-3


class Side(NamedTuple):
    """Cells first .. last - 1 of a side: a "level", m, a "flux" in all, m3 s-1, or "waves" over `level`."""

    name: str
    first: int
    last: int
    kind: str
    series: object
    level: float = 0.0


def value(series, time):
    """Of a series at a time."""
    if not isinstance(series, tuple):
        return float(series)
    times, values = series
    k = max((n for n in range(len(times)) if times[n] <= time), default=0)
    if time < times[0]:
        return float(values[0])
    if k == len(times) - 1:
        return float(values[k])
    part = (time - times[k]) / (times[k + 1] - times[k])
    return float((1 - part) * values[k] + part * values[k + 1])


def mean(series, start, end):
    """Of a series from start to end: Simpson's rule is exact between kinks."""
    if not isinstance(series, tuple):
        return float(series)
    cuts = [start, *(t for t in series[0] if start < t < end), end]
    total = 0.0
    for a, b in pairwise(cuts):
        total += (b - a) / 6 * (value(series, a) + 4 * value(series, 0.5 * (a + b)) + value(series, b))
    return total / (end - start)


def flux_at_step(series, time, dt, first=False):
    """p of a side that is given a flux: what the trapezoidal rule of a step lacks is added to one of its ends.

    To the end whose value it moves towards that of the other; of the first step the first value counts half.
    """
    found = value(series, time)
    for begin in (time,) if first else (time - dt, time):
        a, b = value(series, begin), value(series, begin + dt)
        lacks = mean(series, begin, begin + dt) - (a + b) / 2
        to_begin = lacks > 0 if b > a else lacks < 0 if b < a else False
        if to_begin == (begin == time):
            found += lacks * (2 if first else 1)
    return found


def limited(series, time, dt):
    """The smaller of the changes of a series in the step before and after a time, 0 at an extreme."""
    a, b = value(series, time) - value(series, time - dt), value(series, time + dt) - value(series, time)
    return 0.0 if a * b <= 0 else min(a, b, key=abs)


def flux_at_half(series, time, dt):
    """q of a side that is given a flux: the mean of its step, less a quarter of the change of the limited slope."""
    a, b = time - dt / 2, time + dt / 2
    return mean(series, a, b) - (limited(series, b, dt) - limited(series, a, dt)) / 4


def slope(a, size):
    """Derivative along the first axis: central, and of second order at both ends."""
    found = np.empty_like(a)
    found[1:-1] = (a[2:] - a[:-2]) / (2 * size)
    found[0] = (-3 * a[0] + 4 * a[1] - a[2]) / (2 * size)
    found[-1] = (3 * a[-1] - 4 * a[-2] + a[-3]) / (2 * size)
    return found


@dataclass
class Case:
    """All that a run is given."""

    dx: float
    dy: float
    dt: float
    bed: np.ndarray
    surface: np.ndarray
    velocity: tuple = (0.0, 0.0)
    manning: object = 0.0
    chezy: object = None
    viscosity: float = 0.0
    land: np.ndarray | None = None
    dissipation: bool = True
    drying: bool = True
    sides: list = field(default_factory=list)
    rain: object = 0.0
    rain_pattern: object = 1.0
    latitude: float | None = None
    beta: float = 0.0
    wind: tuple = (0.0, 0.0)  # N m-2
    pressure: np.ndarray | None = None  # Pa
    pressure_factor: object = 1.0
    walls: tuple | None = None  # closed internal faces, as in `adi.Options`

    @property
    def shape(self):
        """(ny, nx)."""
        return self.surface.shape

    @property
    def dry_land(self):
        """Cells that are never wet."""
        return np.zeros(self.shape, bool) if self.land is None else self.land

    def centre_bed(self, kind=float):
        """Mean of a cell's four corners, rounded as a run of that kind of number holds it."""
        b = self.bed
        return ((b[:-1, :-1] + b[:-1, 1:] + b[1:, :-1] + b[1:, 1:]) / 4).astype(kind).astype(float)

    def water(self):
        """Surface, which is the bed where that is higher, and depth at the start; no water on land."""
        bed = self.centre_bed()
        z = np.maximum(self.surface, bed)
        return z, np.where(self.dry_land, 0.0, z - bed)

    def coriolis(self):
        """f = 2 Omega sin(latitude) in the middle of the domain, growing by beta a metre to the north."""
        ny, nx = self.shape
        y = (np.arange(ny) + 0.5) * self.dy - 0.5 * ny * self.dy
        f = 2 * OMEGA * np.sin(np.pi / 180 * (self.latitude or 0.0)) + self.beta * y
        return np.repeat(f[:, None], nx, 1)

    def forces(self, time):
        """Rotation, wind over density, and -grad(pressure) / density, at a time."""
        stress = tuple(np.full(self.shape, value(one, time) / DENSITY) for one in self.wind)
        accel = (0.0, 0.0)
        if self.pressure is not None:
            push = -value(self.pressure_factor, time) / DENSITY
            accel = (push * slope(self.pressure.T, self.dx).T, push * slope(self.pressure, self.dy))
        return {"coriolis": self.coriolis(), "stress": stress, "accel": accel}

    def condition(self, side, time):
        """What a face of a side is given: a level, or the still level and twice the wave (9)."""
        now = value(side.series, time)
        return side.level + 2 * now if side.kind == "waves" else now

    def given_flux(self, side, time, first=False):
        """What a face of a side is given as a flux a metre (8); first : of the start, q half a step after it."""
        if side.name in ("west", "east"):
            return flux_at_step(side.series, time, self.dt, first) / ((side.last - side.first) * self.dy)
        return flux_at_half(side.series, time, self.dt) / ((side.last - side.first) * self.dx)

    def options(self, time, sweep):
        """For the sweep along x (0) or y (1) of the step that begins at `time` (section 3.2).

        The new surface of the sweeps stands at n + 1/2 and n + 1, in the middle of the momentum equation, and so do
        forces; their new fluxes at n + 1 and n + 3/2. Each mass equation spans half a step.
        """
        dt = self.dt
        middle = time + (0.5, 1.0)[sweep] * dt
        ny, nx = self.shape
        sides = {name: [None] * n for name, n in (("west", ny), ("east", ny), ("south", nx), ("north", nx))}
        for side in self.sides:
            if side.kind == "flux":
                given = self.given_flux(side, time + (1.0 if side.name in ("west", "east") else 1.5) * dt)
            else:
                given = self.condition(side, middle)
            sides[side.name][side.first : side.last] = [(side.kind, given)] * (side.last - side.first)
        begin = time + (0.0, 0.5)[sweep] * dt
        rain = mean(self.rain, begin, begin + 0.5 * dt) * np.broadcast_to(self.rain_pattern, self.shape)
        return adi.Options(
            self.dx, self.dy, dt, 9.81, self.manning, self.chezy, viscosity=self.viscosity, rain=rain, sides=sides,
            dissipation=self.dissipation, drying=self.dry_depth() if self.drying else None, land=self.dry_land,
            walls=self.walls, **self.forces(middle),
        )  # fmt: skip

    def dry_depth(self):
        """A thousandth of the greatest depth at the start, of 1 m at most."""
        return 1e-3 * min(1.0, self.water()[1].max())

    def start(self):
        """z, p, q half a step before and q half a step after the start at time 0 (13)."""
        z, h = self.water()
        o = self.options(0.0, 0)
        ends = {"west": [], "east": [], "south": [], "north": []}
        for side in self.sides:
            along_x = side.name in ("west", "east")
            ends[side.name].append((side, self.given_flux(side, 0.0 if along_x else self.dt / 2, first=along_x)))
        p = flux(z, h * self.velocity[0], self.centre_bed(), o, ends["west"], ends["east"])
        turned = adi.transposed(o)
        q = flux(z.T, (h * self.velocity[1]).T, self.centre_bed().T, turned, ends["south"], ends["north"]).T
        now = adi.Options(**{**vars(o), **self.forces(0.0)})
        before, after = adi.half_step_start(z, p, q, self.centre_bed(), now)
        for side in self.sides:
            if side.kind == "flux" and side.name in ("south", "north"):
                face, cells = (0 if side.name == "south" else -1), slice(side.first, side.last)
                change = limited(side.series, 0.0, self.dt) / ((side.last - side.first) * self.dx)
                before[face, cells] -= change * np.where(o.land[face, cells], 0.0, 1.0 if face == 0 else -1.0)
        return z, p, before, after


def flux(z, discharge, d, o, low, high):
    """Along x at faces: means of two cells where a face is open, and what the ends have."""
    ny, nx = z.shape
    found = np.zeros((ny, nx + 1))
    for j in range(ny):
        for i in range(1, nx):
            land = o.land[j, i - 1] or o.land[j, i]
            if not land and not o.closed(0, j, i) and adi.face_is_open(z[j, i - 1], z[j, i], d[j, i - 1], d[j, i], o):
                found[j, i] = 0.5 * (discharge[j, i - 1] + discharge[j, i])
    for parts, face, cell, inward in ((low, 0, 0, 1.0), (high, nx, nx - 1, -1.0)):
        for side, given in parts:
            for j in range(side.first, side.last):
                if not o.land[j, cell]:
                    found[j, face] = inward * given if side.kind == "flux" else discharge[j, cell]
    return found


def centre_discharges(z, p, before, after, d, o):
    """Unit discharges along x and y at centres and at the time of z; 0 where water is thinner than the dry depth."""
    wet = ~o.land & (z - d > (o.drying or 0.0))
    along_y = (before[1:] + before[:-1] + after[1:] + after[:-1]) / 4
    return np.where(wet, (p[:, 1:] + p[:, :-1]) / 2, 0.0), np.where(wet, along_y, 0.0)
