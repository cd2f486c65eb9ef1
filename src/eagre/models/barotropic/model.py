"""Barotropic vorticity model: public class (equations: README.md in this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.checks import check_input_memory, check_sample, checked_number, one_of
from eagre.config.options import checked
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.barotropic.engine import Engine
from eagre.models.barotropic.forcing.wind import checked_curl, wind_array_count
from eagre.models.barotropic.inputs import (
    check_memory,
    check_size,
    check_together,
    field_at_points,
    grid_positions,
    initial_vorticity,
    local_rows,
    wall_points,
)
from eagre.models.barotropic.layers import Layers
from eagre.models.barotropic.options import Boundaries, Numerics, Physics
from eagre.models.barotropic.sampling import diagnostics
from eagre.models.barotropic.sampling.averaging import possible
from eagre.models.barotropic.sampling.diagnostics import energy_budget
from eagre.models.barotropic.sampling.outputs import (
    field_of,
    fields_of,
    notes_of,
    particle_coordinates,
    settings_of,
    summary_rows_of,
    unused_field_notes,
)
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stability import check_time_step
from eagre.models.barotropic.stepper import Stepper
from eagre.models.barotropic.update.kernel_sets import KERNELS
from eagre.models.base import BaseModel
from eagre.models.restart_state import check_state, grid_state
from eagre.names import unknown_field
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, statistics_array_count, statistics_plan_of
from eagre.stepping.mapped import RunMaps


class BarotropicVorticity(BaseModel):
    """Wind-driven quasi-geostrophic flow on a beta plane, with a direct solver for the streamfunction.

    The basin is a box, a channel or doubly periodic; walls are free-slip or no-slip. The model supports bottom
    topography and one or two layers. Units are metres and seconds, or any consistent nondimensional set.

    Parameters
    ----------
    grid : Grid
        Cell centres are the points; walls pass through the outermost points (`Grid.from_points`). Along a periodic
        axis each point is stored once: the period is nx dx.
    time_step : float, s
    beta : float, 1 / (m s)
        Northward gradient of the Coriolis parameter.
    wind_forcing : float, (ny, nx) array or TimeVaryingField, 1 / s2
        Wind forcing of vorticity, curl(tau) / (rho D). A time-varying field (`eagre.moving_curl`) is interpolated
        linearly between its records and evaluated at the start of each step.
    viscosity : float, m2 / s
        Lateral viscosity A of the term A Lap zeta.
    biharmonic_viscosity : float, m4 / s
        Biharmonic viscosity B of the term -B Lap Lap zeta.
    bottom_friction : float, 1 / s
        Linear bottom friction mu of the term -mu zeta.
    deformation_radius : float, m
        Deformation radius R of a reduced-gravity layer; default infinite (rigid lid).
    topography : (ny, nx) array, 1 / s
        f0 b / D for a bed of height b above the mean bed; the flow advects q + f0 b / D.
    layers : Layers
        Coupling parameters of a two-layer model; default one layer.
    basin : {"box", "channel", "periodic"}
        Closed by walls; periodic along x; periodic along x and y.
    walls : {"free-slip", "no-slip", "no-slip-thom"}
        Wall boundary condition; no-slip with the formula of Woods or of Thom. Both are second-order accurate in psi.
    slip_length : float, m
        Slip length L >= 0 of no-slip walls: the velocity along a wall is L times its normal derivative. 0 is no slip.
        A positive value requires no-slip walls.
    jacobian : {"arakawa", "advective"}
        "arakawa" conserves energy and enstrophy; "advective" is the central-difference form of Bleichrodt (2011).
    scheme : {"ab3", "ab2"}
        Adams-Bashforth of order 3 or 2; the first steps use a lower order until enough tendencies are stored.
    viscosity_scheme : {"explicit", "implicit"}
        "implicit" (Crank-Nicolson, in spectral space) removes the viscous limit of the time step.
    compensated_summation : bool
        Compensated (Kahan) summation of time steps, for very small steps in single precision.
    relative_vorticity, relative_vorticity_lower : float or (ny, nx) array, 1 / s
        Initial relative vorticity Lap psi of the upper (or only) and the lower layer; default at rest.
    potential_vorticity, potential_vorticity_lower : float or (ny, nx) array, 1 / s
        Alternative: initial q = Lap psi - psi / R^2 (see `Layers` for two layers), excluding beta y and topography.
    tracer : (ny, nx) array
        Initial concentration of a passive tracer in the upper (or only) layer.
    tracer_diffusivity : float, m2 / s
        Lateral diffusivity of the tracer.
    particles : (n, 2) array, m
        Initial x, y of Lagrangian particles in the upper (or only) layer.
    time_statistics : TimeStatistics, optional
        Time means, variances and extremes, accumulated at every step; see the attribute `maps`.
    kernels : {"fast", "reference"}
        Fastest kernels available for the device and the options, or slow reference kernels for comparison.
    device : str, or a sequence of str
        "auto", "cpu", "cuda" or "cuda:N"; several devices split the rows: ["cuda:0", "cuda:1"] or "cuda:0,cuda:1".
    precision : {"single", "double"}
    start_time : float, s
        Model time of the initial state.

    Raises
    ------
    InputError
        For values outside their ranges, mismatched shapes, or incompatible options.
    DeviceError, MemoryNeededError
        If the device is not available, or has too little memory.

    Notes
    -----
    Recommended: 2, better 5 points per Munk width (A / beta)^(1/3); time_step below 0.5 dx / |v| and dx^2 / (16 A).

    Stability limits: `InputError` is raised if time_step exceeds the limit of friction or of the fastest Rossby wave
    of frequency w. Without friction the wave limit is 0.72 / w for "ab3". With "ab2" waves grow at any time step, by
    (w dt)^4 / 4 per step; the limit 0.18 / w allows a growth of 1 % per period.
    Limitations: psi = 0 on every wall, so a channel has no net transport. The time step is fixed, and output is
    written at the first step at or after the requested time. Implicit viscosity requires one layer, free-slip walls
    and a rigid lid. Several devices require a box and fast kernels.

    References
    ----------
    F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU,
    MSc thesis, Utrecht University (2011). A. Arakawa, J. Comput. Phys. 1, 119-143 (1966),
    doi:10.1016/0021-9991(66)90015-5.
    """

    kind = "barotropic"
    _unused: tuple[str, ...] = ()  # notes on fields of a restored state that the model does not use

    def __init__(
        self,
        grid: Grid,
        *,
        time_step: float,
        beta: float = 0.0,
        wind_forcing: Any = 0.0,
        viscosity: float = 0.0,
        biharmonic_viscosity: float = 0.0,
        bottom_friction: float = 0.0,
        deformation_radius: float | None = None,
        topography: Any = None,
        layers: Layers | None = None,
        basin: str = "box",
        walls: str = "free-slip",
        slip_length: float = 0.0,
        jacobian: str = "arakawa",
        scheme: str = "ab3",
        viscosity_scheme: str = "explicit",
        compensated_summation: bool = False,
        relative_vorticity: Any = None,
        relative_vorticity_lower: Any = None,
        potential_vorticity: Any = None,
        potential_vorticity_lower: Any = None,
        tracer: Any = None,
        tracer_diffusivity: float = 0.0,
        particles: Any = None,
        time_statistics: TimeStatistics | None = None,
        kernels: str = "fast",
        device: str | Device | Sequence[str | Device] = "auto",
        precision: str = "single",
        start_time: float = 0.0,
    ) -> None:
        self.grid, self.precision = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)"), precision
        self.device = device_for(device, self.kind, grid.cells, precision)
        check_size(grid)
        has = layers is not None, tracer is not None
        plan = statistics_plan_of(time_statistics, {one.name: one for one in fields_of(*has)}, possible(*has))
        arrays = statistics_array_count(plan, precision) + wind_array_count(wind_forcing)
        check_memory(grid, self.device, precision, 1 + has[0], arrays)
        rows = local_rows(self.device, grid)
        with rows.agreed_errors():
            fields = checked_curl(wind_forcing, rows, float(start_time))
            fields["topography"] = None if topography is None else field_at_points("topography", topography, rows)
        self.setup = Setup(
            grid=grid,
            **checked(locals(), Boundaries, Numerics, Physics),
            **fields,
            local=rows,
            layers=layers and of_type("layers", layers, Layers, "Layers(upper=4e-10, lower=1e-10)"),
            diffusivity=None if tracer is None else checked_number("tracer_diffusivity", tracer_diffusivity, 0.0),
            particles=0 if particles is None else len(particles),
            kernels=one_of("kernels", kernels, KERNELS),
            time_statistics=plan,
        )
        check_together(self.setup, precision)
        check_time_step(self.setup)
        relative = relative_vorticity, relative_vorticity_lower
        with rows.agreed_errors():
            start = initial_vorticity(self.setup, relative, (potential_vorticity, potential_vorticity_lower))
            concentration = None if tracer is None else field_at_points("tracer", tracer, rows)
        positions = None if particles is None else grid_positions(particles, grid, self.setup.periodic)
        self._engine = Engine(self.setup, self.device, precision)
        self._engine.set_state(start, concentration, positions)
        self._stepper = Stepper(self._engine, float(start_time))

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine, none = Engine(self.setup, self.device, self.precision), np.zeros(self.grid.shape)
        positions = np.zeros((2, self.setup.particles)) if self.setup.particles else None
        tracer = None if self.setup.diffusivity is None else none
        self._engine.set_state([none] * self._engine.count, tracer, positions)
        self._stepper = Stepper(self._engine, float(state["start"]))

    @classmethod
    def double_gyre(
        cls,
        points: int = 129,
        *,
        reynolds: float = 20.83,
        alpha: float = 1.36e5,
        beta: float = 1.36e5,
        mu: float = 0.0,
        time_step: float = 1e-7,
        **options: Any,
    ) -> BarotropicVorticity:
        """Return the double gyre of Bleichrodt (2011) on [0, pi]^2 in nondimensional units (see `scales.DoubleGyre`).

        The grid has `points` points per side. The wind forcing is -alpha sin 2y, the viscosity 1 / reynolds and the
        bottom friction mu; `options` are further arguments of the class.
        """
        if not reynolds > 0.0:
            raise InputError(f"reynolds = {reynolds!r}", allowed="a number > 0", fix="reynolds = 20.83")
        grid = Grid.from_points(points, points, math.pi, math.pi)
        check_input_memory(grid)
        curl = np.repeat(-alpha * np.sin(2.0 * grid.y)[:, None], points, axis=1)
        return cls(
            grid,
            time_step=time_step,
            beta=beta,
            viscosity=1.0 / reynolds,
            bottom_friction=mu,
            wind_forcing=curl,
            **options,
        )

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Number of completed steps."""
        return self._engine.steps

    @property
    def time_step(self) -> float:
        """The time step, s."""
        return self.setup.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance to the first step at or after `until`, s, or by at most `max_steps` steps.

        Raises
        ------
        InputError
            If `until` is before the model time, or after the last record of the wind.
        BlowUpError
            If the solution is no longer finite; the model then holds the last valid state.
        """
        stepper = self._stepper
        time_varying = self.setup.time_varying_wind
        series = () if time_varying is None else time_varying.instants.hats[:1]
        advance(stepper, stepper.checkpoint, until, max_steps, check_interval=stepper.check_interval, series=series)

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """Return a function that advances `count` steps without checks, for timing."""

        def make() -> None:
            self._stepper.step(self.time + (count + 1) * self.time_step, count)

        return make

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Any]:
        """Output fields by name, for `field` and `sample`."""
        setup = self.setup
        listed = fields_of(setup.layers is not None, setup.diffusivity is not None, setup.time_varying_wind is not None)
        return {variable.name: variable for variable in listed}

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field at the points, (ny, nx); it is empty in processes other than the first."""
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name, self.time)

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return values of fields at the points (j, i)."""
        j, i = check_sample(names, points, self.variables, self.grid)
        fields = {name: self.field(name) for name in names}
        return {name: field[j, i] if field.size else field for name, field in fields.items()}

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of the points on walls, where the streamfunction is 0."""
        return wall_points(self.grid, self.setup.periodic)

    @property
    def particle_positions(self) -> np.ndarray:
        """x, y of the particles, (n, 2), m."""
        return particle_coordinates(self._engine)

    @property
    def maps(self) -> RunMaps | None:
        """Time statistics up to the model time, read with `maps.sample()`; None if none are requested."""
        plan = self.setup.time_statistics
        return RunMaps(self.grid, lambda: (self._engine.maps_state(), self.time), plan) if plan is not None else None

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return host copies of all arrays and times that a bitwise identical restart needs."""
        return {**self._stepper.whole_state(), **grid_state(self.grid, self.setup.restart_references)}

    @property
    def rows_of_process(self) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        rows = LocalRows.whole(self.setup.local or self.grid)
        return rows.low, rows.high

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state that `state` returned for a model of the same configuration."""
        numbers = ("steps", "start", "landed")
        check_state(state, self._fields_of_state(state), self.grid, numbers, self.setup.restart_references)
        self._stepper.go_on_from(state)
        self._unused = unused_field_notes(self.setup, state)
        self._stepper.checkpoint.forget()

    def _fields_of_state(self, state: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the required and of the optional fields of a state."""
        names = [f"{name}{layer}" for layer in range(self._engine.count) for name in ("q", "psi")]
        names += ["tracer"] if self.setup.diffusivity is not None else []
        names += [name for name in state if "tendency" in name or name.startswith("lost")]
        more = {"particles": (2, self.setup.particles)} if self.setup.particles else {}
        return {**dict.fromkeys(names, self.setup.shape), **more}

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Return energy and enstrophy of all layers; extremes, maximum velocities and transport of the upper layer.

        The transport per depth is the difference of maximum and minimum psi, including psi = 0 on walls.
        """
        integrals = self._engine.integrals()
        u, v = self._engine.speeds()
        wall = math.nan if self.setup.basin == "periodic" else 0.0  # fmax and fmin ignore NaN
        highest, lowest = np.fmax(integrals["max_streamfunction"], wall), np.fmin(integrals["min_streamfunction"], wall)
        transport = float(highest - lowest)
        return {**integrals, "max_velocity_x": u, "max_velocity_y": v, "transport_per_depth": transport}

    def energy_budget(self) -> dict[str, float]:
        """Return sources and sinks of energy and the residual of the Jacobian (see `budget.energy_budget`).

        The result is empty in processes other than the first.
        """
        return energy_budget(self)

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per point and step, bytes: 4 for the solver and `State.values_per_update`."""
        return (4 + self._engine.values_per_update) * self._engine.count * np.dtype(self._engine.real).itemsize

    def energy_spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Return wavenumbers, 1 / m, and kinetic energy per area in each wavenumber bin, m2 / s2 (upper layer)."""
        psi, grid = self.field("streamfunction"), self.grid
        if not psi.size:  # in processes other than the first
            return psi, psi
        return diagnostics.energy_spectrum(psi, grid.dx, grid.dy, self.setup.periodic)

    def statistics(self) -> dict[str, float]:
        """Return the number of steps and the time step."""
        return {"steps": self.steps, "redone_steps": 0, "dt_min": self.time_step, "dt_max": self.time_step}

    @property
    def notes(self) -> list[str]:
        """Notes before a run: points per Munk width, nondimensional numbers, limits of the time step."""
        return [*notes_of(self.setup), *self._engine.kernels.notes, *self._unused]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Rows of the run summary: energy, enstrophy, energy budget, streamfunction, velocities."""
        diagnostics, budget = self.diagnostics(), self.energy_budget()
        return summary_rows_of(diagnostics, budget) if budget else []

    def settings(self) -> dict[str, str | float | int]:
        """Return the resolved configuration, for the attributes of output files."""
        run_settings = {"kernels": self._engine.kernels.name, "device": str(self.device), "precision": self.precision}
        return {**settings_of(self.setup), **run_settings}
