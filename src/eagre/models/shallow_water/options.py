"""Options of the explicit model: arguments of the constructor, keys of the case file and fields of the set-up."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from eagre.config.options import Range, declaration
from eagre.config.section import case_key
from eagre.config.values.types import Acceleration, PositiveMetres, PositiveSeconds
from eagre.constants import GRAVITY

UNBOUNDED = 1e12  # s
MIN_KAPPA = 1e-9  # m; its fourth power is a normal number in single precision


def on_or_off(value: Any) -> Any:
    """Return "on" or "off" for a boolean, and other values unchanged."""
    return ("on" if value else "off") if isinstance(value, bool) else value


TimeStep = Annotated[PositiveSeconds | None, Range(1e-12, UNBOUNDED)]


@declaration
class Numerics:
    """Options of the numerical scheme."""

    scheme: Literal["rk2", "euler", "srk2", "ds1", "ds2"] = "rk2"
    wet_dry: Annotated[
        Literal["hydrostatic", "kurganov-petrova"],
        case_key("wetting-and-drying scheme: hydrostatic or kurganov-petrova"),
    ] = "hydrostatic"
    active_tiles: Annotated[
        Literal["auto", "on", "off"],
        BeforeValidator(on_or_off),
        case_key("skip dry tiles: auto, on or off", "auto"),
    ] = "auto"
    minmod_theta: Annotated[
        float, case_key("parameter of the minmod limiter, 1 (most diffusive) to 2 (least diffusive)", 1.3, ge=1, le=2)
    ] = 1.3
    courant_number: Annotated[
        float, case_key("Courant number, above 0 to 0.5", 0.25, gt=0, le=0.5), Range(1e-6, 0.5)
    ] = 0.25
    desingularisation_depth: Annotated[
        PositiveMetres | None,
        case_key("depth below which velocities are desingularised, metres", 0.001),
        Range(MIN_KAPPA, 1e3),
    ] = None
    time_step_control: Annotated[Literal["predicted", "exact"], case_key("time-step control: predicted or exact")] = (
        "predicted"
    )
    predicted_fraction: Annotated[
        float,
        case_key("time step of ds1 and ds2 as a fraction of the limit of the previous step, 0.5 to 1", ge=0.5, le=1),
    ] = 0.95
    max_time_step: Annotated[TimeStep, case_key("maximum time step", "1 s")] = None
    time_step: Annotated[TimeStep, case_key("fixed time step; without it the step is adaptive", "0.1 s")] = None
    gravity: Annotated[Acceleration, case_key("gravitational acceleration, m/s2", 9.81), Range(1e-6, 1e3)] = GRAVITY
