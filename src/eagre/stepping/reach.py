"""What the water of a case can reach: depths and speeds beyond are nonsense, and so is energy from nowhere.

Water that falls from the highest head H to the lowest bed b onto dry ground runs at 2 sqrt(g D) at most, D = H - b
(A. Ritter, Z. Ver. Dtsch. Ing. 36, 947-954 (1892); J. J. Stoker, Water Waves (1957), section 10.8). Rain, inflow and
forces raise H. Shores, thin water and waves that meet exceed that in part; an instability grows without bound, and
passes any multiple of it within a few steps more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from eagre.boundaries import FaceRange
from eagre.grid import Grid
from eagre.terms.collect import Terms

DEPTHS = 4.0  # of D: depths that are taken for nonsense
SPEEDS = 10.0  # of 2 sqrt(g D): thin water beside a free fall comes to 4 of them
ENERGIES = 1.2  # of the energy over the lowest bed at the start, where nothing brings any
OVERSHOOT = 2.0  # of the slope of the surface at rest, which a sudden force reaches
IDLE = ("Coriolis",)  # terms that do no work
STRESSES, ACCELERATIONS = ("WindStress",), ("AtmosphericPressure", "BodyForce")
WINDS, POTENTIALS = ("WeatherWind",), ("WeatherPressure",)  # bounds of the wind, of pressure over density


class Excess(NamedTuple):
    """What exceeds its bound: the name among the sums, and words."""

    name: str
    what: str


@dataclass(frozen=True)
class Reach:
    """Bounds of a run.

    Attributes
    ----------
    lowest, head : float, m
        Lowest bed; highest head, surface + u^2 / 2g, of the water at the start and of what comes in.
    filling : float, m s-1
        How fast rain and inflow raise the mean level.
    acceleration : float, m s-2
        Of forces, at most, in water of the dry depth.
    start, gravity : float, s and m s-2
    energy : float, m5 s-2
        Over the lowest bed at the start; infinite where something brings energy.
    """

    lowest: float
    head: float
    filling: float
    acceleration: float
    start: float
    gravity: float
    energy: float = math.inf

    def excess(self, sums: Mapping[str, float], time: float) -> Excess | None:
        """What of the sums (`eagre.kernels.water_sums.named_sums`) no water of the case can have at `time`, s."""
        elapsed, fall = max(time - self.start, 0.0), self.fall(time)
        depth = DEPTHS * fall
        speed = SPEEDS * 2.0 * math.sqrt(self.gravity * fall) + self.acceleration * elapsed
        falls = f"with {fall:.4g} m from the highest head to the lowest bed"
        for name in ("max_depth", "min_depth"):
            if abs(sums[name]) > depth:
                return Excess(name, f"a depth of {sums[name]:.4g} m {falls}")
        if sums["max_speed"] > speed:
            return Excess("max_speed", f"a speed of {sums['max_speed']:.4g} m/s {falls}")
        energy = self.energy_of(sums)
        if energy > ENERGIES * self.energy:
            more = energy / self.energy
            return Excess("max_speed", f"{more:.3g} times the energy of the start, and nothing that brings any")
        return None

    def fall(self, time: float) -> float:
        """From the highest head that there may be at `time`, s, to the lowest bed, m."""
        return self.head - self.lowest + self.filling * max(time - self.start, 0.0)

    def energy_of(self, sums: Mapping[str, float]) -> float:
        """Kinetic and potential energy over the lowest bed, over density, m5 s-2."""
        potential = sums["potential_energy"] - self.gravity * self.lowest * sums["volume"]
        return sums["kinetic_energy"] + potential

    def begun_with(self, sums: Mapping[str, float], highest: float) -> Reach:
        """The bounds of a run that begins with, or goes on from, a state whose highest surface is `highest`, m."""
        head = max(self.head, highest + 0.5 * sums["max_speed"] ** 2 / self.gravity)
        return replace(self, head=head, energy=max(self.energy, self.energy_of(sums)))


def reach_of(
    grid: Grid, bed: np.ndarray, segments: Sequence[FaceRange], terms: Terms, gravity: float, start: float, *,
    manning: float, thinnest: float,
) -> Reach:  # fmt: skip
    """The bounds of a case before its water is known (`Reach.begun_with`).

    bed : without land, m; manning : the largest, s m-1/3; thinnest : depth in which forces act, m.
    """
    lowest, highest, long = float(bed.min()), float(bed.max()), math.hypot(grid.nx * grid.dx, grid.ny * grid.dy)
    levels = [segment.condition.highest_level() for segment in segments]
    rates = [segment.condition.largest_inflow() for segment in segments]
    rain, inflow = terms.wettest, sum(rates)
    head = max([lowest + thinnest, *levels])
    if rain > 0.0 or inflow > 0.0:  # water may stand, and fall from, anywhere
        q = max([0.0, *rates]) / min(grid.dx, grid.dy)
        head = max(head, highest) + _depth_to_enter(q, manning, long, gravity)
    stress = _largest(terms, STRESSES) + _stress_of_wind(terms)
    acceleration = _largest(terms, ACCELERATIONS) + _largest(terms, POTENTIALS) / long
    head += OVERSHOOT * (math.sqrt(2.0 * stress * long / gravity) + acceleration * long / gravity)
    known = {*IDLE, *STRESSES, *ACCELERATIONS, *POTENTIALS, *WINDS, *(part.name for part in terms.water)}
    unknown = any(part.name not in known for part in (*terms.x, *terms.y))
    given = unknown or rain + inflow + stress + acceleration > 0.0 or max(levels) > -math.inf
    return Reach(
        lowest, math.inf if unknown else head, rain + inflow / (grid.cells * grid.cell_area),
        acceleration + stress / thinnest, start, gravity, math.inf if given else 0.0,
    )  # fmt: skip


def _depth_to_enter(q: float, manning: float, long: float, gravity: float) -> float:
    """Head that drives q, m2 s-1, into the domain: over a weir, and against friction along all of it, m.

    dh/dx = -n^2 q^2 / h^(10/3), to h = 0 at the far end, gives h = (13/3 n^2 q^2 L)^(3/13).
    """
    return 1.5 * (q * q / gravity) ** (1.0 / 3.0) + (13.0 / 3.0 * (manning * q) ** 2 * long) ** (3.0 / 13.0)


def _largest(terms: Terms, names: tuple[str, ...]) -> float:
    """Sum over both directions of the largest values of terms."""
    parts = [part for part in (*terms.x, *terms.y) if part.name in names]
    return float(sum(abs(one.series.values).max() * abs(one.values).max() for part in parts for one in part.quantities))


def _stress_of_wind(terms: Terms) -> float:
    """Largest stress over density of winds, m2 s-2: the largest drag times the square of the fastest wind."""
    winds = [part.quantities for part in (*terms.x, *terms.y) if part.name in WINDS]
    return float(sum(one[-1].values * one[0].values ** 2 for one in winds))


def highest_surface(surface: np.ndarray, bed: np.ndarray) -> float:
    """Highest surface where there is water, m; -inf where there is none."""
    return float(np.max(surface, where=surface > bed, initial=-math.inf))


def cell_of_extreme(name: str, depth: np.ndarray, speed: np.ndarray) -> tuple[int, int]:
    """(j, i) of "max_speed", "max_depth" or "min_depth" of the fields."""
    extreme = {"max_speed": speed, "max_depth": depth, "min_depth": -depth}[name]
    j, i = np.unravel_index(np.argmax(extreme), extreme.shape)
    return int(j), int(i)
