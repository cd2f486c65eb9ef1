"""One run over several devices: a band of rows on each (decision 0023).

A band is a box of its own whose south and north boundary points are rows of its neighbours, or walls. A step is, on
every device,

1. the update, the transform of the rows and the systems of the columns, as far as the band goes by itself;
   its first and last rows are left for the others;
2. after all have come so far: these ends of all bands, the neighbours' rows of vorticity, what the ends do to
   the columns, and the transform back;
3. after all have come so far: the neighbours' rows of the streamfunction, and walls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.exchange import LocalTransport, Message
from eagre.backend.group import BARRIER, Group, Stage, in_turn
from eagre.decomposition import bands, check_thickness, extreme, total
from eagre.errors import InputError
from eagre.models.barotropic import reference
from eagre.models.barotropic.averaging import StepAverages
from eagre.models.barotropic.engine import Engine, Steps
from eagre.models.barotropic.inversion import CpuBox, CudaBox, Launches
from eagre.models.barotropic.kernel_sets import kernel_set
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stages import Stages
from eagre.models.barotropic.state import State
from eagre.solvers.poisson.bands import band_heights
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.seams import CpuSeams, CudaSeams
from eagre.stepping.maps import cut_maps, join_maps

LEAST_ROWS = 4  # of a band


class Band:
    """Rows first .. first + rows - 1 of the unknowns (0 is the southern wall) on one device: arrays and launches."""

    def __init__(self, setup: Setup, device: Device, precision: str, index: int, heights: list[int]) -> None:
        self.first, self.rows = 1 + sum(heights[:index]), heights[index]
        own = self.own
        bed = None if setup.topography is None else setup.topography[own]
        grid = replace(setup.grid, ny=self.rows + 2, y0=setup.grid.y0 + (self.first - 1) * setup.grid.dy)
        self.setup = setup = replace(setup, grid=grid, curl=setup.curl[own], topography=bed, rows=(own.start, own.stop))
        self.kernels = kernel_set(setup, device, precision)
        assert isinstance(self.kernels.inversion, CpuBox | CudaBox)
        self.fields = State(setup, device, precision, fused_layout=self.kernels.fused_layout)
        self._inversion = self.kernels.inversion
        self._stages = Stages(self.fields, self.kernels, (index == 0, index == len(heights) - 1))
        self._layers = range(self.fields.count)
        self.seams = [self._seams(layer, index, heights) for layer in self._layers]
        self.averages = StepAverages(self.fields)
        self.fields.set_weights()

    @property
    def own(self) -> slice:
        """The rows held here of a field of the whole basin, walls or neighbours' rows included."""
        return slice(self.first - 1, self.first + self.rows + 1)

    def _screening(self, layer: int) -> float:
        """Of what is solved in the place of a layer: with two layers their modes."""
        return self.setup.screening if self.setup.layers is None else self.setup.layers.inverse_radius_squared(layer)

    def _seams(self, layer: int, index: int, heights: list[int]) -> CpuSeams:
        grid, inversion = self.setup.grid, self._inversion
        device, precision = self.fields.device, self.fields.precision
        problem = (index, heights, grid.nx - 1, grid.dx, grid.dy, self._screening(layer))
        if isinstance(inversion, CudaBox):
            return CudaSeams(device, precision, *problem, tiles=inversion.box.tiles)
        return CpuSeams(device, precision, *problem)

    def _work(self, then: int) -> list[Any]:
        return [self._inversion.work(layer, self.fields.psi[layer][then]) for layer in self._layers]

    def local_work(self, at: int, update: bool = True) -> Launches:
        """What the band does by itself, from buffers `at`; without an update from the vorticity that is there."""
        then, work = (1 - at if update else at), self._work(1 - at if update else at)
        made = self._stages.update(at) if update else self._stages.tracer_boundary(at)
        if not (update and self.kernels.transforms):
            for layer in self._layers:
                made += self._inversion.forward(layer, self._stages.solved(then)[layer])
        made += self._stages.modes(work, reference.to_modes)
        for layer, seams in enumerate(self.seams):
            made += self._inversion.solve(layer, work[layer], self._screening(layer), walls=False)
            made += seams.leave(work[layer])
        return made

    def join_ends(self, then: int) -> Launches:
        """What it does with the ends of all bands."""
        made, work = [], self._work(then)
        for seams, field in zip(self.seams, work, strict=True):
            made += seams.join(field)
        made += self._stages.modes(work, reference.from_modes)
        for layer in self._layers:
            made += self._inversion.backward(layer, self.fields.psi[layer][then])
        return made

    def finish(self, then: int) -> Launches:
        """What it does with the streamfunction of its neighbours."""
        return self._stages.boundary(then)

    def after_step(self, then: int) -> Launches:
        """What it does when a step is made."""
        return self.averages.after_step(then)

    def arrays(self, name: str, at: int) -> list[Any]:
        """Arrays "q" or "psi" of all layers, "tracer", or "ends" of the columns of all layers."""
        if name == "ends":
            return [seams.ends for seams in self.seams]
        fields = [self.fields.tracer] if name == "tracer" else getattr(self.fields, name)
        return [pair[at] for pair in fields]

    def start_from(self, q: list[np.ndarray], tracer: np.ndarray | None) -> None:
        """Take up fields of whole basins at points, (ny, nx), walls included, and no history."""
        self.fields.begin([values[self.own] for values in q])
        if tracer is not None:
            self.fields.fill(self.fields.tracer[0], tracer[self.own])


