"""Section [atmosphere] of case files of the anelastic model: equations, reference state and ambient state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from eagre.config.section import Section, case_key
from eagre.config.values.types import Acceleration, InputFile, Rate, Temperature, quantity
from eagre.constants import GRAVITY, REFERENCE_PRESSURE
from eagre.errors import InputError

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
