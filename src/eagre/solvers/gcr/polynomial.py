"""Chebyshev polynomial preconditioner: weighted sweeps whose weights are reciprocal roots of a Chebyshev polynomial.

    q = -w_1 r,    q <- q + w_n (L q - r),    n = 2 .. m

gives r - L q = prod_n (1 + w_n L) r. For an operator with eigenvalues between -b and 0 the polynomial is small for
eigenvalues of size b / reach to b. GCR(1) then needs about m times fewer iterations, each with m - 1 additional
applications of L and no additional sums. Source: O. G. Johnson, C. A. Micchelli, G. Paul, SIAM J. Numer. Anal. 20,
362-376 (1983), doi:10.1137/0720025; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from eagre.errors import InputError

REACH = 1.5  # ratio b / a divided by sweeps^2; values of 1 to 2 perform similarly


def chebyshev_weights(largest: float, sweeps: int) -> list[float]:
    """Return the weights w_n, ordered so that partial products remain small.

    Parameters
    ----------
    largest : float
        Upper bound b of the absolute eigenvalues of L, above 0.
    sweeps : int
        Number of sweeps m, 2 to 16.

    Raises
    ------
    InputError
        For values outside these ranges.
    """
    if not largest > 0.0:
        raise InputError(f"largest = {largest!r}", allowed="an upper bound of the eigenvalues, above 0")
    if sweeps != int(sweeps) or not 2 <= sweeps <= 16:
        raise InputError(f"sweeps = {sweeps!r}", allowed="2 to 16", fix="sweeps=6")
    lower = largest / (REACH * sweeps**2)
    centre, half = 0.5 * (largest + lower), 0.5 * (largest - lower)
    roots = [centre + half * math.cos(math.pi * (n + 0.5) / sweeps) for n in range(sweeps)]
    ordered = [roots.pop(0)]
    while roots:  # next root: maximum product of distances to the previous ones
        ordered.append(max(roots, key=lambda root: math.prod(abs(root - one) for one in ordered)))
        roots.remove(ordered[-1])
    return [1.0 / root for root in ordered]


def chebyshev(operator: Callable[[Any], Any], largest: float, sweeps: int = 6) -> Callable[[Any], Any]:
    """Return a preconditioner for `gcr` that approximates L^-1 by sweeps - 1 applications of L.

    Parameters
    ----------
    operator : function
        L, negative (semi-)definite: eigenvalues from -largest to 0.
    largest : float
        Upper bound of the absolute eigenvalues: twice the largest absolute diagonal element if L is diagonally
        dominant.
    sweeps : int
        Number of sweeps, 2 to 16.

    Raises
    ------
    InputError
        For values outside these ranges.

    Examples
    --------
    >>> import numpy as np
    >>> from eagre.solvers.gcr import gcr
    >>> def second(u):
    ...     return np.roll(u, 1) - 2.0 * u + np.roll(u, -1)
    >>> right = np.sin(0.1 * np.arange(64.0) ** 2)
    >>> right -= right.mean()
    >>> gcr(second, right, preconditioner=chebyshev(second, 4.0)).iterations < gcr(second, right).iterations
    True
    """
    first, *weights = chebyshev_weights(largest, sweeps)

    def precondition(r: Any) -> Any:
        real = r.dtype.type
        q = real(-first) * r
        for weight in weights:
            q += real(weight) * (operator(q) - r)
        return q

    return precondition
