"""The launches of a step of the barotropic model, from one set of buffers to the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.models.barotropic import kernels, passes_cpu, passes_cuda, rims
from eagre.models.barotropic.drift import drifted
from eagre.models.barotropic.inversion import CpuBox, CudaBox, General, Launches
from eagre.models.barotropic.state import State

JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}
WALLS = {"free-slip": rims.FREE_SLIP, "no-slip": rims.WOODS, "no-slip-thom": rims.THOM}


class Passes:
    """Makes launches on the arrays of a `State`; `walls_y`: whether its south and north rims stand on walls."""

    def __init__(
        self, state: State, inversion: CpuBox | CudaBox | General, walls_y: tuple[bool, bool] = (True, True)
    ) -> None:
        self.state, self.setup = state, state.setup
        self._walls_y = dict(zip(("SOUTH", "NORTH"), walls_y, strict=True))
        self._inversion = inversion
        grid = self.setup.grid
        self.fused = isinstance(inversion, CudaBox) and not self.setup.compensated
        self._over = (0.25 / (grid.dx * grid.dy), 1.0 / grid.dx**2, 1.0 / grid.dy**2)

    def _loop(self, cell: Any, *arguments: Any, **switches: Any) -> Launch:
        device = self.state.device
        switches = {"JACOBIAN": JACOBIANS[self.setup.jacobian], **switches}
        return device.over(device.loop(cell, self.state.precision, switches), self.setup.inner, arguments)

    def step(self, at: int) -> Launches:
        """Launches of a step from buffers `at` to the others."""
        setup, then = self.setup, 1 - at
        made = self.update(at)
        made += self._implicit(at) if setup.implicit else []
        made += self.invert(then, fused=self.fused and not setup.implicit)
        for layer in range(self.state.count):
            made += self.rims(self.state.psi[layer][then], self.state.q[layer][then])
        if setup.particles:
            made.append(self._drift(then))
        return made

    def update(self, at: int) -> Launches:
        """Launches that find the new tracer and the new vorticities from buffers `at`."""
        made: Launches = self._advect_tracer(at) if self.state.tracer else []
        for layer in range(self.state.count):
            made += self._terms(layer, at)
        for layer in range(self.state.count):
            made += self._update(layer, at)
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
        return kernels.Coefficients._make(map(self.state.real, numbers))

    def _terms(self, layer: int, at: int) -> Launches:
        """Terms that are gathered in a map before the update: topography, biharmonic viscosity, layers."""
        if not self.setup.gathers:
            return []
        setup, real = self.setup, self.state.real
        total, psi, q = self.state.total[layer], self.state.psi[layer][at], self.state.q[layer][at]
        made: Launches = [self._loop(kernels.forced, self.state.curl, total, WIND=self.state.wind if layer == 0 else 0)]
        if setup.topography is not None and layer == self.state.count - 1:
            made.append(self._loop(kernels.over_topography, psi, self.state.bed, total, real(self._over[0])))
        if setup.biharmonic > 0.0:
            made += self._biharmonic(layer, at)
        if setup.layers is not None:
            other = 1 - layer
            by_psi, by_q = setup.layers.coupling(layer, setup.viscosity, setup.friction)
            others = (psi, self.state.psi[other][at], q, self.state.q[other][at])
            made.append(self._loop(kernels.coupled, *others, total, real(by_psi), real(by_q)))
        return made

    def _biharmonic(self, layer: int, at: int) -> Launches:
        """total -= B Lap Lap zeta, zeta = q + F (psi - other psi), or q + lambda psi."""
        setup, state, b = self.setup, self.state, self.setup.biharmonic
        _, over_dx2, over_dy2 = self._over

        def lap(cell: Any, source: Any, into: Any, factor: float) -> Launch:
            return self._loop(cell, source, into, state.real(factor * over_dx2), state.real(factor * over_dy2))

        made: Launches = [lap(kernels.laplacian, state.q[layer][at], state.lap, 1.0)]
        own = setup.screening if setup.layers is None else setup.layers.own(layer)
        if own > 0.0:
            made.append(lap(kernels.subtract_laplacian, state.psi[layer][at], state.lap, -own))
        if setup.layers is not None:
            made.append(lap(kernels.subtract_laplacian, state.psi[1 - layer][at], state.lap, own))
        made += self.rims(state.lap, state.lap, plain=True)
        return [*made, lap(kernels.subtract_laplacian, state.lap, state.total[layer], b)]

    def _update(self, layer: int, at: int) -> Launches:
        """Tendency and Adams-Bashforth of one layer."""
        setup, state, then = self.setup, self.state, 1 - at
        c = self._coefficients(0.0 if setup.implicit else setup.viscosity)
        if setup.layers is not None and layer == 0:
            c = c._replace(friction=state.real(0.0))
        switches = {
            "HISTORY": setup.order - 1,
            "WIND": 2 if setup.gathers else state.wind,
            "JACOBIAN": JACOBIANS[setup.jacobian],
        }
        psi, q, new = state.psi[layer][at], state.q[layer][at], state.q[layer][then]
        curl = state.total[layer] if setup.gathers else state.curl
        rest = (*state.ages(state.history[layer], at), curl, state.weights, c)
        boxed = isinstance(self._inversion, CudaBox)
        target = new if boxed else state.psi[layer][then]
        if setup.compensated:
            cell = kernels.updated_with_the_lost
            return [self._loop(cell, psi, q, new, target, *rest, state.lost[layer], **switches)]
        if self.fused:
            return [self._update_and_transform(layer, (psi, q, new, *rest), switches)]
        if state.device.kind == "cpu":
            program = state.device.program(passes_cpu.update_cpu, state.precision, switches)
            pieces = max(1, min(64, setup.inner[0] // 8))
            scratch = np.zeros((pieces, setup.inner[1]), state.real)
            return [Launch(program, (psi, q, new, target, *rest, scratch))]
        return [self._loop(kernels.updated, psi, q, new, target, *rest, **switches)]

    def _update_and_transform(self, layer: int, arguments: tuple[Any, ...], switches: dict[str, Any]) -> Launch:
        """The update and the transform of its rows in one kernel."""
        inversion, state = self._inversion, self.state
        assert isinstance(inversion, CudaBox)
        box = inversion.box
        switches = switches | box.switches(update=True)
        program = state.device.program(passes_cuda.update_cuda, state.precision, switches)
        arguments = (*arguments, inversion.work(layer, None), box.table)
        return Launch(program, arguments, *box.geometry(update=True), early=box.early > 0)

    def _implicit(self, at: int) -> Launches:
        """Crank-Nicolson viscosity: (1 - a Lap)(new + old) = 2 old + dt F, a = dt A / 2."""
        setup, then = self.setup, 1 - at
        a = 0.5 * setup.time_step * setup.viscosity
        field = self.state.q[0][then] if isinstance(self._inversion, CudaBox) else self.state.psi[0][then]
        made = [] if self.fused else self._inversion.forward(0, field)
        made += self._inversion.solve(0, self._inversion.work(0, field), 1.0 / a, -1.0 / a)
        made += self._inversion.backward(0, field)
        return [*made, self._loop(kernels.reflected, field, self.state.q[0][at], self.state.q[0][then], field)]

    def invert(self, then: int, fused: bool) -> Launches:
        """psi of buffers `then` from the vorticity there (left in the place of psi, but for a GPU's box)."""
        layers, solver = range(self.state.count), self._inversion
        boxed = isinstance(solver, CudaBox)
        fields = [self.state.q[k][then] if boxed else self.state.psi[k][then] for k in layers]
        made: Launches = []
        for k in layers:
            made += [] if fused else solver.forward(k, fields[k])
        work = [solver.work(k, fields[k]) for k in layers]
        stacked = self.setup.layers
        made += self.modes(work, kernels.to_modes)
        for k in layers:
            made += solver.solve(k, work[k], self.setup.screening if stacked is None else stacked.screening(k))
        made += self.modes(work, kernels.from_modes)
        for k in layers:
            made += solver.backward(k, self.state.psi[k][then])
        return made

    def modes(self, work: list[Any], cell: Any) -> Launches:
        """Two layers to their modes or back, between `forward` and `backward`; one layer needs nothing."""
        if self.setup.layers is None:
            return []
        first, second = (array.reshape(array.shape[0], -1) for array in work)
        program = self.state.device.loop(cell, self.state.precision)
        share = self.state.real(self.setup.layers.share)
        return [self.state.device.over(program, first.shape, (first, second, share))]

    def rims(self, psi: Any, q: Any, plain: bool = False, no_flux: bool = False) -> Launches:
        """Fill the rims of psi and q; `plain`: of a field that vanishes on walls, `no_flux`: of one that is carried."""
        setup, real = self.setup, self.state.real
        wall = rims.FREE_SLIP if plain else rims.NO_FLUX if no_flux else WALLS[setup.walls]
        kinds = [rims.PERIODIC if wrap else wall for wrap in setup.periodic]
        made: Launches = []
        _, over_dx2, over_dy2 = self._over
        ny, nx = setup.shape
        if kinds[1] != rims.FREE_SLIP and any(self._walls_y.values()):
            switches = {"WALL_Y": kinds[1], **self._walls_y}
            program = self.state.device.loop(rims.rims_y, self.state.precision, switches)
            made.append(self.state.device.over(program, (1, nx - 2), (psi, q, real(over_dy2))))
        if kinds[0] != rims.FREE_SLIP:
            program = self.state.device.loop(rims.rims_x, self.state.precision, {"WALL_X": kinds[0]})
            made.append(self.state.device.over(program, (ny, 1), (psi, q, nx - 1, real(over_dx2))))
        return made

    def _advect_tracer(self, at: int) -> Launches:
        """The tracer goes with the flow of the beginning of the step: before psi is found anew."""
        setup, state = self.setup, self.state
        now, new = state.tracer[at], state.tracer[1 - at]
        _, over_dx2, over_dy2 = self._over
        numbers = (self._over[0], 0.0, setup.diffusivity * over_dx2, setup.diffusivity * over_dy2, 0.0, 0.0)  # type: ignore[operator]
        c = kernels.Coefficients._make(map(state.real, numbers))
        rest = (*state.ages(state.tracer_history, at), state.curl, state.tracer_weights, c)
        update = self._loop(kernels.updated, state.psi[0][at], now, new, new, *rest, HISTORY=setup.order - 1, WIND=0)
        return [update, *self.tracer_rims(1 - at)]

    def tracer_rims(self, at: int) -> Launches:
        """Nothing goes through walls."""
        return self.rims(self.state.tracer[at], self.state.tracer[at], no_flux=True) if self.state.tracer else []

    def _drift(self, then: int) -> Launch:
        grid, setup = self.setup.grid, self.setup
        wraps = [float(n) if wrap else 0.0 for n, wrap in zip((grid.nx, grid.ny), setup.periodic, strict=True)]
        rate = setup.time_step / (grid.dx * grid.dy)
        program = self.state.device.loop(drifted, self.state.precision)
        arguments = (self.state.psi[0][then], self.state.particles, self.state.width, rate, *wraps)
        return self.state.device.over(program, (setup.particles,), arguments)
