"""Free outflow: everything is extrapolated."""

from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition


@cell
def extrapolate(near, second, copied, bed_1, bed_k, m, value, level, p):
    """The depth of the cell next to the boundary, no higher than its surface; no water comes back in."""
    w, n, t = near
    h = max(min(w - bed_1, w - bed_k), real(0.0))
    return bed_k + h, min(n, real(0.0)), t


@dataclass(frozen=True)
class Outflow(Condition):
    """Zero-gradient outflow: depth and velocity go on as they are, and no water comes back in.

    Good where the flow leaves fast (Froude number above 1) or the level behind does not matter. Slow water piles up
    before it, and waves are reflected in part: a stage or an absorbing side is better there.
    """

    ghost = extrapolate
