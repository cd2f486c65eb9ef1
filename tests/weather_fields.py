"""Fields of the weather that tests make: records on nodes, and what they are at cells, by NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import eagre
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField

MOST = {"rain": 1e-3, "wind": 120.0, "pressure": 1.1e5}


def field(
    grid: eagre.Grid, times: Sequence[float], value: Callable[[np.ndarray, np.ndarray, float], np.ndarray], name: str,
    spacing: float = 1.0,
) -> TimeVaryingField:  # fmt: skip
    """A field from a function of x, y and t, on nodes `spacing` m apart."""
    nodes = NodeGrid.within(grid, spacing)
    x, y = np.meshgrid(*nodes.points(grid))
    instants = RecordTimeAxis(np.array(times, float), "made")
    kind = name.split()[0]
    return TimeVaryingField(instants, nodes, lambda k: value(x, y, instants.times[k]) + 0.0 * x, name, MOST[kind], "")


def at_cells(one: TimeVaryingField, grid: eagre.Grid, time: float, dx: float = 0.0, dy: float = 0.0) -> np.ndarray:
    """Values of a field at the centres, or dx, dy, m, from there: linear in time, bilinear between nodes."""
    from scipy.interpolate import RegularGridInterpolator

    x, y = one.nodes.points(grid)
    times = one.instants.times
    k = min(int(np.searchsorted(times, time, side="right")) - 1, times.size - 2)
    part = (time - times[k]) / (times[k + 1] - times[k])
    values = (1.0 - part) * one.record(k) + part * one.record(k + 1)
    mesh = grid.mesh()
    return RegularGridInterpolator((y, x), values)((mesh[1] + dy, mesh[0] + dx))
