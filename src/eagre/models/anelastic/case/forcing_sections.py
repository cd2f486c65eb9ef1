"""Section [forcing] of a case file: vertical profiles of the forcing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo, model_validator

from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.expressions import Expression
from eagre.config.values.field_values import number_or_expression
from eagre.config.values.types import InputFile, Metres, key_of
from eagre.config.values.units import DIMENSIONS, parse_quantity, unit_factor
from eagre.errors import InputError
from eagre.models.anelastic.base.vertical_profiles import FormulaProfile, Profile, TableProfile
from eagre.models.anelastic.forcing.profile_forcing import Forcing, Nudging


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
