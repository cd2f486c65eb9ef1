"""Engine of the barotropic model: steps on one device, several devices or several processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import Group
from eagre.decomposition import bands, check_thickness, extreme, total
from eagre.errors import InputError
from eagre.models.barotropic.kernels import ELSEWHERE
from eagre.models.barotropic.sampling.averaging import StepAverages
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stages import Stages
from eagre.models.barotropic.state import State
from eagre.models.barotropic.step import start, step
from eagre.models.barotropic.update.kernel_sets import FUSIONS, kernel_set
from eagre.runtime.runtime import Runtime
from eagre.runtime.stage import Stage, fused
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.slabs import Slab, slab_heights
from eagre.stepping.maps import NUMBERS, join_rows, maps_of_rows
from eagre.stepping.step_graphs import StepGraphs

MIN_ROWS = 4  # minimum number of rows per device
PAIR = (2, 1)  # steps per batch without CUDA graphs: a pair that returns to the same buffers, or one


class Subdomain:
    """Rows of the basin on one device: arrays, kernels and stages.

    With several devices each has a row slab: a box whose south and north boundary points are halo rows or walls
    (decision 0023).

    Attributes
    ----------
    rows : slice
        Rows of a global field on the device, including walls or halo rows.
    walls : tuple of bool
        Whether the first and the last row are boundary rows of the basin.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, slab: Slab) -> None:
        self.rows, self.walls, self._local = slab.rows, slab.walls, setup.local
        rows = self.rows
        if slab.heights:
            grid = setup.grid
            grid = replace(grid, ny=rows.stop - rows.start, y0=grid.y0 + rows.start * grid.dy)
            bed = None if setup.topography is None else self._part_of(setup.topography)
            curl = self._part_of(setup.curl)
            setup = replace(setup, grid=grid, curl=curl, topography=bed, local=None, rows=(rows.start, rows.stop))
        self.setup, self.kernels = setup, kernel_set(setup, device, precision)
        self.fields = State(setup, device, precision, self.kernels.separate_psi, slab)
        self.averages = StepAverages(self.fields)
        self.stages = Stages(self.fields, self.kernels, self.averages, slab)
        self.fields.set_weights()

    def _part_of(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of this device of a field with the rows of this process; zeros for other processes."""
        if self._local is None or self.rows.stop is None:
            return values[self.rows]
        return self._local.take(values, self.rows.start, self.rows.stop)

    def steps(self) -> list[list[Stage]]:
        """Return the stages of a step from buffers 0 to 1 and of a step from 1 to 0, with fast kernels."""
        return [fused(step(self.stages, old), FUSIONS, self.stages, old) for old in (0, 1)]

    def start_from(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Load fields of the rows of this process with boundary points, and clear the stored tendencies.

        q is set to 0 on the boundary.
        """
        fields = []
        for values in q:
            local = self._part_of(values).copy()
            local[:, [0, -1]] = 0.0
            south, north = self.walls
            local[: int(south)] = local[len(local) - int(north) :] = 0.0
            fields.append(local)
        self.fields.begin(fields)
        if tracer is not None:
            self.fields.fill(self.fields.tracer[0], self._part_of(tracer))
        if particles is not None:
            self.fields.set_particles(particles)


class Engine:
    """Arrays of all devices and the schedules of a step; results are assembled on the host."""

    def __init__(self, setup: Setup, device: Device | Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        self._heights: tuple[int, ...] = ()
        if isinstance(device, Group):
            check_multi_device(setup, device, precision)
            self._heights = tuple(slab_heights(setup.inner[0], len(device.devices)))
        devices = device.devices if isinstance(device, Group) else (device,)
        self.subdomains = [
            Subdomain(setup, one, precision, Slab(rank, self._heights)) for rank, one in enumerate(devices)
        ]
        fields = self.subdomains[0].fields
        self.kernels, self.count, self.pad = self.subdomains[0].kernels, fields.count, fields.pad
        self.values_per_update = fields.values_per_update
        # Cells are the rows of unknowns; every device has one boundary row on each side.
        rows = bands(setup.inner[0], setup.grid.nx, self._heights or setup.inner[:1], halo=(1, 0), leading=(1, 0))
        self._runtime = Runtime(device, [one.stages.arrays for one in self.subdomains], rows)
        self.launches = self._runtime.schedules([one.steps() for one in self.subdomains])
        if isinstance(device, Device):
            device.prepare(self.launches[0])
        sizes = (*device.parameters("barotropic.steps").graphs, 1) if device.graphs else PAIR
        self._step_graphs = StepGraphs(device, self._batch, sizes)

    # -- steps --------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """Number of completed steps."""
        return self.subdomains[0].fields.steps

    def _batch(self, phase: int, size: int) -> tuple[list[Any], int]:
        first, second = self.launches[phase], self.launches[1 - phase]
        return (list(first), 1) if size == 1 else ([*first, *second], size // 2)

    def advance(self, count: int) -> None:
        """Advance `count` steps: single steps until all tendencies are stored, then batches of step pairs."""
        while count > 0:
            phase, starting = self.steps % 2, self.steps < self.setup.order
            if starting:
                self.set_weights()
            size = 1 if starting or phase == 1 else self._step_graphs.size_for(count)
            self._step_graphs.run(phase, size)
            for one in self.subdomains:
                one.fields.steps += size
            count -= size

    def set_weights(self) -> None:
        """Set the Adams-Bashforth weights of the next step."""
        for one in self.subdomains:
            one.fields.set_weights()

    def use_wind(self, steps: int, start: float) -> None:
        """See `Wind.use`."""
        for one in self.subdomains:
            one.fields.wind.use(steps, start)

    # -- state --------------------------------------------------------------------------------------

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Set potential vorticities at points of the rows of this process, (ny, nx), and compute psi."""
        fields = [self.pad(values) for values in q]
        for one in self.subdomains:
            one.start_from(fields, None if tracer is None else self.pad(tracer), particles)
        [schedule] = self._runtime.schedules([[start(one.stages)] for one in self.subdomains], repeats=False)
        self.device.synchronize()
        self.device.run(schedule)
        self.device.synchronize()
        self.set_weights()

    def state(self) -> dict[str, np.ndarray]:
        """Return all arrays that a bitwise identical restart needs; it may use another number of devices.

        Of several processes, only the first has the fields.
        """
        return self._collected(lambda one: one.fields.state()) | self._small_state()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state of `state`."""
        for one in self.subdomains:
            local = {
                name: value[one.rows] for name, value in state.items() if np.ndim(value) == 2 and name != "particles"
            }
            one.fields.restore({**state, **local})
        self.set_weights()

    def local_state(self) -> dict[str, Any]:
        """Return the state in the rows of this process, for `restore_local`."""
        self.device.synchronize()
        slabs = self._local_values(lambda one: one.fields.state() | one.averages.state())
        return {"slabs": slabs, **self._small_state()}

    def restore_local(self, state: dict[str, Any]) -> None:
        """Restore a state of `local_state`."""
        for one, values in zip(self.subdomains, state["slabs"], strict=True):
            one.fields.steps = int(state["steps"])
            if values is not None:
                one.fields.restore({**values, **state})
        self.set_weights()

    def _small_state(self) -> dict[str, np.ndarray]:
        """Return the number of steps and the positions of the particles."""
        steps = {"steps": np.array(self.steps)}
        return steps | {"particles": self._positions()} if self.setup.particles else steps

    def _positions(self) -> np.ndarray:
        return known(self._of_each(lambda one: one.fields.device.host(one.fields.local_particles)))

    def _local_values(self, evaluate: Callable[[Subdomain], Any]) -> list[Any]:
        """Return a value of each device; None for devices of other processes."""
        if isinstance(self.device, Group):
            return self.device.local_values(lambda rank: evaluate(self.subdomains[rank]))
        return [evaluate(self.subdomains[0])]

    def _collected(self, evaluate: Callable[[Subdomain], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return fields with boundary points, joined from the fields of all devices, in the first process only."""
        self.device.synchronize()
        if not isinstance(self.device, Group):
            return evaluate(self.subdomains[0])
        last = len(self.subdomains) - 1

        def rows_of(rank: int) -> dict[str, np.ndarray]:
            rows = slice(int(rank > 0), None if rank == last else -1)
            fields = evaluate(self.subdomains[rank])
            arrays = {name: one[..., rows, :] for name, one in fields.items() if one.ndim > 1 and name != "particles"}
            return arrays | {name: fields[name] for name in NUMBERS if name in fields}

        return self.device.collect(rows_of, join_rows)

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the time statistics in the format of one device, of several processes in the first only."""
        return self._collected(lambda one: one.averages.state())

    def resume_maps(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Load time statistics of `local_state`, or in the format of one device."""
        for one, local in zip(self.subdomains, state.get("slabs", [None] * len(self.subdomains)), strict=True):
            rows = maps_of_rows(state, one.rows.start, one.rows.stop) if self._heights else {}
            one.averages.take_over(local or {**state, **rows}, time)

    # -- fields and sums ----------------------------------------------------------------------------

    @property
    def particle_positions(self) -> np.ndarray:
        """Host copy of particle positions x, y in grid units of the padded arrays, (2, particles)."""
        return self._positions()[:, : self.setup.particles]

    def padded(self, name: str, layer: int = 0) -> np.ndarray:
        """Return a host copy of "q", "psi" or "tracer" with boundary points, (my + 2, mx + 2).

        The array is empty, (0, 0), in processes other than the first.
        """
        return self._collected(lambda one: {name: one.fields.padded(name, layer)}).get(name, np.empty((0, 0)))

    def points(self, name: str, layer: int = 0) -> np.ndarray:
        """Return a host copy of "q", "psi" or "tracer" at points, (ny, nx); see `padded`."""
        wrap_x, wrap_y = (int(wrap) for wrap in self.setup.periodic)
        values = self.padded(name, layer)
        return values[wrap_y : values.shape[0] - wrap_y, wrap_x : values.shape[1] - wrap_x]

    def curl(self, time: float) -> np.ndarray:
        """Return the wind forcing at a time, s, at points, (ny, nx), 1/s2; see `padded`."""
        return self._collected(lambda one: {"curl": one.setup.curl_at(time)}).get("curl", np.empty((0, 0)))

    def topography(self) -> np.ndarray | None:
        """Return the topography at points, (ny, nx), 1/s; see `padded`."""
        if self.setup.topography is None:
            return None
        return self._collected(lambda one: {"bed": np.asarray(one.setup.topography)}).get("bed", np.empty((0, 0)))

    def strongest_vorticity(self) -> tuple[int, int]:
        """Return the point (j, i) of the maximum of abs(q) of the upper layer."""

        def strongest(one: Subdomain) -> tuple[float, int, int]:
            size = np.abs(one.fields.points("q"))
            j, i = np.unravel_index(int(size.argmax()), size.shape)
            return float(size[j, i]), int(j) + (one.rows.start or 0), int(i)

        each = self._of_each(strongest)
        _, j, i = next((one for one in each if math.isnan(one[0])), None) or max(each, key=lambda one: one[0])
        return j, i

    def _of_each(self, evaluate: Callable[[Subdomain], Any]) -> list[Any]:
        """Return a small value of each device, which its process computes."""
        self.device.synchronize()
        if isinstance(self.device, Group):
            return self.device.each(lambda rank: evaluate(self.subdomains[rank]))
        return [evaluate(self.subdomains[0])]

    def integrals(self) -> dict[str, float]:
        """See `State.integrals`."""
        each = self._of_each(lambda one: one.fields.integrals())
        if len(each) == 1:
            return each[0]
        integrals = {name: total([one[name] for one in each]) for name in ("energy", "enstrophy")}
        integrals["mean_vorticity"] = float(np.average([one["mean_vorticity"] for one in each], weights=self._heights))
        for name, of in (("max_streamfunction", max), ("min_streamfunction", min), ("max_vorticity", max)):
            integrals[name] = extreme([one[name] for one in each], of)
        return integrals

    def max_tracer(self) -> float:
        """See `State.max_tracer`."""
        return extreme(self._of_each(lambda one: one.fields.max_tracer()))

    def speeds(self) -> tuple[float, float]:
        """See `State.speeds`."""
        u, v = zip(*self._of_each(lambda one: one.fields.speeds()), strict=True)
        return max(u), max(v)


def known(positions: list[np.ndarray]) -> np.ndarray:
    """Return the positions of particles, (2, particles), each from the device that has the particle."""
    joined = positions[0]
    for other in positions[1:]:
        joined = np.where(joined == ELSEWHERE, other, joined)
    return joined


def check_multi_device(setup: Setup, group: Group, precision: str) -> None:
    """Raise `InputError` for options that several devices do not support."""
    without = {
        f'basin = "{setup.basin}"': setup.basin != "box",
        'kernels = "reference"': setup.kernels == "reference",
    }
    unsupported = [name for name, active in without.items() if active]
    if unsupported:
        raise InputError(
            f"{len(group.devices)} devices for one run with {', '.join(unsupported)}",
            allowed='several devices for a box with kernels = "fast"',
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
