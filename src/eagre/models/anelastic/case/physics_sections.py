"""Sections [atmosphere], [forcing], [surface] and [closure] of case files of the anelastic model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, PlainValidator, ValidationInfo, model_validator

from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.expressions import Expression
from eagre.config.values.field_values import LengthField, NumberField, number_or_expression
from eagre.config.values.signals import HeatFluxSignal, KinematicHeatFluxSignal, Signal
from eagre.config.values.types import (
    Acceleration,
    InputFile,
    Metres,
    PositiveMetres,
    Rate,
    Temperature,
    key_of,
    quantity,
)
from eagre.config.values.units import DIMENSIONS, parse_quantity, unit_factor
from eagre.constants import GRAVITY, REFERENCE_PRESSURE
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.anelastic.base.vertical_profiles import FormulaProfile, Profile, TableProfile
from eagre.models.anelastic.forcing.profile_forcing import Forcing, Nudging
from eagre.models.anelastic.subgrid.closure import Smagorinsky
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.time_varying.series import Series

if TYPE_CHECKING:
    from eagre.models.anelastic.base.atmosphere import Atmosphere

Speed = Annotated[float, quantity("speed")]
Pressure = Annotated[float, quantity("pressure"), Field(gt=0)]
# keys that a sounding replaces
REPLACED_KEYS = ("theta", "buoyancy_frequency", "reference_frequency", "wind", "density")
IDLE = {
    "anelastic": {"density"},
    "boussinesq": {"reference_frequency", "surface_pressure", "reference"},
    "incompressible": {
        "sounding",
        "theta",
        "buoyancy_frequency",
        "reference_frequency",
        "surface_pressure",
        "gravity",
        "reference",
        "moisture",
    },
}  # keys without effect, by set of equations


def _wind(wind: list[float]) -> list[float]:
    if len(wind) != 2:
        raise InputError(
            f"wind = {wind}",
            allowed="[u, v], m/s",
            fix="wind = [10.0, 0.0]",
            problem="The wind does not have two components.",
        )
    return wind


class AtmosphereSection(Section):
    """Atmosphere: equations, reference state and ambient state."""

    equations: Literal["anelastic", "boussinesq", "incompressible"] = case_key(
        "anelastic, boussinesq or incompressible", "boussinesq", default="anelastic"
    )
    theta: Temperature = case_key("potential temperature at z = 0, K", 300.0, default=300.0, gt=0)
    buoyancy_frequency: Rate = case_key(
        "buoyancy frequency N of the ambient state, 1/s; 0 is neutral", 0.01, default=0.0
    )
    reference_frequency: Rate = case_key(
        "buoyancy frequency of the anelastic reference state, 1/s; 0 is isentropic", 0.01, default=0.0
    )
    surface_pressure: Pressure = case_key("pressure at z = 0, Pa", "1000 hPa", default=REFERENCE_PRESSURE)
    density: float = case_key("density of Boussinesq and incompressible flow, kg/m3", 1.0, default=1.0, gt=0)
    wind: Annotated[list[Speed], AfterValidator(_wind)] = case_key(
        "ambient wind [u, v], m/s", [10.0, 0.0], default=[0.0, 0.0]
    )
    gravity: Acceleration = case_key("gravitational acceleration, m/s2", 9.81, default=GRAVITY)
    sounding: InputFile | None = case_key(
        "an input_sounding file or a table; replaces theta, buoyancy_frequency and wind", "input_sounding", default=None
    )
    reference: Literal["isentropic", "sounding"] = case_key(
        "reference state with a sounding: isentropic, or the sounding", default="isentropic"
    )
    moisture: Literal["refuse", "virtual"] = case_key(
        "moisture of a sounding: refuse (an error), or virtual (use virtual potential temperature)", default="refuse"
    )

    @model_validator(mode="after")
    def _one_way(self) -> AtmosphereSection:
        conflicting = set(REPLACED_KEYS) & self.model_fields_set
        if self.sounding is not None and conflicting:
            raise InputError(
                f"both sounding and {min(conflicting)}",
                allowed="either a sounding or the keys " + ", ".join(REPLACED_KEYS),
                problem="The base state is given twice.",
            )
        return self

    @model_validator(mode="after")
    def _keys_that_count(self) -> AtmosphereSection:
        if self.sounding is None and (idle := {"reference", "moisture"} & self.model_fields_set):
            raise InputError(
                f"{min(idle)} without a sounding",
                allowed="a sounding",
                fix='sounding = "input_sounding"',
                problem=f"The key {min(idle)} requires a sounding.",
            )
        if idle := IDLE[self.equations] & self.model_fields_set:
            raise InputError(
                f"{min(idle)} with {self.equations} equations, which do not use {min(idle)}",
                allowed=", ".join(key for key in type(self).model_fields if key not in IDLE[self.equations]),
                problem=f"The key {min(idle)} has no effect on {self.equations} equations.",
            )
        return self

    def make(self) -> Atmosphere:
        """Return the atmosphere of the model."""
        from eagre.models.anelastic.base.atmosphere import Atmosphere

        if self.sounding is not None:
            return self._from_sounding()
        wind = (self.wind[0], self.wind[1])
        if self.equations == "incompressible":
            return Atmosphere.incompressible(density=self.density, wind=wind)
        common: dict[str, Any] = {"theta": self.theta, "buoyancy_frequency": self.buoyancy_frequency}
        common |= {"wind": wind, "gravity": self.gravity}
        if self.equations == "boussinesq":
            return Atmosphere.boussinesq(density=self.density, **common)
        return Atmosphere.anelastic(
            reference_frequency=self.reference_frequency, surface_pressure=self.surface_pressure, **common
        )

    def _from_sounding(self) -> Atmosphere:
        from eagre.io.tables.sounding import read_sounding
        from eagre.models.anelastic.base.atmosphere import Atmosphere

        assert self.sounding is not None
        sounding = read_sounding(self.sounding)
        if sounding.humidity.any() and self.moisture == "refuse":
            max_humidity = f"{1e3 * sounding.humidity.max():.3g} g/kg"
            raise InputError(
                f'moisture = "refuse" for {self.sounding}, with humidity up to {max_humidity}',
                allowed="a dry sounding, or virtual potential temperature",
                fix='moisture = "virtual"',
                problem="The sounding is moist.",
            )
        profile = sounding.virtual
        pressure = sounding.surface_pressure if "surface_pressure" not in self.model_fields_set else None
        return Atmosphere.from_sounding(
            profile.z, profile.theta, profile.u, profile.v, equations=self.equations, reference=self.reference,
            surface_pressure=pressure or self.surface_pressure, gravity=self.gravity,
        )  # fmt: skip


class HeightTable(Section):
    """Table of heights and values in the case file."""

    heights: list[Metres] = case_key("increasing heights above z = 0, metres", [0.0, 1000.0])
    values: list[float | str] = case_key("one value per height; SI units, or with units", [0.0, 5.0])

    @model_validator(mode="after")
    def _same_length(self) -> HeightTable:
        if len(self.heights) != len(self.values):
            got = f"{len(self.heights)} heights and {len(self.values)} values"
            raise InputError(
                got, allowed="one value per height, at least two", problem="The numbers of heights and values differ."
            )
        return self

    def profile(self, name: str, dimension: str) -> Profile:
        """Return a profile in SI units of `dimension`, interpolated linearly."""
        values = [parse_quantity(value, dimension, "values") for value in self.values]
        return TableProfile(np.array(self.heights), np.array(values), name)


class HeightFile(Section):
    """Profile from two columns of a text table. Units in the column names, as in ``z (km)``, are applied."""

    file: InputFile = case_key("a table with a header, relative to the case file", "wind.csv")
    height: str | None = case_key("column of heights; the first by default", "z", default=None)
    value: str | None = case_key("column of values; the second by default", "u", default=None)
    units: str | None = case_key(
        "unit of the values; by default the unit in the column name, or SI", "m/s", default=None
    )

    def profile(self, name: str, dimension: str) -> Profile:
        """Read the profile from the file."""
        from eagre.io import read_heights

        def scale(written: str) -> float:
            unit = self.units or ("" if dimension == "number" else written.strip())  # scalars have no unit
            return 1.0 if unit in ("", "-") else unit_factor(unit, dimension)

        heights, values = read_heights(self.file, height=self.height, value=self.value, scale=scale)
        return TableProfile(heights, values, f"{name} of {self.file}")


@dataclass(frozen=True)
class HeightValue:
    """Value of a key.

    Parameters
    ----------
    source : float, Expression, HeightTable or HeightFile
    dimension : str
        A key of `eagre.config.values.units.DIMENSIONS`.
    """

    source: float | Expression | HeightTable | HeightFile
    dimension: str

    def profile(self, name: str) -> float | Profile:
        """Return a number or a profile."""
        if isinstance(self.source, Expression):
            expression = self.source
            return FormulaProfile(lambda z: expression(z=z))
        if isinstance(self.source, (HeightTable, HeightFile)):
            return self.source.profile(name, self.dimension)
        return self.source


def height_value(dimension: str) -> PlainValidator:
    """Return a validator of a number, an expression in z, a table or a file."""

    def read(value: Any, info: ValidationInfo) -> HeightValue:
        if isinstance(value, HeightValue):
            return value
        if isinstance(value, dict):
            kind = HeightTable if "heights" in value or "values" in value else HeightFile
            return HeightValue(check(kind, value, info.context), dimension)
        number = number_or_expression(value, info, dimension, ("z",))
        if number is not None:
            return HeightValue(number, dimension)
        key = key_of(info)
        raise InputError(
            f"{key} = {literal(value)}",
            allowed=f"a number in {DIMENSIONS[dimension].si}, an expression in z, or a table with heights and values, "
            "or with file",
            fix=f"{key} = {{heights = [0.0, 1000.0], values = [0.0, 0.0]}}",
        )

    return PlainValidator(read)


SpeedHeights = Annotated[HeightValue, height_value("speed")]
TemperatureHeights = Annotated[HeightValue, height_value("temperature")]
HeatingHeights = Annotated[HeightValue, height_value("heating")]
NumberHeights = Annotated[HeightValue, height_value("number")]
TimeHeights = Annotated[HeightValue, height_value("time")]


PROFILE = "a number, an expression in z, {heights, values} or {file}"


class NudgingSection(Section):
    """Nudging (relaxation) of all points towards vertical profiles."""

    time_scale: TimeHeights = case_key(f"relaxation time, s: {PROFILE}", "1 h")
    u: SpeedHeights | None = case_key(f"wind along x, m/s: {PROFILE}", 10.0, default=None)
    v: SpeedHeights | None = case_key(f"wind along y, m/s: {PROFILE}", 0.0, default=None)
    theta: TemperatureHeights | None = case_key(f"potential temperature, K: {PROFILE}", "300 + 0.003 * z", default=None)
    scalars: dict[str, NumberHeights] = case_key(f"a table of name = {PROFILE}", default_factory=dict)

    def make(self) -> Nudging:
        """Return the nudging of the model."""
        scale = self.time_scale.profile("time_scale")
        scalars = {name: value.profile(name) for name, value in self.scalars.items()}
        return Nudging(scale, *(_profile(self, name) for name in ("u", "v", "theta")), scalars=scalars)


class ForcingSection(Section):
    """Forcing: vertical profiles of geostrophic wind, subsidence, heating and nudging."""

    geostrophic_u: SpeedHeights | None = case_key(f"geostrophic wind along x, m/s: {PROFILE}", 10.0, default=None)
    geostrophic_v: SpeedHeights | None = case_key(f"geostrophic wind along y, m/s: {PROFILE}", 0.0, default=None)
    subsidence: SpeedHeights | None = case_key(
        f"large-scale vertical velocity, m/s, negative downwards: {PROFILE}", "-5e-6 * z", default=None
    )
    heating: HeatingHeights | None = case_key(
        f"heating rate of theta, K/s, negative for cooling: {PROFILE}", "-2 K/d", default=None
    )
    nudging: NudgingSection | None = case_key("the section [forcing.nudging]", default=None)

    @model_validator(mode="after")
    def _both_components(self) -> ForcingSection:
        if (self.geostrophic_u is None) != (self.geostrophic_v is None):
            one = "geostrophic_v" if self.geostrophic_v is None else "geostrophic_u"
            raise InputError(
                f"no {one}",
                allowed="both components of the geostrophic wind",
                fix=f"{one} = 0.0",
                problem="A component of the geostrophic wind is missing.",
            )
        return self

    def make(self) -> Forcing:
        """Return the forcing of the model."""
        u, v = (_profile(self, f"geostrophic_{name}") for name in "uv")
        return Forcing(
            None if u is None or v is None else (u, v),
            _profile(self, "subsidence"),
            _profile(self, "heating"),
            None if self.nudging is None else self.nudging.make(),
        )


def _profile(section: Section, name: str) -> Any:
    value: HeightValue | None = getattr(section, name)
    return None if value is None else value.profile(name)


class ClosureSection(Section):
    """Subgrid-scale closure."""

    kind: Literal["smagorinsky"] = case_key("kind of closure: smagorinsky", "smagorinsky", default="smagorinsky")
    constant: float = case_key("Smagorinsky constant, usually 0.1 to 0.2", 0.17, default=0.17, ge=0, le=10)
    prandtl: float = case_key("turbulent Prandtl number", 0.333, default=1.0 / 3.0, ge=0.01, le=100)
    length: PositiveMetres | None = case_key(
        "filter length, metres; by default the cube root of the cell volume", 25.0, default=None
    )

    def make(self) -> Smagorinsky:
        """Return the closure of the model."""
        return Smagorinsky(self.constant, self.prandtl, self.length)


FLUXES = {"heat_flux": "kinematic heat flux", "sensible_heat_flux": "heat flux"}  # keys and dimensions


class SurfaceSection(Section):
    """Surface heat flux and drag."""

    heat_flux: KinematicHeatFluxSignal | None = case_key(
        "kinematic heat flux of potential temperature, K m/s, positive upwards: a number, or a table "
        "with file, times and values, or expression",
        "0.1 K m/s",
        default=None,
    )
    sensible_heat_flux: HeatFluxSignal | None = case_key(
        "sensible heat flux, W/m2, positive upwards; alternative to heat_flux. The model divides it by the "
        "density, heat capacity and (anelastic) Exner function of the reference state at the surface",
        "120 W/m2",
        default=None,
    )
    pattern: NumberField | None = case_key("factor of the heat flux at each point", "where(x < 0, 1, 0)", default=None)
    roughness: LengthField | None = case_key(
        "roughness length of the log law, metres; without it free slip", 0.1, default=None
    )

    @model_validator(mode="before")
    @classmethod
    def _by_unit(cls, data: Any) -> Any:
        """Raise `InputError` with the right key for a flux with the unit of the other key."""
        for key, other in (tuple(FLUXES), tuple(FLUXES)[::-1]):
            value = data.get(key) if isinstance(data, dict) else None
            if isinstance(value, str) and _is_of(value, FLUXES[other]):
                raise InputError(
                    f'{key} = "{value}"', allowed=f"a {FLUXES[key]} in {DIMENSIONS[FLUXES[key]].si}",
                    fix=f'{other} = "{value}"', problem=f"The value of {key} has the unit of {other}.",
                )  # fmt: skip
        return data

    @model_validator(mode="after")
    def _one_flux(self) -> SurfaceSection:
        if self.heat_flux is not None and self.sensible_heat_flux is not None:
            raise InputError(
                "both heat_flux and sensible_heat_flux", allowed="one of them", problem="The heat flux is given twice."
            )
        if self.pattern is not None and self.heat_flux is None and self.sensible_heat_flux is None:
            raise InputError(
                "pattern without a heat flux",
                allowed="pattern with a heat flux",
                fix='heat_flux = "0.1 K m/s"',
                problem="The key pattern requires a heat flux.",
            )
        return self

    def make(
        self, grid: Grid, resolve: Callable[[Signal], float | Series], capacity: np.ndarray | float = 1.0
    ) -> Surface:
        """Return the surface of the model.

        Parameters
        ----------
        grid : Grid
        resolve : function
            Converts a signal to a number or a series.
        capacity : (ny, nx) array or float, J m-3 K-1
            Volumetric heat capacity at the surface (`Atmosphere.heat_capacity`).
        """
        pattern, roughness = (None if one is None else one.at_centres(grid) for one in (self.pattern, self.roughness))
        if self.sensible_heat_flux is None:
            return Surface(resolve(self.heat_flux or Signal(0.0, "kinematic heat flux")), pattern, roughness)
        max_capacity = float(np.max(capacity))
        flux = Series.of(resolve(self.sensible_heat_flux), "sensible_heat_flux")
        factor = np.broadcast_to((1.0 if pattern is None else pattern) * (max_capacity / capacity), grid.shape)
        return Surface(Series(flux.times, flux.values / max_capacity, flux.name), factor, roughness)


def _is_of(text: str, dimension: str) -> bool:
    """Return whether a string is a quantity of a dimension."""
    try:
        parse_quantity(text, dimension)
    except InputError:
        return False
    return True
