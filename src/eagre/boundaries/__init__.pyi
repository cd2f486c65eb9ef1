# Made by tools/make_reference.py (make reference); change the source, not this file.

from eagre.boundaries.absorbing import Absorbing as Absorbing
from eagre.boundaries.barometer import with_static_level as with_static_level
from eagre.boundaries.base import Condition as Condition
from eagre.boundaries.discharge import Discharge as Discharge
from eagre.boundaries.inflow import Inflow as Inflow
from eagre.boundaries.internal import InternalArea as InternalArea
from eagre.boundaries.internal import InternalLine as InternalLine
from eagre.boundaries.normal_depth import NormalDepth as NormalDepth
from eagre.boundaries.outflow import Outflow as Outflow
from eagre.boundaries.periodic import Periodic as Periodic
from eagre.boundaries.sides import SIDES as SIDES
from eagre.boundaries.sides import Boundaries as Boundaries
from eagre.boundaries.sides import BoundarySegment as BoundarySegment
from eagre.boundaries.sides import FaceRange as FaceRange
from eagre.boundaries.sides import checked_boundaries as checked_boundaries
from eagre.boundaries.stage import Stage as Stage
from eagre.boundaries.wall import Wall as Wall

__all__: list[str]
NAMES: dict[str, str]
