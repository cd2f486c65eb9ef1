"""The terms of the run where the rows of a sweep need them: water at centres, forces at faces."""

from eagre.backend.cells import cell, real
from eagre.kernels.roots import select
from eagre.models.shallow_water_adi.kernels import LAND, MAY_DRY
from eagre.terms.compose import FORCE, WATER


@cell
def water_on(d, forcing, row, at, p):
    """Water that comes into a cell with bed d in half a step, m; none on land."""
    water = real(0.5) * p.dt * WATER(real(0.0), forcing, row, at)
    if MAY_DRY:
        return select(d > real(LAND), real(0.0), water)
    return water


@cell
def push_on(depths, p_here, q_sum, forcing, row, at, p):
    """Explicit forces on a face times dt, m2 s-1; depths, q_sum : sums of two depths and of four fluxes across."""
    return p.dt * FORCE(real(0.0), real(0.5) * depths, p_here, real(0.25) * q_sum, forcing, row, at)
