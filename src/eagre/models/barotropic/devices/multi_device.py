"""Multi-device engine: row slabs, one per device (decision 0023).

A slab is a box whose south and north boundary points are halo rows or walls. Each step has three stages with a
barrier between them:

1. local work: update, sine transform of the rows and local solution of the tridiagonal systems along columns, whose
   first and last rows are stored for the exchange;
2. exchange of the first and last rows of all slabs and of the halo rows of vorticity; correction of the columns
   and inverse transform;
3. exchange of the halo rows of the streamfunction; wall boundary conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.exchange import Message
from eagre.backend.group import BARRIER, Group, Stage, in_sequence
from eagre.decomposition import bands, check_thickness, extreme, total
from eagre.errors import InputError
from eagre.models.barotropic.engine import Engine, Steps
from eagre.models.barotropic.inversion import CpuBox, CudaBox, Launches
from eagre.models.barotropic.sampling.averaging import StepAverages
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stages import Stages
from eagre.models.barotropic.state import State
from eagre.models.barotropic.update import reference
from eagre.models.barotropic.update.kernel_sets import kernel_set
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.devices.interfaces import CpuInterfaces, CudaInterfaces
from eagre.solvers.poisson.devices.slabs import slab_heights
from eagre.stepping.maps import join_maps, maps_of_rows

MIN_ROWS = 4  # minimum number of rows per slab


class Subdomain:
    """Slab of one device: rows first .. first + rows - 1 of the unknowns (row 0 is the southern wall)."""

    def __init__(self, setup: Setup, device: Device, precision: str, index: int, heights: list[int]) -> None:
        self.first, self.rows = 1 + sum(heights[:index]), heights[index]
        rows = self.row_range
        bed = None if setup.topography is None else setup.topography[rows]
        grid = replace(setup.grid, ny=self.rows + 2, y0=setup.grid.y0 + (self.first - 1) * setup.grid.dy)
        self.setup = setup = replace(
            setup, grid=grid, curl=setup.curl[rows], topography=bed, rows=(rows.start, rows.stop)
        )
        self.kernels = kernel_set(setup, device, precision)
        assert isinstance(self.kernels.inversion, CpuBox | CudaBox)
        self.fields = State(setup, device, precision, separate_psi=self.kernels.separate_psi)
        self._inversion = self.kernels.inversion
        self._stages = Stages(self.fields, self.kernels, (index == 0, index == len(heights) - 1))
        self._layers = range(self.fields.count)
        self.interfaces = [self._interface_system(layer, index, heights) for layer in self._layers]
        self.averages = StepAverages(self.fields)
        self.fields.set_weights()

    @property
    def row_range(self) -> slice:
        """Rows of a global field on this device, including walls or halo rows."""
        return slice(self.first - 1, self.first + self.rows + 1)

    def _screening(self, layer: int) -> float:
        """Return the Helmholtz term of a layer, or of a vertical mode with two layers."""
        return self.setup.screening if self.setup.layers is None else self.setup.layers.inverse_radius_squared(layer)

    def _interface_system(self, layer: int, index: int, heights: list[int]) -> CpuInterfaces:
        grid, inversion = self.setup.grid, self._inversion
        device, precision = self.fields.device, self.fields.precision
        problem = (index, heights, grid.nx - 1, grid.dx, grid.dy, self._screening(layer))
        if isinstance(inversion, CudaBox):
            return CudaInterfaces(device, precision, *problem, tiles=inversion.box.tiles)
        return CpuInterfaces(device, precision, *problem)

    def _work(self, new: int) -> list[Any]:
        return [self._inversion.work(layer, self.fields.psi[layer][new]) for layer in self._layers]

    def local_work(self, old: int, update: bool = True) -> Launches:
        """Return the launches of the local stage from buffers `old`; update : False to use the stored vorticity."""
        new, work = (1 - old if update else old), self._work(1 - old if update else old)
        launches = self._stages.update(old) if update else self._stages.tracer_boundary(old)
        if not (update and self.kernels.transforms):
            for layer in self._layers:
                launches += self._inversion.forward(layer, self._stages.solved(new)[layer])
        launches += self._stages.modes(work, reference.to_modes)
        for layer, interface in enumerate(self.interfaces):
            launches += self._inversion.solve(layer, work[layer], self._screening(layer), walls=False)
            launches += interface.leave(work[layer])
        return launches

    def join_ends(self, new: int) -> Launches:
        """Return the launches that need the first and last rows of all slabs."""
        launches, work = [], self._work(new)
        for interface, field in zip(self.interfaces, work, strict=True):
            launches += interface.join(field)
        launches += self._stages.modes(work, reference.from_modes)
        return launches + self._inversion.backward([self.fields.psi[layer][new] for layer in self._layers])

    def finish(self, new: int) -> Launches:
        """Return the launches that need the halo rows of the streamfunction."""
        return self._stages.boundary(new)

    def after_step(self, new: int) -> Launches:
        """Return the launches at the end of a step."""
        return self.averages.after_step(new)

    def arrays(self, name: str, buffer: int) -> list[Any]:
        """Return the arrays "q" or "psi" of all layers, "tracer", or the column "ends" of all layers."""
        if name == "ends":
            return [interface.ends for interface in self.interfaces]
        fields = [self.fields.tracer] if name == "tracer" else getattr(self.fields, name)
        return [pair[buffer] for pair in fields]

    def start_from(self, q: list[np.ndarray], tracer: np.ndarray | None) -> None:
        """Load global fields at points, (ny, nx), including walls, and clear the stored tendencies."""
        self.fields.begin([values[self.row_range] for values in q])
        if tracer is not None:
            self.fields.fill(self.fields.tracer[0], tracer[self.row_range])


class MultiDeviceEngine:
    """Multi-device engine with the interface of `Engine`; results are assembled on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        check_multi_device(setup, group, precision)
        heights = slab_heights(setup.inner[0], len(group.devices))
        # Cells are the rows of unknowns; every slab has one boundary row on each side.
        self.decomposition = bands(sum(heights), setup.grid.nx, heights, halo=(1, 0), leading=(1, 0))
        self.transport = group.transport()
        self.subdomains = [Subdomain(setup, group.devices[k], precision, k, heights) for k in range(len(heights))]
        self._states = [subdomain.fields for subdomain in self.subdomains]
        self.count, self.kernels = self._states[0].count, self.subdomains[0].kernels
        self.values_per_update = self._states[0].values_per_update
        self.launches = [self._step(0), self._step(1)]
        self.advance = Steps(group, self._states, self.launches).advance

    def _step(self, old: int) -> list[Stage]:
        """Return the schedule of a step from buffers `old` to the others; no barrier is needed at the start."""
        last = (
            [[subdomain.after_step(1 - old) for subdomain in self.subdomains]]
            if self.setup.time_statistics is not None
            else []
        )
        return [[subdomain.local_work(old) for subdomain in self.subdomains], *self._inverted(1 - old), *last]

    def _inverted(self, new: int) -> list[Stage]:
        names = ("q",) if self.setup.diffusivity is None else ("q", "tracer")
        joined = in_sequence(self._exchange(new, "ends", *names), [one.join_ends(new) for one in self.subdomains])
        closed = in_sequence(self._exchange(new, "psi"), [one.finish(new) for one in self.subdomains])
        return [BARRIER, joined, BARRIER, closed]

    def _exchange(self, buffer: int, *names: str) -> Stage:
        """Return the exchange of column ends and of halo rows of fields in buffers `buffer`."""
        messages: list[Message] = []
        for name in names:
            fields = [f"{name}{layer}" for layer in range(len(self.subdomains[0].arrays(name, buffer)))]
            for rank, subdomain in enumerate(self.subdomains):
                for field, array in zip(fields, subdomain.arrays(name, buffer), strict=True):
                    self.transport.publish(rank, field, array)
            if name == "ends":
                messages += [t for field in fields for t in self._ends_of_all(field)]
            else:
                messages += self.decomposition.messages(dict.fromkeys(fields, "centre"))
        return self.transport.exchange(messages)

    def _ends_of_all(self, field: str) -> list[Message]:
        ranks, ends = (
            range(len(self.subdomains)),
            [(subdomain.interfaces[0].local_rows,) for subdomain in self.subdomains],
        )
        return [Message(field, k, target, ends[k], ends[k]) for target in ranks for k in ranks if k != target]

    @property
    def steps(self) -> int:
        """Number of completed steps."""
        return self._states[0].steps

    def set_weights(self) -> None:
        """Set the Adams-Bashforth weights of the next step."""
        for subdomain in self._states:
            subdomain.set_weights()

    def use_wind(self, steps: int, start: float) -> None:
        """See `Wind.use`."""
        for subdomain in self._states:
            subdomain.wind.use(steps, start)

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None = None, particles: None = None) -> None:
        """Set potential vorticities at points, (ny, nx), and compute psi."""
        for subdomain in self.subdomains:
            subdomain.start_from([np.pad(values[1:-1, 1:-1], 1) for values in q], tracer)
        self.device.synchronize()
        self.device.run([[subdomain.local_work(0, update=False) for subdomain in self.subdomains], *self._inverted(0)])
        self.device.synchronize()
        self.set_weights()

    # -- interface of the model ---------------------------------------------------------------------

    def padded(self, name: str, layer: int = 0) -> np.ndarray:
        """Return a field on the host, (ny, nx); in a box boundary points are grid points."""
        self.device.synchronize()
        return _gathered([subdomain.padded(name, layer) for subdomain in self._states])

    points = padded

    @property
    def particle_positions(self) -> np.ndarray:
        """Empty particle positions, (2, 0): particles are not supported."""
        return np.empty((2, 0))

    def pad(self, points: np.ndarray) -> np.ndarray:
        """Return values at points unchanged: in a box boundary points are grid points."""
        return points

    def state(self) -> dict[str, np.ndarray]:
        """Return the state in the format of one device; a restart may use another number of devices."""
        self.device.synchronize()
        each = [state.state() for state in self._states]
        return {"steps": each[0]["steps"]} | {
            name: _gathered([state[name] for state in each]) for name in each[0] if name != "steps"
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state of `state`."""
        for subdomain in self.subdomains:
            local = {
                name: value[subdomain.row_range] if np.ndim(value) == 2 else value for name, value in state.items()
            }
            subdomain.fields.restore(local)
        self.set_weights()

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the time statistics in the format of one device."""
        self.device.synchronize()
        each, last = [subdomain.averages.state() for subdomain in self.subdomains], len(self.subdomains) - 1
        rows = [(rank > 0, subdomain.rows + 1 + (rank == last)) for rank, subdomain in enumerate(self.subdomains)]
        return join_maps([one | maps_of_rows(one, *row_range) for one, row_range in zip(each, rows, strict=True)])

    def resume_maps(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Load time statistics in the format of one device."""
        for one in self.subdomains:
            one.averages.take_over({**state, **maps_of_rows(state, one.row_range.start, one.row_range.stop)}, time)

    def integrals(self) -> dict[str, float]:
        """See `State.integrals`."""
        self.device.synchronize()
        each = [one.integrals() for one in self._states]
        integrals = {name: total([one[name] for one in each]) for name in ("energy", "enstrophy")}
        rows = [subdomain.rows for subdomain in self.subdomains]
        integrals["mean_vorticity"] = float(np.average([one["mean_vorticity"] for one in each], weights=rows))
        for name, of in (("max_streamfunction", max), ("min_streamfunction", min), ("max_vorticity", max)):
            integrals[name] = extreme([one[name] for one in each], of)
        return integrals

    def speeds(self) -> tuple[float, float]:
        """See `State.speeds`."""
        self.device.synchronize()
        u, v = zip(*(subdomain.speeds() for subdomain in self._states), strict=True)
        return max(u), max(v)


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """Return the engine of a run on one or several devices."""
    return (
        MultiDeviceEngine(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)
    )


def _gathered(slabs: list[np.ndarray]) -> np.ndarray:
    """Return the rows of all slabs as one array, (ny, nx), without halo rows and with walls."""
    return np.concatenate([slabs[0][:1], *(slab[1:-1] for slab in slabs), slabs[-1][-1:]])


def check_multi_device(setup: Setup, group: Group, precision: str) -> None:
    """Raise `InputError` for options that several devices do not support."""
    without = {
        f'basin = "{setup.basin}"': setup.basin != "box",
        'viscosity_scheme = "implicit"': setup.implicit,
        'kernels = "reference"': setup.kernels == "reference",
        "biharmonic_viscosity": setup.biharmonic > 0.0,
        "particles": setup.particles > 0,
    }
    unsupported = [name for name, active in without.items() if active]
    if unsupported:
        raise InputError(
            f"{len(group.devices)} devices for one run with {', '.join(unsupported)}",
            allowed="several devices for a box, explicit viscosity, no biharmonic_viscosity and no particles",
            fix=f'device = "{group.kind}"',
        )
    rows, count = setup.inner[0], len(group.devices)
    check_thickness(group, rows, MIN_ROWS, "rows between the walls", f"{MIN_ROWS} rows or more each")
    tallest = max(slab_heights(rows, count))
    if group.kind == "cuda" and not Box.serves(group.devices[0], setup.grid.nx - 1, tallest + 1, precision):
        raise InputError(
            f"{setup.grid.nx} points along x and {tallest} rows on each of {count} GPUs",
            allowed="rows of up to 3073 points (more for the sizes of sine_plan.py), 4095 of them on a GPU",
            fix=f'device = "{group.kind}"',
        )
