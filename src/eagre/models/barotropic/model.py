"""The barotropic vorticity model: assembly and time step (equations: README.md in this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.checks import check_input_memory, check_sample, check_state, grid_state, one_of
from eagre.errors import InputError
from eagre.given import of_type
from eagre.grid import Grid
from eagre.models.barotropic import diagnostics
from eagre.models.barotropic.averaging import possible
from eagre.models.barotropic.bands import engine_for
from eagre.models.barotropic.budget import energy_budget
from eagre.models.barotropic.initial import initial_vorticity
from eagre.models.barotropic.inputs import (
    check_memory,
    check_size,
    check_together,
    checked_number,
    field_at_points,
    places_of,
    screening_of,
    wall_points,
)
from eagre.models.barotropic.kernel_sets import KERNELS
from eagre.models.barotropic.layers import Layers
from eagre.models.barotropic.outputs import (
    field_of,
    fields_of,
    left_behind,
    notes_of,
    places_at_points,
    settings_of,
    summary_rows_of,
)
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.stability import check_time_step
from eagre.models.barotropic.stepper import Stepper
from eagre.models.barotropic.wind import checked_curl, words_of_wind
from eagre.models.base import BaseModel
from eagre.names import unknown_field
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, asked_of, words_of
from eagre.stepping.mapped import RunMaps

BASINS = ("box", "channel", "periodic")
WALLS = ("free-slip", "no-slip", "no-slip-thom")


class BarotropicVorticity(BaseModel):
    """Wind-driven quasi-geostrophic flow on a beta plane, with a direct solver for the streamfunction.

    In a box, a channel or a doubly periodic basin, with free or no slip, over topography, in one or
    two layers. Units are the caller's: metres and seconds, or a nondimensional set.

    Parameters
    ----------
    grid : Grid
        Its cell centres are the points; walls pass through the outermost ones (`Grid.from_points`). A
        periodic side has no point of its own twice: its period is nx dx.
    time_step : float, s
    beta : float, 1 / (m s)
        Northward gradient of the Coriolis parameter.
    wind_forcing : float, (ny, nx) array or TimeVaryingField, 1 / s2
        curl(tau) / (rho D), the source of vorticity; one over time (`wind.moving_curl`) is linear between its records
        and taken where a step begins.
    viscosity : float, m2 / s
        Lateral friction A Lap zeta.
    biharmonic_viscosity : float, m4 / s
        B of -B Lap Lap zeta.
    bottom_friction : float, 1 / s
        mu of -mu zeta.
    deformation_radius : float, m
        Of a reduced-gravity layer; infinite (a rigid lid) if not given.
    topography : (ny, nx) array, 1 / s
        f0 b / D of a bed of height b: the flow carries zeta + this.
    layers : Layers
        Two layers in place of one.
    basin : {"box", "channel", "periodic"}
        Walls all round; periodic along x; periodic along both.
    walls : {"free-slip", "no-slip", "no-slip-thom"}
        No slip after Woods, or after Thom; both of second order in the streamfunction.
    jacobian : {"arakawa", "advective"}
        Arakawa's, which conserves energy and enstrophy; the plain one is Bleichrodt's (2011).
    scheme : {"ab3", "ab2"}
        Adams-Bashforth; the first steps have as many terms as there is history.
    viscosity_scheme : {"explicit", "implicit"}
        Implicit (Crank-Nicolson, in spectral space) lifts the limit dt < dx^2 / (16 A).
    compensated_summation : bool
        Keep what each step loses to rounding and add it to the next, for very small steps in single precision.
    relative_vorticity, relative_vorticity_lower : float or (ny, nx) array, 1 / s
        Initial relative vorticity Lap psi of the (upper) and the lower layer; the flow is at rest if not given.
    potential_vorticity, potential_vorticity_lower : float or (ny, nx) array, 1 / s
        Alternative to the relative vorticity: q = Lap psi - psi / R^2, or q of `Layers`, without beta y and topography.
    tracer : (ny, nx) array
        Initial concentration of a tracer that the (upper) flow carries.
    tracer_diffusivity : float, m2 / s
    particles : (n, 2) array, m
        Initial x, y of particles that drift with the (upper) flow.
    time_statistics : TimeStatistics, optional
        Means and variances over time, gathered at every step; see the attribute `maps`.
    kernels : {"fast", "reference"}
        The fastest kernels that there are for the device and the options, or one plain cell a stage (slow; to compare).
    device : str, or a sequence of str
        "auto", "cpu", "cuda" or "cuda:N"; several share the rows: ["cuda:0", "cuda:1"] or "cuda:0,cuda:1".
    precision : {"single", "double"}
    start_time : float, s

    Raises
    ------
    InputError
        For values outside these ranges, shapes that do not match, or options that exclude one another.
    DeviceError, MemoryNeededError
        If the device is not there, or too small.

    Notes
    -----
    Good values: 2 or more points a Munk width (A / beta)^(1/3), better 5; time_step below 0.5 dx / |v|
    and dx^2 / (16 A). Refused is what friction or the fastest Rossby wave, of frequency w, cannot bear: without
    friction 0.72 / w for "ab3"; with "ab2" waves grow at any step, by (w dt)^4 / 4 in each, and 0.18 / w, 1 % a period,
    is the limit.
    Limits: psi = 0 on every wall, so a channel carries no net transport; a fixed time step; outputs
    at the first step at or after the asked time; implicit viscosity for one layer, free slip, no screening;
    several devices for a box, with explicit viscosity, without biharmonic viscosity and particles.

    References
    ----------
    F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU,
    MSc thesis, Utrecht University (2011). A. Arakawa, J. Comput. Phys. 1, 119-143 (1966),
    doi:10.1016/0021-9991(66)90015-5.
    """

    kind = "barotropic"
    _left: tuple[str, ...] = ()  # notes on what it does not take up of a state

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
        asked = asked_of(time_statistics, {one.name: one for one in fields_of(*has)}, possible(*has))
        check_memory(grid, self.device, precision, 1 + has[0], words_of(asked, precision) + words_of_wind(wind_forcing))
        self.setup = Setup(
            grid=grid,
            basin=one_of("basin", basin, BASINS),
            walls=one_of("walls", walls, WALLS),
            jacobian=one_of("jacobian", jacobian, ("arakawa", "advective")),
            order={"ab2": 2, "ab3": 3}[one_of("scheme", scheme, ("ab3", "ab2"))],
            time_step=checked_number("time_step", time_step, 1e-300),
            beta=checked_number("beta", beta, -1e300),
            viscosity=checked_number("viscosity", viscosity),
            biharmonic=checked_number("biharmonic_viscosity", biharmonic_viscosity),
            friction=checked_number("bottom_friction", bottom_friction),
            screening=screening_of(deformation_radius),
            implicit=one_of("viscosity_scheme", viscosity_scheme, ("explicit", "implicit")) == "implicit",
            compensated_summation=bool(compensated_summation),
            **checked_curl(wind_forcing, grid, float(start_time)),
            topography=None if topography is None else field_at_points("topography", topography, grid),
            layers=layers and of_type("layers", layers, Layers, "Layers(upper=4e-10, lower=1e-10)"),
            diffusivity=None if tracer is None else checked_number("tracer_diffusivity", tracer_diffusivity),
            particles=0 if particles is None else len(particles),
            kernels=one_of("kernels", kernels, KERNELS),
            time_statistics=asked,
        )
        check_together(self.setup, precision)
        check_time_step(self.setup)
        relative = relative_vorticity, relative_vorticity_lower
        start = initial_vorticity(self.setup, relative, (potential_vorticity, potential_vorticity_lower))
        self._engine = engine_for(self.setup, self.device, precision)
        self._engine.set_state(
            start,
            None if tracer is None else field_at_points("tracer", tracer, grid),
            None if particles is None else places_of(particles, grid, self.setup.periodic),
        )
        self._stepper = Stepper(self._engine, float(start_time))

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine, none = engine_for(self.setup, self.device, self.precision), np.zeros(self.grid.shape)
        places = np.zeros((2, self.setup.particles)) if self.setup.particles else None
        tracer = None if self.setup.diffusivity is None else none
        self._engine.set_state([none] * self._engine.count, tracer, places)
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
        """Bleichrodt's (2011) double gyre on [0, pi]^2 in nondimensional units (numbers: `scales.DoubleGyre`).

        `points` a side, wind curl -alpha sin 2y, viscosity 1 / reynolds, friction mu; `options` as of the class.
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
        """Steps made."""
        return self._engine.steps

    @property
    def time_step(self) -> float:
        """The time step, s."""
        return self.setup.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step to the first step at or after `until`, s, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` lies before the present, or after the last record of the wind.
        BlowUpError
            If the solution stops being finite; the model then holds the last good state.
        """
        stepper = self._stepper
        moving = self.setup.moving
        series = () if moving is None else moving.instants.hats[:1]
        advance(stepper, stepper.keeper, until, max_steps, look_steps=stepper.look_steps, series=series)

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """A function that makes `count` steps and reads nothing: for timing."""

        def make() -> None:
            self._stepper.step(self.time + (count + 1) * self.time_step, count)

        return make

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Any]:
        """The fields that `field` gives."""
        setup = self.setup
        listed = fields_of(setup.layers is not None, setup.diffusivity is not None, setup.moving is not None)
        return {variable.name: variable for variable in listed}

    def field(self, name: str) -> np.ndarray:
        """Host copy of a field at the points, (ny, nx)."""
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name, self.time)

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Values of fields at points (j, i)."""
        j, i = check_sample(names, points, self.variables, self.grid)
        return {name: self.field(name)[j, i] for name in names}

    @property
    def wall_points(self) -> np.ndarray | None:
        """Mask (ny, nx) of the points on walls, where the streamfunction is 0."""
        return wall_points(self.grid, self.setup.periodic)

    @property
    def particle_positions(self) -> np.ndarray:
        """x, y of the particles, (n, 2), m."""
        return places_at_points(self._engine)

    @property
    def maps(self) -> RunMaps | None:
        """The averages that were asked for, up to now: `maps.sample()` gives them; None where none were."""
        asked = self.setup.time_statistics
        return RunMaps(self.grid, lambda: (self._engine.maps_state(), self.time), asked) if asked is not None else None

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a restart needs to go on bit for bit."""
        return {**self._stepper.state(), **grid_state(self.grid, self.setup.stood_on)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state` from a model of the same set-up."""
        numbers = ("steps", "start", "landed")
        check_state(state, self._fields_of_state(state), self.grid, numbers, self.setup.stood_on)
        self._stepper.restore(state)
        self._left = left_behind(self.setup, state)
        self._stepper.keeper.forget()

    def _fields_of_state(self, state: dict[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
        """Shapes of the fields that a state must have, and of those that it has beside them."""
        names = [f"{name}{layer}" for layer in range(self._engine.count) for name in ("q", "psi")]
        names += ["tracer"] if self.setup.diffusivity is not None else []
        names += [name for name in state if "tendency" in name or name.startswith("lost")]
        more = {"particles": (2, self.setup.particles)} if self.setup.particles else {}
        return {**dict.fromkeys(names, self.setup.shape), **more}

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Energy and enstrophy of all layers; extremes, largest velocities and transport per depth of the upper.

        The transport is that between the highest and the lowest psi, walls (psi = 0) included.
        """
        found = self._engine.integrals()
        u, v = self._engine.speeds()
        wall = math.nan if self.setup.basin == "periodic" else 0.0  # fmax and fmin pass over it
        highest, lowest = np.fmax(found["max_streamfunction"], wall), np.fmin(found["min_streamfunction"], wall)
        transport = float(highest - lowest)
        return {**found, "max_velocity_x": u, "max_velocity_y": v, "transport_per_depth": transport}

    def energy_budget(self) -> dict[str, float]:
        """What feeds and drains the energy now, and what the Jacobian leaves over (see `budget.energy_budget`)."""
        return energy_budget(self)

    @property
    def bytes_per_step(self) -> int:
        """Bytes a point that a step must move: columns 2 words, transform back 2, the update as `State.words` says."""
        return (4 + self._engine.words) * self._engine.count * np.dtype(self._engine.real).itemsize

    def energy_spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Wavenumbers, 1 / m, and the (upper) flow's kinetic energy per area in their rings, m2 / s2."""
        psi, grid = self.field("streamfunction"), self.grid
        return diagnostics.energy_spectrum(psi, grid.dx, grid.dy, self.setup.periodic)

    def statistics(self) -> dict[str, float]:
        """Steps and time step."""
        return {"steps": self.steps, "redone_steps": 0, "dt_min": self.time_step, "dt_max": self.time_step}

    @property
    def notes(self) -> list[str]:
        """What a user should know before the run: points a Munk width, nondimensional numbers, limits of the step."""
        return [*notes_of(self.setup), *self._engine.kernels.notes, *self._left]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """What the summary of a run tells of its end: energy, enstrophy, budget, streamfunction, velocities."""
        return summary_rows_of(self.diagnostics(), self.energy_budget())

    def settings(self) -> dict[str, str | float | int]:
        """The resolved set-up, for the attributes of output files."""
        own = {"kernels": self._engine.kernels.name, "device": str(self.device), "precision": self.precision}
        return {**settings_of(self.setup), **own}
