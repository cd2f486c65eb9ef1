"""Exact solutions of dam breaks on a flat bed without friction.

Each function takes x, (n,) or any shape, m, with the dam at x = 0, and the time t >= 0, s, and
returns (depth, velocity), m and m s-1, of the shape of x. The high side is x < 0.

References
----------
O. Delestre et al., Int. J. Numer. Meth. Fluids 72, 269-300 (2013), doi:10.1002/fld.3741, sections 4.1.1, 4.1.2.
J. J. Stoker, Water Waves, Interscience (1957). A. Ritter, Z. Ver. Dtsch. Ing. 36, 947-954 (1892).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from eagre.constants import GRAVITY
from eagre.errors import InputError


def ritter(x: np.ndarray, t: float, high: float, gravity: float = GRAVITY) -> tuple[np.ndarray, np.ndarray]:
    """Return the dam break onto a dry bed: the rarefaction h = (2 c_1 - x/t)^2 / (9 g), u = 2 (c_1 + x/t) / 3.

    high : depth behind the dam, m; c_1 = sqrt(g high). The rarefaction spans -c_1 t < x < 2 c_1 t.
    """
    c_1 = math.sqrt(gravity * high)
    s = np.asarray(x, float) / max(t, 1e-300)
    inside = np.clip(s, -c_1, 2.0 * c_1)
    return (2.0 * c_1 - inside) ** 2 / (9.0 * gravity), np.where(s < 2.0 * c_1, 2.0 / 3.0 * (c_1 + inside), 0.0)


def stoker_states(high: float, low: float, gravity: float = GRAVITY) -> tuple[float, float, float]:
    """Return depth, m, and velocity, m s-1, between rarefaction and bore, and the speed of the bore, m s-1.

    c_m solves -8 g low c_m^2 (c_1 - c_m)^2 + (c_m^2 - g low)^2 (c_m^2 + g low) = 0 with
    sqrt(g low) < c_m < c_1 = sqrt(g high); then h_m = c_m^2 / g, u_m = 2 (c_1 - c_m) and the speed of the bore is
    u_m h_m / (h_m - low).
    """
    if not 0.0 < low < high:
        raise InputError(f"depths {high:g} m and {low:g} m", allowed="0 < low < high", fix="ritter(...) for low = 0")
    c_1, g_low = math.sqrt(gravity * high), gravity * low

    def mismatch(c: float) -> float:
        return -8.0 * g_low * c**2 * (c_1 - c) ** 2 + (c**2 - g_low) ** 2 * (c**2 + g_low)

    c_m = float(brentq(mismatch, math.sqrt(g_low), c_1, xtol=1e-15 * c_1, rtol=8.9e-16))  # type: ignore[arg-type]
    h_m, u_m = c_m**2 / gravity, 2.0 * (c_1 - c_m)
    return h_m, u_m, u_m * h_m / (h_m - low)


def stoker(x: np.ndarray, t: float, high: float, low: float, gravity: float = GRAVITY) -> tuple[np.ndarray, np.ndarray]:
    """Return the dam break onto shallower still water: rarefaction, constant state, bore.

    high, low : upstream and downstream depths, m.
    """
    h_m, u_m, bore = stoker_states(high, low, gravity)
    c_1, c_m = math.sqrt(gravity * high), math.sqrt(gravity * h_m)
    s = np.asarray(x, float) / max(t, 1e-300)
    fan = np.clip(s, -c_1, u_m - c_m)
    h = (2.0 * c_1 - fan) ** 2 / (9.0 * gravity)
    u = 2.0 / 3.0 * (c_1 + fan)
    undisturbed = s >= bore
    return np.where(undisturbed, low, h), np.where(undisturbed, 0.0, u)
