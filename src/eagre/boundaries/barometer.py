"""Inverse-barometer effect at stage boundaries: the static part of a surge from outside the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eagre.boundaries.base import Condition
from eagre.boundaries.conditions.stage import Stage
from eagre.boundaries.sides import SIDES, Boundaries, BoundarySegment, cells_of
from eagre.constants import GRAVITY, WATER_DENSITY
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series


def with_static_level(
    boundaries: Boundaries, pressure: TimeVaryingField, grid: Grid, start: float, end: float, reference: float
) -> Boundaries:
    """Return boundaries whose stages include the inverse-barometer level (reference - p) / (rho g).

    p is the mean pressure along the side or segment.

    Parameters
    ----------
    boundaries : Boundaries
    pressure : TimeVaryingField, Pa
    grid : Grid
    start, end : float, s
        Start and end of the run. All records between these times are read once.
    reference : float, Pa
        Pressure at which the prescribed levels remain unchanged.
    """
    check_plausible("air_pressure", reference, "reference_pressure")
    weights = {
        (side, n): _weights(pressure, grid, side, cells)
        for side in SIDES
        for n, cells in _stages(getattr(boundaries, side), side, grid).items()
    }
    if not weights:
        return boundaries
    first, last = pressure.instants.first(start), pressure.instants.first(end) + 1
    means: dict[tuple[str, int], list[float]] = {key: [] for key in weights}
    for k in range(first, last + 1):
        for key, counts in weights.items():
            means[key].append(float((counts * pressure.record(k)).sum()))
    times = pressure.instants.times[first : last + 1]
    rises = {
        key: Series(times, (reference - np.array(pressures)) / (WATER_DENSITY * GRAVITY), pressure.instants.name)
        for key, pressures in means.items()
    }
    return replace(boundaries, **{side: _raised(getattr(boundaries, side), side, rises) for side in SIDES})


def _stages(condition: Condition | Sequence[BoundarySegment], side: str, grid: Grid) -> dict[int, np.ndarray]:
    """Return the cells of each stage along a side, by the number of its segment."""
    count, size, origin = (grid.ny, grid.dy, grid.y0) if side in ("west", "east") else (grid.nx, grid.dx, grid.x0)
    if isinstance(condition, Condition):
        return {0: np.arange(count)} if isinstance(condition, Stage) else {}
    stages = [(n, segment) for n, segment in enumerate(condition) if isinstance(segment.condition, Stage)]
    return {n: np.arange(*cells_of(segment, size, origin)) for n, segment in stages}


def _weights(pressure: TimeVaryingField, grid: Grid, side: str, cells: np.ndarray) -> np.ndarray:
    """Return the weights of the nodes in the mean over the faces of some cells along a side, (rows, columns)."""
    nodes, low = pressure.nodes, 0.5
    if side in ("west", "east"):
        m, b = (one[cells] for one in nodes.locate(0, low, grid.ny))
        n, a = nodes.locate(1, 0.0 if side == "west" else float(grid.nx), 1)
    else:
        m, b = nodes.locate(0, 0.0 if side == "south" else float(grid.ny), 1)
        n, a = (one[cells] for one in nodes.locate(1, low, grid.nx))
    counts = np.zeros(nodes.shape)
    for up, weight in ((0, 1.0 - b), (1, b)):
        np.add.at(counts, (m + up, n), weight * (1.0 - a) / cells.size)
        np.add.at(counts, (m + up, n + 1), weight * a / cells.size)
    return counts


def _raised(
    condition: Condition | Sequence[BoundarySegment], side: str, rises: dict[tuple[str, int], Series]
) -> Condition | Sequence[BoundarySegment]:
    if isinstance(condition, Condition):
        return _on_top(condition, rises[side, 0]) if (side, 0) in rises else condition
    return [
        replace(segment, condition=_on_top(segment.condition, rises[side, n])) if (side, n) in rises else segment
        for n, segment in enumerate(condition)
    ]


def _on_top(condition: Condition, rise: Series) -> Stage:
    """Return a stage with an additional level, piecewise linear between the times of both series."""
    assert isinstance(condition, Stage)
    level = Series.of(condition.level, "level")
    times = rise.times
    if not level.is_constant:
        both = np.union1d(times, level.times)
        times = both[(both >= max(times[0], level.times[0])) & (both <= min(times[-1], level.times[-1]))]
    values = np.interp(times, level.times, level.values) + np.interp(times, rise.times, rise.values)
    return replace(condition, level=Series(times, values, f"{level.name} with the static effect of {rise.name}"))
