"""The datum of a run: the level from which its bed and its surface are counted on the device.

In single precision a cell keeps its surface over the higher of its bed and the datum (`eagre.kernels.elevation`).
Where the bed is above the datum that is its depth, so that a film on a mountain keeps its digits and loses no water
to rounding; where it is below, that is the elevation of the surface, so that a wave of a centimetre on a deep sea
keeps its digits too. The datum is the lowest surface at the start, so that water reaches up to it everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.grid import centre_bed


@dataclass(frozen=True)
class Datum:
    """What a run counts elevations from.

    Attributes
    ----------
    level : float, m
        0 in double precision.
    over_base : bool
        Whether cells store their surface over their base, as in single precision, or its elevation.
    """

    level: float = 0.0
    over_base: bool = False

    @classmethod
    def of(cls, precision: str, surface: np.ndarray) -> Datum:
        """The datum of a run that begins with this surface of water or dry ground, m."""
        return cls() if precision == "double" else cls(float(surface.min()), True)

    def base(self, bed: np.ndarray) -> np.ndarray:
        """What eta of a cell is counted from, m over the datum; bed : of cells, likewise."""
        return np.maximum(bed, 0.0) if self.over_base else np.zeros_like(bed)

    def surface(self, eta: np.ndarray, bed: np.ndarray) -> np.ndarray:
        """Elevation of the surface, m, from eta and the bed of cells over the datum, m, all in double precision."""
        return self.level + (self.base(bed) + eta)

    def eta(self, bed: np.ndarray, surface: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """eta of cells with a given depth, m, and the surface that it makes; bed : over the datum, m."""
        return np.where(bed > 0.0, depth, surface - self.level) if self.over_base else surface

    def eta_of_level(self, bed: np.ndarray, surface: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """`eta` of water that was given by its surface.

        It is level to the bit: with the elevation over the datum as single precision has it, eta + base rounds to that.
        """
        if not self.over_base:
            return surface
        level = (surface - self.level).astype(np.float32).astype(np.float64)
        return np.where(depth > 0.0, np.maximum(level, bed), bed) - self.base(bed)

    def state(self) -> dict[str, np.ndarray]:
        """What a restart needs of it: nothing where cells store elevations."""
        return {"datum": np.array(self.level)} if self.over_base else {}

    def over_zero(self, sums: dict[str, float], gravity: float) -> dict[str, float]:
        """Sums whose potential energy is over z = 0 instead of over the datum."""
        return sums | {"potential_energy": sums["potential_energy"] + gravity * self.level * sums["volume"]}


def over_datum(state: dict[str, np.ndarray], datum: Datum, corners: np.ndarray) -> dict[str, np.ndarray]:
    """A state of a run of any datum, or of a version that knew none, as a run of this one has it; ghosts are made anew.

    corners : bed at the corners of the domain, m.
    """
    theirs = Datum(float(state["datum"]), True) if "datum" in state else Datum()
    if theirs == datum:
        return state
    kept = [name for name in state if name != "edges" and not name.startswith("maps")]
    found = {name: state[name] for name in kept} | {"q": state["q"].copy()}
    bed = centre_bed(corners - theirs.level)
    surface = theirs.surface(state["q"][0, 2:-2, 2:-2].astype(np.float64), bed)
    depth = surface - theirs.level - bed
    found["q"][0, 2:-2, 2:-2] = datum.eta(centre_bed(corners - datum.level), surface, depth)
    return found
