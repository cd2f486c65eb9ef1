"""Plausible ranges of depth, speed and energy of a case, used to detect instability.

The front of water that falls from the highest head H to the lowest bed b over dry ground moves at 2 sqrt(g D) at most,
with D = H - b (A. Ritter, Z. Ver. Dtsch. Ing. 36, 947-954 (1892); J. J. Stoker, Water Waves (1957), section 10.8).
Rain, inflow and forces raise H. Run-up, thin water and colliding waves can exceed these values by a factor; an
instability grows without bound and exceeds any multiple within a few steps.
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

DEPTHS = 4.0  # depths above this multiple of D are implausible
SPEEDS = 10.0  # speeds above this multiple of 2 sqrt(g D) are implausible; thin water at a free fall reaches 4
ENERGIES = 1.2  # multiple of the initial energy that is implausible without an energy source
OVERSHOOT = 2.0  # response of the surface slope to a sudden force, relative to equilibrium
IDLE = ("Coriolis",)  # source terms that do no work
STRESSES, ACCELERATIONS = ("WindStress",), ("AtmosphericPressure", "BodyForce")
WINDS, POTENTIALS = ("WeatherWind",), ("WeatherPressure",)  # terms that bound wind speed, pressure / density


class Excess(NamedTuple):
    """Quantity outside its plausible range: name of the quantity and description."""

    name: str
    what: str


@dataclass(frozen=True)
class PlausibilityBounds:
    """Plausible ranges of a run.

    Attributes
    ----------
    lowest, head : float, m
        Lowest bed; highest head, surface + u^2 / 2g, of the initial state and of inflow.
    filling : float, m s-1
        Rate of rise of the mean level due to rain and inflow.
    acceleration : float, m s-2
        Maximum acceleration by forces in water of the dry depth.
    start, gravity : float, s and m s-2
    energy : float, m5 s-2
        Initial energy relative to the lowest bed; infinite with an energy source.
    """

    lowest: float
    head: float
    filling: float
    acceleration: float
    start: float
    gravity: float
    energy: float = math.inf

    def excess(self, sums: Mapping[str, float], time: float) -> Excess | None:
        """Return the first implausible quantity of the sums (`water_sums.named_sums`) at `time`, s, or None."""
        elapsed, fall = max(time - self.start, 0.0), self.fall(time)
        depth = DEPTHS * fall
        speed = SPEEDS * 2.0 * math.sqrt(self.gravity * fall) + self.acceleration * elapsed
        falls = f"although the available drop is {fall:.4g} m from the highest head to the lowest bed"
        for name in ("max_depth", "min_depth"):
            if abs(sums[name]) > depth:
                return Excess(name, f"a depth of {sums[name]:.4g} m {falls}")
        if sums["max_speed"] > speed:
            return Excess("max_speed", f"a speed of {sums['max_speed']:.4g} m/s {falls}")
        energy = self.energy_of(sums)
        if energy > ENERGIES * self.energy:
            more = energy / self.energy
            return Excess("max_speed", f"{more:.3g} times the initial energy, without an energy source")
        return None

    def fall(self, time: float) -> float:
        """Return the largest possible difference of head and lowest bed at `time`, s, m."""
        return self.head - self.lowest + self.filling * max(time - self.start, 0.0)

    def energy_of(self, sums: Mapping[str, float]) -> float:
        """Return the kinetic and potential energy relative to the lowest bed, divided by density, m5 s-2."""
        potential = sums["potential_energy"] - self.gravity * self.lowest * sums["volume"]
        return sums["kinetic_energy"] + potential

    def begun_with(self, sums: Mapping[str, float], highest: float) -> PlausibilityBounds:
        """Return the ranges for a run that starts from a state with a highest surface of `highest`, m."""
        head = max(self.head, highest + 0.5 * sums["max_speed"] ** 2 / self.gravity)
        return replace(self, head=head, energy=max(self.energy, self.energy_of(sums)))


def plausibility_bounds(
    grid: Grid, bed: np.ndarray, segments: Sequence[FaceRange], terms: Terms, gravity: float, start: float, *,
    manning: float, thinnest: float,
) -> PlausibilityBounds:  # fmt: skip
    """Return the ranges of a case without its initial state (see `PlausibilityBounds.begun_with`).

    bed : without land, m; manning : maximum, s m-1/3; thinnest : depth below which forces are limited, m.
    """
    lowest, highest, long = float(bed.min()), float(bed.max()), math.hypot(grid.nx * grid.dx, grid.ny * grid.dy)
    levels = [segment.condition.highest_level() for segment in segments]
    rates = [segment.condition.max_inflow() for segment in segments]
    rain, inflow = terms.wettest, sum(rates)
    head = max([lowest + thinnest, *levels])
    if rain > 0.0 or inflow > 0.0:  # water may collect anywhere
        q = max([0.0, *rates]) / min(grid.dx, grid.dy)
        head = max(head, highest) + _depth_to_enter(q, manning, long, gravity)
    stress = _largest(terms, STRESSES) + _stress_of_wind(terms)
    acceleration = _largest(terms, ACCELERATIONS) + _largest(terms, POTENTIALS) / long
    head += OVERSHOOT * (math.sqrt(2.0 * stress * long / gravity) + acceleration * long / gravity)
    known = {*IDLE, *STRESSES, *ACCELERATIONS, *POTENTIALS, *WINDS, *(term.name for term in terms.water)}
    unknown = any(term.name not in known for term in (*terms.x, *terms.y))
    forced = unknown or rain + inflow + stress + acceleration > 0.0 or max(levels) > -math.inf
    return PlausibilityBounds(
        lowest, math.inf if unknown else head, rain + inflow / (grid.cells * grid.cell_area),
        acceleration + stress / thinnest, start, gravity, math.inf if forced else 0.0,
    )  # fmt: skip


def _depth_to_enter(q: float, manning: float, long: float, gravity: float) -> float:
    """Return the head, m, that drives q, m2 s-1, into the domain over a weir and against friction along its length."""
    return 1.5 * (q * q / gravity) ** (1.0 / 3.0) + (13.0 / 3.0 * (manning * q) ** 2 * long) ** (3.0 / 13.0)


def _largest(terms: Terms, names: tuple[str, ...]) -> float:
    """Return the sum over both directions of the maxima of terms."""
    chosen = [term for term in (*terms.x, *terms.y) if term.name in names]
    return float(
        sum(abs(one.series.values).max() * abs(one.values).max() for term in chosen for one in term.quantities)
    )


def _stress_of_wind(terms: Terms) -> float:
    """Return the maximum wind stress divided by density, m2 s-2: maximum drag times squared maximum wind speed."""
    winds = [term.quantities for term in (*terms.x, *terms.y) if term.name in WINDS]
    return float(sum(one[-1].values * one[0].values ** 2 for one in winds))


def highest_surface(surface: np.ndarray, bed: np.ndarray) -> float:
    """Return the highest water surface, m; -inf if all cells are dry."""
    return float(np.max(surface, where=surface > bed, initial=-math.inf))


def cell_of_extreme(name: str, depth: np.ndarray, speed: np.ndarray) -> tuple[float, int, int]:
    """Return "max_speed", "max_depth" or minus "min_depth", and its cell (j, i)."""
    values = {"max_speed": speed, "max_depth": depth, "min_depth": -depth}[name]
    j, i = np.unravel_index(np.argmax(values), values.shape)
    return float(values[j, i]), int(j), int(i)
