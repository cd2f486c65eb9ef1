"""One run over several devices: a band of rows on each (docs/decisions/0023-one-run-over-several-devices.md).

A band is a box of its own whose south and north rims hold rows of its neighbours, or walls. A step is, on every device,

1. the update, the transform of the rows and the systems of the columns, as far as the band goes by itself;
   its first and last rows are left for the others;
2. after all have come so far: these ends of all bands, the neighbours' rows of vorticity, what the ends do to
   the columns, and the transform back;
3. after all have come so far: the neighbours' rows of the streamfunction, and walls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.backend.group import MEET, Group, Stage
from eagre.errors import InputError
from eagre.models.barotropic.engine import Engine, Stepping, inversion_for
from eagre.models.barotropic.inversion import CpuBox, CudaBox, Launches
from eagre.models.barotropic.passes import Passes
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.state import State
from eagre.solvers.poisson.bands import band_heights
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.seams import CpuSeams, CudaSeams

LEAST_ROWS = 4  # of a band


class Band(State):
    """Rows first .. first + m - 1 of the unknowns (0 is the southern wall) on one device."""

    def __init__(self, setup: Setup, group: Group, precision: str, index: int, heights: list[int]) -> None:
        device, self.group = group.members[index], group
        self.first, self.rows = 1 + sum(heights[:index]), heights[index]
        own = slice(self.first - 1, self.first + self.rows + 1)
        bed = None if setup.topography is None else setup.topography[own]
        grid = replace(setup.grid, ny=self.rows + 2, y0=setup.grid.y0 + (self.first - 1) * setup.grid.dy)
        setup = replace(setup, grid=grid, curl=setup.curl[own], topography=bed)
        inversion = inversion_for(setup, device, precision)
        assert isinstance(inversion, CpuBox | CudaBox)
        self.boxed = isinstance(inversion, CudaBox)
        super().__init__(setup, device, precision, padded=self.boxed, one_psi=self.boxed)
        self._inversion = inversion
        self._passes = Passes(self, inversion, (index == 0, index == len(heights) - 1))
        problem = (device, precision, index, heights, grid.nx - 1, grid.dx, grid.dy, setup.screening)
        self.seams = (
            CudaSeams(*problem, width=inversion.box.shape.columns)
            if isinstance(inversion, CudaBox)
            else CpuSeams(*problem)
        )
        self.set_weights()

    def _work(self, then: int) -> Any:
        return self._inversion.work(0, self.psi[0][then])

    def alone(self, at: int, update: bool = True) -> Launches:
        """What the band does by itself, from buffers `at`; without an update from the vorticity that is there."""
        then = 1 - at if update else at
        made = self._passes.update(at) if update else []
        if not (update and self._passes.fused):
            made += self._inversion.forward(0, self.q[0][then] if self.boxed else self.psi[0][then])
        made += self._inversion.solve(0, self._work(then), self.setup.screening, walls=False)
        return made + self.seams.leave(self._work(then))

    def joined(self, then: int, bands: list[Band]) -> Launches:
        """What it does with the ends of all bands."""
        ends = [
            (self.seams.ends[other.seams.own], other.seams.ends[other.seams.own])
            for other in bands
            if other is not self
        ]
        beside = self._rows_beside([band.q[0][then] for band in bands], bands)
        made = self.group.exchange(self.device, [*ends, *beside]) + self.seams.join(self._work(then))
        return made + self._inversion.backward(0, self.psi[0][then])

    def closed(self, then: int, bands: list[Band]) -> Launches:
        """What it does with the streamfunction beside it."""
        beside = self._rows_beside([band.psi[0][then] for band in bands], bands)
        return self.group.exchange(self.device, beside) + self._passes.rims(self.psi[0][then], self.q[0][then])

    def _rows_beside(self, fields: list[Any], bands: list[Band]) -> list[tuple[Any, Any]]:
        """Rims of a field here, and the outermost rows of the neighbours' that they repeat."""
        here = bands.index(self)
        south = [(fields[here][0], fields[here - 1][-2])] if here > 0 else []
        north = [(fields[here][-1], fields[here + 1][1])] if here < len(bands) - 1 else []
        return south + north

    def begin(self, vorticity: np.ndarray) -> None:
        """Take up the vorticity of rows with their rims, (m + 2, nx), and no history."""
        self.steps = 0
        self.fill(self.q[0][0], vorticity)
        if not self.boxed:
            self.device.copy(self.psi[0][0], self.q[0][0])
        for field in (*self.history[0], *(self.lost if self.setup.compensated else [])):
            self.fill(field, np.zeros(self.setup.shape))


