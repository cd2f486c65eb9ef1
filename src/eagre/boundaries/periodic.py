"""Periodic sides: what leaves through one comes back through the other."""

from dataclasses import dataclass

from eagre.backend.cells import cell
from eagre.boundaries.base import Condition


@cell
def wrap(w_1, n_1, t_1, w_k, n_k, t_k, bed_1, bed_k, value, level, p):
    """Ghost k is interior k of the opposite side; the boundary pass hands it over as `k`."""
    return w_k, n_k, t_k


@dataclass(frozen=True)
class Periodic(Condition):
    """A side joined to its opposite, which must be periodic too."""

    ghost = wrap
    periodic = True
    closed = True
