"""What fixes a run of the barotropic model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.basis import Basis
from eagre.grid import Grid
from eagre.models.barotropic.layers import Layers
from eagre.moving import TimeVaryingField
from eagre.stepping.averages import Asked


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that fixes a run, checked by the model; fields are float64 at points, (ny, nx)."""

    grid: Grid
    basin: str  # "box", "channel" (periodic along x) or "periodic"
    walls: str
    jacobian: str
    order: int
    time_step: float
    beta: float
    viscosity: float
    biharmonic: float
    friction: float
    screening: float
    implicit: bool
    compensated_summation: bool  # rounding of each step is kept and added to the next
    curl: np.ndarray  # of the wind; of one that moves, at the start
    topography: np.ndarray | None  # f0 b / D, as a vorticity
    layers: Layers | None
    diffusivity: float | None  # of a tracer; None: no tracer
    particles: int
    kernels: str = "fast"  # or "reference": plain cells alone
    time_statistics: Asked | None = None  # what is gathered
    moving: TimeVaryingField | None = None  # curl of a wind that changes with time, at the points of the whole basin
    rows: tuple[int, int | None] = (0, None)  # of `moving` that are here: the first, and the one after the last

    @property
    def periodic(self) -> tuple[bool, bool]:
        """Whether x and y are periodic."""
        return self.basin != "box", self.basin == "periodic"

    @property
    def deformation_radius(self) -> float:
        """Deformation radius, m; with two layers, of the baroclinic mode; infinite for a rigid lid."""
        screening = self.screening if self.layers is None else self.layers.inverse_radius_squared(1)
        return screening**-0.5 if screening > 0.0 else np.inf

    @property
    def stood_on(self) -> dict[str, Basis]:
        """What the values of a state stand on."""
        layers = () if self.layers is None else (self.layers.upper, self.layers.lower)
        of = "of the run that wrote it"
        return {
            "screening": Basis("1 / deformation_radius^2", self.screening, "", f"deformation_radius in [physics] {of}"),
            "coupling": Basis("coupling of layers", layers, "", f"upper and lower in [layers] {of}"),
        }

    @property
    def shape(self) -> tuple[int, int]:
        """Padded arrays, (my + 2, mx + 2): walls are the outermost points, periodic sides repeat points."""
        wrap_x, wrap_y = self.periodic
        return self.grid.ny + 2 * wrap_y, self.grid.nx + 2 * wrap_x

    @property
    def inner(self) -> tuple[int, int]:
        """Unknowns along y and x."""
        return self.shape[0] - 2, self.shape[1] - 2

    def curl_at(self, time: float) -> np.ndarray:
        """The wind's curl at a time, s."""
        return self.curl if self.moving is None else self.moving.at(time)[slice(*self.rows)]

    @property
    def has_further_terms(self) -> bool:
        """Whether there are terms beside those of the tendency's cell: topography, biharmonic viscosity, layers."""
        return self.topography is not None or self.biharmonic > 0.0 or self.layers is not None
