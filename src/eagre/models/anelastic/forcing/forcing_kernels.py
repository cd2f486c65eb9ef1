"""Point functions of the forcing: sources, nudging, subsidence and side sponge layers.

    D = D_diffusion + S - R x - w_s dx/dz - A (x - x_e)

S : sources (heating, nudging targets divided by the relaxation time); R : nudging rate; w_s : large-scale vertical
velocity, positive upwards, with upwind differences; A : damping rate of the side sponge layers; x_e : ambient value.
Profiles are read by `kernels.profile_at`.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.models.anelastic.step_kernels import profile_at

DIFFUSED = switch("DIFFUSED", False)  # True if D contains the diffusion
RELAXED = switch("RELAXED", False)  # True with sources or nudging
SUBSIDING = switch("SUBSIDING", False)
ABSORBED = switch("ABSORBED", False)  # True with side sponge layers


class Push(NamedTuple):
    """Profiles of the sources of a field, unit of the field per s, and rates, s-1; rate_sides : (ny, nx), s-1."""

    source: Any
    rate: Any
    subsidence: Any  # m/s
    over_dz: Any  # 1 / (z[k + 1] - z[k]), 1/m
    rate_sides: Any
    ambient: Any


@cell
def sinking(k, j, i, x, push):
    """Compute w_s dx/dz by upwind differences, one-sided at the ends."""
    speed = profile_at(push.subsidence, k, j, i)
    lower = np.int64(k) if speed < real(0.0) else np.int64(k) - 1
    lower = min(max(lower, np.int64(0)), np.int64(x.shape[0] - 2))
    return speed * (x[lower + 1, j, i] - x[lower, j, i]) * profile_at(push.over_dz, lower, j, i)


@cell
def add_push(k, j, i, x, push, out):
    """Add the forcing to D of a field."""
    total = out[k, j, i] if DIFFUSED else real(0.0)
    here = x[k, j, i]
    if RELAXED:
        total += profile_at(push.source, k, j, i) - profile_at(push.rate, k, j, i) * here
    if SUBSIDING:
        total -= sinking(k, j, i, x, push)
    if ABSORBED:
        total -= push.rate_sides[j, i] * (here - profile_at(push.ambient, k, j, i))
    out[k, j, i] = total


# -- inflow at open boundaries -------------------------------------------------------------------------------


@cell
def hold_x(k, j, i, x, v1, inflow):
    """Set inflow values at the boundaries of x; region (nz, ny, 2), i : boundary."""
    n = x.shape[2]
    enters = v1[k, j, n * i] if i == 0 else -v1[k, j, n * i]
    if enters > real(0.0):
        x[k, j, (n - 1) * i] = inflow[i, k, j]


@cell
def hold_y(k, j, i, x, v2, inflow):
    """Set inflow values at the boundaries of y; region (nz, 2, nx), j : boundary."""
    n = x.shape[1]
    enters = v2[k, n * j, i] if j == 0 else -v2[k, n * j, i]
    if enters > real(0.0):
        x[k, (n - 1) * j, i] = inflow[j, k, i]
