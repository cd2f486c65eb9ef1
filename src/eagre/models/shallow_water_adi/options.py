"""Options of the ADI model: arguments of the constructor, keys of the case file and fields of the set-up."""

from __future__ import annotations

from typing import Annotated, Literal

from eagre.config.options import Range, declaration
from eagre.config.section import case_key
from eagre.config.values.types import Acceleration, PositiveMetres, PositiveSeconds, Viscosity
from eagre.constants import GRAVITY

Switch = Literal["on", "off"]


@declaration
class Numerics:
    """Options of the numerical scheme."""

    time_step: Annotated[PositiveSeconds, case_key("the time step", "20 s"), Range(1e-9, 1e9)]
    viscosity: Annotated[Viscosity, case_key("eddy viscosity, m2/s", "5 m2/s"), Range(0.0, 1e9)] = 0.0
    dissipation: Annotated[
        Literal["froude", "none"],
        case_key("numerical dissipation: froude (upwinding at high Froude numbers, limited cross-advection) or none"),
    ] = "froude"
    momentum_advection: Annotated[Switch, case_key("advection of momentum: on or off")] = "on"
    drying: Annotated[Switch, case_key("wetting and drying: on, or off if all cells except land stay wet")] = "on"
    dry_depth: Annotated[
        PositiveMetres | None,
        case_key("water depth at a face below which the face is closed, metres", 0.01),
        Range(1e-6, 1e3),
    ] = None
    start: Annotated[
        Literal["half-step", "zero"],
        case_key("initial staggering: half-step (second order) or zero (first order)"),
    ] = "half-step"
    gravity: Annotated[Acceleration, case_key("gravitational acceleration, m/s2", 9.81), Range(1e-6, 1e3)] = GRAVITY
