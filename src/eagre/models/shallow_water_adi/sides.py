"""Boundary conditions of the ADI model: supported conditions and their time-dependent values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from eagre import boundaries
from eagre.backend.compilation.cells import Cell
from eagre.boundaries import NAMES, FaceRange
from eagre.errors import InputError
from eagre.models.shallow_water_adi.kernels import MAX_KINDS, WALL
from eagre.time_varying.series import Series


@dataclass(frozen=True, eq=False)
class Side:
    """Boundary segment with its kind (WALL, or the number of its point function in the run) and series.

    kind_in_corner : kind of its faces at cells with a second open boundary.
    """

    segment: FaceRange
    kind: int
    kind_in_corner: int
    series: Series

    @property
    def faces(self) -> tuple[Any, Any]:
        """Return the indices of its faces in an array of faces, and of the adjacent interior cells."""
        faces = slice(self.segment.first, self.segment.last)
        return {"west": (faces, 0), "east": (faces, -1), "south": (0, faces), "north": (-1, faces)}[self.segment.side]

    @property
    def gives_flux(self) -> bool:
        """True if the series is the flux itself."""
        return self.segment.condition.gives_flux

    @property
    def along_x(self) -> bool:
        """True for a west or an east side."""
        return self.segment.side in ("west", "east")

    def value_at(self, start: float, sweep: int, dt: float) -> float:
        """Return the value for sweep 0 (x) or 1 (y) of the step from `start`, s.

        A surface belongs to the middle of the step, n + 1/2, in the x sweep and to n + 1 in the y sweep. A flux belongs
        to the time of the new p, n + 1, or of the new q, n + 3/2.
        """
        if not self.gives_flux:
            return self.series(start + (0.5 + 0.5 * sweep) * dt)
        return self._flux_at(start + (1.0 if self.along_x else 1.5) * dt, dt)

    def first_fluxes(self, start: float, dt: float) -> tuple[float, float]:
        """Return the initial fluxes of a run from `start`, s: p twice, or q half a step before and after."""
        if self.along_x:
            p = whole_step_flux(self.series, start, dt, first=True)
            return p, p
        q = self._flux_at(start + 0.5 * dt, dt)
        return q - limited_change(self.series, start, dt), q

    def _flux_at(self, time: float, dt: float) -> float:
        return (whole_step_flux if self.along_x else half_step_flux)(self.series, time, dt)


def whole_step_flux(series: Series, time: float, dt: float, first: bool = False) -> float:
    """Return the flux p at a whole step for which the trapezoidal rule gives the integral of the series.

    A step delivers dt (p_n + p_{n+1}) / 2, which is exact for a linear series. For a step with a kink or a jump the
    missing part is added to one of its two fluxes: the flux that changes towards the other, so that no flux leaves the
    range of the series.

    first : no step precedes, and half of the added part counts.
    """
    value = series(time)
    if series.is_constant:
        return value
    flux = value
    for begin in (time,) if first else (time - dt, time):
        low, high = series(begin), series(begin + dt)
        lacking = series.mean(begin, begin + dt) - 0.5 * (low + high)
        if (lacking * (high - low) > 0.0) == (begin == time):
            flux += 2.0 * lacking if first else lacking
    return flux


def half_step_flux(series: Series, time: float, dt: float) -> float:
    """Return the flux q at a half step: the mean over its step, less a quarter of the limited change over a step.

    The two sweeps of a step deliver dt (q_{n-1/2} + 2 q_{n+1/2} + q_{n+3/2}) / 4. With the means alone the volume error
    after N steps is dt (q_{N+1/2} - q_{N-1/2}) / 4, which the second part removes for a linear series.
    """
    if series.is_constant:
        return series(time)
    longer, begin = continued(series, dt), time - 0.5 * dt
    change = limited_change(longer, begin + dt, dt) - limited_change(longer, begin, dt)
    return longer.mean(begin, begin + dt) - 0.25 * change


def limited_change(series: Series, time: float, dt: float) -> float:
    """Return the change over a step at `time`: the smaller of the changes before and after, 0 for different signs."""
    r_nm1, r_n, r_np1 = (series(time + n * dt) for n in (-1, 0, 1))
    return minmod(r_n - r_nm1, r_np1 - r_n)


def minmod(a: float, b: float) -> float:
    """Return the smaller of two numbers of one sign, otherwise 0."""
    return math.copysign(min(abs(a), abs(b)), a) if a * b > 0.0 else 0.0


@lru_cache(maxsize=64)
def continued(series: Series, dt: float) -> Series:
    """Return the series, extrapolated linearly by two steps: q is needed half a step after the end of a run."""
    end = float(series.times[-1])
    a, b, c = (series(end - n * dt) for n in (2, 1, 0))
    times, values = np.append(series.times, end + 2.0 * dt), np.append(series.values, c + 2.0 * minmod(b - a, c - b))
    return Series(times, values, series.name)


def sides_of(segments: Sequence[FaceRange], level: float) -> list[Side]:
    """Return kinds and series of all segments; elevations are relative to `level`, m.

    Raises
    ------
    InputError
        If the model does not support a condition.
    """
    conditions = _cells_of(segments)
    return [Side(s, _kind(s, conditions), _kind_in_corner(s, conditions), _series(s, level)) for s in segments]


def open_ends(sides: Sequence[Side], shape: tuple[int, int]) -> np.ndarray:
    """Return the number of open boundary faces of each cell along x and y, (ny, nx)."""
    count = np.zeros(shape, np.int32)
    for side in sides:
        if side.kind != WALL:
            count[side.faces] += 1
    return count


def ends_on(sides: Sequence[Side], name: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinds of the faces of a side, and the slots of their series values."""
    size = shape[0] if name in ("west", "east") else shape[1]
    kinds, slots, count = np.zeros(size, np.int32), np.zeros(size, np.int32), open_ends(sides, shape)
    for slot, side in enumerate(sides):
        if side.segment.side == name:
            extent = slice(side.segment.first, side.segment.last)
            kinds[extent] = np.where(count[side.faces] > 1, side.kind_in_corner, side.kind)
            slots[extent] = slot
    return kinds, slots


