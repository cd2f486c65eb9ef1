"""What drives the air beside pressure, buoyancy and rotation, at a point, as plain cells.

    D = D_diffusion + S - R x - w_s dx/dz - A (x - x_e)

S : sources (heating, targets of a relaxation over its time scale); R : rate of a relaxation; w_s : subsidence, > 0
upwards, with the difference from where it comes; A : rate of the layers at lateral sides; x_e : ambient value.
Profiles are those of `kernels.at`.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, real, switch
from eagre.models.anelastic.kernels import at

DIFFUSED = switch("DIFFUSED", False)  # whether D holds a diffusion already
RELAXED = switch("RELAXED", False)  # whether there are sources and relaxation
SUBSIDING = switch("SUBSIDING", False)
ABSORBED = switch("ABSORBED", False)  # whether there are layers at lateral sides


class Push(NamedTuple):
    """Profiles of a field's sources, s-1 times its unit, and rates, s-1; rate_sides : (ny, nx), s-1."""

    source: Any
    rate: Any
    subsidence: Any  # m/s
    over_dz: Any  # 1 / (z[k + 1] - z[k]), 1/m
    rate_sides: Any
    ambient: Any


@cell
def sinking(k, j, i, x, push):
    """w_s dx/dz, from the side that the air comes from, at the ends from the only one there is."""
    speed = at(push.subsidence, k, j, i)
    lower = np.int64(k) if speed < real(0.0) else np.int64(k) - 1
    lower = min(max(lower, np.int64(0)), np.int64(x.shape[0] - 2))
    return speed * (x[lower + 1, j, i] - x[lower, j, i]) * at(push.over_dz, lower, j, i)


@cell
def add_push(k, j, i, x, push, out):
    """D of a field."""
    total = out[k, j, i] if DIFFUSED else real(0.0)
    here = x[k, j, i]
    if RELAXED:
        total += at(push.source, k, j, i) - at(push.rate, k, j, i) * here
    if SUBSIDING:
        total -= sinking(k, j, i, x, push)
    if ABSORBED:
        total -= push.rate_sides[j, i] * (here - at(push.ambient, k, j, i))
    out[k, j, i] = total


# -- what flows in through open sides ------------------------------------------------------------------------


@cell
def hold_x(k, j, i, x, v1, inflow):
    """At points where air flows in through a side across x: its value there; region (nz, ny, 2), i : the side."""
    n = x.shape[2]
    enters = v1[k, j, n * i] if i == 0 else -v1[k, j, n * i]
    if enters > real(0.0):
        x[k, j, (n - 1) * i] = inflow[i, k, j]


@cell
def hold_y(k, j, i, x, v2, inflow):
    """The same across y; region (nz, 2, nx), j : the side."""
    n = x.shape[1]
    enters = v2[k, n * j, i] if j == 0 else -v2[k, n * j, i]
    if enters > real(0.0):
        x[k, (n - 1) * j, i] = inflow[j, k, i]
