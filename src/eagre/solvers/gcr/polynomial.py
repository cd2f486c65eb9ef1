"""A polynomial of an operator as preconditioner: sweeps with the reciprocal roots of a Chebyshev polynomial as weights.

    q = -w_1 r,    q <- q + w_n (L q - r),    n = 2 .. m

makes r - L q = prod_n (1 + w_n L) r. Of an operator with eigenvalues from -b to 0 it leaves at most a small part of
what lies between b / reach and b, so that GCR(1) needs some m times fewer iterations, each with m - 1 further
applications of L but with no more sums. Source: O. G. Johnson, C. A. Micchelli, G. Paul, SIAM J. Numer. Anal. 20,
362-376 (1983), doi:10.1137/0720025; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from eagre.errors import InputError

REACH = 1.5  # b / a over sweeps^2: 1 to 2 serve alike


def chebyshev_weights(largest: float, sweeps: int) -> list[float]:
    """w_n, in an order in which products of the first few stay small.

    Parameters
    ----------
    largest : float
        b, a bound of the sizes of the eigenvalues of L, above 0.
    sweeps : int
        m, from 2 to 16.

    Raises
    ------
    InputError
        For another number.
    """
    if not largest > 0.0:
        raise InputError(f"largest = {largest!r}", allowed="an upper bound of the eigenvalues, above 0")
    if sweeps != int(sweeps) or not 2 <= sweeps <= 16:
        raise InputError(f"sweeps = {sweeps!r}", allowed="2 to 16", fix="sweeps=6")
    least = largest / (REACH * sweeps**2)
    middle, half = 0.5 * (largest + least), 0.5 * (largest - least)
    roots = [middle + half * math.cos(math.pi * (n + 0.5) / sweeps) for n in range(sweeps)]
    found = [roots.pop(0)]
    while roots:  # next the root from which those before are farthest, by the product of distances
        found.append(max(roots, key=lambda root: math.prod(abs(root - one) for one in found)))
        roots.remove(found[-1])
    return [1.0 / root for root in found]


def chebyshev(operator: Callable[[Any], Any], largest: float, sweeps: int = 6) -> Callable[[Any], Any]:
    """A preconditioner for `gcr`: about L^-1 of a residual, by sweeps - 1 applications of L.

    Parameters
    ----------
    operator : function
        L, negative (semi-)definite: eigenvalues from -largest to 0.
    largest : float
        A bound of their sizes: twice the largest size on the diagonal where no row has more beside it than on it.
    sweeps : int
        From 2 to 16.

    Raises
    ------
    InputError
        For other numbers.

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
