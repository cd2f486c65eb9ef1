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

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector
from eagre.backend.device import Device, Work
from eagre.models.anelastic import kernels
from eagre.models.anelastic.advector import FaceFluxes
from eagre.models.anelastic.diffusion import EVEN, PARITY
from eagre.models.anelastic.kernels import AtRest, Slopes, Velocity
from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.pace import Pace
from eagre.models.anelastic.projection import Projected, Projection
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.sides import Inflow, set_wind_through
from eagre.models.anelastic.stars import elementwise
from eagre.models.anelastic.tendencies import Tendencies, driven


class Moved(NamedTuple):
    """A field that forces act on: name, present, half force (within a step what advection makes), past."""

    name: str
    x: Any
    force: Any
    past: Any


class Fields:
    """The state of a run on a device, (nz, ny, nx) each.

    Attributes
    ----------
    now, past : Velocity
        v^n and v^(n-1), m/s. Within a step `now` holds what is advected, and v^.
    forces : Velocity
        Half forces dt/2 R of the velocity; within a step v_hat.
    theta, heating
        theta', K, and its half force; None where nothing is buoyant.
    scalars : dict
        Passive scalars by name.
    spare
        Where one of them is advected to.
    drag : dict
        Explicit tendencies D^n by the names of the fields that have any.
    last_drag : dict
        D^(n-1).
    """

    def __init__(self, setup: Setup, device: Device, real: Any, driven: Sequence[str]) -> None:
        def zeros() -> Any:
            return device.zeros(setup.shape, real)

        self.now, self.past, self.forces = (Velocity(zeros(), zeros(), zeros()) for _ in range(3))
        self.theta, self.heating = (zeros(), zeros()) if setup.stratified else (None, None)
        self.scalars = {name: zeros() for name in setup.scalars}
        self.spare = zeros() if self.scalars else None
        self.drag, self.last_drag = ({name: zeros() for name in driven} for _ in range(2))

    def moved(self) -> list[Moved]:
        """Every field that forces act on."""
        found = [Moved(*one) for one in zip("uvw", self.now, self.forces, self.past, strict=True)]
        return found if self.theta is None else [*found, Moved("theta", self.theta, self.heating, None)]

    @property
    def present(self) -> dict[str, Any]:
        """Arrays of the present by the names of fields."""
        return {one.name: one.x for one in self.moved()} | self.scalars


