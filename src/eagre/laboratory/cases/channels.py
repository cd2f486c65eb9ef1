"""Steady channels with friction: uniform flow and MacDonald's channels, with exact solutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eagre.boundaries import Boundaries, Discharge, Inflow, Outflow, Stage
from eagre.constants import GRAVITY
from eagre.grid import Grid, centre_bed
from eagre.laboratory.cases.water import Water, WaterCase

Depth = Callable[[np.ndarray], np.ndarray]


def normal_depth(discharge: float, slope: float, manning: float) -> float:
    """Depth of uniform flow of a wide channel, (n q / sqrt(S))^(3/5), m; discharge per width, m2 s-1."""
    return (manning * discharge / math.sqrt(slope)) ** 0.6


def critical_depth(discharge: float) -> float:
    """Depth of Froude number 1, (q^2 / g)^(1/3), m; discharge per width, m2 s-1."""
    return (discharge**2 / GRAVITY) ** (1.0 / 3.0)


@dataclass(frozen=True)
class SteadyChannel:
    """A channel whose bed is made so that `depth` is the exact steady flow.

    Parameters
    ----------
    name : str
    length : float, m
    discharge : float, m2 s-1
        Per width.
    manning : float, s m-1/3
    depth, depth_slope : callables
        h(x), m, and its derivative.
    supercritical_end : bool
        True if the outflow is supercritical, so that nothing is prescribed there.
    supercritical_start : bool
        True if the inflow is supercritical, so that discharge and depth are prescribed there.
    jump : float, m
        Where depth and slope of the bed are not continuous; infinity for nowhere.
    """

    name: str
    length: float
    discharge: float
    manning: float
    depth: Depth
    depth_slope: Depth
    supercritical_end: bool = False
    supercritical_start: bool = False
    jump: float = math.inf

    def bed_slope(self, x: np.ndarray) -> np.ndarray:
        """dB/dx = (q^2 / (g h^3) - 1) dh/dx - n^2 q^2 / h^(10/3), the steady momentum equation."""
        h, q = self.depth(x), self.discharge
        return (q**2 / (GRAVITY * h**3) - 1.0) * self.depth_slope(x) - (self.manning * q) ** 2 / h ** (10.0 / 3.0)

    def bed(self, x: np.ndarray) -> np.ndarray:
        """Bed elevation at increasing x, (n,), m, with B(length) = 0, by Gauss quadrature between the points."""
        nodes = np.asarray(x, float)
        inside = [self.jump] if nodes.size and nodes[0] < self.jump < self.length else []
        ends = np.unique(np.concatenate([nodes, inside, [self.length]]))
        points, weights = np.polynomial.legendre.leggauss(8)
        half, midpoints = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
        rise = half * (self.bed_slope(midpoints[:, None] + half[:, None] * points) @ weights)
        heights = np.append(-np.cumsum(rise[::-1])[::-1], 0.0)
        return heights[np.searchsorted(ends, nodes)]


def subcritical_channel() -> SteadyChannel:
    """h = (4/g)^(1/3) (1 + exp(-16 (x/1000 - 1/2)^2) / 2), q = 2 m2 s-1, n = 0.033: subcritical throughout."""
    base = (4.0 / GRAVITY) ** (1.0 / 3.0)

    def bump(x: np.ndarray) -> np.ndarray:
        return np.exp(-16.0 * (x / 1000.0 - 0.5) ** 2)

    return SteadyChannel(
        "subcritical",
        1000.0,
        2.0,
        0.033,
        lambda x: base * (1.0 + 0.5 * bump(x)),
        lambda x: base * 0.5 * bump(x) * (-32.0 / 1000.0) * (x / 1000.0 - 0.5),
    )


def transcritical_channel() -> SteadyChannel:
    """h = (4/g)^(1/3) (1 - tanh(a s) / a) with s = x/1000 - 1/2, a = 3 before and 6 after the middle.

    q = 2 m2 s-1, n = 0.0218: subcritical to supercritical, Froude number 1 in the middle.
    """
    base = (4.0 / GRAVITY) ** (1.0 / 3.0)

    def steep(x: np.ndarray) -> np.ndarray:
        return np.where(x <= 500.0, 3.0, 6.0)

    def tanh(x: np.ndarray) -> np.ndarray:
        return np.tanh(steep(x) * (x / 1000.0 - 0.5))

    return SteadyChannel(
        "transcritical",
        1000.0,
        2.0,
        0.0218,
        lambda x: base * (1.0 - tanh(x) / steep(x)),
        lambda x: -base / 1000.0 * (1.0 - tanh(x) ** 2),
        supercritical_end=True,
    )


def supercritical_channel() -> SteadyChannel:
    """h = (4/g)^(1/3) (1 - exp(-36 (x/1000 - 1/2)^2) / 5), q = 2.5 m2 s-1, n = 0.04: supercritical throughout."""
    base = (4.0 / GRAVITY) ** (1.0 / 3.0)

    def bump(x: np.ndarray) -> np.ndarray:
        return np.exp(-36.0 * (x / 1000.0 - 0.5) ** 2)

    return SteadyChannel(
        "supercritical",
        1000.0,
        2.5,
        0.04,
        lambda x: base * (1.0 - 0.2 * bump(x)),
        lambda x: base * 0.2 * bump(x) * (72.0 / 1000.0) * (x / 1000.0 - 0.5),
        supercritical_end=True,
        supercritical_start=True,
    )


def jump_channel() -> SteadyChannel:
    """Supercritical to subcritical through a hydraulic jump in the middle, q = 2 m2 s-1, n = 0.0218.

    h = (4/g)^(1/3) (9/10 - exp(-x/250) / 6) before, and with s = x/1000 - 1/2
    (4/g)^(1/3) (1 + sum of a_k exp(-20 k s), k = 1 .. 3, + 4/5 exp(s - 1/2)) behind the jump.
    """
    base = (4.0 / GRAVITY) ** (1.0 / 3.0)
    terms = ((-0.348427, -20.0), (0.552264, -40.0), (-0.55558, -60.0), (0.8 * math.exp(-0.5), 1.0))

    def downstream(x: np.ndarray, order: int) -> np.ndarray:
        s = np.maximum(x / 1000.0 - 0.5, 0.0)
        return sum((a * (k / 1000.0) ** order * np.exp(k * s) for a, k in terms), np.zeros_like(s))

    return SteadyChannel(
        "jump",
        1000.0,
        2.0,
        0.0218,
        lambda x: base * np.where(x <= 500.0, 0.9 - np.exp(-x / 250.0) / 6.0, 1.0 + downstream(x, 0)),
        lambda x: base * np.where(x <= 500.0, np.exp(-x / 250.0) / 1500.0, downstream(x, 1)),
        supercritical_start=True,
        jump=500.0,
    )


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


def macdonald(n: int = 100, flow: str = "subcritical") -> WaterCase:
    """Channel whose bed makes a given depth h(x) the exact steady flow; the initial state is this flow, for 1000 s.

    Parameters
    ----------
    n : int
        Cells along the 1000 m; 4 across.
    flow : str
        ``"subcritical"`` (discharge upstream, stage downstream), ``"transcritical"`` (discharge, free outflow),
        ``"supercritical"`` (discharge and depth, free outflow) or ``"jump"`` (discharge and depth, stage).
    """
    channel: SteadyChannel = CHANNELS[flow]()
    size = channel.length / n
    grid = Grid(n, ROWS, size, size)
    bed = np.broadcast_to(channel.bed(grid.x_corner), grid.shape_of("corner")).copy()
    surface = channel.depth(grid.x) + channel.bed(grid.x)
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
        1000.0,
        Boundaries(west=upstream, east=downstream),
        channel.manning,
        exact,
        reference=REFERENCE,
    )


def uniform_flow(n: int = 50, start: float = 1.0, end_time: float = 1000.0) -> WaterCase:
    """Uniform subcritical flow, 1.5 m2 s-1, on a plane slope of 0.002 at normal depth (n q / sqrt(S))^(3/5).

    Parameters
    ----------
    n : int
        Cells along the 500 m.
    start : float
        Initial depth as a multiple of the normal depth (1: exact solution).
    end_time : float, s
    """
    length, discharge, slope, manning = 500.0, 1.5, 0.002, 0.03
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
