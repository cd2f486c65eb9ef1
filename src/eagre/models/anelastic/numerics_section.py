"""The section [numerics] of case files of the anelastic model."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field, model_validator

from eagre.config.section import Section
from eagre.config.values import PositiveSeconds, Rate, Viscosity
from eagre.constants import EARTH_ROTATION
from eagre.errors import InputError


class NumericsSection(Section):
    """The time step, viscosity, rotation, how good the pressure is, and what advection is made of."""

    time_step: PositiveSeconds | None = Field(
        default=None, description="the time step; without it by courant_number", examples=["5 s"]
    )
    courant_number: float | None = Field(
        default=None, gt=0, le=1, examples=[0.5],
        description="share of its mass that a cell may lose in a step: none goes above it, and it is 0.529 at most (a "
        "plane 0.592); 0.5 if not given",
    )  # fmt: skip
    viscosity: Viscosity = Field(default=0.0, description="m2/s", examples=[75.0])
    diffusivity: Viscosity | None = Field(
        default=None, description="of theta and scalars, m2/s; without it the viscosity", examples=[75.0]
    )
    coriolis: Rate | None = Field(default=None, description="f, 1/s", examples=[1e-4])
    latitude: float | None = Field(
        default=None, description="in place of coriolis: degrees north", ge=-90, le=90, examples=[45.0]
    )
    tolerance: float = Field(
        default=1e-6, description="dt times the largest divergence that is left", gt=0, le=0.1, examples=[1e-6]
    )
    third_order: bool = Field(
        default=False,
        description="third-order terms of advection: smooth fields are carried better, steps take longer",
    )
    nonoscillatory: bool = Field(
        default=True, description="advection makes no new extrema; false only for flow that is smooth everywhere"
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> NumericsSection:
        for one, other in (("time_step", "courant_number"), ("coriolis", "latitude")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(f"both {one} and {other}", allowed="one of them")
        return self

    @property
    def f(self) -> float:
        """The Coriolis parameter, s-1."""
        if self.latitude is not None:
            return float(2.0 * EARTH_ROTATION * np.sin(np.radians(self.latitude)))
        return self.coriolis or 0.0

    def options(self) -> dict[str, Any]:
        """What the model takes."""
        as_given = ("time_step", "courant_number", "viscosity", "diffusivity", "tolerance")
        switches = ("third_order", "nonoscillatory")
        return {"coriolis": self.f} | {name: getattr(self, name) for name in (*as_given, *switches)}
