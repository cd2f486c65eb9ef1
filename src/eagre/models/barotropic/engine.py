"""The engine of the barotropic model: arrays, the launches of a step, and the steps on a device.

Arrays have one rim, (my + 2, mx + 2) (see `rims`). A step goes from one set of buffers to the other,
so that two lists of launches alternate; on a GPU many pairs of steps are one graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.grid import Grid
from eagre.models.barotropic import kernels, passes_cpu, passes_cuda, rims
from eagre.models.barotropic.drift import drifted
from eagre.models.barotropic.inversion import CpuBox, CudaBox, General, Launches
from eagre.models.barotropic.layers import Layers
from eagre.models.barotropic.strips_cuda import update_strips_cuda
from eagre.solvers.poisson.box_cuda import Box

ADAMS_BASHFORTH = {1: (1.0, 0.0, 0.0), 2: (1.5, -0.5, 0.0), 3: (23.0 / 12.0, -16.0 / 12.0, 5.0 / 12.0)}
"""Weights of the present and the older tendencies by order."""
JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}
WALLS = {"free-slip": rims.FREE_SLIP, "no-slip": rims.WOODS, "no-slip-thom": rims.THOM}
LINE = 128  # bytes; on a GPU rows of a box begin at multiples of it
FUSED_POINTS = 3073  # a side, up to which a GPU transforms rows in the kernel that updates them
GRAPH_STEPS = (200, 20, 2)  # steps of the graphs that a GPU replays


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that fixes a run, checked by the model; fields are float64 at points, (ny, nx)."""

    grid: Grid
    basin: str  # "box", "channel" (periodic along x) or "periodic"
    walls: str
    jacobian: str
    order: int
    time_step: float
    beta: float
    viscosity: float
    biharmonic: float
    friction: float
    screening: float
    implicit: bool
    curl: np.ndarray
    topography: np.ndarray | None  # f0 b / D, as a vorticity
    layers: Layers | None
    diffusivity: float | None  # of a tracer; None: no tracer
    particles: int

    @property
    def periodic(self) -> tuple[bool, bool]:
        """Whether x and y are periodic."""
        return self.basin != "box", self.basin == "periodic"

    @property
    def shape(self) -> tuple[int, int]:
        """Arrays with their rims, (my + 2, mx + 2): walls are the outermost points, periodic sides get a rim."""
        wrap_x, wrap_y = self.periodic
        return self.grid.ny + 2 * wrap_y, self.grid.nx + 2 * wrap_x


