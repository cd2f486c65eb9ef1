"""Datum of a run: reference level of the bed and the surface on the device.

In single precision a cell stores its surface relative to the higher of its bed and the datum
(`eagre.kernels.elevation`). Where the bed is above the datum, this value is the depth: a thin layer on high terrain
keeps its significant digits and loses no water by rounding. Where the bed is below the datum, this value is the
elevation of the surface: a wave of a centimetre on a deep sea keeps its significant digits too. The datum is the lowest
initial surface, so that the water surface is at or above the datum everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.grid import centre_bed
from eagre.local_rows import LocalRows


@dataclass(frozen=True)
class Datum:
    """Reference level of the elevations of a run.

    Attributes
    ----------
    level : float, m
        0 in double precision.
    over_base : bool
        Whether cells store the surface relative to their base, as in single precision, or its elevation.
    """

    level: float = 0.0
    over_base: bool = False

    @classmethod
    def of(cls, precision: str, lowest: float) -> Datum:
        """Return the datum of a run; lowest : minimum of the initial surface of water or dry bed, m."""
        return cls() if precision == "double" else cls(lowest, True)

    def base(self, bed: np.ndarray) -> np.ndarray:
        """Return the reference level of eta in cells, m above the datum; bed : bed of the cells above the datum, m."""
        return np.maximum(bed, 0.0) if self.over_base else np.zeros_like(bed)

    def surface(self, eta: np.ndarray, bed: np.ndarray) -> np.ndarray:
        """Return the surface elevation, m, from eta and the bed above the datum, m, in double precision."""
        return self.level + (self.base(bed) + eta)

    def eta(self, bed: np.ndarray, surface: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Return eta of cells from depth and surface, m; bed : bed of the cells above the datum, m."""
        return np.where(bed > 0.0, depth, surface - self.level) if self.over_base else surface

    def eta_of_level(self, bed: np.ndarray, surface: np.ndarray, depth: np.ndarray) -> np.ndarray:
        """Return `eta` of water with a prescribed surface.

        The surface is exactly level: eta + base rounds to the elevation above the datum in single precision.
        """
        if not self.over_base:
            return surface
        level = (surface - self.level).astype(np.float32).astype(np.float64)
        return np.where(depth > 0.0, np.maximum(level, bed), bed) - self.base(bed)

    def state(self) -> dict[str, np.ndarray]:
        """Return the datum for a restart; empty if cells store elevations."""
        return {"datum": np.array(self.level)} if self.over_base else {}

    def over_zero(self, sums: dict[str, float], gravity: float) -> dict[str, float]:
        """Return sums whose potential energy is relative to z = 0 instead of the datum."""
        return sums | {"potential_energy": sums["potential_energy"] + gravity * self.level * sums["volume"]}


def over_datum(
    state: dict[str, np.ndarray], datum: Datum, corners: np.ndarray, rows: LocalRows
) -> dict[str, np.ndarray]:
    """Return a state of another datum, or of a version without a datum, relative to this datum; ghosts are recomputed.

    corners : bed at the corners of the rows of this process, m, in which the state is converted.
    """
    other = Datum(float(state["datum"]), True) if "datum" in state else Datum()
    if other == datum:
        return state
    names = [name for name in state if name != "edges" and not name.startswith("maps")]
    converted = {name: state[name] for name in names} | {"q": state["q"].copy()}
    bed = centre_bed(corners - other.level)
    surface = other.surface(rows.held(state["q"][0, 2:-2, 2:-2]).astype(np.float64), bed)
    depth = surface - other.level - bed
    rows.held(converted["q"][0, 2:-2, 2:-2])[...] = datum.eta(centre_bed(corners - datum.level), surface, depth)
    return converted
