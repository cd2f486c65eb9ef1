"""Dam breaks on flat beds: dry (Ritter), wet (Stoker), and round."""

from __future__ import annotations

import numpy as np

from eagre.cases.exact.dam_breaks import ritter, stoker
from eagre.cases.water import Water, WaterCase
from eagre.constants import GRAVITY
from eagre.grid import Grid

DELESTRE = "O. Delestre et al. (2013), doi:10.1002/fld.3741, section 4.1"


def dam_break(
    n: int = 400,
    high: float = 1.0,
    low: float = 0.0,
    length: float = 40.0,
    end_time: float = 2.0,
    along: str = "x",
    gravity: float = GRAVITY,
) -> WaterCase:
    """Dam break in the middle of a flume: Ritter's solution if `low` is 0, otherwise Stoker's.

    Parameters
    ----------
    n : int
        Cells along the flume; it is 4 cells wide.
    high, low : float
        Upstream (towards x = 0) and downstream depth, m.
    length, end_time : float
        m and s; the waves must not reach the ends: end_time < length / (4 sqrt(g high)) is sufficient.
    along : str
        ``"x"`` or ``"y"``, the direction of the flume.
    """
    size = length / n
    across_x = along == "x"
    grid = Grid(n, 4, size, size) if across_x else Grid(4, n, size, size)
    s = (grid.x if across_x else grid.y) - 0.5 * length

    def exact(t: float) -> Water:
        h, u = stoker(s, t, high, low, gravity) if low > 0.0 else ritter(s, t, high, gravity)
        h, q = (np.broadcast_to(v if across_x else v[:, None], grid.shape).copy() for v in (h, h * u))
        still = np.zeros(grid.shape)
        return Water(h, q, still) if across_x else Water(h, still, q)

    return WaterCase(
        "stoker" if low > 0.0 else "ritter",
        grid,
        np.zeros(grid.shape_of("corner")),
        exact(0.0),
        end_time,
        exact=exact,
        options={"gravity": gravity, "desingularisation_depth": 1e-5 * high},
        reference=DELESTRE,
    )


def circular_dam(
    n: int = 500,
    side: float = 40.0,
    radius: float = 2.5,
    inside: float = 2.5,
    outside: float = 0.5,
    end_time: float = 2.0,
    name: str = "circular-dam",
) -> WaterCase:
    """Collapse of a cylindrical column of water in a square: `inside` m deep in cells with centres within `radius`.

    There is no exact solution; reference values for side 40 m, radius 2.5 m, depths 2.5 m and 0.5 m are in
    `eagre.cases.amundsen2014.WET_CIRCULAR_DAM`.
    """
    grid = Grid(n, n, side / n, side / n)
    x, y = grid.mesh()
    within = (x - 0.5 * side) ** 2 + (y - 0.5 * side) ** 2 <= radius**2
    depth = np.where(within, inside, outside)
    still = np.zeros(grid.shape)
    water = Water(depth, still, still)
    return WaterCase(name, grid, np.zeros(grid.shape_of("corner")), water, end_time)
