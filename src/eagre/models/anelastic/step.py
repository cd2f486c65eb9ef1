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

from typing import Any

import numpy as np

from eagre.backend.device import Device, Work
from eagre.models.anelastic import kernels
from eagre.models.anelastic.advector import Advector
from eagre.models.anelastic.kernels import AtRest, Axis, Slopes, Velocity
from eagre.models.anelastic.projection import Projection
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup
from eagre.stepping.until import Iterated

PARITY = {"u": (1, 1, -1), "v": (1, -1, 1), "w": (-1, 1, 1), "theta": (1, 1, 1)}
"""Signs of the mirror images of a field beyond walls of z, y and x."""


class Fields:
    """The state of a run on a device.

    Attributes
    ----------
    now, past : Velocity
        v^n, and v^(n-1), whose arrays the step works in.
    forces : Velocity
        Half forces dt/2 R of the velocity.
    theta, heating : (nz, ny, nx)
        theta', K, and its half force.
    phi : (nz, ny, nx), m2/s
    scalars, spare : lists of (nz, ny, nx)
        Passive scalars, and arrays that they are advected to.
    drag, last_drag : lists of (nz, ny, nx)
        Explicit tendencies D^n and D^(n-1) of u, v, w and theta'; none without viscosity.
    """

    def __init__(self, setup: Setup, device: Device, real: Any) -> None:
        def zeros() -> Any:
            return device.zeros(setup.shape, real)

        self.now, self.past, self.forces = (Velocity(zeros(), zeros(), zeros()) for _ in range(3))
        self.theta, self.heating = (zeros(), zeros()) if setup.stratified else (None, None)
        self.phi = zeros()
        self.scalars = [zeros() for _ in setup.scalars]
        self.spare = [zeros() for _ in setup.scalars]
        count = 3 + setup.stratified if setup.viscous else 0
        self.drag, self.last_drag = ([zeros() for _ in range(count)] for _ in range(2))

    def turn(self) -> None:
        """What was worked out becomes the present."""
        self.now, self.past = self.past, self.now
        self.scalars, self.spare = self.spare, self.scalars
        self.drag, self.last_drag = self.last_drag, self.drag

    def moved(self) -> list[tuple[str, Any, Any]]:
        """Name, present and half force of every field that forces act on."""
        found = list(zip("uvw", self.now, self.forces, strict=True))
        return found if self.theta is None else [*found, ("theta", self.theta, self.heating)]


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
    projection : Projection

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
        projection: Projection,
    ) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self._rest, self._h, self._stretch, self._projection = rest, h, slopes.stretch, projection
        self._real = np.float32 if precision == "single" else np.float64
        self.fields = Fields(setup, device, self._real)
        periodic = tuple(side == "periodic" for side in setup.sides)
        self._periodic = (periodic[0], periodic[1], periodic[2])
        known = (setup.shape, h, slopes, setup.spacing, self._periodic, setup.terrain)
        self.advector = Advector(device, precision, *known)
        self._switches = {"TERRAIN": setup.terrain, "VISCOUS": setup.viscous, "STRATIFIED": setup.stratified}
        self._at_rest: AtRest | None = None
        self._dt = 0.0  # of `_at_rest`
        self.before = 0.0

    def step(self, dt: float) -> Iterated:
        """Make a step of dt seconds; returns the iterations of the pressure problem, and what is left of dt div."""
        fields, device = self.fields, self.device
        if dt != self._dt:
            self._set_time_step(dt)
        before = self.before or dt
        device.run(self.explicit(dt, before))
        made = self._projection.solve(fields.past, fields.phi)
        device.run(self.finish())
        fields.turn()
        self.before = dt
        return made

    def explicit(self, dt: float, before: float) -> list[Work]:
        """Launches from the present to v^, in the arrays of the past, and theta_hat, in that of the heating."""
        fields, half = self.fields, self._real(0.5 * dt)
        scale, ratio = self._real(dt / before), 0.5 * dt / before
        found: list[Work] = list(self.advector.launches(fields.now, fields.past, dt, ratio))
        found += self.drag(fields.now, fields.theta, fields.drag)
        targets = [*fields.past, fields.theta]
        hats, moved = [*fields.forces, fields.heating], fields.moved()
        drags = fields.drag or [None] * len(moved)
        for (_, x, force), drag, out in zip(moved, drags, targets, strict=False):
            found.append(self._over("add_force", x, force, x if drag is None else drag, half, scale, out))
        for (name, _, _), x, hat in zip(moved, targets, hats, strict=False):
            found += self._advect(x, hat, PARITY[name])
        for x, out in zip(fields.scalars, fields.spare, strict=True):
            found += self._advect(x, out, PARITY["theta"])
        for hat, drag, last in zip(hats, fields.drag, fields.last_drag if self.before else fields.drag, strict=False):
            found.append(self._over("add_drag", hat, drag, last, half, scale))
        heat = fields.forces.w if fields.heating is None else fields.heating
        return [*found, self._over("without_pressure", fields.forces, heat, self._at_rest, fields.past)]

    def finish(self) -> list[Work]:
        """Launches from v^(n+1), in the arrays of the past, to theta' and the half forces."""
        fields = self.fields
        found: list[Work] = [self._over("finish_velocity", fields.past, fields.forces)]
        if fields.theta is not None:
            found.append(self._over("finish_theta", fields.theta, fields.heating, fields.past.w, self._at_rest))
        return found

    def drag(self, v: Velocity, theta: Any, out: list[Any]) -> list[Work]:
        """Launches that set the explicit tendencies of u, v, w and theta'."""
        setup, found = self.setup, []
        if not out:
            return found
        for name, x, target in zip(PARITY, (*v, theta), out, strict=False):
            viscosity = setup.diffusivity if name == "theta" else setup.viscosity
            axes = [
                Axis(self._real(viscosity / d**2 if n > 1 else 0.0), int(wraps), self._real(sign))
                for n, d, wraps, sign in zip(setup.shape, setup.spacing, self._periodic, PARITY[name], strict=True)
            ]
            arguments = (self._h, self._stretch, *reversed(axes))
            found.append(self._over("viscous", x, *arguments, target))
        return found

    def _advect(self, x: Any, out: Any, parity: tuple[int, int, int]) -> list[Work]:
        advector = self.advector
        return self._advection.launches(x, out, advector.v1, advector.v2, advector.v3, parity)

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
        self._projection.set_coefficients(parts["c11"], parts["c12"], parts["c33"], dt)
        self._dt = dt

    def _over(self, name: str, *arguments: Any) -> Work:
        loop = self.device.loop(getattr(kernels, name), self.precision, self._switches)
        return self.device.over(loop, self.setup.shape, arguments)
