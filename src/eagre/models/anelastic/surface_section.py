"""The section [surface] of a case file: heat flux and drag of the ground."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from eagre.config.fieldvalues import LengthField, NumberField
from eagre.config.section import Section
from eagre.config.signals import NumberSignal, Signal
from eagre.grid import Grid
from eagre.models.anelastic.surface import Surface
from eagre.series import Series


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
