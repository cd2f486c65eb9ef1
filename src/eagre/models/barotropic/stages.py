"""Stages of a time step of the barotropic model, from one set of buffers to the other (order: `step`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from eagre.backend.device import Launch
from eagre.models.barotropic import kernels
from eagre.models.barotropic.inversion import Launches
from eagre.models.barotropic.kernels import drifted, drifted_in_slab
from eagre.models.barotropic.sampling.averaging import StepAverages
from eagre.models.barotropic.state import State
from eagre.models.barotropic.update import reference
from eagre.models.barotropic.update.kernel_sets import KernelSet, Update, plain_update, updated
from eagre.runtime.stage import ALL, Stage, arrays_of, near
from eagre.solvers.poisson.slabs import Slab

JACOBIANS = {"arakawa": kernels.arakawa_jacobian, "advective": kernels.advective_jacobian}
WALLS = {"free-slip": kernels.FREE_SLIP, "no-slip": kernels.WOODS, "no-slip-thom": kernels.THOM}
Problems = Sequence[tuple[float, float]]
"""Helmholtz term and factor of the right-hand side, for each layer or vertical mode."""


class Stages:
    """Builder of stages on the arrays of a `State`, which has the rows of `slab`."""

    def __init__(self, state: State, kernel_set: KernelSet, averages: StepAverages, slab: Slab) -> None:
        self.state, self.setup, self.kernels, self._averages = state, state.setup, kernel_set, averages
        self._walls_y = dict(zip(("SOUTH", "NORTH"), slab.walls, strict=True))
        self._layers = range(state.count)
        setup = self.setup
        self._over = (0.25 / (setup.grid.dx * setup.grid.dy), 1.0 / setup.grid.dx**2, 1.0 / setup.grid.dy**2)
        screenings = (
            [setup.screening] if setup.layers is None else map(setup.layers.inverse_radius_squared, self._layers)
        )
        self._problems: dict[str, Problems] = {"": [(screening, 1.0) for screening in screenings]}
        if setup.implicit:
            a = setup.half_step_viscosity
            self._problems["viscosity "] = [(1.0 / a, -1.0 / a)]
        self._interfaces = {
            name: [kernel_set.inversion.interface(slab, screening) for screening, _ in problems if slab.heights]
            for name, problems in self._problems.items()
        }

    @property
    def arrays(self) -> dict[str, Any]:
        """Arrays of the stages by name, in the order in which they are exchanged."""
        interfaces = {
            f"{name}interface {k}": one for name, some in self._interfaces.items() for k, one in enumerate(some)
        }
        solver, state = self.kernels.inversion, self.state
        return arrays_of(**interfaces, state=state, wind=state.wind, solver=solver, statistics=self._averages)

    def _loop(self, cell: Any, *arguments: Any, **switches: Any) -> Launch:
        device = self.state.device
        switches = {"JACOBIAN": JACOBIANS[self.setup.jacobian], **switches}
        return device.over(device.loop(cell, self.state.precision, switches), self.setup.inner, arguments)

    def _stage(self, name: str, loop: tuple[Any, ...], reads: Any, writes: Any, **switches: Any) -> Stage:
        """Return a stage of one loop: a kernel function and its arguments."""
        return Stage(name, lambda: [self._loop(*loop, **switches)], reads, writes)

    # -- tendencies ---------------------------------------------------------------------------------

    def wind(self) -> list[Stage]:
        """Interpolation of a time-varying wind forcing to the start of the step."""
        if self.setup.time_varying_wind is None:
            return []
        wind = self.state.wind
        return [Stage("wind", wind.launches, near(0, wind.clock), (wind.curl, wind.clock), extent=1)]

    def tracer(self, old: int) -> list[Stage]:
        """Advection-diffusion of the tracer with psi at the start of the step."""
        state, new = self.state, 1 - old
        if not state.tracer:
            return []
        reads = [*near(1, state.psi[0][old], state.tracer[old]), *near(0, *state.tracer_history)]
        launches = partial(updated, "tracer", plain_update, self, old)
        return [
            Stage("tracer", launches, reads, (state.tracer[new], *state.tracer_history)),
            *self.tracer_boundary(new),
        ]

    def vorticity(self, old: int) -> Stage:
        """Tendency and Adams-Bashforth of all layers; a copy of the new vorticity for a solver that works in place."""
        state, new = self.state, 1 - old
        stored = [*(field for history in state.history for field in history), *state.rounding]
        forcing = (state.wind.curl, *([] if self.setup.topography is None else [state.total]))
        laplacians = state.lap if self.setup.biharmonic_viscosity > 0.0 else []
        reads = [*near(1, *(pair[old] for pair in (*state.psi, *state.q)), *laplacians), *near(0, *forcing, *stored)]
        new_q = [] if self.setup.implicit else [q[new] for q in state.q]
        writes = (*new_q, *self._solved(new), *stored)
        return Stage("vorticity", partial(updated, "vorticity", plain_update, self, old), reads, writes)

    def updates(self, name: str, old: int) -> list[tuple[int | None, Update, dict[str, Any]]]:
        """Return layer, arguments and switches of the updates of the stage "tracer" or "vorticity"."""
        return [self._tracer_update(old)] if name == "tracer" else [self._layer_update(k, old) for k in self._layers]

    def _tracer_update(self, old: int) -> tuple[None, Update, dict[str, Any]]:
        setup, state = self.setup, self.state
        c, new = state.tracer[old], state.tracer[1 - old]
        _, over_dx2, over_dy2 = self._over
        numbers = (self._over[0], 0.0, setup.diffusivity * over_dx2, setup.diffusivity * over_dy2, 0.0, 0.0)  # type: ignore[operator]
        coefficients = kernels.Coefficients._make(map(state.real, numbers))
        ages = state.ages(state.tracer_history, old)
        fields = kernels.LayerFields(state.psi[0][old], c, new, new, *ages)
        update = Update(fields, state.wind.curl, state.weights, coefficients)
        return None, update, self._switches(wind=0)

    def _layer_update(self, layer: int, old: int) -> tuple[int, Update, dict[str, Any]]:
        setup, state, new = self.setup, self.state, 1 - old
        over_topography = setup.topography is not None and layer == state.count - 1
        switches = self._switches(2 if over_topography else state.wind.kind if layer == 0 else 0)
        switches["IMPLICIT"] = setup.implicit
        curl = state.total if over_topography else state.wind.curl
        coupled, biharmonic = setup.layers is not None, setup.biharmonic_viscosity > 0.0
        if coupled or biharmonic:
            curl = self._forcing(layer, old, curl)
            switches |= {"FORCING": kernels.summed_forcing, "COUPLED": coupled, "BIHARMONIC": biharmonic}
        ages = state.ages(state.history[layer], old)
        target = self._solved(new)[layer]
        values = target if setup.implicit else state.q[layer][new]
        fields = kernels.LayerFields(state.psi[layer][old], state.q[layer][old], values, target, *ages)
        return layer, Update(fields, curl, state.weights, self._coefficients(layer)), switches

    def _forcing(self, layer: int, old: int, curl: Any) -> kernels.Forcing:
        """Return the forcing of a layer with the terms of the other layer and of biharmonic viscosity."""
        setup, state, (_, over_dx2, over_dy2) = self.setup, self.state, self._over
        psi, q, factors = state.none, state.none, (0.0, 0.0)
        if setup.layers is not None:
            psi, q = state.psi[1 - layer][old], state.q[1 - layer][old]
            factors = setup.layers.coupling(layer, setup.viscosity, setup.bottom_friction)
        biharmonic = (setup.biharmonic_viscosity * over_dx2, setup.biharmonic_viscosity * over_dy2)
        numbers, over = map(state.real, factors), map(state.real, biharmonic)
        return kernels.Forcing._make((curl, psi, q, *numbers, state.lap[layer], *over))

    def _switches(self, wind: int) -> dict[str, Any]:
        """Return the switches of the update."""
        return {"HISTORY": self.setup.order - 1, "WIND": wind, "JACOBIAN": JACOBIANS[self.setup.jacobian]}

    def _coefficients(self, layer: int) -> kernels.Coefficients:
        setup = self.setup
        jacobian, over_dx2, over_dy2 = self._over
        viscosity = setup.half_step_viscosity if setup.implicit else setup.viscosity
        screened = viscosity * setup.screening
        friction, stretching = setup.bottom_friction - screened, (screened - setup.bottom_friction) * setup.screening
        if setup.layers is not None:
            stretching, by_q = setup.layers.coupling(layer, viscosity, setup.bottom_friction)
            friction = (setup.bottom_friction if layer == 1 else 0.0) - by_q
        beta = 0.5 * setup.beta / setup.grid.dx
        numbers = (jacobian, beta, viscosity * over_dx2, viscosity * over_dy2, friction, stretching)
        return kernels.Coefficients._make(map(self.state.real, numbers))

    def topography(self, old: int) -> list[Stage]:
        """Forcing of the lowest layer: wind - J(psi, b)."""
        setup, state, layer = self.setup, self.state, self.state.count - 1
        if setup.topography is None:
            return []
        psi, wind, total = state.psi[layer][old], state.wind, state.total
        kind = wind.kind if layer == 0 else 0
        loop = (reference.subtract_topography, psi, state.bed, total, state.real(self._over[0]))
        return [
            self._stage("forcing", (reference.set_forcing, wind.curl, total), near(0, wind.curl), (total,), WIND=kind),
            self._stage("topography", loop, [*near(1, psi, state.bed), *near(0, total)], (total,)),
        ]

    def laplacian(self, old: int) -> list[Stage]:
        """Lap zeta of all layers for biharmonic viscosity; zeta = q + F (psi - other psi), or q + lambda psi."""
        if self.setup.biharmonic_viscosity == 0.0:
            return []
        state = self.state
        fields = [pair[old] for pair in (*state.q, *state.psi)]

        def launches() -> Launches:
            return [launch for layer in self._layers for launch in self._laplacian(layer, old)]

        return [Stage("laplacian", launches, near(1, *fields), state.lap)]

    def _laplacian(self, layer: int, old: int) -> Launches:
        setup, state, lap = self.setup, self.state, self.state.lap[layer]
        _, over_dx2, over_dy2 = self._over

        def loop(cell: Any, source: Any, factor: float) -> Launch:
            return self._loop(cell, source, lap, state.real(factor * over_dx2), state.real(factor * over_dy2))

        launches: Launches = [loop(reference.laplacian, state.q[layer][old], 1.0)]
        parameter = setup.screening if setup.layers is None else setup.layers.coupling_parameter(layer)
        if parameter > 0.0:
            launches.append(loop(reference.subtract_laplacian, state.psi[layer][old], -parameter))
        if setup.layers is not None:
            launches.append(loop(reference.subtract_laplacian, state.psi[1 - layer][old], parameter))
        return launches + self.fill_boundary(lap, lap, vanishing=True)

    # -- solutions ----------------------------------------------------------------------------------

    def transform(self, new: int) -> Stage:
        """Forward transform of the new vorticity, or of the right-hand side of the implicit viscosity."""
        solver, fields = self.kernels.inversion, self._solved(new)

        def launches() -> Launches:
            return solver.forward(fields)

        return Stage("forward", launches, near(0, *fields), solver.spectra_of(fields))

    def implicit_viscosity(self, new: int) -> list[Stage]:
        """Crank-Nicolson viscosity: (1 - a Lap) new = (1 + a Lap) old + dt F, a = dt A / 2, in transformed space."""
        if not self.setup.implicit:
            return []
        solver, [field], q = self.kernels.inversion, self._solved(new), self.state.q[0][new]
        work = solver.work(0, field)
        inverse = Stage("viscosity backward", lambda: solver.copied_backward(work, q), near(0, work), (q,))
        return [*self._columns("viscosity ", [field]), inverse]

    def streamfunction(self, new: int, start: bool = False) -> list[Stage]:
        """Solution for psi in buffers `new`, from the transform of the vorticity.

        With implicit viscosity its solution has divided the transform by the norm, except at the start of a run.
        """
        norm = self.kernels.inversion.norm if self.setup.implicit and not start else 1.0
        solver, fields, psi = self.kernels.inversion, self._solved(new), [psi[new] for psi in self.state.psi]
        work = [solver.work(k, field) for k, field in enumerate(fields)]
        return [
            *self._modes("to modes", work, reference.to_modes),
            *self._columns("", fields, norm),
            *self._modes("from modes", work, reference.from_modes),
            Stage("backward", lambda: solver.backward(psi), near(0, *work), psi),
        ]

    def _solved(self, buffer: int) -> list[Any]:
        """Return the arrays passed to the solver, one per layer: q, or psi if the solver works in place."""
        fields = self.state.q if self.kernels.separate_psi else self.state.psi
        return [fields[layer][buffer] for layer in self._layers]

    def _columns(self, name: str, fields: list[Any], norm: float = 1.0) -> list[Stage]:
        """Return the stages that solve `_problems[name]` for transforms times `norm`; ranks share the columns."""
        solver, interfaces = self.kernels.inversion, self._interfaces[name]
        work, ends = [solver.work(k, field) for k, field in enumerate(fields)], [one.ends for one in interfaces]

        def columns() -> Launches:
            launches: Launches = []
            for k, (screening, factor) in enumerate(self._problems[name]):
                launches += solver.solve(k, work[k], screening, factor * norm, walls=not interfaces)
                launches += interfaces[k].leave(work[k]) if interfaces else []
            return launches

        def join() -> Launches:
            return [launch for one, field in zip(interfaces, work, strict=True) for launch in one.join(field)]

        joined = [Stage(f"{name}join", join, [*near(0, *work), *near(ALL, *ends)], work)] if ends else []
        return [Stage(f"{name}columns", columns, near(0, *solver.spectra_of(fields)), (*work, *ends)), *joined]

    def _modes(self, name: str, work: list[Any], cell: Any) -> list[Stage]:
        """Conversion of two layers to vertical modes or back, unless the solver does it."""
        layers, state = self.setup.layers, self.state
        if layers is None or self.kernels.inversion.forms_modes:
            return []

        def launches() -> Launches:
            first, second = (array.reshape(array.shape[0], -1) for array in work)
            arguments = (first, second, state.real(layers.upper_thickness_fraction))
            return [state.device.over(state.device.loop(cell, state.precision), first.shape, arguments)]

        return [Stage(name, launches, near(0, *work), work)]

    # -- boundary, particles and output --------------------------------------------------------------

    def boundary(self, new: int) -> Stage:
        """Wall vorticity, and periodic boundary points of psi and q, also in halo rows."""
        pairs = [(psi[new], q[new]) for psi, q in zip(self.state.psi, self.state.q, strict=True)]
        psi, q = zip(*pairs, strict=True)
        writes = (*psi, *q) if any(self.setup.periodic) else q

        def launches() -> Launches:
            return [launch for pair in pairs for launch in self.fill_boundary(*pair)]

        return Stage("boundary", launches, near(0, *psi, *q), writes, extent=1)

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
        by_x, by_y = (real(setup.wall_fraction(spacing)) for spacing in (setup.grid.dx, setup.grid.dy))
        if kinds[1] != kernels.FREE_SLIP and any(self._walls_y.values()):
            switches = {"WALL_Y": kinds[1], **self._walls_y}
            program = self.state.device.loop(kernels.boundary_y, self.state.precision, switches)
            launches.append(self.state.device.over(program, (1, nx - 2), (psi, q, real(over_dy2), by_y)))
        if kinds[0] != kernels.FREE_SLIP:
            program = self.state.device.loop(kernels.boundary_x, self.state.precision, {"WALL_X": kinds[0]})
            launches.append(self.state.device.over(program, (ny, 1), (psi, q, nx - 1, real(over_dx2), by_x)))
        return launches

    def tracer_boundary(self, buffer: int) -> list[Stage]:
        """No-flux boundary condition of the tracer."""
        if not self.state.tracer:
            return []
        field = self.state.tracer[buffer]
        launches = partial(self.fill_boundary, field, field, no_flux=True)
        return [Stage("tracer boundary", launches, near(0, field), (field,))]

    def particles(self, new: int) -> list[Stage]:
        """Particle advection with the new flow."""
        grid, setup, state, slab = self.setup.grid, self.setup, self.state, self.state.slab
        if not setup.particles:
            return []
        periods = [float(n) if wrap else 0.0 for n, wrap in zip((grid.nx, grid.ny), setup.periodic, strict=True)]
        numbers = (state.width, setup.time_step / (grid.dx * grid.dy))

        def launches() -> Launches:
            cell, arguments = drifted, (state.psi[0][new], state.particles, *numbers, *periods)
            if slab.heights:
                low, high = 0.5, slab.heights[slab.index] + 0.5  # the first and the last device have the walls too
                rows = kernels.ParticleRows(slab.first - 1.0, low - slab.walls[0], high + slab.walls[1])
                cell = drifted_in_slab
                arguments = (state.psi[0][new], state.particles, state.local_particles, rows, *numbers, periods[0])
            return [state.device.over(state.device.loop(cell, state.precision), (setup.particles,), arguments)]

        reads = [*near(1, state.psi[0][new]), *near(ALL if slab.heights else 0, state.particles)]
        return [Stage("particles", launches, reads, (state.particles,))]

    def time_statistics(self, new: int) -> list[Stage]:
        """Accumulation of the new state."""
        if self.setup.time_statistics is None:
            return []
        sums = (self._averages.sums, self._averages.numbers)
        reads = [*self.outputs(new).reads, *near(0, *sums)]
        return [Stage("time statistics", partial(self._averages.after_step, new), reads, sums)]

    def outputs(self, new: int) -> Stage:
        """Fields that the host may read after a step."""
        state = self.state
        fields = [pair[new] for pair in (*state.psi, *state.q, *([state.tracer] if state.tracer else []))]
        return Stage("outputs", list, near(1, *fields))
