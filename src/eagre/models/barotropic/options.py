"""Options of the barotropic model: arguments of the constructor, keys of the case file and fields of the set-up."""

from __future__ import annotations

from typing import Annotated, Literal

from eagre.config.options import declaration
from eagre.config.section import case_key
from eagre.config.values.types import Beta, Metres, PositiveMetres, PositiveSeconds, Rate, Viscosity

Basin = Literal["box", "channel", "periodic"]
Walls = Literal["free-slip", "no-slip", "no-slip-thom"]
SlipLength = Annotated[Metres, case_key("slip length of no-slip walls: partial slip", "20 km", ge=0)]


@declaration
class Boundaries:
    """Boundary conditions; the section [basin] has them among the keys of the grid."""

    basin: Basin = "box"
    walls: Walls = "free-slip"
    slip_length: SlipLength = 0.0


@declaration
class Physics:
    """Beta effect, friction and deformation radius, in SI units."""

    beta: Annotated[Beta, case_key("northward gradient of the Coriolis parameter, 1/(m s)", 2e-11)] = 0.0
    viscosity: Annotated[Viscosity, case_key("lateral (Laplacian) viscosity, m2/s", "400 m2/s")] = 0.0
    biharmonic_viscosity: Annotated[float, case_key("biharmonic viscosity, m4/s", 1e10, ge=0)] = 0.0
    bottom_friction: Annotated[Rate, case_key("linear bottom friction, 1/s", 1e-7, ge=0)] = 0.0
    deformation_radius: Annotated[
        PositiveMetres | None, case_key("deformation radius of a reduced-gravity layer; default: rigid lid", "45 km")
    ] = None


@declaration
class Numerics:
    """Time step and numerical schemes."""

    time_step: Annotated[PositiveSeconds, case_key("time step", "15 min")]
    jacobian: Annotated[
        Literal["arakawa", "advective"],
        case_key("arakawa (conserves energy and enstrophy) or advective (central differences)"),
    ] = "arakawa"
    scheme: Annotated[
        Literal["ab3", "ab2"], case_key("time integration: ab3 or ab2 (Adams-Bashforth of order 3 or 2)")
    ] = "ab3"
    viscosity_scheme: Annotated[
        Literal["explicit", "implicit"],
        case_key("time integration of viscosity: explicit or implicit (Crank-Nicolson)"),
    ] = "explicit"
    compensated_summation: Annotated[
        bool, case_key("compensated (Kahan) summation of time steps, for very small steps in single precision")
    ] = False
