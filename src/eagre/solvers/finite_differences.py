"""Finite-difference weights of any order on any nodes."""

from __future__ import annotations

import numpy as np


def weights(at: float, nodes: np.ndarray, derivative: int) -> np.ndarray:
    """Return the weights of a derivative at a point from values at n nodes, exact for polynomials of degree n - 1."""
    return all_weights(np.asarray(at), nodes, derivative)[..., derivative]


def all_weights(at: np.ndarray, nodes: np.ndarray, most: int) -> np.ndarray:
    """Return weights of the derivatives 0 to `most`, (..., n, most + 1), at points, (...), from nodes, (..., n).

    Source: B. Fornberg, Math. Comput. 51, 699-706 (1988), doi:10.1090/S0025-5718-1988-0935077-0.
    """
    n = nodes.shape[-1]
    found = np.zeros((*nodes.shape, most + 1))
    found[..., 0, 0] = 1.0
    product = np.ones(nodes.shape[:-1])
    for i in range(1, n):
        last = product
        product = np.prod(nodes[..., i : i + 1] - nodes[..., :i], axis=-1)
        old = found[..., i - 1, :].copy()
        for m in range(most, -1, -1):
            lower = m * old[..., m - 1] if m else 0.0
            found[..., i, m] = last / product * (lower - (nodes[..., i - 1] - at) * old[..., m])
            for j in range(i):
                lower = m * found[..., j, m - 1] if m else 0.0
                found[..., j, m] = ((nodes[..., i] - at) * found[..., j, m] - lower) / (nodes[..., i] - nodes[..., j])
    return found


def centred(order: int, spacing: float, derivative: int) -> np.ndarray:
    """Return the weights of a centred derivative from order + 1 points, (order + 1,)."""
    return weights(0.0, np.arange(-(order // 2), order // 2 + 1.0), derivative) / spacing**derivative
