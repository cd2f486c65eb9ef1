"""Steady channels with friction: uniform flow and MacDonald's channels."""

from __future__ import annotations

import numpy as np

from eagre.boundaries import Boundaries, Discharge, Inflow, Outflow, Stage
from eagre.cases.exact.channels import (
    SteadyChannel,
    jump_channel,
    normal_depth,
    subcritical_channel,
    supercritical_channel,
    transcritical_channel,
)
from eagre.cases.water import Water, WaterCase
from eagre.constants import GRAVITY
from eagre.grid import Grid, centre_bed

REFERENCE = "I. MacDonald et al. (1997), doi:10.1061/(ASCE)0733-9429(1997)123:11(1041); Delestre et al. (2013)"
ROWS = 4
CHANNELS = {
    "subcritical": subcritical_channel,
    "transcritical": transcritical_channel,
    "supercritical": supercritical_channel,
    "jump": jump_channel,
}


def _along(grid: Grid, values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(values, (grid.ny, values.size)).copy()


def macdonald(n: int = 100, flow: str = "subcritical", end_time: float = 1000.0, gravity: float = GRAVITY) -> WaterCase:
    """Channel whose bed makes a given depth h(x) the exact steady flow; the initial state is this flow.

    Parameters
    ----------
    n : int
        Cells along the 1000 m; 4 across.
    flow : str
        ``"subcritical"`` (discharge upstream, stage downstream), ``"transcritical"`` (discharge, free outflow),
        ``"supercritical"`` (discharge and depth, free outflow) or ``"jump"`` (discharge and depth, stage).
    """
    channel: SteadyChannel = CHANNELS[flow](gravity)
    size = channel.length / n
    grid = Grid(n, ROWS, size, size)
    bed = np.broadcast_to(channel.bed(grid.x_corner, gravity), grid.shape_of("corner")).copy()
    surface = channel.depth(grid.x) + channel.bed(grid.x, gravity)
    depth = _along(grid, surface) - centre_bed(bed)
    discharge = np.full(grid.shape, channel.discharge)
    water = Water(depth, discharge, np.zeros(grid.shape))
    end = np.array(channel.length)
    downstream = Outflow() if channel.supercritical_end else Stage(float(channel.depth(end)))
    rate, first = channel.discharge * ROWS * size, float(channel.depth(np.array(0.0)))
    upstream = Inflow(rate, first) if channel.supercritical_start else Discharge(rate)

    def exact(t: float) -> Water:
        return water

    return WaterCase(
        f"macdonald-{flow}",
        grid,
        bed,
        water,
        end_time,
        Boundaries(west=upstream, east=downstream),
        channel.manning,
        exact,
        {"gravity": gravity},
        REFERENCE,
    )


def uniform_flow(
    n: int = 50,
    length: float = 500.0,
    discharge: float = 1.5,
    slope: float = 0.002,
    manning: float = 0.03,
    start: float = 1.0,
    end_time: float = 1000.0,
) -> WaterCase:
    """Uniform flow on a plane slope at normal depth (n q / sqrt(S))^(3/5), subcritical for the default values.

    Parameters
    ----------
    discharge : float, m2 s-1
        Discharge per unit width.
    start : float
        Initial depth as a multiple of the normal depth (1: exact solution).
    """
    depth = normal_depth(discharge, slope, manning)
    grid = Grid(n, ROWS, length / n, length / n)
    bed = np.broadcast_to(slope * (length - grid.x_corner), grid.shape_of("corner")).copy()
    still = np.zeros(grid.shape)
    first = Water(np.full(grid.shape, start * depth), np.full(grid.shape, discharge), still)

    def exact(t: float) -> Water:
        return Water(np.full(grid.shape, depth), np.full(grid.shape, discharge), still)

    return WaterCase(
        "uniform-flow",
        grid,
        bed,
        first,
        end_time,
        Boundaries(west=Discharge(discharge * ROWS * grid.dy), east=Stage(depth)),
        manning,
        exact,
        reference="Manning's formula, h = (n q / sqrt(S))^(3/5)",
    )
