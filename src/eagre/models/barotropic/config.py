"""Case-file sections of the barotropic vorticity model and assembly of the model from a case."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.maps import AveragesSection
from eagre.config.section import Section
from eagre.config.values.field_values import ElevationField, NumberField
from eagre.config.values.types import (
    Beta,
    Metres,
    PointXY,
    PositiveMetres,
    PositiveSeconds,
    Rate,
    SeriesOutputFile,
    Viscosity,
)
from eagre.config.water.terrain import Crs
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.barotropic.forcing.wind_section import WindSection
from eagre.plausible import check_plausible

if TYPE_CHECKING:
    from eagre.models.barotropic.model import BarotropicVorticity

MAX_PARTICLES = 10**7


class BasinSection(Section):
    """Basin geometry, boundary conditions and grid."""

    kind: Literal["box", "channel", "periodic"] = Field(
        default="box", description="box (closed by walls), channel (periodic along x) or periodic (along x and y)"
    )
    nx: int = Field(description="number of points from west to east, including wall points", ge=5, examples=[129])
    ny: int | None = Field(default=None, description="number of points from south to north; default nx", ge=5)
    length_x: PositiveMetres | None = Field(
        default=None, description="length from wall to wall, or the period; required unless [nondimensional] is given",
        examples=["3840 km"],
    )  # fmt: skip
    length_y: PositiveMetres | None = Field(
        default=None, description="length from wall to wall, or the period; default length_x", examples=["3840 km"]
    )
    x0: Metres = Field(default=0.0, description="x of the western wall, metres")
    y0: Metres = Field(default=0.0, description="y of the southern wall, metres")
    crs: Crs | None = Field(
        default=None,
        description="coordinate reference system of x and y; required for files in other systems",
        examples=["ESRI:102014"],
    )
    walls: Literal["free-slip", "no-slip", "no-slip-thom"] = Field(
        default="free-slip", description="free-slip, no-slip (Woods formula) or no-slip-thom (Thom formula)"
    )


class PhysicsSection(Section):
    """Beta effect, friction and deformation radius, in SI units."""

    beta: Beta = Field(
        default=0.0, description="northward gradient of the Coriolis parameter, 1/(m s)", examples=[2e-11]
    )
    viscosity: Viscosity = Field(default=0.0, description="lateral (Laplacian) viscosity, m2/s", examples=["400 m2/s"])
    biharmonic_viscosity: float = Field(default=0.0, description="biharmonic viscosity, m4/s", ge=0, examples=[1e10])
    bottom_friction: Rate = Field(default=0.0, description="linear bottom friction, 1/s", examples=[1e-7])
    deformation_radius: PositiveMetres | None = Field(
        default=None,
        description="deformation radius of a reduced-gravity layer; default: rigid lid",
        examples=["45 km"],
    )


class NondimensionalSection(Section):
    """Nondimensional double gyre of Bleichrodt (2011) on [0, pi] x [0, pi]; replaces [physics] and [wind]."""

    alpha: float = Field(default=1.36e5, description="nondimensional wind forcing", ge=0, examples=[1.36e5])
    beta: float = Field(
        default=1.36e5, description="nondimensional gradient of the Coriolis parameter", examples=[1.36e5]
    )
    mu: float = Field(default=0.0, description="nondimensional bottom friction", ge=0, examples=[0.0])
    reynolds: float = Field(default=20.83, description="Reynolds number", gt=0, examples=[20.83])


class TopographySection(Section):
    """Bottom topography."""

    height: ElevationField = Field(description="height of the bed above the mean bed, metres", examples=["500"])
    coriolis: Rate = Field(description="reference Coriolis parameter f0, 1/s", examples=[1e-4])
    depth: PositiveMetres = Field(description="mean water depth", examples=["4000 m"])

    def vorticity(self, grid: Grid) -> np.ndarray:
        """Return f0 b / D at the points, (ny, nx), 1/s.

        Raises
        ------
        InputError
            If the height reaches the mean depth, or is an elevation of the bed instead of a height above the mean bed.
        """
        height = np.broadcast_to(self.height.at_centres(grid), grid.shape)
        low, high = float(height.min()), float(height.max())
        got, depth = f"height from {low:g} to {high:g} m with depth = {self.depth:g} m", self.depth
        if low <= -depth:
            raise InputError(
                got, allowed=f"heights relative to the mean bed, between -{depth:g} and {depth:g} m",
                fix=f'height = "... + {depth:g}"  # converts a bed elevation to a height',
                problem="The height is a bed elevation relative to the sea surface, not relative to the mean bed.",
            )  # fmt: skip
        if high >= depth:
            raise InputError(
                got, allowed=f"below {depth:g} m; quasi-geostrophic theory requires far lower heights",
                fix=f'height = "minimum({0.1 * depth:g}, ...)"',
                problem="The topography reaches the sea surface; the model does not support islands.",
            )  # fmt: skip
        return self.coriolis / depth * height


class LayersSection(Section):
    """Coupling parameters of a two-layer model."""

    upper: float = Field(
        description="coupling parameter F1 = f0^2 / (g' H1) of the upper layer, 1/m2", gt=0, examples=[4e-10]
    )
    lower: float = Field(
        description="coupling parameter F2 = f0^2 / (g' H2) of the lower layer, 1/m2", gt=0, examples=[1e-10]
    )


class InitialSection(Section):
    """Initial flow: relative or potential vorticity."""

    relative_vorticity: NumberField | None = Field(
        default=None, description="relative vorticity, 1/s; default: at rest", examples=["1e-6 * sin(x / 1e6)"]
    )
    relative_vorticity_lower: NumberField | None = Field(
        default=None, description="relative vorticity of the lower layer, 1/s", examples=[0.0]
    )
    potential_vorticity: NumberField | None = Field(
        default=None,
        description="alternative to relative_vorticity: potential vorticity excluding beta y and topography, 1/s",
        examples=["1e-6 * sin(x / 1e6)"],
    )  # fmt: skip
    potential_vorticity_lower: NumberField | None = Field(
        default=None,
        description="alternative to relative_vorticity_lower: potential vorticity of the lower layer, 1/s",
        examples=[0.0],
    )  # fmt: skip


class TracerSection(Section):
    """A passive tracer."""

    initial: NumberField = Field(description="initial concentration", examples=["where(x < 1e6, 1, 0)"])
    diffusivity: Viscosity = Field(default=0.0, description="diffusivity, m2/s", examples=["100 m2/s"])


class ParticlesSection(Section):
    """Lagrangian particles in the (upper) flow and the output file of the trajectories (.nc or .csv)."""

    positions: list[PointXY] | None = Field(
        default=None, description="initial x, y of each particle, metres", examples=[[[1e5, 2e5]]], min_length=1
    )
    every: PositiveMetres | None = Field(
        default=None,
        description="alternative to positions: spacing of a regular grid of particles",
        examples=["100 km"],
    )
    file: SeriesOutputFile = Field(
        description="output file (.nc or .csv), relative to the case file", examples=["tracks.nc"]
    )
    interval: PositiveSeconds = Field(description="output interval", examples=["1 d"])

    @model_validator(mode="after")
    def _one_of_two(self) -> ParticlesSection:
        if (self.positions is None) == (self.every is None):
            got = "neither positions nor every" if self.every is None else "both positions and every"
            raise InputError(got, allowed="either positions or every", fix='every = "100 km"')
        return self

    def at_start(self, grid: Grid) -> np.ndarray:
        """Return the initial x, y of the particles, (n, 2), m; a regular grid starts half a spacing from the sides."""
        if self.positions is not None:
            return np.array(self.positions)
        step = self.every or 1.0
        count = (grid.x[-1] - grid.x[0]) / step * (grid.y[-1] - grid.y[0]) / step
        if count > MAX_PARTICLES:
            raise InputError(f"every = {step:g} m, {count:.2g} particles", allowed=f"up to {MAX_PARTICLES:g} particles")
        x, y = (np.arange(axis[0] + 0.5 * step, axis[-1], step) for axis in (grid.x, grid.y))
        if x.size * y.size == 0:
            raise InputError(f"every = {step:g} m", allowed="a spacing below twice each side length of the basin")
        return np.stack([a.ravel() for a in np.meshgrid(x, y)], axis=1)


class NumericsSection(Section):
    """Time step and numerical schemes."""

    time_step: PositiveSeconds = Field(description="time step", examples=["15 min"])
    jacobian: Literal["arakawa", "advective"] = Field(
        default="arakawa", description="arakawa (conserves energy and enstrophy) or advective (central differences)"
    )
    scheme: Literal["ab3", "ab2"] = Field(
        default="ab3", description="time integration: ab3 or ab2 (Adams-Bashforth of order 3 or 2)"
    )
    viscosity_scheme: Literal["explicit", "implicit"] = Field(
        default="explicit", description="time integration of viscosity: explicit or implicit (Crank-Nicolson)"
    )
    compensated_summation: bool = Field(
        default=False,
        description="compensated (Kahan) summation of time steps, for very small steps in single precision",
    )


class BarotropicCase(Case):
    """Case file of the barotropic model: ``BarotropicCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "barotropic"
    default_variables: ClassVar[tuple[str, ...]] = ("streamfunction", "relative_vorticity")
    gauge_variables: ClassVar[tuple[str, ...]] = ("streamfunction", "velocity_x", "velocity_y")

    basin: BasinSection = Field(description="the section [basin]", examples=[{"nx": 129, "length_x": "3840 km"}])
    physics: PhysicsSection | None = Field(default=None, description="the section [physics]")
    nondimensional: NondimensionalSection | None = Field(default=None, description="the section [nondimensional]")
    wind: WindSection | None = Field(default=None, description="the section [wind]")
    topography: TopographySection | None = Field(default=None, description="the section [topography]")
    layers: LayersSection | None = Field(default=None, description="the section [layers]")
    initial: InitialSection = Field(default_factory=InitialSection, description="the section [initial]")
    tracer: TracerSection | None = Field(default=None, description="the section [tracer]")
    particles: ParticlesSection | None = Field(default=None, description="the section [particles]")
    maps: AveragesSection | None = Field(default=None, description="the section [maps]")
    numerics: NumericsSection = Field(description="the section [numerics]", examples=[{"time_step": "15 min"}])

    @model_validator(mode="after")
    def _one_kind_of_units(self) -> BarotropicCase:
        if self.nondimensional is not None and (self.physics is not None or self.wind is not None):
            raise InputError(
                "[nondimensional] with [physics] or [wind]", allowed="either [nondimensional], or [physics] and [wind]"
            )
        if self.nondimensional is None and self.basin.length_x is None:
            raise InputError("[basin] without length_x", allowed="a length in metres", fix='length_x = "3840 km"')
        return self

    def build(self, device: Any = None, precision: str | None = None) -> BarotropicVorticity:
        """Return the model of the case, including forcing and initial flow.

        Parameters
        ----------
        device, precision : str or Device, str, optional
            Override the values of [run].

        Returns
        -------
        BarotropicVorticity
        """
        from eagre.models.barotropic.inputs import grid_positions
        from eagre.models.barotropic.layers import Layers
        from eagre.models.barotropic.model import BarotropicVorticity

        grid = self._grid()
        check_input_memory(grid)
        options: dict[str, Any] = self._physics(grid)
        if self.layers is not None:
            options["layers"] = Layers(self.layers.upper, self.layers.lower)
        if self.topography is not None:
            options["topography"] = self._topography(self.topography, grid)
        for name in type(self.initial).model_fields:
            value = getattr(self.initial, name)
            if value is not None:
                with self.at("initial", name):
                    options[name] = value.at_centres(grid)
        if self.tracer is not None:
            with self.at("tracer", "initial"):
                options["tracer"] = np.broadcast_to(self.tracer.initial.at_centres(grid), grid.shape)
            options["tracer_diffusivity"] = self.tracer.diffusivity
        if self.particles is not None:
            with self.at("particles"):
                options["particles"] = self.particles.at_start(grid)
                grid_positions(options["particles"], grid, (self.basin.kind != "box", self.basin.kind == "periodic"))
        if self.maps is not None:
            self.check_begin("maps")
            options["time_statistics"] = self.maps.time_statistics()
        with self.naming("numerics", "physics", "layers", "initial", "basin", "run", "maps"):
            return BarotropicVorticity(
                grid,
                basin=self.basin.kind,
                walls=self.basin.walls,
                **self.place(device, precision, grid.cells),
                **self.numerics.model_dump(),
                **options,
            )

    def _grid(self) -> Grid:
        """Return the grid of points of the basin."""
        basin = self.basin
        length_x = basin.length_x or math.pi
        length_y = basin.length_y or length_x
        nx, ny = basin.nx, basin.ny or basin.nx
        # n points make n intervals along a periodic axis and n - 1 intervals between walls.
        if basin.kind != "box":
            length_x *= (nx - 1) / nx
        if basin.kind == "periodic":
            length_y *= (ny - 1) / ny
        return replace(Grid.from_points(nx, ny, length_x, length_y, basin.x0, basin.y0), crs=basin.crs)

    def _topography(self, section: TopographySection, grid: Grid) -> np.ndarray:
        """Return f0 b / D at the points, (ny, nx), 1/s."""
        for name in ("coriolis", "depth"):
            with self.at("topography", name):
                check_plausible(name, getattr(section, name), name)
        with self.at("topography", "height"):
            return section.vorticity(grid)

    def _physics(self, grid: Grid) -> dict[str, Any]:
        """Return the model arguments that [nondimensional], or [physics] and [wind], define."""
        numbers = self.nondimensional
        if numbers is not None:
            height = (grid.ny - 1) * grid.dy
            curl = -numbers.alpha * np.sin(2.0 * np.pi * (grid.y - grid.y[0]) / height)
            return {
                "beta": numbers.beta,
                "bottom_friction": numbers.mu,
                "viscosity": 1.0 / numbers.reynolds,
                "wind_forcing": np.repeat(curl[:, None], grid.nx, axis=1),
            }
        options: dict[str, Any] = (self.physics or PhysicsSection()).model_dump()
        if self.wind is not None:
            periodic = self.basin.kind != "box", self.basin.kind == "periodic"
            options["wind_forcing"] = self.wind.make(grid, periodic, self.run.end_time, self.run.start_date, self.at)
        return options
