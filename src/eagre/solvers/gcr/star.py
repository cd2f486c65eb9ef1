"""Operator with differences over two spacings along three axes and coefficients per line, as tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell
from eagre.backend.device import Device


class Star(NamedTuple):
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


def on_device(star: Star, device: Device, real: Any) -> Star:
    """Return the tables on a device, in one precision, with unsigned indices."""
    found = {
        name: device.array(np.asarray(values).astype(real if name in REALS else np.uint32))
        for name, values in star._asdict().items()
    }
    return Star(**found)


@cell
def star_at(q, star, k, j, i):
    """Return L q at a point."""
    c = q[k, j, i]
    total = star.east[i] * (q[k, j, star.to_east[i]] - c) + star.west[i] * (q[k, j, star.to_west[i]] - c)
    total += star.north[j] * (q[k, star.to_north[j], i] - c) + star.south[j] * (q[k, star.to_south[j], i] - c)
    above, below = q[star.to_above[k], j, i], q[star.to_below[k], j, i]
    return star.across[k] * total + star.up[k] * (above - c) + star.down[k] * (below - c)


@cell
def set_image(k, j, i, q, star, out):
    """Set out = L q."""
    out[k, j, i] = star_at(q, star, k, j, i)
