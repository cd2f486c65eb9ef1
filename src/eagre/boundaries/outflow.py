"""Free outflow: everything is extrapolated."""

from dataclasses import dataclass

import numpy as np

from eagre.backend.cells import cell, real
from eagre.boundaries.base import Condition

THIN = 1e-3  # m: thinner water is not looked at
STILL = 0.05  # Froude number of water that hardly moves


@cell
def extrapolate(near, second, copied, bed_1, bed_k, m, value, level, p):
    """The depth of the cell next to the boundary, no higher than its surface; no water comes back in."""
    w, n, t = near
    h = max(min(w - bed_1, w - bed_k), real(0.0))
    return bed_k + h, min(n, real(0.0)), t


@dataclass(frozen=True)
class Outflow(Condition):
    """Zero-gradient outflow: depth and velocity go on as they are, and no water comes back in.

    Good where the flow leaves fast (Froude number above 1) or the level behind does not matter. Slow water piles up
    before it, and waves are reflected in part: a stage, a normal depth or an absorbing side is better there, and the
    summary of a run says so.
    """

    ghost = extrapolate

    def note(self, depth: np.ndarray, outwards: np.ndarray, gravity: float) -> str:
        froude = outwards / np.sqrt(gravity * np.maximum(depth, THIN))
        slow = (froude > STILL) & (froude < 1.0) & (depth > THIN)
        if not slow.any():
            return ""
        return (
            f"outflow is subcritical in {slow.sum()} of {depth.size} cells (Froude number {froude[slow].min():.2g}): "
            "the water level is not constrained. Use normal_depth, stage or absorbing."
        )
