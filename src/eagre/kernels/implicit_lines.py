"""Formulas of a line of the implicit shallow-water model that its kernels and the boundary conditions share."""

from eagre.backend.cells import cell, real, switch
from eagre.kernels.roots import larger, power_seven_sixths

LAND = 1e29  # beds from here on are never wet
TINY = 1e-6  # depth below which no quotient is formed, m

DRYING = switch("DRYING", True)
MAY_DRY = switch("MAY_DRY", True)  # whether cells may be dry: drying, land, open sides, upwinding, eddies
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
def resistance(speed, s, factor):
    """dt g |p| / (C^2 h^2) with s = 1/h^2; `factor` is dt g n^2 (Manning) or dt g / C^2 (Chezy) (equation 6)."""
    if FRICTION == 0:
        return real(0.0)
    if FRICTION >= 3:
        return factor * speed * s
    return factor * speed * power_seven_sixths(s)
