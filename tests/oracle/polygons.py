"""Which points lie in a polygon, by counting how often a ray to the east crosses its edges."""

from __future__ import annotations

import numpy as np


def inside(corners, x, y):
    """Whether points (x, y) lie inside a polygon of corners (n, 2)."""
    found = np.zeros(np.broadcast(x, y).shape, bool)
    corners = np.asarray(corners, float)
    for (xa, ya), (xb, yb) in zip(corners, np.roll(corners, -1, 0), strict=True):
        if ya != yb:
            crosses = ((ya > y) != (yb > y)) & (x < xa + (y - ya) / (yb - ya) * (xb - xa))
            found ^= crosses
    return found
