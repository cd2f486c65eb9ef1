"""Formulas of a line of the implicit shallow-water model that its kernels and the boundary conditions share."""

from eagre.backend.cells import cell, real, switch
from eagre.kernels.roots import larger, power_four_thirds, power_seven_sixths, reciprocal, root

LAND = 1e29  # beds from here on are never wet
TINY = 1e-6  # depth below which no quotient is formed, m
MOST = 0.5  # what is carried half a cell a step at most: the limit of |u| dt / (2 dx) beside dry cells
DRYING_DRAG = 4.0

DRYING = switch("DRYING", True)
MAY_DRY = switch("MAY_DRY", True)  # whether cells may be dry: drying, land, open sides, upwinding, eddies
CONVECTION = switch("CONVECTION", True)
FRICTION = switch("FRICTION", 0)  # 0 none, 1 Manning, 2 Manning map, 3 Chezy, 4 Chezy map


@cell
def depth(z, d):
    """Depth of a cell, m: h = max(0, z - d)."""
    if MAY_DRY:
        return larger(z - d, real(0.0))
    return z - d


@cell
def minimum_depth(p):
    """Depth that a divisor has at least, m."""
    if DRYING:
        return p.dry
    return real(TINY)


@cell
def critical_depth(flux, p):
    """Depth at which a unit discharge flows as fast as its waves, (P^2 / g)^(1/3), m."""
    return root(power_four_thirds(root(flux * flux * p.over_g)))


@cell
def drying_drag(leaves, h, p):
    """What keeps a face from emptying the cell behind it: a drag once half of its water leaves in a step.

    leaves : unit discharge out of that cell, m2 s-1; h : its depth, m (equation 12 of the implicit model).
    """
    part = real(4.0) * p.w * leaves * reciprocal(larger(h, p.dry))
    return real(DRYING_DRAG) * larger(part - real(0.5), real(0.0))


@cell
def held_out(p_here, inward, h, p):
    """`drying_drag` of a face on the boundary: 0 where water enters, and without drying."""
    if DRYING:
        return drying_drag(larger(-inward * p_here, real(0.0)), h, p)
    return real(0.0)


@cell
def fastest_out(h, inward, carried, p):
    """Speed of water that leaves a cell freely, m s-1: that of its waves, or its own where this is faster.

    carried : factors of momentum as `eagre.boundaries.base.Condition` has them; their sum is 4 w times the velocity.
    """
    here, inner = carried
    return larger(root(p.g * h), -inward * (here + inner) * reciprocal(real(4.0) * p.w))


@cell
def resistance(speed, s, factor):
    """dt g |p| / (C^2 h^2) with s = 1/h^2; `factor` is dt g n^2 (Manning) or dt g / C^2 (Chezy) (equation 6)."""
    if FRICTION == 0:
        return real(0.0)
    if FRICTION >= 3:
        return factor * speed * s
    return factor * speed * power_seven_sixths(s)