class Engine:
    """Arrays and programs of one run on one device."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        self.count = 1 if setup.layers is None else 2
        self.steps = 0
        grid = setup.grid
        self._inner = (setup.shape[0] - 2, setup.shape[1] - 2)
        self._inversion = self._choose_inversion()
        self._width = setup.shape[1]
        line = LINE // np.dtype(self.real).itemsize if isinstance(self._inversion, CudaBox) else 1
        self._shape = (setup.shape[0], -(-self._width // line) * line)
        self._fused = isinstance(self._inversion, CudaBox) and grid.nx <= FUSED_POINTS
        self._over = (0.25 / (grid.dx * grid.dy), 1.0 / grid.dx**2, 1.0 / grid.dy**2)
        self._allocate()
        self._rounds: dict[int, Callable[[], None]] = {}
        self._alternate = [self._step(0), self._step(1)]

    def _choose_inversion(self) -> CpuBox | CudaBox | General:
        setup, grid, device = self.setup, self.setup.grid, self.device
        size = (grid.nx - 1, grid.ny - 1, grid.dx, grid.dy)
        if setup.basin == "box" and device.kind == "cpu":
            return CpuBox(device, self.precision, self.real, *size)
        if setup.basin == "box" and Box.serves(*size[:2], self.precision):
            return CudaBox(Box(device, self.precision, *size), self.count)
        kinds = ["periodic" if wrap else "dirichlet" for wrap in setup.periodic]
        return General(self._inner, (grid.dy, grid.dx), (kinds[1], kinds[0]))

    def _allocate(self) -> None:
        setup = self.setup
        device, layers = self.device, range(self.count)

        def field() -> Any:
            return device.zeros(self._shape, self.real)

        self.q = [[field(), field()] for _ in layers]
        # The CPU and general basins find psi where the new vorticity was left, so they need two.
        self.psi = []
        for _ in layers:
            first = field()
            self.psi.append([first, first if isinstance(self._inversion, CudaBox) else field()])
        self.history = [[field() for _ in range(setup.order - 1)] for _ in layers]
        self.tracer = [field(), field()] if setup.diffusivity is not None else []
        self.tracer_history = [field() for _ in range(setup.order - 1)] if self.tracer else []
        self.particles = device.zeros((2, max(1, setup.particles)), np.float64)
        curl = setup.curl
        self._wind = 0 if not curl.any() else 1 if bool((curl == curl[:, :1]).all()) else 2
        self._curl = device.array(self._with_rims(curl)[:, : 1 if self._wind < 2 else None].astype(self.real))
        self._gather = setup.topography is not None or setup.biharmonic > 0.0 or setup.layers is not None
        self._none = device.zeros((1, 1), self.real)
        self._total = [field() for _ in layers] if self._gather else []
        self._lap = field() if setup.biharmonic > 0.0 else None
        if setup.topography is not None:
            self._bed = device.array(self._with_rims(setup.topography).astype(self.real))
        self.weights, self.tracer_weights = (device.zeros((4,), self.real) for _ in range(2))
        self._set_weights()

    def _with_rims(self, points: np.ndarray) -> np.ndarray:
        """Values at points (ny, nx) as an array with rims."""
        wrap_x, wrap_y = (int(wrap) for wrap in self.setup.periodic)
        return np.pad(points, ((wrap_y, wrap_y), (wrap_x, wrap_x)), mode="wrap")

    def _set_weights(self) -> None:
        """Adams-Bashforth weights of the coming step: as many terms as there is history."""
        setup = self.setup
        order = min(setup.order, self.steps + 1)
        weights = [setup.time_step * weight for weight in ADAMS_BASHFORTH[order]]
        self.device.fill(self.weights, np.array([*weights, 2.0 if setup.implicit else 1.0]))
        self.device.fill(self.tracer_weights, np.array([*weights, 1.0]))

    # -- launches -----------------------------------------------------------------------------------

    def _loop(self, cell: Any, *arguments: Any, **switches: Any) -> Launch:
        program = self.device.loop(cell, self.precision, {"JACOBIAN": JACOBIANS[self.setup.jacobian], **switches})
        return self.device.over(program, self._inner, arguments)

    def _step(self, at: int) -> Launches:
        """Launches of a step from buffers `at` to the others."""
        setup, then = self.setup, 1 - at
        made: Launches = self._advect_tracer(at) if self.tracer else []
        for layer in range(self.count):
            made += self._terms(layer, at)
        for layer in range(self.count):
            made += self._update(layer, at)
        made += self._implicit(at) if setup.implicit else []
        made += self._invert(then, fused=self._fused and not setup.implicit)
        for layer in range(self.count):
            made += self._rims(self.psi[layer][then], self.q[layer][then])
        if setup.particles:
            made.append(self._drift(then))
        return made

    def _coefficients(self, viscosity: float) -> kernels.Coefficients:
        setup = self.setup
        jacobian, over_dx2, over_dy2 = self._over
        screened = viscosity * setup.screening
        numbers = (
            jacobian,
            0.5 * setup.beta / setup.grid.dx,
            viscosity * over_dx2,
            viscosity * over_dy2,
            setup.friction - screened,
            (screened - setup.friction) * setup.screening,
        )
        return kernels.Coefficients._make(map(self.real, numbers))

    def _terms(self, layer: int, at: int) -> Launches:
        """Terms that are gathered in a map before the update: topography, biharmonic viscosity, layers."""
        if not self._gather:
            return []
        setup, real = self.setup, self.real
        total, psi, q = self._total[layer], self.psi[layer][at], self.q[layer][at]
        jacobian, over_dx2, over_dy2 = self._over
        made: Launches = [self._loop(kernels.forced, self._curl, total, WIND=self._wind if layer == 0 else 0)]
        if setup.topography is not None and layer == self.count - 1:
            made.append(self._loop(kernels.over_topography, psi, self._bed, total, real(jacobian)))
        if self._lap is not None:
            made.append(self._loop(kernels.laplacian, q, self._lap, real(over_dx2), real(over_dy2)))
            made += self._rims(self._lap, self._lap, plain=True)
            b = setup.biharmonic
            made.append(
                self._loop(kernels.subtract_laplacian, self._lap, total, real(b * over_dx2), real(b * over_dy2))
            )
        if setup.layers is not None:
            other = 1 - layer
            by_psi, by_q = setup.layers.coupling(layer, setup.viscosity, setup.friction)
            made.append(
                self._loop(
                    kernels.coupled, psi, self.psi[other][at], q, self.q[other][at], total, real(by_psi), real(by_q)
                )
            )
        return made

    def _update(self, layer: int, at: int) -> Launches:
        """Tendency and Adams-Bashforth of one layer."""
        setup, then = self.setup, 1 - at
        friction_here = setup.layers is None or layer == 1
        c = self._coefficients(0.0 if setup.implicit else setup.viscosity)
        c = c if friction_here else c._replace(friction=self.real(0.0))
        curl = self._total[layer] if self._gather else self._curl
        switches = {
            "HISTORY": setup.order - 1,
            "WIND": 2 if self._gather else self._wind,
            "JACOBIAN": JACOBIANS[setup.jacobian],
        }
        older, oldest = self._ages(self.history[layer], at)
        psi, q, new = self.psi[layer][at], self.q[layer][at], self.q[layer][then]
        if self._fused:
            inversion = self._inversion
            assert isinstance(inversion, CudaBox)
            box = inversion.box
            switches |= box.switches(update=True)
            program = self.device.program(passes_cuda.update_cuda, self.precision, switches)
            work = inversion.work(layer, None)
            arguments = (psi, q, new, older, oldest, curl, self.weights, c, work, box.table)
            return [Launch(program, arguments, *box.geometry(update=True), early=box.early > 0)]
        if isinstance(self._inversion, CudaBox):
            vector = 16 // np.dtype(self.real).itemsize
            switches |= {"EARLY": int(self.device.starts_early), "VECTOR": vector, "SPAN": vector + 2, "REGISTERS": 96}
            program = self.device.program(update_strips_cuda, self.precision, switches)
            blocks = (-(-self._width // (128 * vector)), -(-self._inner[0] // 8))
            arguments = (psi, q, new, older, oldest, curl, self.weights, c, np.int32(self._width))
            return [Launch(program, arguments, blocks, (128,), early=True)]
        target = self.psi[layer][then]
        if self.device.kind == "cpu":
            program = self.device.program(passes_cpu.update_cpu, self.precision, switches)
            pieces = max(1, min(64, self._inner[0] // 8))
            scratch = np.zeros((pieces, self._inner[1]), self.real)
            return [Launch(program, (psi, q, new, target, older, oldest, curl, self.weights, c, scratch))]
        return [self._loop(kernels.updated, psi, q, new, target, older, oldest, curl, self.weights, c, **switches)]

    def _ages(self, history: list[Any], at: int) -> tuple[Any, Any]:
        """The older and the oldest tendency when a step starts from buffers `at`."""
        return (history[at], history[1 - at]) if len(history) == 2 else (history[0], self._none)

    def _implicit(self, at: int) -> Launches:
        """Crank-Nicolson viscosity: (1 - a Lap)(new + old) = 2 old + dt F, a = dt A / 2."""
        setup, then = self.setup, 1 - at
        a = 0.5 * setup.time_step * setup.viscosity
        field = self.q[0][then] if isinstance(self._inversion, CudaBox) else self.psi[0][then]
        made = [] if self._fused else self._inversion.forward(0, field)
        made += self._inversion.solve(0, self._inversion.work(0, field), 1.0 / a, -1.0 / a)
        made += self._inversion.backward(0, field)
        return [*made, self._loop(kernels.reflected, field, self.q[0][at], self.q[0][then], field)]

    def _invert(self, then: int, fused: bool) -> Launches:
        """psi of buffers `then` from the vorticity there (left in the place of psi, but for a GPU's box)."""
        layers, solver = range(self.count), self._inversion
        boxed = isinstance(solver, CudaBox)
        fields = [self.q[k][then] if boxed else self.psi[k][then] for k in layers]
        made: Launches = []
        for k in layers:
            made += [] if fused else solver.forward(k, fields[k])
        work = [solver.work(k, fields[k]) for k in layers]
        stacked = self.setup.layers
        if stacked is not None:
            made.append(self._modes(kernels.to_modes, work, stacked.share))
        for k in layers:
            made += solver.solve(k, work[k], self.setup.screening if stacked is None else stacked.screening(k))
        if stacked is not None:
            made.append(self._modes(kernels.from_modes, work, stacked.share))
        for k in layers:
            made += solver.backward(k, self.psi[k][then])
        return made

    def _modes(self, cell: Any, work: list[Any], share: float) -> Launch:
        """A loop over the values of two layers between `forward` and `backward`."""
        first, second = (array.reshape(array.shape[0], -1) for array in work)
        program = self.device.loop(cell, self.precision)
        return self.device.over(program, first.shape, (first, second, self.real(share)))

    def _rims(self, psi: Any, q: Any, plain: bool = False, no_flux: bool = False) -> Launches:
        """Fill the rims of psi and q; `plain`: of a field that vanishes on walls, `no_flux`: of one that is carried."""
        setup, real = self.setup, self.real
        wall = rims.FREE_SLIP if plain else rims.NO_FLUX if no_flux else WALLS[setup.walls]
        kinds = [rims.PERIODIC if wrap else wall for wrap in setup.periodic]
        made: Launches = []
        _, over_dx2, over_dy2 = self._over
        ny, nx = setup.shape
        if kinds[1] != rims.FREE_SLIP:
            program = self.device.loop(rims.rims_y, self.precision, {"WALL_Y": kinds[1]})
            made.append(self.device.over(program, (1, nx - 2), (psi, q, real(over_dy2))))
        if kinds[0] != rims.FREE_SLIP:
            program = self.device.loop(rims.rims_x, self.precision, {"WALL_X": kinds[0]})
            made.append(self.device.over(program, (ny, 1), (psi, q, nx - 1, real(over_dx2))))
        return made

    def _advect_tracer(self, at: int) -> Launches:
        """The tracer goes with the flow of the beginning of the step: before psi is found anew."""
        setup, psi = self.setup, self.psi[0][at]
        now, new = self.tracer[at], self.tracer[1 - at]
        _, over_dx2, over_dy2 = self._over
        numbers = (self._over[0], 0.0, setup.diffusivity * over_dx2, setup.diffusivity * over_dy2, 0.0, 0.0)  # type: ignore[operator]
        c = kernels.Coefficients._make(map(self.real, numbers))
        older, oldest = self._ages(self.tracer_history, at)
        switches = {"HISTORY": setup.order - 1, "WIND": 0}
        update = self._loop(
            kernels.updated, psi, now, new, new, older, oldest, self._curl, self.tracer_weights, c, **switches
        )
        return [update, *self._rims(new, new, no_flux=True)]

    def _drift(self, then: int) -> Launch:
        grid, setup = self.setup.grid, self.setup
        wraps = [float(n) if wrap else 0.0 for n, wrap in zip((grid.nx, grid.ny), setup.periodic, strict=True)]
        rate = setup.time_step / (grid.dx * grid.dy)
        program = self.device.loop(drifted, self.precision)
        arguments = (self.psi[0][then], self.particles, self._width, rate, *wraps)
        return self.device.over(program, (1, setup.particles), arguments)

    # -- steps --------------------------------------------------------------------------------------

    @property
    def at(self) -> int:
        """Which buffers hold the state."""
        return self.steps % 2

    def advance(self, count: int) -> None:
        """Make `count` steps."""
        while count > 0:
            made = self._some(count)
            self.steps += made
            count -= made

    def _some(self, count: int) -> int:
        """Some of `count` steps at once; returns how many."""
        starting = self.steps < self.setup.order
        if starting:
            self._set_weights()
        if not starting and self.at == 0 and count >= GRAPH_STEPS[-1]:
            size = next(size for size in GRAPH_STEPS if size <= count) if self.device.graphs else 2
            if size not in self._rounds:
                pair = [*self._alternate[0], *self._alternate[1]]
                self._rounds[size] = self.device.repeated(pair, size // 2)
            self._rounds[size]()
            return size
        self.device.run(self._alternate[self.at])
        return 1

    def set_state(self, q: list[np.ndarray], tracer: np.ndarray | None, particles: np.ndarray | None) -> None:
        """Start from vorticities at points, (ny, nx): psi follows."""
        setup = self.setup
        self.steps = 0
        for layer, values in enumerate(q):
            padded = np.pad(self._with_rims(values)[1:-1, 1:-1], 1)
            field = self.q[layer][0]
            self._fill(field, padded)
            if not isinstance(self._inversion, CudaBox):
                self.device.copy(self.psi[layer][0], field)
        launches = self._invert(0, fused=False)
        for layer in range(self.count):
            launches += self._rims(self.psi[layer][0], self.q[layer][0])
        if tracer is not None:
            self._fill(self.tracer[0], self._with_rims(tracer))
            launches += self._rims(self.tracer[0], self.tracer[0], no_flux=True)
        if particles is not None:
            self.device.fill(self.particles, particles)
        self.device.run(launches)
        for field in (*(f for history in self.history for f in history), *self.tracer_history):
            self._fill(field, np.zeros(setup.shape))
        self._set_weights()

    def state(self) -> dict[str, np.ndarray]:
        """Host copies of everything that a bitwise restart needs, oldest tendency last."""
        found: dict[str, Any] = {"steps": np.array(self.steps)}
        for layer in range(self.count):
            found[f"q{layer}"] = self.q[layer][self.at]
            found[f"psi{layer}"] = self.psi[layer][self.at]
            older = self._ages(self.history[layer], self.at)[: self.setup.order - 1]
            found |= {f"tendency{layer}_{age}": field for age, field in enumerate(older)}
        if self.tracer:
            found["tracer"] = self.tracer[self.at]
            older = self._ages(self.tracer_history, self.at)[: self.setup.order - 1]
            found |= {f"tracer_tendency_{age}": field for age, field in enumerate(older)}
        if self.setup.particles:
            found["particles"] = self.particles
        host = self.device.host
        return {
            name: value if name == "steps" else host(value if name == "particles" else self.view(value))
            for name, value in found.items()
        }

    def view(self, field: Any) -> Any:
        """An array with rims, without what pads its rows."""
        return field[:, : self._width]

    def _fill(self, field: Any, values: np.ndarray) -> None:
        """Overwrite an array with rims with host values, (my + 2, mx + 2)."""
        self.device.fill(field, np.pad(values, ((0, 0), (0, field.shape[1] - self._width))).astype(self.real))

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`."""
        self.steps = int(state["steps"])
        for layer in range(self.count):
            self._fill(self.q[layer][self.at], state[f"q{layer}"])
            self._fill(self.psi[layer][self.at], state[f"psi{layer}"])
            for age, field in enumerate(self._ages(self.history[layer], self.at)[: self.setup.order - 1]):
                self._fill(field, state[f"tendency{layer}_{age}"])
        if self.tracer:
            self._fill(self.tracer[self.at], state["tracer"])
            for age, field in enumerate(self._ages(self.tracer_history, self.at)[: self.setup.order - 1]):
                self._fill(field, state[f"tracer_tendency_{age}"])
        if self.setup.particles:
            self.device.fill(self.particles, state["particles"])
        self._set_weights()

    def points(self, field: Any) -> np.ndarray:
        """Host copy of an array with rims at points, (ny, nx)."""
        wrap_x, wrap_y = (int(wrap) for wrap in self.setup.periodic)
        values = self.device.host(self.view(field))
        return values[wrap_y : values.shape[0] - wrap_y, wrap_x : values.shape[1] - wrap_x]
