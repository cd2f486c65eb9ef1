"""Case-file sections of the barotropic vorticity model and assembly of the model from a case."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.section import Section, case_key, only_one
from eagre.config.sections import AveragesSection
from eagre.config.values.field_values import ElevationField, NumberField
from eagre.config.values.types import (
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
from eagre.local_rows import LocalRows
from eagre.models.barotropic.forcing.wind_section import WindSection, double_gyre
from eagre.models.barotropic.options import Basin, Numerics, Physics, SlipLength, Walls
from eagre.plausible import check_plausible

if TYPE_CHECKING:
    from eagre.models.barotropic.model import BarotropicVorticity

MAX_PARTICLES = 10**7


class BasinSection(Section):
    """Basin geometry, boundary conditions and grid."""

    kind: Basin = case_key(
        "box (closed by walls), channel (periodic along x) or periodic (along x and y)", default="box"
    )
    nx: int = case_key("number of points from west to east, including wall points", 129, ge=5)
    ny: int | None = case_key("number of points from south to north; default nx", default=None, ge=5)
    length_x: PositiveMetres | None = case_key(
        "length from wall to wall, or the period; required unless [nondimensional] is given", "3840 km", default=None
    )
    length_y: PositiveMetres | None = case_key(
        "length from wall to wall, or the period; default length_x", "3840 km", default=None
    )
    x0: Metres = case_key("x of the western wall, metres", default=0.0)
    y0: Metres = case_key("y of the southern wall, metres", default=0.0)
    crs: Crs | None = case_key(
        "coordinate reference system of x and y; required for files in other systems", "ESRI:102014", default=None
    )
    walls: Walls = case_key("free-slip, no-slip (Woods formula) or no-slip-thom (Thom formula)", default="free-slip")
    slip_length: SlipLength = 0.0


class PhysicsSection(Section, Physics):
    """Beta effect, friction and deformation radius, in SI units."""


class NondimensionalSection(Section):
    """Nondimensional double gyre of Bleichrodt (2011) on [0, pi] x [0, pi]; replaces [physics] and [wind]."""

    alpha: float = case_key("nondimensional wind forcing", 1.36e5, default=1.36e5, ge=0)
    beta: float = case_key("nondimensional gradient of the Coriolis parameter", 1.36e5, default=1.36e5)
    mu: float = case_key("nondimensional bottom friction", 0.0, default=0.0, ge=0)
    reynolds: float = case_key("Reynolds number", 20.83, default=20.83, gt=0)


class TopographySection(Section):
    """Bottom topography."""

    height: ElevationField = case_key("height of the bed above the mean bed, metres", "500")
    coriolis: Rate = case_key("reference Coriolis parameter f0, 1/s", 1e-4)
    depth: PositiveMetres = case_key("mean water depth", "4000 m")

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

    upper: float = case_key("coupling parameter F1 = f0^2 / (g' H1) of the upper layer, 1/m2", 4e-10, gt=0)
    lower: float = case_key("coupling parameter F2 = f0^2 / (g' H2) of the lower layer, 1/m2", 1e-10, gt=0)


class InitialSection(Section):
    """Initial flow: relative or potential vorticity."""

    relative_vorticity: NumberField | None = case_key(
        "relative vorticity, 1/s; default: at rest", "1e-6 * sin(x / 1e6)", default=None
    )
    relative_vorticity_lower: NumberField | None = case_key(
        "relative vorticity of the lower layer, 1/s", 0.0, default=None
    )
    potential_vorticity: NumberField | None = case_key(
        "alternative to relative_vorticity: potential vorticity excluding beta y and topography, 1/s",
        "1e-6 * sin(x / 1e6)",
        default=None,
    )
    potential_vorticity_lower: NumberField | None = case_key(
        "alternative to relative_vorticity_lower: potential vorticity of the lower layer, 1/s", 0.0, default=None
    )


class TracerSection(Section):
    """A passive tracer."""

    initial: NumberField = case_key("initial concentration", "where(x < 1e6, 1, 0)")
    diffusivity: Viscosity = case_key("diffusivity, m2/s", "100 m2/s", default=0.0)


class ParticlesSection(Section):
    """Lagrangian particles in the (upper) flow and the output file of the trajectories (.nc or .csv)."""

    positions: list[PointXY] | None = case_key(
        "initial x, y of each particle, metres", [[1e5, 2e5]], default=None, min_length=1
    )
    every: PositiveMetres | None = case_key(
        "alternative to positions: spacing of a regular grid of particles", "100 km", default=None
    )
    file: SeriesOutputFile = case_key("output file (.nc or .csv), relative to the case file", "tracks.nc")
    interval: PositiveSeconds = case_key("output interval", "1 d")

    @model_validator(mode="after")
    def _one_of_two(self) -> ParticlesSection:
        only_one(self, ("positions", "every"), 'every = "100 km"', "either positions or every")
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


class NumericsSection(Section, Numerics):
    """Time step and numerical schemes."""


class BarotropicCase(Case):
    """Case file of the barotropic model: ``BarotropicCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "barotropic"
    default_variables: ClassVar[tuple[str, ...]] = ("streamfunction", "relative_vorticity")
    gauge_variables: ClassVar[tuple[str, ...]] = ("streamfunction", "velocity_x", "velocity_y")

    basin: BasinSection = case_key("the section [basin]", {"nx": 129, "length_x": "3840 km"})
    physics: PhysicsSection | None = case_key("the section [physics]", default=None)
    nondimensional: NondimensionalSection | None = case_key("the section [nondimensional]", default=None)
    wind: WindSection | None = case_key("the section [wind]", default=None)
    topography: TopographySection | None = case_key("the section [topography]", default=None)
    layers: LayersSection | None = case_key("the section [layers]", default=None)
    initial: InitialSection = case_key("the section [initial]", default_factory=InitialSection)
    tracer: TracerSection | None = case_key("the section [tracer]", default=None)
    particles: ParticlesSection | None = case_key("the section [particles]", default=None)
    maps: AveragesSection | None = case_key("the section [maps]", default=None)
    numerics: NumericsSection = case_key("the section [numerics]", {"time_step": "15 min"})

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
        from eagre.models.barotropic.inputs import grid_positions, local_rows
        from eagre.models.barotropic.layers import Layers
        from eagre.models.barotropic.model import BarotropicVorticity

        grid = self._grid()
        rows = local_rows(self.run.device if device is None else device, grid)
        check_input_memory(rows.held_grid)
        options = {name: rows.held(value) for name, value in self._physics(grid).items()}
        if self.layers is not None:
            options["layers"] = Layers(self.layers.upper, self.layers.lower)
        if self.topography is not None:
            topography = self.topography
            options["topography"] = rows.from_first(lambda: self._topography(topography, grid))
        options |= self._initial(rows)
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
                slip_length=self.basin.slip_length,
                **self.place(device, precision, grid.cells),
                **self.numerics.model_dump(),
                **options,
            )

    def _initial(self, rows: LocalRows) -> dict[str, Any]:
        """Return the initial fields in the rows of this process, as arguments of the model."""
        options: dict[str, Any] = {}
        radius = self.physics is not None and self.physics.deformation_radius is not None
        is_solved = self.layers is not None or radius  # q then depends on the whole psi
        for name in type(self.initial).model_fields:
            value = getattr(self.initial, name)
            if value is not None:
                with self.at("initial", name):
                    options[name] = value.at_centres(rows.grid if is_solved else rows)
        if self.tracer is not None:
            with self.at("tracer", "initial"):
                options["tracer"] = np.broadcast_to(self.tracer.initial.at_centres(rows), rows.shape_of("centre"))
            options["tracer_diffusivity"] = self.tracer.diffusivity
        return options

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
        numbers, periodic = self.nondimensional, (self.basin.kind != "box", self.basin.kind == "periodic")
        if numbers is not None:
            return {
                "beta": numbers.beta,
                "bottom_friction": numbers.mu,
                "viscosity": 1.0 / numbers.reynolds,
                "wind_forcing": -numbers.alpha * double_gyre(grid, periodic),
            }
        options: dict[str, Any] = (self.physics or PhysicsSection()).model_dump()
        if self.wind is not None:
            options["wind_forcing"] = self.wind.make(grid, periodic, self.run.end_time, self.run.start_date, self.at)
        return options
