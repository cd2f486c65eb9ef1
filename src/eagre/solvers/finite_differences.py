"""Finite-difference weights of any order on any nodes."""

from __future__ import annotations

import numpy as np


def weights(point: float, nodes: np.ndarray, derivative: int) -> np.ndarray:
    """Return the weights of a derivative at a point from values at n nodes, exact for polynomials of degree n - 1."""
    return all_weights(np.asarray(point), nodes, derivative)[..., derivative]


def all_weights(point: np.ndarray, nodes: np.ndarray, max_derivative: int) -> np.ndarray:
    """Return weights of derivatives 0 to m = `max_derivative`, (..., n, m + 1), at points, (...), of nodes, (..., n).

    Source: B. Fornberg, Math. Comput. 51, 699-706 (1988), doi:10.1090/S0025-5718-1988-0935077-0.
    """
    n = nodes.shape[-1]
    result = np.zeros((*nodes.shape, max_derivative + 1))
    result[..., 0, 0] = 1.0
    product = np.ones(nodes.shape[:-1])
    for i in range(1, n):
        last = product
        product = np.prod(nodes[..., i : i + 1] - nodes[..., :i], axis=-1)
        old = result[..., i - 1, :].copy()
        for m in range(max_derivative, -1, -1):
            lower = m * old[..., m - 1] if m else 0.0
            result[..., i, m] = last / product * (lower - (nodes[..., i - 1] - point) * old[..., m])
            for j in range(i):
                lower = m * result[..., j, m - 1] if m else 0.0
                result[..., j, m] = ((nodes[..., i] - point) * result[..., j, m] - lower) / (
                    nodes[..., i] - nodes[..., j]
                )
    return result


def centred(order: int, spacing: float, derivative: int) -> np.ndarray:
    """Return the weights of a centred derivative from order + 1 points, (order + 1,)."""
    return weights(0.0, np.arange(-(order // 2), order // 2 + 1.0), derivative) / spacing**derivative
