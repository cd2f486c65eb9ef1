"""Case files of the anelastic model: sections, among them [numerics], and construction of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.section import Section, case_key
from eagre.config.values.field_values import (
    ElevationField,
    FieldValue,
    NumberVolume,
    SpeedVolume,
    TemperatureVolume,
    VolumeValue,
)
from eagre.config.values.types import (
    Metres,
    PositiveMetres,
    PositiveSeconds,
    Rate,
    Temperature,
    Viscosity,
)
from eagre.config.water.terrain import Crs
from eagre.constants import EARTH_ROTATION
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.local_rows import LocalRows
from eagre.models.anelastic.case.measured_sections import (
    AnelasticMapsSection,
    MaximaSection,
    ProbesSection,
    ProfilesSection,
    SliceSection,
    SpectraSection,
)
from eagre.models.anelastic.case.physics_sections import (
    AtmosphereSection,
    ClosureSection,
    ForcingSection,
    SurfaceSection,
)

if TYPE_CHECKING:
    from eagre.models.anelastic.base.atmosphere import Atmosphere
    from eagre.models.anelastic.model import AnelasticFlow
    from eagre.models.anelastic.subgrid.surface import Surface

Side = Literal["periodic", "wall"]
LateralSide = Literal["periodic", "wall", "open"]


class NumericsSection(Section):
    """Time step, viscosity, rotation, tolerance of the pressure solver and options of the advection."""

    time_step: PositiveSeconds | None = case_key(
        "constant time step; without it the step adapts to courant_number", "5 s", default=None
    )
    courant_number: float | None = case_key(
        "maximum outflow Courant number (fraction of its mass that a cell loses in a step); at most 0.529, "
        "in two dimensions 0.592; 0.5 by default",
        0.5,
        default=None,
        gt=0,
        le=1,
    )
    viscosity: Viscosity = case_key("viscosity, m2/s", 75.0, default=0.0)
    diffusivity: Viscosity | None = case_key(
        "diffusivity of theta and scalars, m2/s; the viscosity by default", 75.0, default=None
    )
    coriolis: Rate | None = case_key("Coriolis parameter f, 1/s", 1e-4, default=None)
    latitude: float | None = case_key(
        "latitude, degrees north; alternative to coriolis", 45.0, default=None, ge=-90, le=90
    )
    tolerance: float = case_key("maximum residual divergence times the time step", 1e-6, default=1e-6, gt=0, le=0.1)
    third_order: bool = case_key(
        "third-order terms of the advection: more accurate for smooth fields, slower steps", default=False
    )
    nonoscillatory: bool = case_key(
        "flux-corrected advection without new extrema; false only for smooth flow", default=True
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> NumericsSection:
        for one, other in (("time_step", "courant_number"), ("coriolis", "latitude")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(
                    f"both {one} and {other}",
                    allowed="one of them",
                    problem=f"The keys {one} and {other} exclude each other.",
                )
        return self

    @property
    def f(self) -> float:
        """The Coriolis parameter, s-1."""
        if self.latitude is not None:
            return float(2.0 * EARTH_ROTATION * np.sin(np.radians(self.latitude)))
        return self.coriolis or 0.0

    def options(self) -> dict[str, Any]:
        """Return arguments of the model."""
        return self.model_dump(exclude={"latitude"}) | {"coriolis": self.f}


def _rising(levels: list[float] | int) -> list[float] | int:
    if isinstance(levels, list) and (not levels or levels[0] != 0.0 or any(np.diff(levels) <= 0.0)):
        raise InputError(
            f"levels = {levels[:4]}",
            allowed="a number, or increasing heights that start at 0, metres",
            problem="The heights of the levels do not increase from 0.",
        )
    if isinstance(levels, int) and levels < 1:
        raise InputError(
            f"levels = {levels}",
            allowed="an integer of at least 1",
            fix="levels = 41",
            problem="The number of levels is below 1.",
        )
    return levels


class DomainSection(Section):
    """Domain: grid, levels, boundaries and terrain."""

    nx: int = case_key("grid points along x, including points on walls", 257, ge=1)
    ny: int = case_key("grid points along y; 1: two-dimensional flow in x and z", 129, default=1, ge=1)
    levels: Annotated[int | list[float], AfterValidator(_rising)] = case_key(
        "number of levels from the terrain to the top, or their heights above flat terrain, metres", 41
    )
    length_x: PositiveMetres = case_key("length along x between walls, or period, metres", 20000.0)
    length_y: PositiveMetres = case_key("length along y between walls, or period, metres", 10000.0, default=1.0)
    top_height: PositiveMetres | None = case_key(
        "height of the domain top, metres; required unless levels are heights", 10000.0, default=None
    )
    x0: Metres = case_key("x of the first point, metres", default=0.0)
    y0: Metres = case_key("y of the first point, metres", default=0.0)
    crs: Crs | None = case_key("coordinate reference system of x and y, such as EPSG:32633", "EPSG:32633", default=None)
    boundaries_x: LateralSide = case_key("periodic, wall or open (ambient wind)", default="periodic")
    boundaries_y: LateralSide = case_key("periodic, wall or open (ambient wind)", default="periodic")
    boundaries_z: Side = case_key("wall or periodic", default="wall")
    periodic_points: Literal["distinct", "duplicated"] = case_key(
        "distinct, or duplicated: nx, ny and levels of periodic axes include a last point that repeats the "
        "first, as in EULAG; the duplicate is removed",
        default="distinct",
    )
    terrain_height: ElevationField | None = case_key(
        "height of the terrain, metres; levels follow the terrain", "400 / (1 + (x/5000)**2)", default=None
    )

    blend: PositiveMetres | None = case_key(
        "width, metres, over which the terrain is blended to a common height at both ends of periodic or "
        "open axes; for rasters",
        "2 km",
        default=None,
    )
    steepest: float | None = case_key(
        "maximum slope between neighbouring points: the terrain is smoothed by sweeps of (1, 2, 1) / 4 "
        "until no slope exceeds it",
        0.5,
        default=None,
        gt=0,
    )

    @model_validator(mode="after")
    def _ground_to_form(self) -> DomainSection:
        for name in ("blend", "steepest"):
            if self.terrain_height is None and getattr(self, name) is not None:
                fix = 'terrain_height = {file = "dem.tif"}'
                raise InputError(
                    f"{name} without terrain_height",
                    allowed="blend and steepest with terrain_height",
                    fix=fix,
                    problem=f"The key {name} requires terrain_height.",
                )
        return self

    @model_validator(mode="after")
    def _one_height(self) -> DomainSection:
        heights = isinstance(self.levels, list)
        if heights == (self.top_height is not None):
            got = "both heights of levels and top_height" if heights else "no top_height"
            allowed = "a number of levels with top_height, or heights of levels without top_height"
            raise InputError(
                got,
                allowed=allowed,
                fix="top_height = 10000.0",
                problem="The domain height is given twice." if heights else "The domain height is missing.",
            )
        return self

    @model_validator(mode="after")
    def _points_to_repeat(self) -> DomainSection:
        if self.periodic_points == "duplicated" and self.boundaries_z == "periodic" and isinstance(self.levels, list):
            got = 'heights of levels with a periodic z and periodic_points = "duplicated"'
            raise InputError(
                got,
                allowed="a number of levels with top_height",
                fix="levels = 65",
                problem="The periodic points of z cannot be left out of a list of levels.",
            )
        return self

    def distinct(self, count: int, side: str) -> int:
        """Return the number of distinct points along an axis."""
        repeats = side == "periodic" and self.periodic_points == "duplicated" and count > 1
        return count - 1 if repeats else count

    def grid(self) -> Grid:
        """Return the horizontal grid; its cell centres are the columns of points."""
        periodic = self.boundaries_x == "periodic", self.boundaries_y == "periodic"
        nx, ny = self.distinct(self.nx, self.boundaries_x), self.distinct(self.ny, self.boundaries_y)
        grid = Grid.from_points(nx, ny, self.length_x, self.length_y, self.x0, self.y0, periodic)
        return replace(grid, crs=self.crs)

    def formed(self, ground: np.ndarray | float, grid: Grid) -> np.ndarray | float:
        """Return the terrain height, (ny, nx) or a number, m, after `blend` and `steepest`."""
        from eagre.models.anelastic.base.orography import blended, smoothed

        sides = self.boundaries_y, self.boundaries_x
        if np.ndim(ground) and self.blend is not None:
            ground = blended(np.asarray(ground), grid, (sides[0] != "wall", sides[1] != "wall"), self.blend)
        if np.ndim(ground) and self.steepest is not None:
            periodic = sides[0] == "periodic", sides[1] == "periodic"
            ground = smoothed(np.asarray(ground), grid, periodic, self.steepest)
        return ground

    def vertical(self) -> int | np.ndarray:
        """Return the number of distinct levels, or the heights of the levels, m."""
        return self.distinct(self.levels, self.boundaries_z) if isinstance(self.levels, int) else np.array(self.levels)


class NoiseSection(Section):
    """Random initial perturbation of theta, reproducible by its seed."""

    amplitude: Temperature = case_key("maximum amplitude, K", 0.1, gt=0)
    seed: int = case_key("seed of the random numbers", default=1, ge=0)
    below: PositiveMetres | None = case_key(
        "maximum height of the noise, metres; the top by default", 400.0, default=None
    )

    def make(self, levels: Levels, grid: Grid | LocalRows) -> np.ndarray:
        """Return noise distributed uniformly between minus and plus the amplitude, (nz, ny, nx), K.

        grid : the grid, or the rows of a process; `levels` and the result then have these rows.
        """
        rows, generator = LocalRows.whole(grid), np.random.default_rng(self.seed)
        planes = np.stack([rows.held(generator.random(rows.grid.shape)) for _ in levels.height])
        noise = self.amplitude * (2.0 * planes - 1.0)
        return noise if self.below is None else np.where(levels.z <= self.below, noise, 0.0)


class InitialSection(Section):
    """Initial wind and potential temperature."""

    u: SpeedVolume | None = case_key("wind along x, m/s; the ambient wind by default", 10.0, default=None)
    v: SpeedVolume | None = case_key("wind along y, m/s; the ambient wind by default", 0.0, default=None)
    w: SpeedVolume = case_key("vertical velocity, m/s", 0.0, default=VolumeValue(0.0))
    theta: TemperatureVolume | None = case_key(
        "potential temperature, K; the ambient one by default", "300 + 0.003 * z", default=None
    )
    theta_perturbation: TemperatureVolume | None = case_key(
        "alternative to theta: potential temperature minus the ambient one, K",
        "2 * exp(-hypot(x, z - 2000)**2 / 1e6)",
        default=None,
    )
    noise: NoiseSection | None = case_key(
        "random noise, added to the potential temperature", {"amplitude": 0.1}, default=None
    )


class SpongeSection(Section):
    """Sponge layers: Rayleigh damping of wind and theta towards the ambient state."""

    thickness: PositiveMetres | None = case_key(
        "thickness of the layer below the top, metres; at least 2 pi U / N, or 6 pi U / N for hills with N h / U > 0.1",
        7000.0,
        default=None,
    )
    rate: Rate = case_key(
        "damping rate at the top, 1/s, with a sin^2 profile; 2 to 5 times the frequency of the waves", 0.006, gt=0
    )
    thickness_x: PositiveMetres | None = case_key(
        "thickness of the layers at both ends of x, metres", 10000.0, default=None
    )
    thickness_y: PositiveMetres | None = case_key(
        "thickness of the layers at both ends of y, metres", 10000.0, default=None
    )
    side_rate: Rate | None = case_key(
        "damping rate at the ends of x and y, 1/s; rate by default", 0.01, default=None, gt=0
    )

    @model_validator(mode="after")
    def _some_layer(self) -> SpongeSection:
        if self.thickness is None and self.thickness_x is None and self.thickness_y is None:
            raise InputError(
                "no thickness",
                allowed="thickness, thickness_x or thickness_y",
                fix="thickness = 4000.0",
                problem="The sponge has no thickness.",
            )
        if self.side_rate is not None and self.thickness_x is None and self.thickness_y is None:
            allowed = "side_rate with thickness_x or thickness_y"
            raise InputError(
                "side_rate without side layers",
                allowed=allowed,
                fix="thickness_x = 10000.0",
                problem="The key side_rate requires side sponges.",
            )
        return self

    def options(self) -> dict[str, Any]:
        """Return arguments of the model."""
        rate = self.rate if self.side_rate is None else self.side_rate
        layers = {"x": self.thickness_x, "y": self.thickness_y}
        return {
            "top_sponge": None if self.thickness is None else (self.thickness, self.rate),
            "side_sponges": {axis: (width, rate) for axis, width in layers.items() if width is not None},
        }


class AnelasticCase(Case):
    """A case file of the anelastic model: ``AnelasticCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "anelastic"
    default_variables: ClassVar[tuple[str, ...]] = ("u", "v", "w")
    gauge_variables: ClassVar[tuple[str, ...]] = ("w_max",)

    domain: DomainSection = case_key(
        "the section [domain]", {"nx": 257, "levels": 41, "length_x": 20000.0, "top_height": 10000.0}
    )
    atmosphere: AtmosphereSection = case_key("the section [atmosphere]", default_factory=AtmosphereSection)
    initial: InitialSection = case_key("the section [initial]", default_factory=InitialSection)
    scalars: dict[str, NumberVolume] = case_key(
        "initial passive scalars: a table of name = value", default_factory=dict
    )
    sponge: SpongeSection | None = case_key("the section [sponge]", default=None)
    forcing: ForcingSection | None = case_key("the section [forcing]", default=None)
    surface: SurfaceSection | None = case_key("the section [surface]", default=None)
    closure: ClosureSection | None = case_key("the section [closure]", default=None)
    numerics: NumericsSection = case_key("the section [numerics]", default_factory=NumericsSection)
    maps: AnelasticMapsSection | None = case_key("the section [maps]", default=None)
    profiles: ProfilesSection | None = case_key("the section [profiles]", default=None)
    slices: list[SliceSection] = case_key("the sections [[slices]]", default_factory=list)
    probes: ProbesSection | None = case_key("the section [probes]", default=None)
    spectra: SpectraSection | None = case_key("the section [spectra]", default=None)
    maxima: MaximaSection | None = case_key("the section [maxima]", default=None)

    @model_validator(mode="after")
    def _geostrophic_requires_coriolis(self) -> AnelasticCase:
        if self.forcing is not None and self.forcing.geostrophic_u is not None and self.numerics.f == 0.0:
            got = "geostrophic wind in [forcing] without a Coriolis parameter"
            raise InputError(
                got,
                allowed="coriolis or latitude in [numerics]",
                fix="numerics.latitude = 45.0",
                problem="A geostrophic wind requires a Coriolis parameter.",
            )
        return self

    def build(self, device: Any = None, precision: str | None = None) -> AnelasticFlow:
        from eagre.models.anelastic.base.atmosphere import check_height
        from eagre.models.anelastic.model import AnelasticFlow

        rows, vertical = self._points(self.run.device if device is None else device)
        grid = rows.grid
        with self.at("atmosphere"):
            atmosphere = self.atmosphere.make()
        levels, ground = self._levels(grid)
        domain = self.domain
        with self.at("forcing"):
            forcing = None if self.forcing is None else self.forcing.make()
        if self.maps is not None:
            self.check_begin("maps")
        with self.at("domain", "levels" if domain.top_height is None else "top_height"):
            check_height(atmosphere, float(levels.height[-1]), domain.boundaries_z == "periodic")
        with rows.agreed_errors():
            start = self._start(rows, rows.held_levels(levels), atmosphere)
        sections = ("domain", "initial", "atmosphere", "sponge", "forcing", "surface", "closure", "numerics", "run")
        with self.naming("maps", *sections, "forcing.nudging"):
            model = AnelasticFlow(
                grid,
                vertical,
                top_height=domain.top_height,
                atmosphere=atmosphere,
                boundaries={axis: getattr(domain, f"boundaries_{axis}") for axis in "xyz"},
                terrain_height=ground,
                **start,
                **self.numerics.options(),
                **({} if self.sponge is None else self.sponge.options()),
                forcing=forcing,
                surface=self._surface(grid, atmosphere.heat_capacity(levels.z[0])),
                closure=None if self.closure is None else self.closure.make(),
                time_statistics=None if self.maps is None else self.maps.time_statistics(),
                **self.place(device, precision, grid.cells * levels.height.size),
            )
        if self.profiles is not None:
            with self.at("profiles", "heights"):
                model.profiles(self.profiles.every, self.profiles.heights)
        return model

    def _points(self, device: Any) -> tuple[LocalRows, int | np.ndarray]:
        """Return the rows of this process and the levels, checked against the memory of the host."""
        with self.at("domain"):
            rows = LocalRows.of(device, self.domain.grid(), margin=0)
        vertical = self.domain.vertical()
        count = vertical if isinstance(vertical, int) else vertical.size
        check_input_memory(Grid(rows.grid.nx, (rows.high - rows.low) * count, 1.0, 1.0))
        return rows, vertical

    def _surface(self, grid: Grid, capacity: np.ndarray) -> Surface | None:
        if self.surface is None:
            return None
        run = self.run
        with self.at("surface"):
            return self.surface.make(grid, lambda signal: signal.resolve(0.0, run.end_time, run.start_date), capacity)

    def _levels(self, grid: Grid) -> tuple[Levels, np.ndarray | float | None]:
        """Return the heights of the points, and the terrain height or None."""
        from eagre.models.anelastic.inputs import checked_levels

        domain = self.domain
        ground = None
        if isinstance(domain.terrain_height, FieldValue):
            with self.at("domain", "terrain_height"):
                ground = domain.terrain_height.at_centres(grid)
            with self.at("domain"):
                ground = domain.formed(ground, grid)
        with self.at("domain", "levels" if isinstance(domain.levels, list) else "terrain_height"):
            periodic = domain.boundaries_z == "periodic"
            return checked_levels(domain.vertical(), domain.top_height, ground, grid, periodic), ground

    def _start(self, rows: LocalRows, levels: Levels, atmosphere: Atmosphere) -> dict[str, Any]:
        """Return the initial wind, theta and scalars in the rows of this process, as arguments of the model."""
        shape = (levels.height.size, *rows.shape_of("centre"))
        initial, wind = self.initial, []
        ambient = {"u": atmosphere.wind[0](levels.z), "v": atmosphere.wind[1](levels.z)}
        for name in ("u", "v", "w"):
            initial_value = getattr(initial, name)
            with self.at("initial", name):
                value = ambient[name] if initial_value is None else initial_value.at_points(rows, levels)
            wind.append(value if np.ndim(value) == 0 else np.broadcast_to(value, shape))
        heat = self._heat(rows, levels)
        scalars = {}
        for name, value in self.scalars.items():
            with self.at("scalars", name):
                scalars[name] = value.at_points(rows, levels)
        return {"velocity": tuple(wind), **heat, "scalars": scalars}

    def _heat(self, rows: LocalRows, levels: Levels) -> dict[str, Any]:
        """Return the initial potential temperature or its perturbation, with the noise, as arguments of the model."""
        initial, fields = self.initial, {}
        for name in ("theta", "theta_perturbation"):
            value = getattr(initial, name)
            if value is not None:
                with self.at("initial", name):
                    fields[name] = value.at_points(rows, levels)
        if initial.noise is not None:
            for name in fields or ("theta_perturbation",):
                fields[name] = fields.get(name, 0.0) + initial.noise.make(levels, rows)
        return fields