class Steps:
    """Makes steps of a run.

    Parameters
    ----------
    setup : Setup
    device : Device
    precision : {"single", "double"}
    rest : RestState
    h : (nz, 1, 1), over a hill (nz, ny, nx), on the device
        Density times Jacobian.
    slopes : Slopes
        On the device.
    metric : Metric
    masses : (nz, ny, nx) or None, on the device
        h at every point; None where it is 1.

    Attributes
    ----------
    fields : Fields
    before : float
        Time step of the step before, s; 0 before the first.
    """

    def __init__(
        self,
        setup: Setup,
        device: Device,
        precision: str,
        rest: RestState,
        h: Any,
        slopes: Slopes,
        metric: Metric,
        masses: Any,
    ) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self._rest = rest
        self._real = np.float32 if precision == "single" else np.float64
        self.fields = fields = Fields(setup, device, self._real, driven(setup, rest))
        self.tendencies = Tendencies(setup, device, precision, rest, h, slopes, metric, fields.present, fields.drag)
        self.inflow = Inflow(setup, device, precision, rest, list(fields.present))
        self.advector = FaceFluxes(device, precision, setup.shape, h, slopes, setup.sides, setup.terrain)
        self.pace = Pace(device, precision, setup.spacing)
        self._switches = {"TERRAIN": setup.terrain, "STRATIFIED": setup.stratified}
        self._is_free = not (setup.stratified or setup.coriolis or setup.absorber.any())  # v^ is v_hat
        self.projection = Projection(
            device, precision, metric, rest.density, velocity=fields.now, forces=fields.forces,
            hat_in_forces=self._is_free, tolerance=setup.tolerance,
        )  # fmt: skip
        set_wind_through(self.projection, setup, rest)
        self._advection = plan_of(device, precision, setup.shape, setup.sides, setup.advection)
        self._masses = masses
        self._loops: dict[tuple[Any, ...], Any] = {}
        self._at_rest: AtRest | None = None
        self._dt = 0.0  # of `_at_rest`
        self.before = 0.0

    def prepare(self, more: Sequence[Work]) -> None:
        """Begin to compile what a step runs, and more."""
        self.set_out(1.0)
        self.device.prepare([*self.explicit(), *self.projection.launches, *self.finish(), *more])

    def step(self, dt: float, time: float = 0.0) -> Projected:
        """Make a step of dt seconds from a model time, s; returns iterations of the pressure, and dt div left."""
        self.set_out(dt, time)
        self.device.run(self.explicit())
        made = self.projection.solve(dt)
        self.device.run(self.finish())
        self.before = dt
        return made

    def set_out(self, dt: float, time: float = 0.0) -> None:
        """Take what depends on the length of the next step, s, and on the model time, s, at which it begins."""
        self.tendencies.set_time(time, dt)
        if dt != self._dt:
            self._set_time_step(dt)
        self.pace.set(dt, self.before)

    @property
    def driven_by_time(self) -> bool:
        """Whether every step has something of its own to take from the model time."""
        return self.setup.heat_varies or self.projection.older is not None

    def explicit(self) -> list[Work]:
        """Launches from the present to v^, in its place, and to v_hat and theta_hat in the place of their forces."""
        fields = self.fields
        found: list[Work] = list(self.advector.launches(fields.now, fields.past, self.pace))
        moved = fields.moved()
        found += self.tendencies.launches()
        found += [self._forced(one) for one in moved]
        found += self._advect([(one.x, one.force, PARITY.get(one.name, EVEN)) for one in moved])
        for one in moved:
            found += self._with_tendency(one.name, one.force)
        for name, x in fields.scalars.items():
            if name in fields.drag:
                found.append(self._over("add_tendency", x, fields.drag[name], self.pace.numbers))
            found += [*self._advect([(x, fields.spare, EVEN)]), *self._with_tendency(name, fields.spare)]
            found.append(self._over("take", x, fields.spare))
        if self._is_free:
            return found
        heat = fields.forces.w if fields.heating is None else fields.heating
        return [*found, self._over("without_pressure", fields.forces, heat, self._at_rest, fields.now)]

    def _forced(self, one: Moved) -> Work:
        """A launch that sets what is advected, and the past velocity."""
        is_driven = one.name in self.fields.drag
        arguments = (one.x, one.force, self.fields.drag.get(one.name, one.x), self.pace.numbers)
        if one.past is None:
            return self._over("add_force", *arguments, switches={"DRIVEN": is_driven})
        if self.device.kind != "cuda":
            return self._over("add_force_to_wind", *arguments, one.past, switches={"DRIVEN": is_driven})
        return elementwise(self.device, self.precision, is_driven, (*arguments, one.past))

    def _with_tendency(self, name: str, hat: Any) -> list[Work]:
        """Launches that add the explicit tendency of the end of the step, and hold what flows in."""
        fields, faces = self.fields, self.advector
        found: list[Work] = []
        if name in fields.drag:
            found.append(self._over("add_drag", hat, fields.drag[name], fields.last_drag[name], self.pace.numbers))
        return found + self.inflow.launches(name, hat, Advector(faces.v1, faces.v2, faces.v3))

    def finish(self) -> list[Work]:
        """Launches from v^(n+1) to theta' and its half force; those of the velocity come from the projection."""
        fields = self.fields
        if fields.theta is None:
            return []
        return [self._over("finish_theta", fields.theta, fields.heating, fields.now.w, self._at_rest)]

    def _advect(self, moved: Sequence[tuple[Any, Any, tuple[int, int, int]]]) -> list[Work]:
        """Launches that advect fields: from, to, parity of each."""
        faces = self.advector
        advector = Advector(faces.v1, faces.v2, faces.v3, self._masses)
        fields = [(x, out, (z < 0, y < 0, along_x < 0)) for x, out, (z, y, along_x) in moved]
        return self._advection.together(fields, advector)

    def mixing(self, dt: float) -> tuple[float, tuple[int, int]]:
        """The largest share of a difference that a closure took in the last step of dt, s, and its k and j."""
        fastest, row = self.tendencies.diffusion.fastest()
        return fastest * dt, row

    def fastest_mixing(self) -> float:
        """The fastest decay that the closure makes of the present wind, 1/s; 0 without one."""
        if self.setup.closure is None:
            return 0.0
        self.device.run(self.tendencies.launches())
        return self.tendencies.diffusion.fastest()[0]

    def forget_time_step(self) -> None:
        """Work out what is implicit anew before the next step."""
        self._dt = 0.0

    def _set_time_step(self, dt: float) -> None:
        """Work out what is implicit for a time step, s."""
        parts = self._rest.implicit(dt, self.setup.coriolis)
        if self._at_rest is None:
            self._at_rest = AtRest(*(self.device.array(parts[name].astype(self._real)) for name in AtRest._fields))
        else:
            for name, array in zip(AtRest._fields, self._at_rest, strict=True):
                self.device.fill(array, parts[name].astype(self._real))
        self.projection.set_coefficients(parts["c11"], parts["c12"], parts["c33"])
        self._dt = dt

    def _over(self, name: str, *arguments: Any, switches: Mapping[str, Any] | None = None) -> Work:
        key = (name, *(switches or {}).values())
        if key not in self._loops:
            known = self._switches | dict(switches or {})
            self._loops[key] = self.device.loop(getattr(kernels, name), self.precision, known)
        return self.device.over(self._loops[key], self.setup.shape, arguments)
