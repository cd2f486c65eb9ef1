"""Stages of a time step except the projection: fields, their checks, and launches before and after the projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector
from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device, Work
from eagre.kernels.bits import is_bad
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.advector import FaceFluxes
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.forcing.open_boundaries import Inflow
from eagre.models.anelastic.forcing.tendencies import Tendencies
from eagre.models.anelastic.pressure.separable import elementwise
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.step_kernels import ImplicitTerms, Slopes, StepCoefficients, Velocity
from eagre.models.anelastic.subgrid.diffusion import EVEN, PARITY


@cell
def mark_bad(k, j, i, x, flag):
    """Set flag[0] to 1 if x is not finite."""
    if is_bad(x[k, j, i]):
        flag[0] = 1.0


class FiniteCheck:
    """Check of device fields for NaN, infinity and values above 1e30."""

    def __init__(self, device: Device, precision: str, fields: list[Any]) -> None:
        self._device, self._flag = device, device.zeros((1,), np.float64)
        loop = device.loop(mark_bad, precision)
        self._marks = [device.over(loop, tuple(x.shape), (x, self._flag)) for x in fields]

    def are_finite(self) -> bool:
        """Return True if no value is NaN, infinite or above 1e30."""
        self._device.fill(self._flag, np.zeros(1))
        self._device.run(self._marks)
        return float(self._device.host(self._flag)[0]) == 0.0


class PrognosticField(NamedTuple):
    """Prognostic field with implicit forces: name, current values, increment dt/2 R (psi_hat in a step), past value."""

    name: str
    x: Any
    force: Any
    previous: Any


@dataclass(frozen=True, eq=False)
class Fields:
    """State of a run on a device, arrays (nz, ny, nx).

    Attributes
    ----------
    velocity, previous_velocity : Velocity
        v^n and v^(n-1), m/s. Within a step `velocity` holds psi~ and v^.
    forces : Velocity
        Increments dt/2 R of the velocity; within a step v_hat.
    theta, heating
        theta', K, and its increment dt/2 R; None without buoyancy.
    scalars : dict
        Passive scalars by name.
    scratch
        Output array of the advection of a scalar.
    drag : dict
        Explicit tendencies D^n by field name.
    last_drag : dict
        D^(n-1).
    """

    velocity: Velocity
    previous_velocity: Velocity
    forces: Velocity
    theta: Any
    heating: Any
    scalars: dict[str, Any]
    scratch: Any
    drag: dict[str, Any]
    last_drag: dict[str, Any]

    @classmethod
    def zeros(cls, setup: Setup, device: Device, real: Any, forced: Sequence[str]) -> Fields:
        """Return a state of zeros."""

        def zeros() -> Any:
            return device.zeros(setup.shape, real)

        velocity, previous_velocity, forces = (Velocity(zeros(), zeros(), zeros()) for _ in range(3))
        theta, heating = (zeros(), zeros()) if setup.stratified else (None, None)
        scalars = {name: zeros() for name in setup.scalars}
        drag, last_drag = ({name: zeros() for name in forced} for _ in range(2))
        scratch = zeros() if scalars else None
        return cls(velocity, previous_velocity, forces, theta, heating, scalars, scratch, drag, last_drag)

    def prognostic(self) -> list[PrognosticField]:
        """Return the prognostic fields with implicit forces."""
        wind = zip("uvw", self.velocity, self.forces, self.previous_velocity, strict=True)
        fields = [PrognosticField(*one) for one in wind]
        return fields if self.theta is None else [*fields, PrognosticField("theta", self.theta, self.heating, None)]

    @property
    def present(self) -> dict[str, Any]:
        """Current arrays by field name."""
        return {one.name: one.x for one in self.prognostic()} | self.scalars

    @property
    def restart_arrays(self) -> dict[str, Any]:
        """All arrays that the next step reads, by restart name."""
        arrays = dict(self.present)
        arrays |= {f"past_{name}": array for name, array in zip("uvw", self.previous_velocity, strict=True)}
        arrays |= {f"force_{name}": array for name, array in zip("uvw", self.forces, strict=True)}
        if self.heating is not None:
            arrays["force_theta"] = self.heating
        return arrays | {f"drag_{name}": array for name, array in self.last_drag.items()}


class Stages:
    """Launches of a time step except the projection.

    Parameters
    ----------
    setup : Setup
    device : Device
    precision : {"single", "double"}
    base : BaseState
    h : (nz, 1, 1), over terrain (nz, ny, nx), on the device
        Density times Jacobian.
    slopes : Slopes
        Slopes on the device.
    metric : Metric
    masses : (nz, ny, nx) or None, on the device
        h at every point; None if it is 1.
    forced : sequence of str
        Names of the fields with explicit tendencies.
    rows : slice, optional
        Interior rows of a subdomain; all rows by default.

    Attributes
    ----------
    fields : Fields
    is_free : bool
        True if v^ equals v_hat.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, base: BaseState, h: Any, slopes: Slopes, metric: Metric,
        masses: Any, forced: Sequence[str], rows: slice | None = None,
    ) -> None:  # fmt: skip
        self.setup, self.device, self.precision, self.slopes = setup, device, precision, slopes
        self.base = base
        self._real = np.float32 if precision == "single" else np.float64
        self.fields = fields = Fields.zeros(setup, device, self._real, forced)
        self.tendencies = Tendencies(setup, device, precision, base, h, slopes, metric, fields.present, fields.drag)
        self.inflow = Inflow(setup, device, precision, base, list(fields.present))
        self.advector = FaceFluxes(device, precision, setup.shape, h, slopes, setup.boundaries, setup.terrain, rows)
        self.coefficients = StepCoefficients(device, precision, setup.spacing)
        self._switches = {"TERRAIN": setup.terrain, "STRATIFIED": setup.stratified}
        self.is_free = not (setup.stratified or setup.coriolis or setup.top_sponge.any())
        self._advection = plan_of(device, precision, setup.shape, setup.boundaries, setup.advection)
        self._masses = masses
        self._loops: dict[tuple[Any, ...], Any] = {}
        self._at_rest: ImplicitTerms | None = None
        lines = setup.shape[0] * setup.shape[1]
        self._outflow = device.zeros((lines,), self._real)
        loop = device.loop(step_kernels.max_outflow, precision, {"TERRAIN": setup.terrain})
        faces = self.advector
        self.measure = device.over(loop, (lines,), (faces.v1, faces.v2, faces.v3, h, self._outflow))

    def take_implicit(self, dt: float) -> dict[str, np.ndarray]:
        """Set and return the implicit coefficients of a time step, s; see `BaseState.implicit`."""
        entries = self.base.implicit(dt, self.setup.coriolis)
        if self._at_rest is None:
            arrays = (self.device.array(entries[name].astype(self._real)) for name in ImplicitTerms._fields)
            self._at_rest = ImplicitTerms(*arrays)
        else:
            for name, array in zip(ImplicitTerms._fields, self._at_rest, strict=True):
                self.device.fill(array, entries[name].astype(self._real))
        return entries

    def take_for_last(self, names: Sequence[str]) -> None:
        """Copy the explicit tendencies of fields to the previous tendencies."""
        for name in names:
            self.device.copy(self.fields.last_drag[name], self.fields.drag[name])

    @property
    def finite_check(self) -> FiniteCheck:
        """Check of all current fields for finite values."""
        return FiniteCheck(self.device, self.precision, list(self.fields.present.values()))

    def measured(self) -> np.ndarray:
        """Return the maximum outflow Courant number of each row in the last step, (nz, ny), after `measure`."""
        return self.device.host(self._outflow).reshape(self.setup.shape[:2])

    def faces(self) -> list[Work]:
        """Return launches that compute the advecting fluxes."""
        return list(self.advector.launches(self.fields.velocity, self.fields.previous_velocity, self.coefficients))

    def explicit(self, faces_set: bool = False) -> list[Work]:
        """Return launches that overwrite the current fields by v^, and the forces by v_hat and theta_hat."""
        fields, launches = self.fields, [] if faces_set else self.faces()
        prognostic = fields.prognostic()
        launches += self.tendencies.launches()
        launches += [self._forced(one) for one in prognostic]
        launches += self._advect([(one.x, one.force, PARITY.get(one.name, EVEN)) for one in prognostic])
        for one in prognostic:
            launches += self._with_tendency(one.name, one.force)
        for name, x in fields.scalars.items():
            if name in fields.drag:
                launches.append(self._over("add_tendency", x, fields.drag[name], self.coefficients.numbers))
            launches += [*self._advect([(x, fields.scratch, EVEN)]), *self._with_tendency(name, fields.scratch)]
            launches.append(self._over("take", x, fields.scratch))
        return launches if self.is_free else [*launches, self.without_pressure()]

    def without_pressure(self) -> Work:
        """Return a launch that computes v^ from v_hat and theta_hat, stored in the force arrays."""
        fields = self.fields
        heat = fields.forces.w if fields.heating is None else fields.heating
        return self._over("without_pressure", fields.forces, heat, self._at_rest, fields.velocity)

    def _forced(self, one: PrognosticField) -> Work:
        """Return a launch that sets psi~ and the previous velocity."""
        is_driven = one.name in self.fields.drag
        arguments = (one.x, one.force, self.fields.drag.get(one.name, one.x), self.coefficients.numbers)
        if one.previous is None:
            return self._over("add_force", *arguments, switches={"DRIVEN": is_driven})
        if self.device.kind != "cuda":
            return self._over("add_force_to_wind", *arguments, one.previous, switches={"DRIVEN": is_driven})
        return elementwise(self.device, self.precision, is_driven, (*arguments, one.previous))

    def _with_tendency(self, name: str, provisional: Any) -> list[Work]:
        """Return launches that add the explicit tendency at the end of the step, and set inflow values."""
        fields, faces = self.fields, self.advector
        launches: list[Work] = []
        if name in fields.drag:
            arguments = (provisional, fields.drag[name], fields.last_drag[name], self.coefficients.numbers)
            launches.append(self._over("add_drag", *arguments))
        return launches + self.inflow.launches(name, provisional, Advector(faces.v1, faces.v2, faces.v3))

    def finish(self) -> list[Work]:
        """Return launches that compute theta' and its increment from v^(n+1); the projection updates the velocity."""
        fields = self.fields
        if fields.theta is None:
            return []
        return [self._over("finish_theta", fields.theta, fields.heating, fields.velocity.w, self._at_rest)]

    def _advect(self, prognostic: Sequence[tuple[Any, Any, tuple[int, int, int]]]) -> list[Work]:
        """Return launches that advect fields, given as (source, target, parity)."""
        faces = self.advector
        advector = Advector(faces.v1, faces.v2, faces.v3, self._masses)
        fields = [(x, out, (z < 0, y < 0, along_x < 0)) for x, out, (z, y, along_x) in prognostic]
        return self._advection.together(fields, advector)

    def _over(self, name: str, *arguments: Any, switches: Mapping[str, Any] | None = None) -> Work:
        key = (name, *(switches or {}).values())
        if key not in self._loops:
            known = self._switches | dict(switches or {})
            self._loops[key] = self.device.loop(getattr(step_kernels, name), self.precision, known)
        return self.device.over(self._loops[key], self.setup.shape, arguments)
