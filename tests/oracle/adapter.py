"""The reference model behind the calls of a model that `eagre.cases.measures.run_case` makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.cases import Case
from oracle.shallow_water import ShallowWaterOracle

SIDES = {"Wall": "wall", "Periodic": "periodic", "Outflow": "outflow"}


class OracleModel:
    """A `ShallowWaterOracle` set on a case; walls, periodic sides and outflow only."""

    def __init__(self, case: Case, **options: Any) -> None:
        settings = {**case.options, **options}
        names = {"desingularisation_depth": "kappa", "gravity": "g"}
        sides = {s: SIDES[type(getattr(case.boundaries, s)).__name__] for s in ("west", "east", "south", "north")}
        self.grid = case.grid
        self.oracle = ShallowWaterOracle(
            case.bed_elevation,
            case.grid.dx,
            case.grid.dy,
            sides=sides,
            manning=case.manning,
            **{names.get(key, key): value for key, value in settings.items()},
        )
        water = case.initial
        self.q = np.stack([self.oracle.bed_centre + water.depth, water.discharge_x, water.discharge_y])

    @property
    def time(self) -> float:
        """Model time, s."""
        return self.oracle.time

    @property
    def steps(self) -> int:
        """Steps so far."""
        return self.oracle.steps

    def advance(self, until: float) -> None:
        """Step to `until`, s."""
        self.q = self.oracle.run(self.q, until)

    def field(self, name: str) -> np.ndarray:
        """One of surface_elevation, depth, discharge_x, discharge_y, (ny, nx)."""
        if name == "depth":
            return self.oracle.depth(self.q)
        return self.q[{"surface_elevation": 0, "discharge_x": 1, "discharge_y": 2}[name]]
