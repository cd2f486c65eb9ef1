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
    """Zero-gradient outflow; good where the flow leaves fast or the level behind does not matter."""

    ghost = extrapolate
