"""A wall: no water crosses."""

from dataclasses import dataclass

from eagre.backend.cells import cell
from eagre.boundaries.base import Condition


@cell
def mirror(near, second, copied, bed_1, bed_k, m, value, level, p):
    """Ghost k mirrors interior k; the discharge across the wall changes sign."""
    w, n, t = copied
    return w, -n, t


@dataclass(frozen=True)
class Wall(Condition):
    """A frictionless wall, u . n = 0: the water inside and its bed are mirrored, the velocity along it is free."""

    ghost = mirror
    closed = True
