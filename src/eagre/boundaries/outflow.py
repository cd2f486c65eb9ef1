"""Free outflow: everything is extrapolated."""

from dataclasses import dataclass

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition


@cell
def extrapolate(w_1, n_1, t_1, w_k, n_k, t_k, bed_1, bed_k, value, level, p):
    """Ghost cells copy the cell next to the boundary; water does not come back in."""
    h = max(w_1 - bed_1, real(0.0))
    return bed_k + h, min(n_1, real(0.0)), t_1


@dataclass(frozen=True)
class Outflow(Condition):
    """Zero-gradient outflow; good where the flow leaves fast or the level behind does not matter."""

    ghost = extrapolate
