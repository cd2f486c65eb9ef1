"""Boundary conditions, one a file."""

from eagre.boundaries.absorbing import Absorbing
from eagre.boundaries.base import Condition
from eagre.boundaries.discharge import Discharge
from eagre.boundaries.outflow import Outflow
from eagre.boundaries.periodic import Periodic
from eagre.boundaries.sides import SIDES, Boundaries, Part, Segment, checked_boundaries
from eagre.boundaries.stage import Stage
from eagre.boundaries.wall import Wall

__all__ = [
    "SIDES",
    "Absorbing",
    "Boundaries",
    "Condition",
    "Discharge",
    "Outflow",
    "Part",
    "Periodic",
    "Segment",
    "Stage",
    "Wall",
    "checked_boundaries",
]
