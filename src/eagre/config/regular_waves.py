"""What all tables of waves in case files share, and regular waves."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from eagre import waves
from eagre.config.section import Section
from eagre.config.toml import literal
from eagre.config.units import parse_quantity
from eagre.config.values import PositiveMetres, PositiveSeconds, key_of, one_of, quantity
from eagre.errors import InputError
from eagre.waves.steady import RegularWave


def _angle(value: Any, info: ValidationInfo) -> float:
    """Radians; a plain number beyond a turn must be degrees, and has to say so."""
    number = parse_quantity(value, "number", key_of(info))
    if not isinstance(value, str) and abs(number) > 2.0 * math.pi:
        raise InputError(
            f"{key_of(info)} = {literal(value)}", allowed="radians, or a text with degrees",
            fix=f'{key_of(info)} = "{number:g} deg"',
        )  # fmt: skip
    return number


Angle = Annotated[float, BeforeValidator(_angle)]
Speed = Annotated[float, quantity("speed")]
Height = Annotated[float, quantity("length"), Field(gt=0)]


class WaveSection(Section):
    """A wave or a sea."""

    kind: str = Field(description="the kind of wave")
    direction: Angle | None = Field(
        default=None, description="where it goes to, from the x axis towards the y axis", examples=["30 deg"]
    )
    coming_from: Angle | None = Field(
        default=None,
        description="in place of direction: where it comes from, clockwise from north, with x east",
        examples=["270 deg"],
    )

    @model_validator(mode="after")
    def _one_direction(self) -> WaveSection:
        if self.direction is not None and self.coming_from is not None:
            raise InputError("both direction and coming_from", allowed="one of them", fix='coming_from = "270 deg"')
        return self

    def goes_to(self) -> float:
        """Where it goes to, rad, from the x axis."""
        if self.coming_from is not None:
            return float(waves.from_nautical(math.degrees(self.coming_from)))
        return self.direction or 0.0

    @abstractmethod
    def make(self, depth: float, gravity: float) -> RegularWave | waves.LinearWaves:
        """The wave in a depth, m, under a gravity, m s-2.

        Raises
        ------
        InputError
            If there is no such wave, one higher than the highest for instance.
        """


def _only_one(section: Section, names: tuple[str, str], fix: str) -> dict[str, Any]:
    """The one of two keys that is given, by name."""
    given = {name: getattr(section, name) for name in names if getattr(section, name) is not None}
    if len(given) != 1:
        raise InputError(f"{'both' if given else 'neither'} {names[0]} {'and' if given else 'nor'} {names[1]}",
                         allowed="one of them", fix=fix)  # fmt: skip
    return given


class _Regular(WaveSection):
    height: Height = Field(description="crest to trough, metres", examples=[0.1])
    length: PositiveMetres | None = Field(default=None, description="length, metres", examples=[3.0])
    period: PositiveSeconds | None = Field(default=None, description="in place of length: the period", examples=["2 s"])
    phase: Angle = Field(default=0.0, description="of the crest at x = y = t = 0 where it is 0", examples=["90 deg"])

    @model_validator(mode="after")
    def _one_size(self) -> _Regular:
        self.size()
        return self

    def size(self) -> dict[str, Any]:
        """Length or period."""
        return _only_one(self, ("length", "period"), 'period = "2 s"')


class AirySection(_Regular):
    """A small wave, by linear theory."""

    eulerian_current: Speed = Field(
        default=0.0, description="uniform current, positive with the wave", examples=["0.2 m/s"]
    )

    def make(self, depth: float, gravity: float) -> waves.AiryWave:
        return waves.AiryWave(
            self.height, depth, **self.size(), eulerian_current=self.eulerian_current, gravity=gravity,
            direction=self.goes_to(), phase=self.phase,
        )  # fmt: skip


class _Steady(_Regular):
    eulerian_current: Speed | None = Field(
        default=None, description="mean velocity at a point below the troughs; 0 in the open sea", examples=[0.0]
    )
    stokes_current: Speed | None = Field(
        default=None,
        description="in place of it: the volume flux over the depth, the mass transport; 0 in a closed flume",
        examples=[0.0],
    )

    datum: Annotated[str, one_of("mean_level", "still_water")] = Field(
        default="mean_level",
        description="what z = 0 is: mean_level, or still_water where the wave meets water at rest (set-down)",
        examples=["still_water"],
    )

    @model_validator(mode="after")
    def _one_current(self) -> _Steady:
        self.current()
        return self

    def maker(self, theory: Any) -> Any:
        """What makes a wave of a theory for the datum."""
        return theory.over_still_water if self.datum == "still_water" else theory

    def current(self) -> dict[str, Any]:
        """One of the two currents."""
        fix = "eulerian_current = 0.0, or stokes_current = 0.0 in a closed flume"
        return _only_one(self, ("eulerian_current", "stokes_current"), fix)


class StokesSection(_Steady):
    """A steady wave of moderate height, by Stokes' expansion."""

    order: int = Field(default=5, ge=1, le=9, description="of the expansion", examples=[5])

    def make(self, depth: float, gravity: float) -> waves.StokesWave:
        return self.maker(waves.StokesWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip


class StreamFunctionSection(_Steady):
    """A steady wave of any height, by the stream function method."""

    order: int | None = Field(
        default=None, ge=2, le=300, description="number of modes; without it what rounding asks for", examples=[20]
    )

    def make(self, depth: float, gravity: float) -> waves.StreamFunctionWave:
        return self.maker(waves.StreamFunctionWave)(
            self.height, depth, **self.size(), **self.current(), gravity=gravity, direction=self.goes_to(),
            phase=self.phase, order=self.order,
        )  # fmt: skip
