"""Cyclic reduction and parallel cyclic reduction as array operations, for any length and any array library.

Arrays are (outer, n, inner) with the systems along the middle axis; a of the first and c of the last row are 0. R. W.
Hockney, J. ACM 12(1), 95-113 (1965), doi:10.1145/321250.321259; Y. Zhang, J. Cohen and J. D. Owens, PPoPP 2010,
127-136, doi:10.1145/1693453.1693472.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def reduce_arrays(a: Any, b: Any, c: Any, d: Any, parallel_from: int) -> Any:
    """Return x by cyclic reduction down to `parallel_from` rows, then parallel; the ends of a and c are not used."""
    with np.errstate(all="ignore"):
        return cyclic_reduction(a, b, c, d, parallel_from)


def parallel_cyclic_reduction(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return x by log2(n) steps, each of which doubles the distance of the couplings; all rows remain active."""
    n = b.shape[1]
    a, b, c, d = a.copy(), b.copy(), c.copy(), d.copy()
    step = 1
    while step < n:
        low, high = slice(None, -step), slice(step, None)
        down, up = a[:, high] / b[:, low], c[:, low] / b[:, high]
        a_new, c_new = np.zeros_like(a), np.zeros_like(c)
        b_new, d_new = b.copy(), d.copy()
        a_new[:, high] = -down * a[:, low]
        c_new[:, low] = -up * c[:, high]
        b_new[:, high] -= down * c[:, low]
        b_new[:, low] -= up * a[:, high]
        d_new[:, high] -= down * d[:, low]
        d_new[:, low] -= up * d[:, high]
        a, b, c, d = a_new, b_new, c_new, d_new
        step *= 2
    return d / b


def cyclic_reduction(a: Any, b: Any, c: Any, d: Any, parallel_from: int = 1) -> Any:
    """Return x by halving the systems until `parallel_from` rows remain, which use parallel cyclic reduction."""
    n = b.shape[1]
    if n <= max(1, parallel_from):
        return parallel_cyclic_reduction(a, b, c, d)
    odd, below = slice(1, None, 2), slice(0, n - 1, 2)
    down = a[:, odd] / b[:, below]
    a_new = -down * a[:, below]
    b_new = b[:, odd] - down * c[:, below]
    d_new = d[:, odd] - down * d[:, below]
    c_new = np.zeros_like(b_new)
    above = slice(2, None, 2)
    count = b[:, above].shape[1]  # number of odd rows with a row above them
    paired = slice(0, count)
    up = c[:, odd][:, paired] / b[:, above]
    b_new[:, paired] -= up * a[:, above]
    d_new[:, paired] -= up * d[:, above]
    c_new[:, paired] = -up * c[:, above]
    x = np.empty_like(d)
    x[:, odd] = cyclic_reduction(a_new, b_new, c_new, d_new, parallel_from)
    even = d[:, 0::2].copy()
    even[:, 1:] -= a[:, 2::2] * x[:, 1 : n - 1 : 2]
    known = x[:, odd].shape[1]
    even[:, :known] -= c[:, 0::2][:, :known] * x[:, odd]
    x[:, 0::2] = even / b[:, 0::2]
    return x
