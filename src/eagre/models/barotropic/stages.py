"""Kernel launches of the stages of a step, from one set of buffers to the other (order: `step`)."""

from __future__ import annotations

from typing import Any

from eagre.backend.device import Launch
from eagre.models.barotropic import kernels
from eagre.models.barotropic.inversion import Launches
from eagre.models.barotropic.kernels import drifted
from eagre.models.barotropic.state import State
from eagre.models.barotropic.update import reference
from eagre.models.barotropic.update.kernel_sets import KernelSet, Update

JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}
WALLS = {"free-slip": kernels.FREE_SLIP, "no-slip": kernels.WOODS, "no-slip-thom": kernels.THOM}


class Stages:
    """Builder of launches on the arrays of a `State`; walls_y : whether the south and north boundaries are walls."""

    def __init__(self, state: State, kernel_set: KernelSet, walls_y: tuple[bool, bool] = (True, True)) -> None:
        self.state, self.setup, self.kernels = state, state.setup, kernel_set
        self._walls_y = dict(zip(("SOUTH", "NORTH"), walls_y, strict=True))
        self._layers = range(state.count)
        grid = self.setup.grid
        self._over = (0.25 / (grid.dx * grid.dy), 1.0 / grid.dx**2, 1.0 / grid.dy**2)

    def _loop(self, cell: Any, *arguments: Any, **switches: Any) -> Launch:
        device = self.state.device
        switches = {"JACOBIAN": JACOBIANS[self.setup.jacobian], **switches}
        return device.over(device.loop(cell, self.state.precision, switches), self.setup.inner, arguments)

    def update(self, old: int) -> Launches:
        """Return the launches that update tracer and vorticity from buffers `old`."""
        return [*self.wind(), *self.tracer(old), *self.extra_terms(old), *self.vorticity(old)]

    # -- tendencies ---------------------------------------------------------------------------------

    def wind(self) -> Launches:
        """Return the launches that interpolate a time-varying wind forcing to the start of the step."""
        return self.state.wind.launches()

    def tracer(self, old: int) -> Launches:
        """Return the launches of tracer advection-diffusion; they use psi at the start of the step."""
        setup, state = self.setup, self.state
        if not state.tracer:
            return []
        c, new = state.tracer[old], state.tracer[1 - old]
        _, over_dx2, over_dy2 = self._over
        numbers = (self._over[0], 0.0, setup.diffusivity * over_dx2, setup.diffusivity * over_dy2, 0.0, 0.0)  # type: ignore[operator]
        coefficients = kernels.Coefficients._make(map(state.real, numbers))
        ages = state.ages(state.tracer_history, old)
        fields = kernels.LayerFields(state.psi[0][old], c, new, new, *ages)
        update = Update(fields, state.wind.curl, state.tracer_weights, coefficients)
        return [*self.kernels.update(state, None, update, self._switches(wind=0)), *self.tracer_boundary(1 - old)]

    def extra_terms(self, old: int) -> Launches:
        """Return the launches that sum topography and biharmonic terms before the update."""
        return [launch for layer in self._layers for launch in self._terms(layer, old)]

    def vorticity(self, old: int) -> Launches:
        """Return the launches of tendency and Adams-Bashforth of all layers."""
        return [launch for layer in self._layers for launch in self._update(layer, old)]

    def _switches(self, wind: int) -> dict[str, Any]:
        """Return the switches of the update."""
        return {"HISTORY": self.setup.order - 1, "WIND": wind, "JACOBIAN": JACOBIANS[self.setup.jacobian]}

    def _coefficients(self, layer: int) -> kernels.Coefficients:
        setup = self.setup
        jacobian, over_dx2, over_dy2 = self._over
        viscosity = 0.0 if setup.implicit else setup.viscosity
        screened = viscosity * setup.screening
        friction, stretching = setup.friction - screened, (screened - setup.friction) * setup.screening
        if setup.layers is not None:
            stretching, by_q = setup.layers.coupling(layer, viscosity, setup.friction)
            friction = (setup.friction if layer == 1 else 0.0) - by_q
        beta = 0.5 * setup.beta / setup.grid.dx
        numbers = (jacobian, beta, viscosity * over_dx2, viscosity * over_dy2, friction, stretching)
        return kernels.Coefficients._make(map(self.state.real, numbers))

    def _terms(self, layer: int, old: int) -> Launches:
        """Return the launches of the further terms of one layer."""
        if not self.setup.has_extra_terms:
            return []
        setup, state, real = self.setup, self.state, self.state.real
        total, psi = state.total[layer], state.psi[layer][old]
        launches: Launches = [
            self._loop(reference.set_forcing, state.wind.curl, total, WIND=state.wind.kind if layer == 0 else 0)
        ]
        if setup.topography is not None and layer == self.state.count - 1:
            launches.append(self._loop(reference.subtract_topography, psi, self.state.bed, total, real(self._over[0])))
        if setup.biharmonic > 0.0:
            launches += self._biharmonic(layer, old)
        return launches

    def _biharmonic(self, layer: int, old: int) -> Launches:
        """Return the launches of total -= B Lap Lap zeta; zeta = q + F (psi - other psi), or q + lambda psi."""
        setup, state, b = self.setup, self.state, self.setup.biharmonic
        _, over_dx2, over_dy2 = self._over

        def lap(cell: Any, source: Any, into: Any, factor: float) -> Launch:
            return self._loop(cell, source, into, state.real(factor * over_dx2), state.real(factor * over_dy2))

        launches: Launches = [lap(reference.laplacian, state.q[layer][old], state.lap, 1.0)]
        parameter = setup.screening if setup.layers is None else setup.layers.coupling_parameter(layer)
        if parameter > 0.0:
            launches.append(lap(reference.subtract_laplacian, state.psi[layer][old], state.lap, -parameter))
        if setup.layers is not None:
            launches.append(lap(reference.subtract_laplacian, state.psi[1 - layer][old], state.lap, parameter))
        launches += self.fill_boundary(state.lap, state.lap, vanishing=True)
        return [*launches, lap(reference.subtract_laplacian, state.lap, state.total[layer], b)]

    def _update(self, layer: int, old: int) -> Launches:
        """Return the launches of tendency and Adams-Bashforth of one layer."""
        setup, state, new_buffer = self.setup, self.state, 1 - old
        c = self._coefficients(layer)
        switches = self._switches(2 if setup.has_extra_terms else state.wind.kind if layer == 0 else 0)
        curl = state.total[layer] if setup.has_extra_terms else state.wind.curl
        if setup.layers is not None:
            factors = map(state.real, setup.layers.coupling(layer, setup.viscosity, setup.friction))
            curl = kernels.Coupling._make((curl, state.psi[1 - layer][old], state.q[1 - layer][old], *factors))
            switches["FORCING"] = kernels.coupled_forcing
        new = state.q[layer][new_buffer]
        target = new if self.kernels.separate_psi else state.psi[layer][new_buffer]
        ages = state.ages(state.history[layer], old)
        fields = kernels.LayerFields(state.psi[layer][old], state.q[layer][old], new, target, *ages)
        update = Update(fields, curl, state.weights, c)
        return self.kernels.update(state, layer, update, switches)

    # -- solutions ----------------------------------------------------------------------------------

    def implicit_viscosity(self, old: int) -> Launches:
        """Return the launches of Crank-Nicolson viscosity: (1 - a Lap)(new + old) = 2 old + dt F, a = dt A / 2."""
        setup, state, new, solver = self.setup, self.state, 1 - old, self.kernels.inversion
        if not setup.implicit:
            return []
        a = 0.5 * setup.time_step * setup.viscosity
        field = self.solved(new)[0]
        launches = [] if self.kernels.transforms else solver.forward(0, field)
        launches += solver.solve(0, solver.work(0, field), 1.0 / a, -1.0 / a)
        launches += solver.backward([field])
        return [*launches, self._loop(reference.complete_implicit, field, state.q[0][old], state.q[0][new], field)]

    def solved(self, buffer: int) -> list[Any]:
        """Return the arrays passed to the solver, one per layer: q, or psi if the solver works in place."""
        fields = self.state.q if self.kernels.separate_psi else self.state.psi
        return [fields[layer][buffer] for layer in self._layers]

    def streamfunction(self, new: int, transformed: bool | None = None) -> Launches:
        """Return the launches that solve for psi in buffers `new`; transformed : whether rows are transformed."""
        if transformed is None:
            transformed = self.kernels.transforms and not self.setup.implicit
        fields, solver, stacked = self.solved(new), self.kernels.inversion, self.setup.layers
        launches: Launches = []
        for k in self._layers:
            launches += [] if transformed else solver.forward(k, fields[k])
        work = [solver.work(k, fields[k]) for k in self._layers]
        launches += self.modes(work, reference.to_modes)
        for k in self._layers:
            screening = self.setup.screening if stacked is None else stacked.inverse_radius_squared(k)
            launches += solver.solve(k, work[k], screening)
        launches += self.modes(work, reference.from_modes)
        return launches + solver.backward([self.state.psi[k][new] for k in self._layers])

    def modes(self, work: list[Any], cell: Any) -> Launches:
        """Return the launches that convert two layers to vertical modes or back, unless the solver does."""
        if self.setup.layers is None or self.kernels.inversion.forms_modes:
            return []
        first, second = (array.reshape(array.shape[0], -1) for array in work)
        program = self.state.device.loop(cell, self.state.precision)
        fraction = self.state.real(self.setup.layers.upper_thickness_fraction)
        return [self.state.device.over(program, first.shape, (first, second, fraction))]

    # -- boundary and particles ---------------------------------------------------------------------

    def boundary(self, new: int) -> Launches:
        """Return the launches that set wall vorticity and periodic boundary points of psi and q."""
        psi, q = self.state.psi, self.state.q
        return [launch for k in self._layers for launch in self.fill_boundary(psi[k][new], q[k][new])]

    def fill_boundary(self, psi: Any, q: Any, vanishing: bool = False, no_flux: bool = False) -> Launches:
        """Return the launches that set boundary points.

        vanishing : the field is 0 on walls; no_flux : its normal gradient is 0 on walls.
        """
        setup, real = self.setup, self.state.real
        wall = kernels.FREE_SLIP if vanishing else kernels.NO_FLUX if no_flux else WALLS[setup.walls]
        kinds = [kernels.PERIODIC if wrap else wall for wrap in setup.periodic]
        launches: Launches = []
        _, over_dx2, over_dy2 = self._over
        ny, nx = setup.shape
        if kinds[1] != kernels.FREE_SLIP and any(self._walls_y.values()):
            switches = {"WALL_Y": kinds[1], **self._walls_y}
            program = self.state.device.loop(kernels.boundary_y, self.state.precision, switches)
            launches.append(self.state.device.over(program, (1, nx - 2), (psi, q, real(over_dy2))))
        if kinds[0] != kernels.FREE_SLIP:
            program = self.state.device.loop(kernels.boundary_x, self.state.precision, {"WALL_X": kinds[0]})
            launches.append(self.state.device.over(program, (ny, 1), (psi, q, nx - 1, real(over_dx2))))
        return launches

    def tracer_boundary(self, buffer: int) -> Launches:
        """Return the launches of the no-flux boundary condition of the tracer."""
        return (
            self.fill_boundary(self.state.tracer[buffer], self.state.tracer[buffer], no_flux=True)
            if self.state.tracer
            else []
        )

    def particles(self, new: int) -> Launches:
        """Return the launches of particle advection with the new flow."""
        grid, setup, state = self.setup.grid, self.setup, self.state
        if not setup.particles:
            return []
        periods = [float(n) if wrap else 0.0 for n, wrap in zip((grid.nx, grid.ny), setup.periodic, strict=True)]
        rate = setup.time_step / (grid.dx * grid.dy)
        program = state.device.loop(drifted, state.precision)
        arguments = (state.psi[0][new], state.particles, state.width, rate, *periods)
        return [state.device.over(program, (setup.particles,), arguments)]