class Bands(Stepping):
    """The engine of one run over several devices; what it gives to the model is gathered on the host."""

    count = 1

    def __init__(self, setup: Setup, group: Group, precision: str) -> None:
        self.setup, self.device, self.precision = setup, group, precision
        self.real = check_precision(precision)
        check_bands(setup, group, precision)
        heights = band_heights(setup.inner[0], len(group.members))
        self.bands = [Band(setup, group, precision, index, heights) for index in range(len(heights))]
        # As of `State`: layer, buffer; but of each field one array a band.
        self.q, self.psi = (
            [[tuple(getattr(band, name)[0][at] for band in self.bands) for at in (0, 1)]] for name in ("q", "psi")
        )
        self.particles = self.bands[0].particles
        self.prepare(self._step(0), self._step(1))

    def _step(self, at: int) -> list[Stage]:
        """The schedule of a step from buffers `at` to the others; a step begins without a meeting."""
        return [[band.alone(at) for band in self.bands], *self._inverted(1 - at)]

    def _inverted(self, then: int) -> list[Stage]:
        joined = [band.joined(then, self.bands) for band in self.bands]
        closed = [band.closed(then, self.bands) for band in self.bands]
        return [MEET, joined, MEET, closed]

    @property
    def steps(self) -> int:
        """Steps made."""
        return self.bands[0].steps

    @steps.setter
    def steps(self, value: int) -> None:
        for band in self.bands:
            band.steps = value

    @property
    def at(self) -> int:
        """Which buffers hold the state."""
        return self.bands[0].at

    def set_weights(self) -> None:
        """Adams-Bashforth weights of the coming step."""
        for band in self.bands:
            band.set_weights()

    def set_state(self, q: list[np.ndarray], tracer: None = None, particles: None = None) -> None:
        """Start from the vorticity at points, (ny, nx): psi follows."""
        vorticity = np.pad(q[0][1:-1, 1:-1], 1)
        for band in self.bands:
            band.begin(vorticity[band.first - 1 : band.first + band.rows + 1])
        self.device.synchronize()
        self.device.run([[band.alone(0, update=False) for band in self.bands], *self._inverted(0)])
        self.device.synchronize()
        self.set_weights()

    # -- what the model asks of an engine -----------------------------------------------------------

    def view(self, field: tuple[Any, ...]) -> np.ndarray:
        """A field on the host, (ny, nx)."""
        self.device.synchronize()
        return _together([band.device.host(band.view(part)) for band, part in zip(self.bands, field, strict=True)])

    points = view

    def with_rims(self, points: np.ndarray) -> np.ndarray:
        """Values at points as an array with rims: a box has its rims on points."""
        return points

    def state(self) -> dict[str, np.ndarray]:
        """As of one device: a run may go on with any number of them."""
        self.device.synchronize()
        each = [band.state() for band in self.bands]
        return {"steps": each[0]["steps"]} | {
            name: _together([part[name] for part in each]) for name in each[0] if name != "steps"
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`."""
        for band in self.bands:
            own = slice(band.first - 1, band.first + band.rows + 1)
            band.restore({name: value[own] if np.ndim(value) == 2 else value for name, value in state.items()})
        self.set_weights()

    def integrals(self) -> dict[str, float]:
        """As `State.integrals`."""
        self.device.synchronize()
        each = [band.integrals() for band in self.bands]
        found = {name: sum(part[name] for part in each) for name in ("energy", "enstrophy")}
        rows = [band.rows for band in self.bands]
        found["mean_vorticity"] = float(np.average([part["mean_vorticity"] for part in each], weights=rows))
        for name, of in (("max_streamfunction", max), ("min_streamfunction", min), ("max_vorticity", max)):
            values = [part[name] for part in each]
            found[name] = float("nan") if np.isnan(values).any() else of(values)
        return found

    def speeds(self) -> tuple[float, float]:
        """As `State.speeds`."""
        self.device.synchronize()
        u, v = zip(*(band.speeds() for band in self.bands), strict=True)
        return max(u), max(v)


def engine_for(setup: Setup, device: Device | Group, precision: str) -> Any:
    """The engine of a run on one device, or on several."""
    return Bands(setup, device, precision) if isinstance(device, Group) else Engine(setup, device, precision)


def _together(parts: list[np.ndarray]) -> np.ndarray:
    """Rows of all bands, (ny, nx): their own, and the walls."""
    return np.concatenate([parts[0][:1], *(part[1:-1] for part in parts), parts[-1][-1:]])


def check_bands(setup: Setup, group: Group, precision: str) -> None:
    """Refuse what is not there for several devices."""
    without = {
        f'basin = "{setup.basin}"': setup.basin != "box",
        "layers": setup.layers is not None,
        'viscous = "implicit"': setup.implicit,
        "biharmonic_viscosity": setup.biharmonic > 0.0,
        "a tracer": setup.diffusivity is not None,
        "particles": setup.particles > 0,
    }
    asked = [name for name, is_asked in without.items() if is_asked]
    if asked:
        raise InputError(
            f"{len(group.members)} devices for one run with {', '.join(asked)}",
            allowed="several devices for a box with walls, one layer, explicit viscosity, none of "
            + ", ".join(without),
            fix=f'device = "{group.kind}"',
        )
    rows, count = setup.inner[0], len(group.members)
    if rows < LEAST_ROWS * count:
        most = rows // LEAST_ROWS
        raise InputError(
            f"{count} devices for {rows} rows between the walls",
            allowed=f"up to {most}: {LEAST_ROWS} rows or more each" if most > 1 else "one device",
            fix=f'device = "{group.kind}"',
        )
    tallest = max(band_heights(rows, count))
    if group.kind == "cuda" and not Box.serves(setup.grid.nx - 1, tallest + 1, precision):
        raise InputError(
            f"{setup.grid.nx} points along x and {tallest} rows on each of {count} GPUs",
            allowed="rows of up to 3073 points (more for the sizes of sine_plan.py), 4095 of them on a GPU",
            fix=f'device = "{group.kind}"',
        )
