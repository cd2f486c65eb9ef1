"""Section [forcing] of a case file: vertical profiles of the forcing."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from eagre.config.section import Section
from eagre.errors import InputError
from eagre.models.anelastic.case.height_values import (
    HeatingHeights,
    HeightValue,
    NumberHeights,
    SpeedHeights,
    TemperatureHeights,
    TimeHeights,
)
from eagre.models.anelastic.forcing.profile_forcing import Forcing, Nudging

PROFILE = "a number, an expression in z, {heights, values} or {file}"


class NudgingSection(Section):
    """Nudging (relaxation) of all points towards vertical profiles."""

    time_scale: TimeHeights = Field(description=f"relaxation time, s: {PROFILE}", examples=["1 h"])
    u: SpeedHeights | None = Field(default=None, description=f"wind along x, m/s: {PROFILE}", examples=[10.0])
    v: SpeedHeights | None = Field(default=None, description=f"wind along y, m/s: {PROFILE}", examples=[0.0])
    theta: TemperatureHeights | None = Field(
        default=None, description=f"potential temperature, K: {PROFILE}", examples=["300 + 0.003 * z"]
    )
    scalars: dict[str, NumberHeights] = Field(default_factory=dict, description=f"a table of name = {PROFILE}")

    def make(self) -> Nudging:
        """Return the nudging of the model."""
        scale = self.time_scale.profile("time_scale")
        scalars = {name: value.profile(name) for name, value in self.scalars.items()}
        return Nudging(scale, *(_profile(self, name) for name in ("u", "v", "theta")), scalars=scalars)


class ForcingSection(Section):
    """Forcing: vertical profiles of geostrophic wind, subsidence, heating and nudging."""

    geostrophic_u: SpeedHeights | None = Field(
        default=None, description=f"geostrophic wind along x, m/s: {PROFILE}", examples=[10.0]
    )
    geostrophic_v: SpeedHeights | None = Field(
        default=None, description=f"geostrophic wind along y, m/s: {PROFILE}", examples=[0.0]
    )
    subsidence: SpeedHeights | None = Field(
        default=None, description=f"large-scale vertical velocity, m/s, negative downwards: {PROFILE}",
        examples=["-5e-6 * z"],
    )  # fmt: skip
    heating: HeatingHeights | None = Field(
        default=None, description=f"heating rate of theta, K/s, negative for cooling: {PROFILE}", examples=["-2 K/d"]
    )
    nudging: NudgingSection | None = Field(default=None, description="the section [forcing.nudging]")

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
