"""The fields that a barotropic model gives."""

from __future__ import annotations

from eagre.fields import Variable

ALWAYS = (
    Variable("streamfunction", "m2 s-1", "streamfunction: u = -psi_y, v = psi_x"),
    Variable("vorticity", "s-1", "relative vorticity", "ocean_relative_vorticity"),
    Variable("velocity_x", "m s-1", "velocity in x", "sea_water_x_velocity"),
    Variable("velocity_y", "m s-1", "velocity in y", "sea_water_y_velocity"),
    Variable("speed", "m s-1", "speed", "sea_water_speed"),
)
LOWER = (
    Variable("streamfunction_lower", "m2 s-1", "streamfunction of the lower layer"),
    Variable("vorticity_lower", "s-1", "relative vorticity of the lower layer"),
)
TRACER = Variable("tracer", "1", "concentration of a passive tracer")
WIND = Variable("wind_curl", "s-2", "curl of the wind stress over density and depth", static=True)


def fields_of(layers: bool, tracer: bool) -> tuple[Variable, ...]:
    """Fields of a model with or without a lower layer and a tracer."""
    return (*ALWAYS, *(LOWER if layers else ()), *((TRACER,) if tracer else ()), WIND)
