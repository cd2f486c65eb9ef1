"""Values that depend on height in case files: a number, an expression in z, a table or a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainValidator, ValidationInfo, model_validator

from eagre.config.expressions import Expression
from eagre.config.fieldvalues import number_or_expression
from eagre.config.section import Section, check
from eagre.config.toml import literal
from eagre.config.units import DIMENSIONS, parse_quantity, unit_factor
from eagre.config.values import InputFile, Metres, key_of
from eagre.errors import InputError
from eagre.models.anelastic.profiles import Formula, Profile, Table


class HeightTable(Section):
    """Heights and values written in the case file."""

    heights: list[Metres] = Field(description="rising heights over z = 0, metres", examples=[[0.0, 1000.0]])
    values: list[float | str] = Field(description="one value a height, SI units or texts", examples=[[0.0, 5.0]])

    @model_validator(mode="after")
    def _same_length(self) -> HeightTable:
        if len(self.heights) != len(self.values):
            got = f"{len(self.heights)} heights and {len(self.values)} values"
            raise InputError(got, allowed="as many, at least two")
        return self

    def profile(self, name: str, dimension: str) -> Profile:
        """Values in SI units of `dimension`, linear in between."""
        values = [parse_quantity(value, dimension, "values") for value in self.values]
        return Table(np.array(self.heights), np.array(values), name)


class HeightFile(Section):
    """Two columns of a text table. Units in their names, ``z (km)``, are applied."""

    file: InputFile = Field(description="a table with a header, relative to the case file", examples=["wind.csv"])
    height: str | None = Field(default=None, description="the column of heights; without it the first", examples=["z"])
    value: str | None = Field(default=None, description="the column of values; without it the second", examples=["u"])
    units: str | None = Field(
        default=None, description="unit of the values; without it the one in brackets, or SI", examples=["m/s"]
    )

    def profile(self, name: str, dimension: str) -> Profile:
        """Read the file."""
        from eagre.io import read_heights

        def scale(written: str) -> float:
            unit = self.units or ("" if dimension == "number" else written.strip())  # a scalar's unit is its own
            return 1.0 if unit in ("", "-") else unit_factor(unit, dimension)

        heights, values = read_heights(self.file, height=self.height, value=self.value, scale=scale)
        return Table(heights, values, f"{name} of {self.file}")


@dataclass(frozen=True)
class HeightValue:
    """What a key holds.

    Parameters
    ----------
    source : float, Expression, HeightTable or HeightFile
    dimension : str
        A key of `eagre.config.units.DIMENSIONS`.
    """

    source: float | Expression | HeightTable | HeightFile
    dimension: str

    def profile(self, name: str) -> float | Profile:
        """A number or a profile."""
        if isinstance(self.source, Expression):
            expression = self.source
            return Formula(lambda z: expression(z=z))
        if isinstance(self.source, (HeightTable, HeightFile)):
            return self.source.profile(name, self.dimension)
        return self.source


def height_value(dimension: str) -> PlainValidator:
    """What reads a number, an expression in z, a table or a file."""

    def read(value: Any, info: ValidationInfo) -> HeightValue:
        if isinstance(value, HeightValue):
            return value
        if isinstance(value, dict):
            kind = HeightTable if "heights" in value or "values" in value else HeightFile
            return HeightValue(check(kind, value, info.context), dimension)
        found = number_or_expression(value, info, dimension, ("z",))
        if found is not None:
            return HeightValue(found, dimension)
        key = key_of(info)
        raise InputError(
            f"{key} = {literal(value)}",
            allowed=f"a number in {DIMENSIONS[dimension].si}, an expression in z, or a table with heights and values, "
            "or file",
            fix=f"{key} = {{heights = [0.0, 1000.0], values = [0.0, 0.0]}}",
        )

    return PlainValidator(read)


SpeedHeights = Annotated[HeightValue, height_value("speed")]
TemperatureHeights = Annotated[HeightValue, height_value("temperature")]
HeatingHeights = Annotated[HeightValue, height_value("heating")]
NumberHeights = Annotated[HeightValue, height_value("number")]
TimeHeights = Annotated[HeightValue, height_value("time")]