class Bands:
    """The engine of one run over several devices; what it gives to the model is gathered on the host."""

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        check_bands(setup, group, precision)
        heights = band_heights(setup.inner[0], len(group.members))
        # Cells are the rows of unknowns; every band has boundary points on each side of them.
        self.decomposition = bands(sum(heights), setup.grid.nx, heights, halo=(1, 0), before=(1, 0))
        self.transport = LocalTransport(group)
        self.bands = [Band(setup, group.members[k], precision, k, heights) for k in range(len(heights))]
        self._parts = [band.fields for band in self.bands]
        self.count, self.words, self.kernels = self._parts[0].count, self._parts[0].words, self.bands[0].kernels
        self.launches = [self._step(0), self._step(1)]
        self.advance = Steps(group, self._parts, self.launches).advance

    def _step(self, at: int) -> list[Stage]:
        """The schedule of a step from buffers `at` to the others; a step begins without a meeting."""
        last = [[band.after_step(1 - at) for band in self.bands]] if self.setup.time_statistics is not None else []
        return [[band.local_work(at) for band in self.bands], *self._inverted(1 - at), *last]

    def _inverted(self, then: int) -> list[Stage]:
        names = ("q",) if self.setup.diffusivity is None else ("q", "tracer")
        joined = in_turn(self._exchange(then, "ends", *names), [band.join_ends(then) for band in self.bands])
        closed = in_turn(self._exchange(then, "psi"), [band.finish(then) for band in self.bands])
        return [BARRIER, joined, BARRIER, closed]

    def _exchange(self, at: int, *names: str) -> Stage:
        """Ends of all columns, and neighbouring rows of fields in buffers `at`."""
        messages: list[Message] = []
        for name in names:
            fields = [f"{name}{layer}" for layer in range(len(self.bands[0].arrays(name, at)))]
            for rank, band in enumerate(self.bands):
                for field, array in zip(fields, band.arrays(name, at), strict=True):
                    self.transport.publish(rank, field, array)
            if name == "ends":
                messages += [t for field in fields for t in self._ends_of_all(field)]
            else:
                messages += self.decomposition.messages(dict.fromkeys(fields, "centre"))
        return self.transport.exchange(messages)

    def _ends_of_all(self, field: str) -> list[Message]:
        ranks, own = range(len(self.bands)), [(band.seams[0].own,) for band in self.bands]
        return [Message(field, k, target, own[k], own[k]) for target in ranks for k in ranks if k != target]

    @property
    def steps(self) -> int:
        """Steps made."""
        return self._parts[0].steps

    def set_weights(self) -> None:
        """Adams-Bashforth weights of the coming step."""
        for part in self._parts:
            part.set_weights()

    def use_wind(self, steps: int, start: float) -> None:
        """As `Wind.use`."""
        for part in self._parts:
            part.wind.use(steps, start)

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None = None, particles: None = None) -> None:
        """Start from vorticities at points, (ny, nx): psi follows."""
        for band in self.bands:
            band.start_from([np.pad(values[1:-1, 1:-1], 1) for values in q], tracer)
        self.device.synchronize()
        self.device.run([[band.local_work(0, update=False) for band in self.bands], *self._inverted(0)])
        self.device.synchronize()
        self.set_weights()

    # -- what the model asks of an engine -----------------------------------------------------------

    def padded(self, name: str, layer: int = 0) -> np.ndarray:
        """A field on the host, (ny, nx): the boundary points of a box are points."""
        self.device.synchronize()
        return _gathered([part.padded(name, layer) for part in self._parts])

    points = padded

    @property
    def places(self) -> np.ndarray:
        """No particles, (2, 0)."""
        return np.empty((2, 0))

    def pad(self, points: np.ndarray) -> np.ndarray:
        """Values at points as an array with its boundary points, which of a box are points."""
        return points

    def state(self) -> dict[str, np.ndarray]:
        """As of one device: a run may go on with any number of them."""
        self.device.synchronize()
        each = [part.state() for part in self._parts]
        return {"steps": each[0]["steps"]} | {
            name: _gathered([part[name] for part in each]) for name in each[0] if name != "steps"
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`."""
        for band in self.bands:
            own = {name: value[band.own] if np.ndim(value) == 2 else value for name, value in state.items()}
            band.fields.restore(own)
        self.set_weights()

    def maps_state(self) -> dict[str, np.ndarray]:
        """As of one device: rows of their own, and the walls."""
        self.device.synchronize()
        each, last = [band.averages.state() for band in self.bands], len(self.bands) - 1
        rows = [(rank > 0, band.rows + 1 + (rank == last)) for rank, band in enumerate(self.bands)]
        return join_maps([one | cut_maps(one, *own) for one, own in zip(each, rows, strict=True)])

    def resume_maps(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """As of one device."""
        for band in self.bands:
            band.averages.take_over({**state, **cut_maps(state, band.own.start, band.own.stop)}, time)

    def integrals(self) -> dict[str, float]:
        """As `State.integrals`."""
        self.device.synchronize()
        each = [part.integrals() for part in self._parts]
        found = {name: total([part[name] for part in each]) for name in ("energy", "enstrophy")}
        rows = [band.rows for band in self.bands]
        found["mean_vorticity"] = float(np.average([part["mean_vorticity"] for part in each], weights=rows))
        for name, of in (("max_streamfunction", max), ("min_streamfunction", min), ("max_vorticity", max)):
            found[name] = extreme([part[name] for part in each], of)
        return found

    def speeds(self) -> tuple[float, float]:
        """As `State.speeds`."""
        self.device.synchronize()
        u, v = zip(*(part.speeds() for part in self._parts), strict=True)
        return max(u), max(v)


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """The engine of a run on one device, or on several."""
    return Bands(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def _gathered(parts: list[np.ndarray]) -> np.ndarray:
    """Rows of all bands, (ny, nx): their own, and the walls."""
    return np.concatenate([parts[0][:1], *(part[1:-1] for part in parts), parts[-1][-1:]])


def check_bands(setup: Setup, group: Group, precision: str) -> None:
    """Refuse what is not there for several devices."""
    without = {
        f'basin = "{setup.basin}"': setup.basin != "box",
        'viscosity_scheme = "implicit"': setup.implicit,
        'kernels = "reference"': setup.kernels == "reference",
        "biharmonic_viscosity": setup.biharmonic > 0.0,
        "particles": setup.particles > 0,
    }
    unsupported = [name for name, wanted in without.items() if wanted]
    if unsupported:
        raise InputError(
            f"{len(group.members)} devices for one run with {', '.join(unsupported)}",
            allowed="several devices for a box, explicit viscosity, no biharmonic_viscosity and no particles",
            fix=f'device = "{group.kind}"',
        )
    rows, count = setup.inner[0], len(group.members)
    check_thickness(group, rows, LEAST_ROWS, "rows between the walls", f"{LEAST_ROWS} rows or more each")
    tallest = max(band_heights(rows, count))
    if group.kind == "cuda" and not Box.serves(group.members[0], setup.grid.nx - 1, tallest + 1, precision):
        raise InputError(
            f"{setup.grid.nx} points along x and {tallest} rows on each of {count} GPUs",
            allowed="rows of up to 3073 points (more for the sizes of sine_plan.py), 4095 of them on a GPU",
            fix=f'device = "{group.kind}"',
        )
