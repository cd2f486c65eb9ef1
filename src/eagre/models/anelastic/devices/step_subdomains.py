"""Set-up of time steps on several devices, each with a slab of rows whose halo covers the stencil of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.group import BARRIER, Group, Stage
from eagre.decomposition import bands, check_thickness, equal_parts
from eagre.device_mesh import DeviceMesh, DistributedArray
from eagre.errors import InputError
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric, mean_of_sums
from eagre.models.anelastic.devices.projection_subdomains import (
    DistributedProjection,
    halo_rows,
    rows_held,
    subdomain_metric,
    subdomain_setup,
)
from eagre.models.anelastic.forcing.open_boundaries import ambient_inflow, inflow_of
from eagre.models.anelastic.forcing.tendencies import forced_fields
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stages import Fields, Stages
from eagre.models.anelastic.step import Steps
from eagre.models.anelastic.step_kernels import Slopes, Velocity

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


def distributed_steps(setup: Setup, devices: DeviceMesh, precision: str, base: BaseState, metric: Metric) -> Steps:
    """Return the time stepping on several devices.

    Parameters
    ----------
    setup : Setup
    devices : DeviceMesh
    precision : {"single", "double"}
    base : BaseState
    metric : Metric
    """
    real, group = np.float32 if precision == "single" else np.float64, devices.group
    setups, metrics, bases = subdomains_of(setup, devices, metric)
    masses = [local.density * one.jacobian for local, one in zip(bases, metrics, strict=True)]
    mean = _mean_mass(devices, masses, setup.shape)
    masses = [mass / mean for mass in masses]
    even = all(group.each(lambda rank: bool((masses[rank] == 1.0).all())))
    forced = set().union(*group.each(lambda rank: forced_fields(setups[rank], bases[rank])))
    names = tuple(name for name in ("u", "v", "w", "theta", *setup.scalars) if name in forced)
    stages = []
    for rank, device in enumerate(devices.devices):
        h = masses[rank].astype(real)
        full = None if even else device.array(np.broadcast_to(h, setups[rank].shape))
        slopes = Slopes(**metrics[rank].arrays(device, precision))
        known = (setups[rank], device, precision, bases[rank], device.array(h), slopes, metrics[rank])
        stages.append(Stages(*known, full, names, devices.inside(rank)))
    fields = joined_fields([local.fields for local in stages], setup.shape)
    inflow = DistributedInflow(devices, stages, setup, base)
    known = (devices, precision, metric, lambda axis: base.at_ends(axis).density, stages, metrics, fields)
    projection = DistributedProjection(*known, setup.tolerance)
    return Steps(setup, devices, base, stages, fields, inflow, projection, exchange_of(devices, fields))


def subdomains_of(
    setup: Setup, devices: DeviceMesh, metric: Metric
) -> tuple[list[Setup], list[Metric], list[BaseState]]:
    """Return the configuration, the metric and the base state of each device; see `rows_held`."""
    setups, metrics, held_setups = [], [], []
    for rank, device in enumerate(devices.devices):
        low, high = devices.held(rank)
        rows = [row % setup.shape[1] for row in range(low, high)]
        setups.append(subdomain_setup(setup, rows, low))
        metrics.append(subdomain_metric(metric, rows, rows_held(device, rows)))
        held_setups.append(subdomain_setup(setup, rows_held(device, rows), low))
    coldest = min(devices.group.each(lambda rank: BaseState(held_setups[rank]).coldest))
    return setups, metrics, [BaseState(one, coldest) for one in held_setups]


def _mean_mass(devices: DeviceMesh, masses: Sequence[Array], shape: tuple[int, int, int]) -> float:
    """Return the mean of a field of which each device has its rows, or of a profile."""
    if masses[0].shape[1:] == (1, 1):
        return float(masses[0].mean())
    return mean_of_sums(devices.group.each(lambda rank: masses[rank].sum(axis=2)[:, devices.inside(rank)]), shape[2])


def joined_fields(each: Sequence[Fields], shape: tuple[int, ...]) -> Fields:
    """Return the fields of all devices; shape : of the global grid."""

    def join(arrays: Sequence[Any]) -> Any:
        return None if arrays[0] is None else DistributedArray(arrays, shape, -2)

    def joined(name: str) -> Any:
        ones = [getattr(fields, name) for fields in each]
        if isinstance(ones[0], Velocity):
            return Velocity(*map(join, zip(*ones, strict=True)))
        if isinstance(ones[0], dict):
            return {key: join([one[key] for one in ones]) for key in ones[0]}
        return join(ones)

    return Fields(**{name: joined(name) for name in Fields.__dataclass_fields__})


def exchange_of(devices: DeviceMesh, fields: Fields) -> list[Stage]:
    """Return the stages of the halo exchange of the state."""
    transport, arrays = devices.group.transport(), fields.restart_arrays.items()
    exchanged = {name: array for name, array in arrays if not name.startswith(("past_", "drag_"))}
    for name, array in exchanged.items():
        for rank, local in enumerate(array.parts):
            transport.publish(rank, name, local)
    return [BARRIER, transport.exchange(devices.rows.messages(dict.fromkeys(exchanged, "centre"))), BARRIER]
