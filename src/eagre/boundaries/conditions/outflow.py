"""Zero-gradient outflow boundary condition."""

from dataclasses import dataclass

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.base import Condition

MIN_DEPTH = 1e-3  # minimum depth for the check of the Froude number, m
MIN_FROUDE = 0.05  # Froude number below which the water counts as still


@cell
def extrapolate(cell_data, value, level, p):
    """Extrapolate depth and discharges; the ghost surface is not above the surface of the boundary cell.

    Inflow is blocked.
    """
    near, _, _, bed_1, bed_k, _, _ = cell_data
    w, n, t = near
    h = max(min(w - bed_1, w - bed_k), real(0.0))
    return bed_k + h, min(n, real(0.0)), t


@dataclass(frozen=True)
class Outflow(Condition):
    """Zero-gradient outflow: depth and velocity are extrapolated, and inflow is blocked.

    Use this condition for supercritical outflow (Froude number above 1), or where the water level at the boundary is
    not important. Subcritical outflow accumulates water at the boundary, and waves are partly reflected. In that case a
    stage, a normal depth or an absorbing boundary is better; the run summary reports subcritical outflow.
    """

    ghost = extrapolate

    def note(self, depth: np.ndarray, outwards: np.ndarray, gravity: float) -> str:
        froude = outwards / np.sqrt(gravity * np.maximum(depth, MIN_DEPTH))
        slow = (froude > MIN_FROUDE) & (froude < 1.0) & (depth > MIN_DEPTH)
        if not slow.any():
            return ""
        return (
            f"outflow is subcritical in {slow.sum()} of {depth.size} cells (Froude number {froude[slow].min():.2g}): "
            "the water level is not constrained. Use normal_depth, stage or absorbing."
        )
