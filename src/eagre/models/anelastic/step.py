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

One device and several devices run the same step. Halo rows cover the stencil of a step (`devices.step_subdomains`), so
that no exchange is needed before the projection; the halo rows of the new state are exchanged after the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, Work
from eagre.device_mesh import DeviceMesh
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.forcing.open_boundaries import set_wind_through
from eagre.models.anelastic.pressure.projection import Projected
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stages import Fields, Stages
from eagre.models.anelastic.subgrid.diffusion import SHORTEST

MaxLocation = tuple[float, tuple[int, int]]
"""Maximum over a grid, and its k and j."""


class Steps:
    """Time stepping on one or several devices.

    Parameters
    ----------
    setup : Setup
    device : Device or DeviceMesh
    base : BaseState
    stages : sequence of Stages
        Stages of each device.
    fields : Fields
        Fields of the device, or of all devices.
    inflow : Inflow or DistributedInflow
    projection : Projection or DistributedProjection
    exchanged : sequence of stages
        Halo exchange of the state; empty for one device.

    Attributes
    ----------
    previous_dt : float
        Previous time step, s; 0 before the first step.
    faces_set : bool
        True if the advecting fluxes of the next step are computed.
    """

    def __init__(
        self, setup: Setup, device: Device, base: BaseState, stages: Sequence[Stages], fields: Fields, inflow: Any,
        projection: Any, exchanged: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.setup, self.device, self.base = setup, device, base
        self.stages, self.fields, self.inflow, self.projection = stages, fields, inflow, projection
        set_wind_through(projection, setup, base)
        self._exchanged = exchanged
        self._graphs: dict[str, Callable[[], None]] = {}
        self._dt, self._bound = 0.0, 0  # time step of the implicit coefficients, s
        self.previous_dt, self.faces_set = 0.0, False

    def prepare(self) -> None:
        """Start the compilation of the kernels of a step."""
        self.set_out(1.0)
        self.device.prepare([*self.explicit(), *self.projection.launches, *self.finish(), *self._measure()])

    def step(self, dt: float, time: float = 0.0) -> Projected:
        """Advance one step of dt, s, from a model time, s; return pressure iterations and residual divergence."""
        faces_set, self.faces_set = self.faces_set, False
        self.set_out(dt, time)
        self._run("explicit", lambda: self.explicit(faces_set and not self.device.graphs))
        result = self.projection.find(dt)
        if self._bound != self.projection.bound:
            self._graphs.pop("finish", None)
            self._bound = self.projection.bound
        self._run("finish", lambda: [*self.projection.final, *self.finish(), *self._exchanged])
        self.previous_dt = dt
        return result

    def take_forces(self, dt: float) -> None:
        """Compute the increments dt/2 R of a step without advection, from v_hat and theta_hat in the force arrays."""
        self.device.run(self._each(lambda one: [one.without_pressure()]))
        self.projection.solve(dt)
        self.device.run([*self.finish(), *self._exchanged])

    def set_faces(self) -> None:
        """Compute the advecting fluxes of the next step, which determine its Courant number."""
        self.device.run(self._each(Stages.faces))
        self.faces_set = True

    def exchange(self) -> None:
        """Exchange the halo rows of the current state between devices."""
        self.device.run(self._exchanged)

    def _run(self, name: str, launches: Callable[[], list[Any]]) -> None:
        """Run a part of the step; GPUs run it as a CUDA graph."""
        if not self.device.graphs:
            self.device.run(launches())
            return
        if name not in self._graphs:
            self._graphs[name] = self.device.repeated(launches(), 1)
        self._graphs[name]()

    def _each(self, make: Callable[[Stages], Sequence[Work]]) -> list[Any]:
        """Return the launches of the device, or the stage with the launches of each device."""
        each = [list(make(one)) for one in self.stages]
        return each[0] if self.device.is_one else [each]

    def explicit(self, faces_set: bool = False) -> list[Any]:
        """Return the launches before the projection; see `Stages.explicit`."""
        return self._each(lambda one: one.explicit(faces_set))

    def finish(self) -> list[Any]:
        """Return the launches after the projection; see `Stages.finish`."""
        return self._each(Stages.finish)

    def set_out(self, dt: float, time: float = 0.0) -> None:
        """Set the data that depend on the next time step, s, and its start time, s."""
        for one in self.stages:
            one.tendencies.set_time(time, dt)
        if dt != self._dt:
            each = [one.take_implicit(dt) for one in self.stages]
            self.set_projection(each)
            self._dt = dt
        for one in self.stages:
            one.coefficients.set(dt, self.previous_dt)

    def set_projection(self, each: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Set the coefficients "c11", "c12" and "c33" of the projection on each device."""
        entries = ([one[name] for one in each] for name in ("c11", "c12", "c33"))
        self.projection.set_coefficients(*(one[0] if self.device.is_one else one for one in entries))

    def forget_time_step(self) -> None:
        """Recompute the implicit coefficients before the next step."""
        self._dt = 0.0

    @property
    def driven_by_time(self) -> bool:
        """True if every step needs data of its start time."""
        return self.setup.heat_varies

    def begin_tendencies(self, names: Sequence[str], time: float) -> None:
        """Set the previous explicit tendencies to the current ones, at a model time, s."""
        if names and self.previous_dt:
            self.set_out(self.previous_dt, time)
            self.device.run(self._each(lambda one: one.tendencies.launches()))
            for one in self.stages:
                one.take_for_last(names)

    # -- step statistics ----------------------------------------------------------------------------

    def courant(self) -> MaxLocation:
        """Return the maximum outflow Courant number of the last step, its k and j (on a GPU only if above 1)."""
        if self.device.kind == "cuda":
            max_courant = max(float(values.max()) for values in self._partial_maxima())
            if max_courant <= 1.0:
                return max_courant, (0, 0)
        self.device.run(self._measure())
        return max_location(self._of_rows(Stages.measured))

    def _measure(self) -> list[Any]:
        """Return the launches that compute the Courant numbers of rows."""
        return self._each(lambda one: [one.measure])

    def _partial_maxima(self) -> list[np.ndarray]:
        """Return the maxima of the Courant number in blocks, which the flux kernel of each GPU computes."""
        maxima = [one.advector.partial_maxima for one in self.stages]
        if isinstance(self.device, DeviceMesh):
            return self.device.group.host_of_each(maxima)
        return [self.device.host(maxima[0])]

    def mixing(self, dt: float) -> MaxLocation:
        """Return dt times the maximum decay rate by closure and forcing in the last step of dt, s, and its k and j."""
        fastest, row = max_location(self._rates())
        return fastest * dt, row

    def fastest_mixing(self) -> float:
        """Return the maximum decay rate by the closure for the current wind, 1/s; 0 without a closure."""
        if self.setup.closure is None:
            return 0.0
        for one in self.stages:
            one.tendencies.diffusion.set_time_step(SHORTEST)
        self.device.run(self._each(lambda one: one.tendencies.launches()))
        return float(self._rates().max())

    def _rates(self) -> np.ndarray:
        return self._of_rows(lambda one: one.tendencies.diffusion.rates())

    def _of_rows(self, values: Callable[[Stages], np.ndarray]) -> np.ndarray:
        """Return values of all rows, (nz, ny), from a function that returns them on the rows of a device."""
        if not isinstance(self.device, DeviceMesh):
            return values(self.stages[0])
        stages, inside = self.stages, self.device.inside
        each = self.device.group.each(lambda rank: values(stages[rank])[:, inside(rank)])
        return np.concatenate(each, axis=1)


def max_location(rows: np.ndarray) -> MaxLocation:
    """Return the maximum of an array (nz, ny) and its indices."""
    k, j = np.unravel_index(int(np.argmax(rows)), rows.shape)
    return float(rows[k, j]), (int(k), int(j))
