"""Validated configuration of a barotropic model run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.barotropic.layers import Layers
from eagre.models.barotropic.options import Boundaries, Numerics, Physics
from eagre.models.restart_state import RestartReference
from eagre.stepping.averages import StatisticsPlan
from eagre.time_varying.fields import TimeVaryingField


@dataclass(frozen=True, eq=False)
class Setup(Boundaries, Numerics, Physics):
    """Validated configuration of a run; fields are float64 at the points, (ny, nx), in the rows of this process."""

    grid: Grid
    curl: np.ndarray  # wind forcing, 1/s2; at the start if time-varying
    topography: np.ndarray | None  # f0 b / D, 1/s
    layers: Layers | None
    diffusivity: float | None  # tracer diffusivity, m2/s; None without a tracer
    particles: int  # number
    local: LocalRows | None = None  # rows of this process, which `curl` and `topography` have; None: all rows
    kernels: str = "fast"  # or "reference": slow reference kernels
    time_statistics: StatisticsPlan | None = None  # requested time statistics
    time_varying_wind: TimeVaryingField | None = None  # time-varying wind forcing at the points of the whole basin
    rows: tuple[int, int | None] = (0, None)  # first and end row of `time_varying_wind` on this device

    @property
    def periodic(self) -> tuple[bool, bool]:
        """Periodicity of x and y."""
        return self.basin != "box", self.basin == "periodic"

    @property
    def order(self) -> int:
        """Order of the Adams-Bashforth scheme."""
        return {"ab2": 2, "ab3": 3}[self.scheme]

    @property
    def implicit(self) -> bool:
        """True for implicit viscosity."""
        return self.viscosity_scheme == "implicit"

    @property
    def half_step_viscosity(self) -> float:
        """Coefficient a = dt A / 2 of the Crank-Nicolson scheme, m2."""
        return 0.5 * self.time_step * self.viscosity

    def wall_fraction(self, spacing: float) -> float:
        """Return the vorticity of a wall as a fraction of the no-slip value, for a spacing normal to the wall, m.

        On a wall u = L du/dn, so psi_n = L zeta, and psi_1 = h L zeta + h^2 zeta / 2 + h^2 (zeta_1 - zeta) / 6 without
        (Thom) or with (Woods) the last term. Slip length L: D. B. Haidvogel, J. C. McWilliams and P. R. Gent,
        J. Phys. Oceanogr. 22, 882-902 (1992). Thom's formula with L = h / alpha is the mixed condition of Q-GCM.
        """
        factor = 2.0 if self.walls == "no-slip-thom" else 3.0
        return 1.0 / (1.0 + factor * self.slip_length / spacing)

    @property
    def screening(self) -> float:
        """1 / deformation_radius^2, 1/m2; 0 for a rigid lid."""
        return 0.0 if self.deformation_radius is None else self.deformation_radius**-2

    @property
    def baroclinic_radius(self) -> float:
        """Deformation radius, m, of the baroclinic mode for two layers; infinite for a rigid lid."""
        screening = self.screening if self.layers is None else self.layers.inverse_radius_squared(1)
        return screening**-0.5 if screening > 0.0 else np.inf

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Reference data that the values of a state depend on."""
        layers = () if self.layers is None else (self.layers.upper, self.layers.lower)
        of = "of the run that wrote it"
        return {
            "screening": RestartReference(
                "1 / deformation_radius^2", self.screening, "", f"deformation_radius in [physics] {of}"
            ),
            "coupling": RestartReference("coupling of layers", layers, "", f"upper and lower in [layers] {of}"),
        }

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of padded arrays, (my + 2, mx + 2): the outermost points are walls or periodic halo points."""
        wrap_x, wrap_y = self.periodic
        return self.grid.ny + 2 * wrap_y, self.grid.nx + 2 * wrap_x

    @property
    def inner(self) -> tuple[int, int]:
        """Number of unknowns along y and x."""
        return self.shape[0] - 2, self.shape[1] - 2

    @property
    def max_curl(self) -> float:
        """Maximum of abs(curl) in the basin, 1/s2."""
        highest = float(np.abs(self.curl).max())
        return highest if self.local is None else max(self.local.each(highest))

    def curl_at(self, time: float) -> np.ndarray:
        """Return the wind forcing at a time, s."""
        return self.curl if self.time_varying_wind is None else self.time_varying_wind.at(time)[slice(*self.rows)]