def _series(segment: FaceRange, level: float) -> Series:
    """Return the series of a segment for `line_end`, elevations relative to `level`, m."""
    series = segment.condition.line_series(segment.width)
    return Series(series.times, series.values - level, series.name) if segment.condition.line_gives_level else series


def end_switches(segments: Sequence[FaceRange]) -> dict[str, Any]:
    """Return the switches that bind the kinds of condition of a run."""
    return {f"END_{kind}": end for kind, end in enumerate(_cells_of(segments), 1)}


def _cells_of(segments: Sequence[FaceRange]) -> list[Cell]:
    """Return the point functions of the boundary conditions, in the order of their class names; kind 1 is the first."""
    kinds = sorted({type(s.condition) for s in segments}, key=lambda kind: kind.__name__)
    cells = [one for kind in kinds for one in (kind.line_end, kind.line_end_in_corner)]
    conditions = [one for one in cells if one is not None]
    if len(conditions) > MAX_KINDS:
        raise InputError(
            f"{len(conditions)} kinds of boundary condition", allowed=f"at most {MAX_KINDS} per model",
            problem="The model has too many kinds of boundary condition.",
        )  # fmt: skip
    return conditions


def _kind_in_corner(segment: FaceRange, conditions: Sequence[Cell]) -> int:
    corner_condition = segment.condition.line_end_in_corner
    return _kind(segment, conditions) if corner_condition is None else conditions.index(corner_condition) + 1


def _kind(segment: FaceRange, conditions: Sequence[Cell]) -> int:
    condition = segment.condition
    if condition.line_end is not None:
        return conditions.index(condition.line_end) + 1
    if condition.closed and not condition.periodic:
        return WALL
    has = [name for name in NAMES if getattr(boundaries, name).line_end is not None]
    rate = condition.prescribed_discharge()
    instead = "Absorbing()" if rate is None else "Discharge(..), or use model = shallow-water"
    raise InputError(
        f"{type(condition).__name__} on the {segment.side} side of shallow-water-adi",
        allowed=f"Wall, {', '.join(has)}; Absorbing(level=..) for outgoing waves and currents, a Stage below the bed "
        "for a free overfall",
        fix=f"{segment.side} = {instead}",
        problem="This boundary condition is not supported by the ADI model: the model has no periodic and no "
        "zero-gradient boundaries, and a boundary face accepts one value only.",
    )
