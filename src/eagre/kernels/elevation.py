"""What the explicit shallow-water model stores of the surface, and how it rounds that.

In double precision that is eta = w, the elevation of the surface. In single precision all elevations are over the
datum of the run (`eagre.models.shallow_water.datum`), and eta is the surface over the *base* of the cell: its bed, or
the datum where that is higher. So eta is the depth on land and the elevation of the surface in a sea, and keeps the
digits of either; added to at random rounding it keeps water too (decision 0040).

References
----------
M. Croci et al., R. Soc. Open Sci. 9, 211631 (2022), doi:10.1098/rsos.211631, section 3 (stochastic rounding).
"""

import numpy as np

from eagre.backend.cells import cell, real
from eagre.kernels.bits import binade, from_bits
from eagre.kernels.roots import larger, select, smaller


@cell
def base(b):
    """What eta of a cell with bed b is counted from, m."""
    return real(0.0)


@base.variant(None, "single")
def _base(b):
    return larger(b, real(0.0))


@cell
def surface(eta, b):
    """Surface of a cell, m, over the level that its bed b has."""
    return eta


@surface.variant(None, "single")
def _surface(eta, b):
    return eta + larger(b, real(0.0))


@cell
def signed_depth(eta, b):
    """Depth of a cell, m, below 0 where rounding left less than nothing."""
    return eta - b


@signed_depth.variant(None, "single")
def _signed_depth(eta, b):
    return eta - smaller(b, real(0.0))


@cell
def depth(eta, b):
    """Depth of a cell with bed b, m."""
    return larger(real(0.0), signed_depth(eta, b))


@cell
def of_twice(y, h):
    """Depth y at a face of a cell of depth h, m, from surface and bed: their rounding makes it no more than 2 h."""
    return y


@of_twice.variant(None, "single")
def _of_twice(y, h):
    return smaller(y, h + h)


# -- rounding -------------------------------------------------------------------------------------


@cell
def seed_of(stage, first_row):
    """A random number of a stage for `noise_of`, from the number of the stage since the start: multiplied and folded.

    first_row : of the domain that is row 0 here, so that bands of rows have the numbers of the whole.
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
    """For interior cell (j, i) and this stage, between -1/2 and 1/2 of a unit in the last place of 1.

    From cell to cell it goes on by an irrational part of the interval, which it so fills evenly; where it begins is
    random from stage to stage.
    """
    return real(0.0)


@noise_of.variant(None, "single")
def _noise_of(seed, j, i):
    # Low bits of a sum are those of a number in [1, 2): 23 of them, which steps of 2^23 / 1.3247 and / 1.3247^2 fill
    # (M. Roberts' R2 sequence). A little less than a unit makes -1/2 impossible, which would round a power of two down.
    place = (seed + np.int64(i) * 6332373) + np.int64(j) * 4780167
    unit = real(2.0**-23 * (1.0 - 2.0**-20))
    return from_bits((place & 0x7FFFFF) | 0x3F800000) * unit - real(1.5) * unit


@cell
def added(eta, x, noise):
    """eta + x, rounded up as often as the part of a unit in the last place says that x has in excess.

    To the nearest, a film's outflow and a weak rain are rounded away in each of a million steps; so they are right on
    the average, and still water, x = 0, keeps its bits.
    """
    return eta + x


@added.variant(None, "single")
def _added(eta, x, noise):
    return select(x == real(0.0), eta, eta + (x + noise * binade(eta)))


@cell
def mean_added(eta_n, eta, x, noise):
    """The mean of eta_n and eta + x, rounded as `added` is: the second stage of SSP-RK2."""
    return real(0.5) * (eta_n + eta + x)


@mean_added.variant(None, "single")
def _mean_added(eta_n, eta, x, noise):
    return added(eta_n, real(0.5) * ((eta - eta_n) + x), noise)
