"""Time steps of the anelastic model on several devices, each with a slab of rows.

The halo covers the stencil of a step (`cutting.reach`), so that no exchange is needed before the projection. The halo
rows of the new state are exchanged after the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.exchange import LocalTransport
from eagre.backend.group import BARRIER, Group, Stage
from eagre.decomposition import bands, check_thickness, equal_parts
from eagre.errors import InputError
from eagre.models.anelastic.cutting import cut, cut_metric, cut_rest, cut_setup, reach
from eagre.models.anelastic.diffusion import SHORTEST
from eagre.models.anelastic.kernels import Slopes, Velocity
from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.projection import Projected
from eagre.models.anelastic.projection_bands import ProjectionBands
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.sides import ambient_inflow, inflow_of, set_wind_through
from eagre.models.anelastic.stages import Fields, Stages
from eagre.models.anelastic.step import Place, largest
from eagre.models.anelastic.tendencies import driven
from eagre.several import DeviceMesh, DistributedArray

Array = np.ndarray
FEWEST = 4  # minimum number of rows per device


def devices_of(group: Group, setup: Setup) -> DeviceMesh:
    """Return the devices of a group with their rows.

    Raises
    ------
    InputError
        For more devices than the rows or the modes along x allow.
    """
    (_, ny, nx), count = setup.shape, len(group.members)
    rows = reach(setup)
    check_thickness(group, ny, FEWEST, "rows of points", "bands of 4 rows or more")
    if ny < rows:
        allowed = f"one device, or {rows} rows: as far as a step reaches"
        raise InputError(
            f"{count} devices for {ny} rows of points",
            allowed=allowed,
            fix=f'device = "{group.kind}"',
            problem="The domain has too few rows for the devices.",
        )
    modes = nx // 2 + 1 if setup.boundaries[2] == "periodic" else nx
    if nx == 1 or modes < count:
        allowed = "one device, or as many points along x as two for each: modes along x are dealt out"
        raise InputError(
            f"{count} devices for {nx} points along x",
            allowed=allowed,
            fix=f'device = "{group.kind}"',
            problem="The domain has too few points along x for the devices.",
        )
    wraps = setup.boundaries[1] == "periodic"
    cuts = bands(ny, nx, equal_parts(ny, count), halo=(rows, 0), leading=(0, 0), overlap=True, periodic=(wraps, False))
    return DeviceMesh(group, cuts)


class InflowBands:
    """Inflow values of all devices; see `Inflow`."""

    def __init__(self, devices: DeviceMesh, parts: Sequence[Stages], setup: Setup, rest: RestState) -> None:
        self._devices, self._setup = devices, setup
        self.arrays: dict[str, DistributedArray] = {}
        for name, values in ambient_inflow(setup, rest, list(parts[0].fields.present)).items():
            axis = -1 if name.startswith("inflow_x") else None
            self.arrays[name] = DistributedArray([part.inflow.arrays[name] for part in parts], values.shape, axis)
            self._take(name, values)

    def start(self, fields: Mapping[str, Array]) -> None:
        """Set the inflow values of scalars to their values at open boundaries."""
        for name, values in inflow_of(self._setup, fields).items():
            self._take(name, values)

    def _take(self, name: str, values: Array) -> None:
        self._devices.fill(self.arrays[name], values.astype(self.arrays[name].dtype))


class StepsBands:
    """Time stepping on several devices; see `Steps`.

    Parameters
    ----------
    setup : Setup
    devices : DeviceMesh
    precision : {"single", "double"}
    rest : RestState
    mass : (nz, 1, 1), over terrain (nz, ny, nx)
        Density times Jacobian.
    metric : Metric

    Attributes
    ----------
    parts : list of Stages
        Stages of each device.
    fields : Fields
        Fields of all devices.
    """

    def __init__(
        self, setup: Setup, devices: DeviceMesh, precision: str, rest: RestState, mass: Array, metric: Metric
    ) -> None:
        self.setup, self.devices, self._rest, self.before = setup, devices, rest, 0.0
        real, names = np.float32 if precision == "single" else np.float64, driven(setup, rest)
        even = (mass == 1.0).all()
        self.parts, metrics = [], []
        for rank, member in enumerate(devices.members):
            low, high = devices.held(rank)
            rows = [row % setup.shape[1] for row in range(low, high)]
            own, metrics = cut_setup(setup, rows, low), [*metrics, cut_metric(metric, rows)]
            h = cut(mass, rows)
            full = None if even else member.array((h * np.ones(own.shape)).astype(real))
            slopes = Slopes(**metrics[-1].arrays(member, precision))
            known = (own, member, precision, cut_rest(rest, rows), member.array(h.astype(real)), slopes, metrics[-1])
            self.parts.append(Stages(*known, full, names, devices.inside(rank)))
        self.fields = self._joined()
        self.inflow = InflowBands(devices, self.parts, setup, rest)
        known = (devices, precision, metric, rest.density, self.parts, metrics, self.fields, setup.tolerance)
        self.projection = ProjectionBands(*known)
        set_wind_through(self.projection, setup, rest)
        self._exchanged = self._exchange()
        self._graphs: dict[str, Callable[[], None]] = {}
        self._dt, self._bound = 0.0, 0

    def _joined(self) -> Fields:
        """Return the fields of all devices."""
        all_ = [part.fields for part in self.parts]

        def join(arrays: Sequence[Any]) -> Any:
            return None if arrays[0] is None else DistributedArray(arrays, self.setup.shape, -2)

        def joined(name: str) -> Any:
            ones = [getattr(fields, name) for fields in all_]
            if isinstance(ones[0], Velocity):
                return Velocity(*map(join, zip(*ones, strict=True)))
            if isinstance(ones[0], dict):
                return {key: join([one[key] for one in ones]) for key in ones[0]}
            return join(ones)

        return Fields(**{name: joined(name) for name in Fields.__dataclass_fields__})

    def _exchange(self) -> list[Stage]:
        """Return the stages of the halo exchange of the state."""
        transport, fields = LocalTransport(self.devices.group), self.fields
        taken = {name: array for name, array in fields.kept.items() if not name.startswith(("past_", "drag_"))}
        for name, array in taken.items():
            for rank, part in enumerate(array.parts):
                transport.publish(rank, name, part)
        return [BARRIER, transport.exchange(self.devices.rows.messages(dict.fromkeys(taken, "centre"))), BARRIER]

    # -- steps --------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start the compilation of the kernels of a step."""
        self.set_out(1.0)
        self.devices.prepare([*self._explicit(), *self.projection.launches, self._finish(), self._measures()])

    def step(self, dt: float, time: float = 0.0) -> Projected:
        """See `Steps.step`."""
        self.set_out(dt, time)
        self._run("explicit", self._explicit)
        made = self.projection.find(dt)
        if self._bound != self.projection.bound:
            self._graphs.pop("finish", None)
            self._bound = self.projection.bound
        self._run("finish", lambda: [self.projection.final, self._finish(), *self._exchanged, *self._measured()])
        self.before = dt
        return made

    def take_forces(self, dt: float) -> None:
        """See `Steps.take_forces`."""
        self.devices.run([[[part.without_pressure()] for part in self.parts]])
        self.projection.solve(dt)
        self.devices.run([self._finish(), *self._exchanged])

    def _run(self, name: str, stages: Callable[[], list[Stage]]) -> None:
        """Run stages; GPUs run them as a CUDA graph."""
        if not self.devices.graphs:
            self.devices.run(stages())
            return
        if name not in self._graphs:
            self._graphs[name] = self.devices.repeated(stages(), 1)
        self._graphs[name]()

    def exchange(self) -> None:
        """Exchange the halo rows of the current state."""
        self.devices.run(self._exchanged)

    def set_out(self, dt: float, time: float = 0.0) -> None:
        """See `Steps.set_out`."""
        for part in self.parts:
            part.tendencies.set_time(time, dt)
            part.pace.set(dt, self.before)
            if dt != self._dt:
                part.take_implicit(dt)
        if dt != self._dt:
            parts = self._rest.implicit(dt, self.setup.coriolis)
            self.projection.set_coefficients(parts["c11"], parts["c12"], parts["c33"])
            self._dt = dt

    def _explicit(self) -> list[Stage]:
        return [[part.explicit() for part in self.parts]]

    def _finish(self) -> Stage:
        return [part.finish() for part in self.parts]

    def set_faces(self) -> None:
        """See `Steps.set_faces`; the step computes the fluxes again."""
        self.devices.run([[part.faces() for part in self.parts], *self._measured()])

    def _measured(self) -> list[Stage]:
        """Return launches that compute the Courant numbers of rows; on GPUs the flux kernel computes the maxima."""
        return [] if self.devices.kind == "cuda" else [self._measures()]

    def _measures(self) -> Stage:
        return [[part.measure] for part in self.parts]

    def begin_tendencies(self, names: Sequence[str], time: float) -> None:
        """See `Steps.begin_tendencies`."""
        if names and self.before:
            self.set_out(self.before, time)
            self.devices.run([[part.tendencies.launches() for part in self.parts]])
            for part in self.parts:
                part.take_for_last(names)

    def forget_time_step(self) -> None:
        """Recompute the implicit coefficients before the next step."""
        self._dt = 0.0

    # -- step statistics ----------------------------------------------------------------------------

    def courant(self) -> Place:
        """See `Steps.courant`."""
        if self.devices.kind == "cuda":
            most = max(float(part.device.host(part.advector.most).max()) for part in self.parts)
            if most <= 1.0:
                return most, (0, 0)
            self.devices.run([self._measures()])
        return largest(self._of_rows([part.measured() for part in self.parts]))

    def mixing(self, dt: float) -> Place:
        """See `Steps.mixing`."""
        fastest, row = largest(self._rates())
        return fastest * dt, row

    def fastest_mixing(self) -> float:
        """See `Steps.fastest_mixing`."""
        if self.setup.closure is None:
            return 0.0
        for part in self.parts:
            part.tendencies.diffusion.set_time_step(SHORTEST)
        self.devices.run([[part.tendencies.launches() for part in self.parts]])
        return float(self._rates().max())

    def _rates(self) -> Array:
        return self._of_rows([part.tendencies.diffusion.rates() for part in self.parts])

    def _of_rows(self, found: Sequence[Array]) -> Array:
        """Return values of all rows, (nz, ny), from the values of each device."""
        return np.concatenate([one[:, self.devices.inside(rank)] for rank, one in enumerate(found)], axis=1)
