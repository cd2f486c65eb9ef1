"""Slope limiters.

References
----------
A. Kurganov and G. Petrova, Commun. Math. Sci. 5(1), 133-160 (2007), doi:10.4310/CMS.2007.v5.n1.a6,
equation (2.7).
"""

import math

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, real
from eagre.kernels.roots import larger, smaller


@cell
def limited(d_low, central, d_high):
    """Return the minmod of three numbers, where `central` lies between 0 and the sum of the others.

    Clipping `central` between min(0, max(d)) and max(0, min(d)) avoids branches.
    """
    zero = real(0.0)
    lowest = smaller(zero, larger(d_low, d_high))
    highest = larger(zero, smaller(d_low, d_high))
    return smaller(larger(central, lowest), highest)


@limited.variant("cuda", "double")
def _limited_by_sign(d_low, central, d_high):
    # In double precision selections are cheaper than comparisons: two comparisons instead of six.
    slope = cuda.selp(abs(d_low) < abs(d_high), d_low, d_high)
    slope = cuda.selp(abs(slope) < abs(central), slope, central)
    one_sign = (np.float64(d_low).view(np.int64) ^ np.float64(d_high).view(np.int64)) >= 0
    return cuda.selp(one_sign, slope, real(0.0))


@limited.variant("simulator")
def _simulated_limited(d_low, central, d_high):
    return min(max(central, min(real(0.0), max(d_low, d_high))), max(real(0.0), min(d_low, d_high)))


@cell
def within(x, bound):
    """Return x clipped to [-bound, bound]; bound >= 0."""
    return min(max(x, -bound), bound)


@cell
def scaled_difference(low, high, p):
    """Return theta/2 times the difference of two neighbours; both cells use it."""
    return p.theta * (high - low)


@cell
def half_slope(d_low, d_high, p):
    """Return half the generalized minmod slope times the cell size: face value minus cell value.

    s = minmod(theta (q_i - q_{i-1}), (q_{i+1} - q_{i-1}) / 2, theta (q_{i+1} - q_i)) / 2 from the scaled differences on
    both sides; theta = 1 is minmod, theta = 2 monotonized central.
    """
    return limited(d_low, p.central * (d_low + d_high), d_high)


@half_slope.variant("cuda", "single")
def _half_slope_by_sums(d_low, d_high, p):
    # min(|a|, |b|) = (|a + b| - |a - b|) / 2 where a and b have one sign, and negative where not: on a
    # GPU a sum costs half as much as a minimum.
    total = d_low + d_high
    minimum = smaller(abs(total) - abs(d_low - d_high), abs((p.central + p.central) * total))
    return real(0.5) * math.copysign(larger(minimum, real(0.0)), total)
