"""The boundary conditions of the ADI model: which of the shared ones it takes, and their values in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eagre.boundaries import Absorbing, Discharge, Segment, Stage, Wall
from eagre.errors import InputError
from eagre.models.shallow_water_adi.kernels import FLUX, LEVEL, WALL, WAVES
from eagre.series import Series

KINDS = {Wall: WALL, Stage: LEVEL, Discharge: FLUX, Absorbing: WAVES}


@dataclass(frozen=True, eq=False)
class Side:
    """A segment of the boundary with its kind and its series."""

    segment: Segment
    kind: int
    series: Series

    def value_at(self, start: float, sweep: int, dt: float) -> float:
        """Value for sweep 0 (x) or 1 (y) of the step from `start`, s.

        A surface belongs to the middle of the x sweep's step, n + 1/2, and to n + 1 in the y sweep;
        a flux to the end of its own step: n + 1 and n + 3/2.
        """
        ahead = 1.0 + 0.5 * sweep if self.kind == FLUX else 0.5 + 0.5 * sweep
        return self.series(start + ahead * dt)


def sides_of(segments: Sequence[Segment]) -> list[Side]:
    """Kinds and series of all segments.

    Raises
    ------
    InputError
        For a condition that this model does not have.
    """
    return [Side(segment, _kind(segment), _series(segment)) for segment in segments]


def _kind(segment: Segment) -> int:
    for condition, kind in KINDS.items():
        if isinstance(segment.condition, condition):
            return kind
    raise InputError(
        f"{type(segment.condition).__name__} on the {segment.side} side of shallow-water-adi",
        allowed="Wall, Stage, Discharge or Absorbing (an implicit line has no periodic or free end); waves and "
        "currents leave through Absorbing(level=..), water falls off an edge with a Stage below the bed",
        fix=f"{segment.side} = Absorbing()",
    )


def _series(segment: Segment) -> Series:
    own = segment.condition.value(segment.width)
    if isinstance(segment.condition, Absorbing):
        return Series(own.times, segment.condition.still_level() + 2.0 * own.values, own.name)
    return own
