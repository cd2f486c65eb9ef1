"""A wall: no water crosses."""

from dataclasses import dataclass

from eagre.backend.cells import cell
from eagre.boundaries.base import Condition


@cell
def mirror(w_1, n_1, t_1, w_k, n_k, t_k, bed_1, bed_k, value, level, p):
    """Ghost k mirrors interior k; the discharge across the wall changes sign."""
    return w_k, -n_k, t_k


@dataclass(frozen=True)
class Wall(Condition):
    """A frictionless wall."""

    ghost = mirror
    closed = True
