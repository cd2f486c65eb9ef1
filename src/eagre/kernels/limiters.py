"""Slope limiters.

References
----------
A. Kurganov and G. Petrova, Commun. Math. Sci. 5(1), 133-160 (2007), doi:10.4310/CMS.2007.v5.n1.a6,
equation (2.7).
"""

from eagre.backend.cells import cell, real


@cell
def minmod3(a, b, c):
    """Smallest modulus of three numbers of one sign, else 0, without branches."""
    zero = real(0.0)
    return max(zero, min(a, min(b, c))) + min(zero, max(a, max(b, c)))


@cell
def half_slope(low, centre, high, theta):
    """Half the generalized minmod slope times the cell size: face value minus cell value.

    s = minmod(theta (q_i - q_{i-1}), (q_{i+1} - q_{i-1}) / 2, theta (q_{i+1} - q_i)) / 2,
    1 <= theta <= 2; theta = 1 is minmod, theta = 2 monotonized central. Pass theta/2 as `theta`.
    """
    return minmod3(theta * (centre - low), real(0.25) * (high - low), theta * (high - centre))
