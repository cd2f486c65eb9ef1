"""Stored surface variable of the explicit shallow-water model, and its rounding.

In double precision the variable is eta = w, the surface elevation. In single precision all elevations are relative to
the datum of the run (`eagre.models.shallow_water.datum`), and eta is the surface relative to the *base* of the cell:
its bed, or the datum if that is higher. So eta is the depth on land and the surface elevation at sea, with full
relative accuracy of both. Stochastic rounding of increments also conserves water
(decision 0040).

References
----------
M. Croci et al., R. Soc. Open Sci. 9, 211631 (2022), doi:10.1098/rsos.211631, section 3 (stochastic rounding).
"""

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.bits import binade, from_bits
from eagre.kernels.roots import larger, select, smaller


@cell
def base(b):
    """Return the reference level of eta for a cell with bed b, m."""
    return real(0.0)


@base.variant(None, "single")
def _base(b):
    return larger(b, real(0.0))


@cell
def surface(eta, b):
    """Return the surface of a cell, m, relative to the datum of its bed b."""
    return eta


@surface.variant(None, "single")
def _surface(eta, b):
    return eta + larger(b, real(0.0))


@cell
def dry_surface(b):
    """Return eta of a dry cell with bed b, m."""
    return b


@dry_surface.variant(None, "single")
def _dry_surface(b):
    return smaller(b, real(0.0))


@cell
def signed_depth(eta, b):
    """Return the depth of a cell, m; it can be negative due to rounding."""
    return eta - b


@signed_depth.variant(None, "single")
def _signed_depth(eta, b):
    return eta - smaller(b, real(0.0))


@cell
def depth(eta, b):
    """Return the depth of a cell with bed b, m."""
    return larger(real(0.0), signed_depth(eta, b))


@cell
def of_twice(y, h):
    """Return the depth y at a face of a cell of depth h, m, limited to 2 h because of rounding errors."""
    return y


@of_twice.variant(None, "single")
def _of_twice(y, h):
    return smaller(y, h + h)


# -- rounding -------------------------------------------------------------------------------------


@cell
def seed_of(stage, first_row):
    """Return a pseudo-random number for `noise_of` from the stage number since the start (multiplicative hash).

    first_row : global index of row 0, so that row slabs use the numbers of the whole domain.
    """
    return 0


@seed_of.variant(None, "single")
def _seed_of(stage, first_row):
    n = stage & 0xFFFFFFFF
    n = ((n ^ (n >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    n = ((n ^ (n >> 15)) * 0x6C8E9CF5) & 0xFFFFFFFF
    return (n ^ (n >> 16)) + np.int64(first_row) * 4780167


@cell
def noise_of(seed, j, i):
    """Return noise for interior cell (j, i) and this stage, between -1/2 and 1/2 of a unit in the last place of 1.

    The noise advances by an irrational fraction of the interval from cell to cell, so it is evenly distributed; its
    start is random for each stage.
    """
    return real(0.0)


@noise_of.variant(None, "single")
def _noise_of(seed, j, i):
    # Low bits of a sum are the 23 low bits of a number in [1, 2), which steps of 2^23 / 1.3247 and / 1.3247^2 fill
    # (M. Roberts' R2 sequence). A little less than a unit makes -1/2 impossible, which would round a power of two down.
    sequence = (seed + np.int64(i) * 6332373) + np.int64(j) * 4780167
    unit = real(2.0**-23 * (1.0 - 2.0**-20))
    return from_bits((sequence & 0x7FFFFF) | 0x3F800000) * unit - real(1.5) * unit


@cell
def added(eta, x, noise):
    """Return eta + x with stochastic rounding: up with a probability equal to the fraction of a unit in the last place.

    With rounding to nearest, the outflow of a thin layer and weak rain would be lost in each of a million steps.
    Stochastic rounding is unbiased, and still water, x = 0, is unchanged.
    """
    return eta + x


@added.variant(None, "single")
def _added(eta, x, noise):
    return select(x == real(0.0), eta, eta + (x + noise * binade(eta)))


@cell
def mean_added(eta_n, eta, x, noise):
    """Return the mean of eta_n and eta + x, rounded as in `added`: the second stage of SSP-RK2."""
    return real(0.5) * (eta_n + eta + x)


@mean_added.variant(None, "single")
def _mean_added(eta_n, eta, x, noise):
    return added(eta_n, real(0.5) * ((eta - eta_n) + x), noise)
