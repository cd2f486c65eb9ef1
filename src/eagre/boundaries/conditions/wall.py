"""Wall boundary condition (no normal flow)."""

from dataclasses import dataclass

from eagre.backend.compilation.cells import cell
from eagre.boundaries.base import Condition


@cell
def mirror(cell_data, value, level, p):
    """Mirror interior cell k into ghost cell k; the normal discharge changes sign."""
    w, n, t = cell_data.copied
    return w, -n, t


@dataclass(frozen=True)
class Wall(Condition):
    """Frictionless wall, u . n = 0.

    The interior state and the bed are mirrored. The tangential velocity is free.
    """

    ghost = mirror
    closed = True
