"""A step of the anelastic model: non-oscillatory forward in time, with an implicit pressure.

    psi~       = psi^n + dt/2 R^n + dt/2 D^n          R: implicit forces, D: explicit ones, for u, v, w and theta'
    psi_hat    = MPDATA(psi~, V^(n+1/2), h) + dt/2 D^(n+1), extrapolated from D^n and D^(n-1)
    v^         = C (v_hat + dt/2 (buoyancy of theta_hat, ambient wind))
    v^(n+1)    = v^ - C grad phi,   div h v^(n+1) = 0,   phi = dt/2 p'/rho_b
    theta'     = (theta_hat - dt/2 w^(n+1) d theta_e/dz) / (1 + dt/2 beta)
    dt/2 R     = psi^(n+1) - psi_hat

Source: P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998), doi:10.1006/jcph.1998.5901;
J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008),
doi:10.1016/j.compfluid.2007.12.001.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.forcing.open_boundaries import set_wind_through
from eagre.models.anelastic.forcing.tendencies import forced_fields
from eagre.models.anelastic.pressure.projection import Projected, Projection
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stages import Stages
from eagre.models.anelastic.step_kernels import Slopes
from eagre.models.anelastic.subgrid.diffusion import SHORTEST

MaxLocation = tuple[float, tuple[int, int]]
"""Maximum over a grid, and its k and j."""


class Steps(Stages):
    """Time stepping on one device; for the parameters see `Stages`.

    Attributes
    ----------
    projection : Projection
    previous_dt : float
        Previous time step, s; 0 before the first step.
    faces_set : bool
        True if the advecting fluxes of the next step are computed.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, base: BaseState, h: Any, slopes: Slopes, metric: Metric,
        masses: Any,
    ) -> None:  # fmt: skip
        super().__init__(setup, device, precision, base, h, slopes, metric, masses, forced_fields(setup, base))
        self.projection = Projection(
            device, precision, metric, base.density, velocity=self.fields.velocity, forces=self.fields.forces,
            provisional_in_forces=self.is_free, tolerance=setup.tolerance,
            guess="second-last" if metric.terrain else "previous",
        )  # fmt: skip
        set_wind_through(self.projection, setup, base)
        self._dt = 0.0  # time step of the implicit coefficients, s
        self._explicit: Callable[[], None] | None = None
        self.previous_dt, self.faces_set = 0.0, False

    def prepare(self) -> None:
        """Start the compilation of the kernels of a step."""
        self.set_out(1.0)
        self.device.prepare([*self.explicit(), *self.projection.launches, *self.finish(), self.measure])

    def step(self, dt: float, time: float = 0.0) -> Projected:
        """Advance one step of dt, s, from a model time, s; return pressure iterations and residual divergence."""
        faces_set, self.faces_set = self.faces_set, False
        self.set_out(dt, time)
        self._begin(faces_set)
        result = self.projection.solve(dt)
        self.device.run(self.finish())
        self.previous_dt = dt
        return result

    def take_forces(self, dt: float) -> None:
        """Compute the increments dt/2 R of a step without advection, from v_hat and theta_hat in the force arrays."""
        self.device.run([self.without_pressure()])
        self.projection.solve(dt)
        self.device.run(self.finish())

    def set_faces(self) -> None:
        """Compute the advecting fluxes of the next step, which determine its Courant number."""
        self.device.run(self.faces())
        self.faces_set = True

    def _begin(self, faces_set: bool) -> None:
        """Run the launches before the projection; on a GPU they are created once."""
        if not self.device.graphs:
            self.device.run(self.explicit(faces_set))
            return
        if self._explicit is None:
            self._explicit = self.device.repeated(self.explicit(), 1)
        self._explicit()

    def set_out(self, dt: float, time: float = 0.0) -> None:
        """Set the data that depend on the next time step, s, and its start time, s."""
        self.tendencies.set_time(time, dt)
        if dt != self._dt:
            entries = self.take_implicit(dt)
            self.projection.set_coefficients(entries["c11"], entries["c12"], entries["c33"])
            self._dt = dt
        self.coefficients.set(dt, self.previous_dt)

    @property
    def driven_by_time(self) -> bool:
        """True if every step needs data of its start time."""
        return self.setup.heat_varies

    def exchange(self) -> None:
        """Do nothing: a single device has no halo rows."""

    def courant(self) -> MaxLocation:
        """Return the maximum outflow Courant number of the last step, its k and j (on a GPU only if above 1)."""
        if self.device.kind == "cuda":
            max_courant = float(self.device.host(self.advector.partial_maxima).max())
            if max_courant <= 1.0:
                return max_courant, (0, 0)
        return max_location(self.outflow())

    def mixing(self, dt: float) -> MaxLocation:
        """Return dt times the maximum decay rate by closure and forcing in the last step of dt, s, and its k and j."""
        fastest, row = max_location(self.tendencies.diffusion.rates())
        return fastest * dt, row

    def fastest_mixing(self) -> float:
        """Return the maximum decay rate by the closure for the current wind, 1/s; 0 without a closure."""
        if self.setup.closure is None:
            return 0.0
        self.tendencies.diffusion.set_time_step(SHORTEST)
        self.device.run(self.tendencies.launches())
        return float(self.tendencies.diffusion.rates().max())

    def begin_tendencies(self, names: Sequence[str], time: float) -> None:
        """Set the previous explicit tendencies to the current ones, at a model time, s."""
        if names and self.previous_dt:
            self.set_out(self.previous_dt, time)
            self.device.run(self.tendencies.launches())
            self.take_for_last(names)

    def forget_time_step(self) -> None:
        """Recompute the implicit coefficients before the next step."""
        self._dt = 0.0


def max_location(rows: np.ndarray) -> MaxLocation:
    """Return the maximum of an array (nz, ny) and its indices."""
    k, j = np.unravel_index(int(np.argmax(rows)), rows.shape)
    return float(rows[k, j]), (int(k), int(j))
