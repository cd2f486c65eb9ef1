"""Common keys of wave tables in case files, and regular waves."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from eagre import waves
from eagre.config.section import Section
from eagre.config.toml import literal
from eagre.config.values.types import PositiveMetres, PositiveSeconds, key_of, one_of, quantity
from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.waves.nonlinear.steady import RegularWave


def _angle(value: Any, info: ValidationInfo) -> float:
    """Return radians; raise an error for plain numbers above 2 pi, which are probably degrees."""
    number = parse_quantity(value, "number", key_of(info))
    if not isinstance(value, str) and abs(number) > 2.0 * math.pi:
        raise InputError(
            f"{key_of(info)} = {literal(value)}", allowed="radians, or a string with degrees",
            fix=f'{key_of(info)} = "{number:g} deg"',
        )  # fmt: skip
    return number


Angle = Annotated[float, BeforeValidator(_angle)]
Speed = Annotated[float, quantity("speed")]
Height = Annotated[float, quantity("length"), Field(gt=0)]


class WaveSection(Section):
    """A wave or a sea."""

    synonyms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("h", "hs", "hm0", "h_s"), ("significant_height", "height")),
        **dict.fromkeys(("t", "tp", "t_p"), ("peak_period", "period")),
    }

    kind: str = Field(description="kind of the wave")
    direction: Angle | None = Field(
        default=None, description="propagation direction, from the x axis towards the y axis", examples=["30 deg"]
    )
    coming_from: Angle | None = Field(
        default=None,
        description="alternative to direction: direction of origin, clockwise from north, with x to the east",
        examples=["270 deg"],
    )

    @model_validator(mode="after")
    def _one_direction(self) -> WaveSection:
        if self.direction is not None and self.coming_from is not None:
            raise InputError("both direction and coming_from", allowed="one of them", fix='coming_from = "270 deg"')
        return self

    def goes_to(self) -> float:
        """Return the propagation direction, rad, from the x axis."""
        if self.coming_from is not None:
            return float(waves.from_nautical(math.degrees(self.coming_from)))
        return self.direction or 0.0

    @abstractmethod
    def make(self, depth: float, gravity: float) -> RegularWave | waves.LinearWaves:
        """Create the wave for a depth, m, and a gravity, m s-2.

        Raises
        ------
        InputError
            If the wave does not exist, for example above the maximum height.
        """


def _only_one(section: Section, names: tuple[str, str], fix: str) -> dict[str, Any]:
    """Return the one of two keys that is set, by name."""
    specified = {name: getattr(section, name) for name in names if getattr(section, name) is not None}
    if len(specified) != 1:
        raise InputError(f"{'both' if specified else 'neither'} {names[0]} {'and' if specified else 'nor'} {names[1]}",
                         allowed="one of them", fix=fix)  # fmt: skip
    return specified


class _Regular(WaveSection):
    height: Height = Field(description="wave height (crest to trough), metres", examples=[0.1])
    length: PositiveMetres | None = Field(default=None, description="wave length, metres", examples=[3.0])
    period: PositiveSeconds | None = Field(
        default=None, description="alternative to length: wave period, s", examples=["2 s"]
    )
    phase: Angle = Field(default=0.0, description="phase at x = y = t = 0; 0 is a crest", examples=["90 deg"])

    @model_validator(mode="after")
    def _one_size(self) -> _Regular:
        self.size()
        return self

    def size(self) -> dict[str, Any]:
        """Return length or period."""
        return _only_one(self, ("length", "period"), 'period = "2 s"')


class AirySection(_Regular):
    """Linear (Airy) wave."""

    eulerian_current: Speed = Field(
        default=0.0, description="uniform current in the direction of the wave, m/s", examples=["0.2 m/s"]
    )

    def make(self, depth: float, gravity: float) -> waves.AiryWave:
        return waves.AiryWave(
            self.height, depth, **self.size(), eulerian_current=self.eulerian_current, gravity=gravity,
            direction=self.goes_to(), phase=self.phase,
        )  # fmt: skip


class _Steady(_Regular):
    eulerian_current: Speed | None = Field(
        default=None, description="mean Eulerian velocity below the troughs, m/s; 0 in the open sea", examples=[0.0]
    )
    stokes_current: Speed | None = Field(
        default=None,
        description="alternative: mass-transport velocity (volume flux / depth), m/s; 0 in a closed flume",
        examples=[0.0],
    )

    datum: Annotated[str, one_of("mean_level", "still_water")] = Field(
        default="mean_level",
        description="level z = 0: mean_level, or still_water next to water at rest (with set-down)",
        examples=["still_water"],
    )

    @model_validator(mode="after")
    def _one_current(self) -> _Steady:
        self.current()
        return self

    def maker(self, theory: Any) -> Any:
        """Return the constructor of a wave theory for the datum."""
        return theory.over_still_water if self.datum == "still_water" else theory

    def current(self) -> dict[str, Any]:
        """Return the one of two currents that is set."""
        fix = "eulerian_current = 0.0, or stokes_current = 0.0 in a closed flume"
        return _only_one(self, ("eulerian_current", "stokes_current"), fix)


class StokesSection(_Steady):
    """Steady wave of moderate height, Stokes expansion."""

    order: int = Field(default=5, ge=1, le=9, description="order of the expansion", examples=[5])

    def make(self, depth: float, gravity: float) -> waves.StokesWave:
        return self.maker(waves.StokesWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip


class StreamFunctionSection(_Steady):
    """Steady wave of any height, stream-function method."""

    order: int | None = Field(
        default=None,
        ge=2,
        le=300,
        description="number of Fourier modes; default: as many as needed for rounding accuracy",
        examples=[20],
    )

    def make(self, depth: float, gravity: float) -> waves.StreamFunctionWave:
        return self.maker(waves.StreamFunctionWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip
