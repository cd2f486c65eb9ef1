"""Setup of a run of the potential-flow waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.restart_state import RestartReference
from eagre.stepping.averages import StatisticsPlan
from eagre.time_varying.series import Series


@dataclass(frozen=True, eq=False)
class Setup:
    """Complete setup of a run, checked by the model."""

    grid: Grid  # its cell centres are the points
    depth: np.ndarray  # (ny, nx), still-water depth, m
    periodic: tuple[bool, bool]  # (y, x); otherwise walls at the first and last points
    vertical: Vertical
    linear: bool
    time_step: float  # s
    tolerance: float
    absolute_tolerance: float  # m2/s
    max_iterations: int  # of a Laplace solve
    on_nonconvergence: str  # "error" or "continue"
    min_psi_scale: float  # m2/s: lower bound of the Psi scale in the convergence test
    gravity: float  # m s-2
    relaxation_zones: tuple[RelaxationZone, ...]
    breaking: tuple[float, float, float] | None = None  # ratio, slope and strength of `Breaking`
    correction: str = "double"  # precision of corrections
    preconditioner: str = "modes"  # of `LaplaceProblem`
    wavemakers: tuple[Wavemaker, ...] = ()
    sponges: tuple[SpongeLayer, ...] = ()
    multigrid: Mapping[str, Any] = field(default_factory=dict)  # options of `Multigrid`
    surface_filter: int = 0  # steps between applications of the filter; 0: none
    initial_wave_number: float = 0.0  # of the initial waves, 1/m; 0 at rest
    time_statistics: StatisticsPlan | None = None  # requested averages
    statistics: StatisticsPlan | None = None

    @property
    def closed(self) -> bool:
        """Flag for a closed basin: no relaxation zones and no wavemakers."""
        return not self.relaxation_zones and not self.wavemakers

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Reference data that the values of a state depend on."""
        return {
            "still_depth": RestartReference("depth of still water", self.depth, "m", "the bed of the run that wrote it")
        }

    @property
    def series(self) -> list[Series]:
        """Time series that must cover the run."""
        return [series for wavemaker in self.wavemakers for series in wavemaker.series]

    @property
    def spacing(self) -> tuple[float, float]:
        """(dy, dx), m."""
        return self.grid.dy, self.grid.dx

    @property
    def areas(self) -> np.ndarray:
        """Area represented by each point, (ny, nx), m2; halved on walls and quartered in corners."""
        along = []
        for count, step, is_periodic in zip(self.grid.shape, self.spacing, self.periodic, strict=True):
            lengths = np.full(count, step)
            if not is_periodic and count > 1:
                lengths[[0, -1]] *= 0.5
            along.append(lengths)
        return along[0][:, None] * along[1]
