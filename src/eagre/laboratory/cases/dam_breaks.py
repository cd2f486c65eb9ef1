"""Dam breaks on flat beds: dry (Ritter) and wet (Stoker) with exact solutions, and round."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.laboratory.cases.water import Water, WaterCase


def ritter(x: np.ndarray, t: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the dam break onto a dry bed: the rarefaction h = (2 c_1 - x/t)^2 / (9 g), u = 2 (c_1 + x/t) / 3.

    high : depth behind the dam, m; c_1 = sqrt(g high). The rarefaction spans -c_1 t < x < 2 c_1 t.
    """
    c_1 = math.sqrt(GRAVITY * high)
    s = np.asarray(x, float) / max(t, 1e-300)
    inside = np.clip(s, -c_1, 2.0 * c_1)
    return (2.0 * c_1 - inside) ** 2 / (9.0 * GRAVITY), np.where(s < 2.0 * c_1, 2.0 / 3.0 * (c_1 + inside), 0.0)


def stoker_states(high: float, low: float) -> tuple[float, float, float]:
    """Return depth, m, and velocity, m s-1, between rarefaction and bore, and the speed of the bore, m s-1.

    c_m solves -8 g low c_m^2 (c_1 - c_m)^2 + (c_m^2 - g low)^2 (c_m^2 + g low) = 0 with
    sqrt(g low) < c_m < c_1 = sqrt(g high); then h_m = c_m^2 / g, u_m = 2 (c_1 - c_m) and the speed of the bore is
    u_m h_m / (h_m - low).
    """
    if not 0.0 < low < high:
        raise InputError(f"depths {high:g} m and {low:g} m", allowed="0 < low < high", fix="ritter(...) for low = 0")
    c_1, g_low = math.sqrt(GRAVITY * high), GRAVITY * low

    def mismatch(c: float) -> float:
        return -8.0 * g_low * c**2 * (c_1 - c) ** 2 + (c**2 - g_low) ** 2 * (c**2 + g_low)

    c_m = float(brentq(mismatch, math.sqrt(g_low), c_1, xtol=1e-15 * c_1, rtol=8.9e-16))  # type: ignore[arg-type]
    h_m, u_m = c_m**2 / GRAVITY, 2.0 * (c_1 - c_m)
    return h_m, u_m, u_m * h_m / (h_m - low)


def stoker(x: np.ndarray, t: float, high: float, low: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the dam break onto shallower still water: rarefaction, constant state, bore.

    high, low : upstream and downstream depths, m.
    """
    h_m, u_m, bore = stoker_states(high, low)
    c_1, c_m = math.sqrt(GRAVITY * high), math.sqrt(GRAVITY * h_m)
    s = np.asarray(x, float) / max(t, 1e-300)
    fan = np.clip(s, -c_1, u_m - c_m)
    h = (2.0 * c_1 - fan) ** 2 / (9.0 * GRAVITY)
    u = 2.0 / 3.0 * (c_1 + fan)
    undisturbed = s >= bore
    return np.where(undisturbed, low, h), np.where(undisturbed, 0.0, u)


DELESTRE = "O. Delestre et al. (2013), doi:10.1002/fld.3741, section 4.1"


def dam_break(
    n: int = 400,
    high: float = 1.0,
    low: float = 0.0,
    along: str = "x",
) -> WaterCase:
    """Dam break in the middle of a flume of 40 m for 2 s: Ritter's solution if `low` is 0, otherwise Stoker's.

    Parameters
    ----------
    n : int
        Cells along the flume; it is 4 cells wide.
    high, low : float
        Upstream (towards x = 0) and downstream depth, m; the waves must not reach the ends: high < 2.5 m is sufficient.
    along : str
        ``"x"`` or ``"y"``, the direction of the flume.
    """
    size = 40.0 / n
    across_x = along == "x"
    grid = Grid(n, 4, size, size) if across_x else Grid(4, n, size, size)
    s = (grid.x if across_x else grid.y) - 20.0

    def exact(t: float) -> Water:
        h, u = stoker(s, t, high, low) if low > 0.0 else ritter(s, t, high)
        h, q = (np.broadcast_to(v if across_x else v[:, None], grid.shape).copy() for v in (h, h * u))
        still = np.zeros(grid.shape)
        return Water(h, q, still) if across_x else Water(h, still, q)

    return WaterCase(
        "stoker" if low > 0.0 else "ritter",
        grid,
        np.zeros(grid.shape_of("corner")),
        exact(0.0),
        2.0,
        exact=exact,
        options={"desingularisation_depth": 1e-5 * high},
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
    `eagre.laboratory.cases.amundsen2014.WET_CIRCULAR_DAM`.
    """
    grid = Grid(n, n, side / n, side / n)
    x, y = grid.mesh()
    within = (x - 0.5 * side) ** 2 + (y - 0.5 * side) ** 2 <= radius**2
    depth = np.where(within, inside, outside)
    still = np.zeros(grid.shape)
    water = Water(depth, still, still)
    return WaterCase(name, grid, np.zeros(grid.shape_of("corner")), water, end_time)
