"""Time steps of the anelastic model on several devices, each with a slab of rows.

The halo covers the stencil of a step (`halo_rows`), so that no exchange is needed before the projection. The
halo rows of the new state are exchanged after the step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.group import BARRIER, Group, Stage
from eagre.decomposition import bands, check_thickness, equal_parts
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.errors import InputError
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.devices.projection_subdomains import (
    DistributedProjection,
    halo_rows,
    rows_held,
    rows_of,
    subdomain_base_state,
    subdomain_metric,
    subdomain_setup,
)
from eagre.models.anelastic.forcing.open_boundaries import ambient_inflow, inflow_of, set_wind_through
from eagre.models.anelastic.forcing.tendencies import forced_fields
from eagre.models.anelastic.pressure.projection import Projected
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stages import Fields, Stages
from eagre.models.anelastic.step import MaxLocation, max_location
from eagre.models.anelastic.step_kernels import Slopes, Velocity
from eagre.models.anelastic.subgrid.diffusion import SHORTEST

Array = np.ndarray
FEWEST = 4  # minimum number of rows per device


def devices_of(group: Group, setup: Setup) -> DeviceMesh:
    """Return the devices of a group with their rows.

    Raises
    ------
    InputError
        For more devices than the rows or the modes along x allow.
    """
    (_, ny, nx), count = setup.shape, len(group.devices)
    rows = halo_rows(setup)
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
    periodic = (setup.boundaries[1] == "periodic", False)
    row_slabs = bands(ny, nx, equal_parts(ny, count), halo=(rows, 0), leading=(0, 0), overlap=True, periodic=periodic)
    return DeviceMesh(group, row_slabs)


class DistributedInflow:
    """Inflow values of all devices; see `Inflow`."""

    def __init__(self, devices: DeviceMesh, stages: Sequence[Stages], setup: Setup, base: BaseState) -> None:
        self._devices, self._setup = devices, setup
        self.arrays: dict[str, DistributedArray] = {}
        for name, values in ambient_inflow(setup, base, list(stages[0].fields.present)).items():
            axis = -1 if name.startswith("inflow_x") else None
            self.arrays[name] = DistributedArray([local.inflow.arrays[name] for local in stages], values.shape, axis)
            self._take(name, values)

    def start(self, fields: Mapping[str, Any], plane: Callable[[Any, int, int], Array]) -> None:
        """Set the inflow values of scalars to their values at open boundaries; see `inflow_of`."""
        for name, values in inflow_of(self._setup, fields, plane).items():
            self._take(name, values)

    def _take(self, name: str, values: Array) -> None:
        self._devices.fill(self.arrays[name], values.astype(self.arrays[name].dtype))


class DistributedSteps:
    """Time stepping on several devices; see `Steps`.

    Parameters
    ----------
    setup : Setup
    devices : DeviceMesh
    precision : {"single", "double"}
    base : BaseState
    mass : (nz, 1, 1), over terrain (nz, ny, nx)
        Density times Jacobian.
    metric : Metric

    Attributes
    ----------
    stages : list of Stages
        Stages of each device.
    fields : Fields
        Fields of all devices.
    """

    def __init__(
        self, setup: Setup, devices: DeviceMesh, precision: str, base: BaseState, mass: Array, metric: Metric
    ) -> None:
        self.setup, self.devices, self._base, self.previous_dt = setup, devices, base, 0.0
        real, names = np.float32 if precision == "single" else np.float64, forced_fields(setup, base)
        even = (mass == 1.0).all()
        self.stages, metrics = [], []
        for rank, device in enumerate(devices.devices):
            low, high = devices.held(rank)
            rows = [row % setup.shape[1] for row in range(low, high)]
            held = rows_held(device, rows)
            local_setup, metrics = subdomain_setup(setup, rows, low), [*metrics, subdomain_metric(metric, rows, held)]
            h = rows_of(mass, held)
            full = None if even else device.array(np.broadcast_to(h.astype(real), local_setup.shape))
            slopes = Slopes(**metrics[-1].arrays(device, precision))
            local_base, mass_array = subdomain_base_state(base, held), device.array(h.astype(real))
            known = (local_setup, device, precision, local_base, mass_array, slopes, metrics[-1])
            self.stages.append(Stages(*known, full, names, devices.inside(rank)))
        self.fields = self._joined()
        self.inflow = DistributedInflow(devices, self.stages, setup, base)
        known = (devices, precision, metric, base.density, self.stages, metrics, self.fields, setup.tolerance)
        self.projection = DistributedProjection(*known)
        set_wind_through(self.projection, setup, base)
        self._exchanged = self._exchange()
        self._graphs: dict[str, Callable[[], None]] = {}
        self._dt, self._bound = 0.0, 0

    def _joined(self) -> Fields:
        """Return the fields of all devices."""
        all_ = [local.fields for local in self.stages]

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
        transport, fields = self.devices.group.transport(), self.fields
        arrays = fields.restart_arrays.items()
        exchanged = {name: array for name, array in arrays if not name.startswith(("past_", "drag_"))}
        for name, array in exchanged.items():
            for rank, local in enumerate(array.parts):
                transport.publish(rank, name, local)
        return [BARRIER, transport.exchange(self.devices.rows.messages(dict.fromkeys(exchanged, "centre"))), BARRIER]

    # -- steps --------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start the compilation of the kernels of a step."""
        self.set_out(1.0)
        self.devices.prepare([*self._explicit(), *self.projection.launches, self._finish(), self._measures()])

    def step(self, dt: float, time: float = 0.0) -> Projected:
        """See `Steps.step`."""
        self.set_out(dt, time)
        self._run("explicit", self._explicit)
        result = self.projection.find(dt)
        if self._bound != self.projection.bound:
            self._graphs.pop("finish", None)
            self._bound = self.projection.bound
        self._run("finish", lambda: [self.projection.final, self._finish(), *self._exchanged, *self._measured()])
        self.previous_dt = dt
        return result

    def take_forces(self, dt: float) -> None:
        """See `Steps.take_forces`."""
        self.devices.run([[[local.without_pressure()] for local in self.stages]])
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
        for local in self.stages:
            local.tendencies.set_time(time, dt)
            local.coefficients.set(dt, self.previous_dt)
            if dt != self._dt:
                local.take_implicit(dt)
        if dt != self._dt:
            entries = self._base.implicit(dt, self.setup.coriolis)
            self.projection.set_coefficients(entries["c11"], entries["c12"], entries["c33"])
            self._dt = dt

    def _explicit(self) -> list[Stage]:
        return [[local.explicit() for local in self.stages]]

    def _finish(self) -> Stage:
        return [local.finish() for local in self.stages]

    def set_faces(self) -> None:
        """See `Steps.set_faces`; the step computes the fluxes again."""
        self.devices.run([[local.faces() for local in self.stages], *self._measured()])

    def _measured(self) -> list[Stage]:
        """Return launches that compute the Courant numbers of rows; on GPUs the flux kernel computes the maxima."""
        return [] if self.devices.kind == "cuda" else [self._measures()]

    def _measures(self) -> Stage:
        return [[local.measure] for local in self.stages]

    def begin_tendencies(self, names: Sequence[str], time: float) -> None:
        """See `Steps.begin_tendencies`."""
        if names and self.previous_dt:
            self.set_out(self.previous_dt, time)
            self.devices.run([[local.tendencies.launches() for local in self.stages]])
            for local in self.stages:
                local.take_for_last(names)

    def forget_time_step(self) -> None:
        """Recompute the implicit coefficients before the next step."""
        self._dt = 0.0

    # -- step statistics ----------------------------------------------------------------------------

    def courant(self) -> MaxLocation:
        """See `Steps.courant`."""
        if self.devices.kind == "cuda":
            each = self.devices.group.host_of_each([local.advector.partial_maxima for local in self.stages])
            max_courant = max(float(values.max()) for values in each)
            if max_courant <= 1.0:
                return max_courant, (0, 0)
            self.devices.run([self._measures()])
        return max_location(self._of_rows([local.measured() for local in self.stages]))

    def mixing(self, dt: float) -> MaxLocation:
        """See `Steps.mixing`."""
        fastest, row = max_location(self._rates())
        return fastest * dt, row

    def fastest_mixing(self) -> float:
        """See `Steps.fastest_mixing`."""
        if self.setup.closure is None:
            return 0.0
        for local in self.stages:
            local.tendencies.diffusion.set_time_step(SHORTEST)
        self.devices.run([[local.tendencies.launches() for local in self.stages]])
        return float(self._rates().max())

    def _rates(self) -> Array:
        return self._of_rows([local.tendencies.diffusion.rates() for local in self.stages])

    def _of_rows(self, values: Sequence[Array]) -> Array:
        """Return values of all rows, (nz, ny), from the values of each device."""
        return np.concatenate([one[:, self.devices.inside(rank)] for rank, one in enumerate(values)], axis=1)
