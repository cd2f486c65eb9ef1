"""Formulas of an implicit line of the ADI shallow-water model, shared by its kernels and boundary conditions."""

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.roots import larger, power_four_thirds, power_seven_sixths, reciprocal, root

LAND = 1e29  # beds at or above this level are never wet
MIN_DEPTH = 1e-6  # minimum depth of divisors, m
MAX_COURANT = 0.5  # limit of |u| dt / (2 dx) next to dry cells: advection by half a cell per step
DRYING_DRAG = 4.0

DRYING = switch("DRYING", True)
MAY_DRY = switch("MAY_DRY", True)  # whether cells can be dry: drying, land, open boundaries, upwinding, eddy viscosity
CONVECTION = switch("CONVECTION", True)
FRICTION = switch("FRICTION", 0)  # 0: none, 1 Manning, 2 Manning map, 3 Chezy, 4 Chezy map


@cell
def depth(z, d):
    """Return the depth of a cell, m: h = max(0, z - d)."""
    if MAY_DRY:
        return larger(z - d, real(0.0))
    return z - d


@cell
def minimum_depth(p):
    """Return the minimum depth of a divisor, m."""
    if DRYING:
        return p.dry
    return real(MIN_DEPTH)


@cell
def critical_depth(flux, p):
    """Return the critical depth of a unit discharge, (P^2 / g)^(1/3), m."""
    return root(power_four_thirds(root(flux * flux * p.over_g)))


@cell
def drying_drag(leaves, h, p):
    """Return a drag that prevents a face from emptying its upstream cell, active if half of its water leaves in a step.

    leaves : unit discharge out of the cell, m2 s-1; h : its depth, m (equation 12 of the implicit model).
    """
    fraction = real(4.0) * p.w * leaves * reciprocal(larger(h, p.dry))
    return real(DRYING_DRAG) * larger(fraction - real(0.5), real(0.0))


@cell
def held_out(p_here, inward, h, p):
    """Return `drying_drag` of a boundary face: 0 for inflow, and without drying."""
    if DRYING:
        return drying_drag(larger(-inward * p_here, real(0.0)), h, p)
    return real(0.0)


@cell
def fastest_out(h, inward, carried, p):
    """Return the speed of free outflow, m s-1: wave speed, or the velocity if it is larger.

    carried : factors of momentum as in `eagre.boundaries.base.Condition`; their sum is 4 w times the velocity.
    """
    here, inner = carried
    return larger(root(p.g * h), -inward * (here + inner) * reciprocal(real(4.0) * p.w))


@cell
def resistance(speed, s, factor):
    """Return dt g |p| / (C^2 h^2) with s = 1/h^2; `factor` is dt g n^2 (Manning) or dt g / C^2 (Chezy) (equation 6)."""
    if FRICTION == 0:
        return real(0.0)
    if FRICTION >= 3:
        return factor * speed * s
    return factor * speed * power_seven_sixths(s)
