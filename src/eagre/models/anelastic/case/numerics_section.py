"""The section [numerics] of case files of the anelastic model."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import model_validator

from eagre.config.section import Section, case_key
from eagre.config.values.types import PositiveSeconds, Rate, Viscosity
from eagre.constants import EARTH_ROTATION
from eagre.errors import InputError


class NumericsSection(Section):
    """Time step, viscosity, rotation, tolerance of the pressure solver and options of the advection."""

    time_step: PositiveSeconds | None = case_key(
        "constant time step; without it the step adapts to courant_number", "5 s", default=None
    )
    courant_number: float | None = case_key(
        "maximum outflow Courant number (fraction of its mass that a cell loses in a step); at most 0.529, "
        "in two dimensions 0.592; 0.5 by default",
        0.5,
        default=None,
        gt=0,
        le=1,
    )
    viscosity: Viscosity = case_key("viscosity, m2/s", 75.0, default=0.0)
    diffusivity: Viscosity | None = case_key(
        "diffusivity of theta and scalars, m2/s; the viscosity by default", 75.0, default=None
    )
    coriolis: Rate | None = case_key("Coriolis parameter f, 1/s", 1e-4, default=None)
    latitude: float | None = case_key(
        "latitude, degrees north; alternative to coriolis", 45.0, default=None, ge=-90, le=90
    )
    tolerance: float = case_key("maximum residual divergence times the time step", 1e-6, default=1e-6, gt=0, le=0.1)
    third_order: bool = case_key(
        "third-order terms of the advection: more accurate for smooth fields, slower steps", default=False
    )
    nonoscillatory: bool = case_key(
        "flux-corrected advection without new extrema; false only for smooth flow", default=True
    )

    @model_validator(mode="after")
    def _one_of_each(self) -> NumericsSection:
        for one, other in (("time_step", "courant_number"), ("coriolis", "latitude")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(
                    f"both {one} and {other}",
                    allowed="one of them",
                    problem=f"The keys {one} and {other} exclude each other.",
                )
        return self

    @property
    def f(self) -> float:
        """The Coriolis parameter, s-1."""
        if self.latitude is not None:
            return float(2.0 * EARTH_ROTATION * np.sin(np.radians(self.latitude)))
        return self.coriolis or 0.0

    def options(self) -> dict[str, Any]:
        """Return arguments of the model."""
        return self.model_dump(exclude={"latitude"}) | {"coriolis": self.f}
