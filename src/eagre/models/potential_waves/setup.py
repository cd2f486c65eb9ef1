"""What fixes a run of the potential-flow waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eagre.basis import Basis
from eagre.grid import Grid
from eagre.models.potential_waves.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.stencils import Vertical
from eagre.models.potential_waves.zones import RelaxationZone
from eagre.series import Series
from eagre.stepping.averages import Asked


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that fixes a run, checked by the model."""

    grid: Grid  # its centres are the points
    depth: np.ndarray  # (ny, nx), of still water, m
    periodic: tuple[bool, bool]  # (y, x); else walls on the first and the last points
    vertical: Vertical
    linear: bool
    time_step: float  # s
    tolerance: float
    smallest: float  # m2/s: Psi at the bottom is taken to be at least as large where solutions are called good
    gravity: float  # m s-2
    relaxation_zones: tuple[RelaxationZone, ...]
    breaking: tuple[float, float, float] | None = (
        None  # max_crest_speed_ratio, max_front_slope and strength of `Breaking`
    )
    correction: str = "double"  # precision of corrections
    preconditioner: str = "modes"  # of `LaplaceProblem`
    wavemakers: tuple[Wavemaker, ...] = ()
    sponges: tuple[SpongeLayer, ...] = ()
    multigrid: Mapping[str, Any] = field(default_factory=dict)  # choices of `Multigrid`
    surface_filter: int = 0  # steps from one application of the filter to the next; 0: none
    initial_wave_number: float = 0.0  # of the waves at the start, 1/m; 0 at rest
    time_statistics: Asked | None = None  # what is gathered
    statistics: Asked | None = None

    @property
    def closed(self) -> bool:
        """Whether no water comes or goes."""
        return not self.relaxation_zones and not self.wavemakers

    @property
    def stood_on(self) -> dict[str, Basis]:
        """What the values of a state stand on."""
        return {"still_depth": Basis("depth of still water", self.depth, "m", "the bed of the run that wrote it")}

    @property
    def series(self) -> list[Series]:
        """What has to cover a run."""
        return [series for wavemaker in self.wavemakers for series in wavemaker.series]

    @property
    def spacing(self) -> tuple[float, float]:
        """(dy, dx), m."""
        return self.grid.dy, self.grid.dx

    @property
    def areas(self) -> np.ndarray:
        """What each point stands for, (ny, nx), m2: half on a wall, a quarter in a corner."""
        along = []
        for count, step, wraps in zip(self.grid.shape, self.spacing, self.periodic, strict=True):
            lengths = np.full(count, step)
            if not wraps and count > 1:
                lengths[[0, -1]] *= 0.5
            along.append(lengths)
        return along[0][:, None] * along[1]
