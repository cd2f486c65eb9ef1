"""The sections [surface] and [closure] of a case file: heat flux and drag of the ground, an eddy viscosity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from eagre.config.fieldvalues import LengthField, NumberField
from eagre.config.section import Section
from eagre.config.signals import NumberSignal, Signal
from eagre.config.values import PositiveMetres, one_of
from eagre.grid import Grid
from eagre.models.anelastic.closure import Smagorinsky
from eagre.models.anelastic.surface import Surface
from eagre.series import Series


class ClosureSection(Section):
    """What the grid does not resolve."""

    kind: Annotated[str, one_of("smagorinsky")] = Field(
        default="smagorinsky", description="smagorinsky", examples=["smagorinsky"]
    )
    constant: float = Field(
        default=0.17,
        description="of the length: 0.1 to 0.2",
        ge=0,
        le=10,
        examples=[0.17],
    )
    prandtl: float = Field(default=1.0 / 3.0, description="turbulent Prandtl number", ge=0.01, le=100, examples=[0.333])
    length: PositiveMetres | None = Field(
        default=None, description="metres; without it the cube root of a cell", examples=[25.0]
    )

    def make(self) -> Smagorinsky:
        """What the model takes."""
        return Smagorinsky(self.constant, self.prandtl, self.length)


class SurfaceSection(Section):
    """What the ground does to the air."""

    heat_flux: NumberSignal = Field(
        default=Signal(0.0, "number"),
        description="kinematic heat flux, K m/s, above 0 upwards: a number, or a table with file, times and values, or "
        "expression",
        examples=[0.1],
    )
    pattern: NumberField | None = Field(
        default=None, description="a factor on the heat flux at each point", examples=["where(x < 0, 1, 0)"]
    )
    roughness: LengthField | None = Field(
        default=None, description="roughness length of the log law, metres; without it the wind slips", examples=[0.1]
    )

    def make(self, grid: Grid, resolve: Callable[[Signal], float | Series]) -> Surface:
        """What the model takes; `resolve` makes a number or a series of a signal."""
        pattern, roughness = (None if one is None else one.at_centres(grid) for one in (self.pattern, self.roughness))
        return Surface(resolve(self.heat_flux), pattern, roughness)
