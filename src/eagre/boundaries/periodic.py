"""Periodic sides: what leaves through one comes back through the other."""

from dataclasses import dataclass

from eagre.backend.cells import cell
from eagre.boundaries.base import Condition


@cell
def wrap(near, second, copied, bed_1, bed_k, m, value, level, p):
    """The ghost is a cell of the opposite side; the boundary pass hands it over as `copied`."""
    w, n, t = copied
    return w, n, t


@dataclass(frozen=True)
class Periodic(Condition):
    """A side joined to its opposite, which must be periodic too and have the same bed."""

    ghost = wrap
    periodic = True
    closed = True
