"""Periodic boundary condition."""

from dataclasses import dataclass

from eagre.backend.compilation.cells import cell
from eagre.boundaries.base import Condition


@cell
def wrap(cell_data, value, level, p):
    """Copy a cell of the opposite side into the ghost cell; the boundary pass supplies the cell as `copied`."""
    w, n, t = cell_data.copied
    return w, n, t


@dataclass(frozen=True)
class Periodic(Condition):
    """Periodic boundary. The opposite side must be periodic too and have the same bed elevation."""

    ghost = wrap
    periodic = True
    closed = True
