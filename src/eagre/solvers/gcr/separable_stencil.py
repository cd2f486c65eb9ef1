"""Operator with differences over two spacings along three axes and coefficients per line, as tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device


class SeparableStencil(NamedTuple):
    """Factors and indices of neighbours.

    L q = across_k (east_i (q_e - q) + west_i (q_w - q) + north_j (q_n - q) + south_j (q_s - q))
    + up_k (q_a - q) + down_k (q_b - q): e, w the points `to_east` and `to_west`; n, s, a (above) and b alike.
    Without a neighbour on one side the factor is 0 and the index arbitrary.
    """

    across: Any
    up: Any
    down: Any
    to_above: Any
    to_below: Any
    north: Any
    south: Any
    to_north: Any
    to_south: Any
    east: Any
    west: Any
    to_east: Any
    to_west: Any


REALS = ("across", "up", "down", "north", "south", "east", "west")


def on_device(stencil: SeparableStencil, device: Device, real: Any) -> SeparableStencil:
    """Return the tables on a device, in one precision, with unsigned indices."""
    tables = {
        name: device.array(np.asarray(values).astype(real if name in REALS else np.uint32))
        for name, values in stencil._asdict().items()
    }
    return SeparableStencil(**tables)


@cell
def stencil_at(q, stencil, k, j, i):
    """Return L q at a point."""
    c = q[k, j, i]
    total = stencil.east[i] * (q[k, j, stencil.to_east[i]] - c) + stencil.west[i] * (q[k, j, stencil.to_west[i]] - c)
    total += (
        stencil.north[j] * (q[k, stencil.to_north[j], i] - c) + stencil.south[j] * (q[k, stencil.to_south[j], i] - c)
    )  # fmt: skip
    above, below = q[stencil.to_above[k], j, i], q[stencil.to_below[k], j, i]
    return stencil.across[k] * total + stencil.up[k] * (above - c) + stencil.down[k] * (below - c)


@cell
def set_image(k, j, i, q, stencil, out):
    """Set out = L q."""
    out[k, j, i] = stencil_at(q, stencil, k, j, i)
