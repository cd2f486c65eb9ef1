"""Supercritical inflow boundary condition: prescribed discharge and depth."""

from dataclasses import dataclass
from typing import Annotated

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.base import Key, PrescribedDischarge
from eagre.boundaries.conditions.discharge import OF_DISCHARGES, slope_behind
from eagre.errors import InputError
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.limiters import within
from eagre.time_varying.series import Series


@cell
def around_face(face, inside, bound, m, p):
    """Value of ghost m for which the first one has `face` at the face.

    The first ghost value gives the mean `face` with the interior cell, within `bound` of `face`.
    """
    first = face + within(face - inside, bound)
    if m < real(1.5):
        return first
    return first - slope_behind(face - first, inside - first, p)


@cell
def inflow_ghost(cell_data, value, level, p):
    """Set the unit discharge `value` and the depth `level` at the face, independent of the interior."""
    near, _, _, bed_1, bed_k, bed_face, m = cell_data
    w_1, n_1, _ = near
    h_1 = max(w_1 - bed_1, real(0.0))
    h_k = around_face(bed_face + level, w_1, real(0.25) * level, m, p) - bed_k
    u = value * desingularised_inverse(level, p.kappa4)
    u_1 = n_1 * desingularised_inverse(h_1, p.kappa4)
    if OF_DISCHARGES:
        return bed_k + h_k, around_face(value, n_1, real(0.25) * value, m, p), real(0.0)
    return bed_k + h_k, h_k * around_face(u, u_1, real(0.25) * u, m, p), real(0.0)


@dataclass(frozen=True)
class Inflow(PrescribedDischarge):
    """Supercritical inflow: discharge and depth are prescribed, independent of the interior (Froude number above 1).

    Parameters
    ----------
    rate : float or Series
        Discharge, m3 s-1, positive into the domain, distributed evenly over the width of the segment.
    depth : float
        Depth at the boundary, m. The inflow must be supercritical: rate / width > sqrt(g depth^3).

    Notes
    -----
    Depth and discharge at the face have the prescribed values to rounding error once the interior flow is
    supercritical. Deep subcritical flow in the interior reduces the inflow by some percent during the first seconds.

    Use this condition for flumes and spillways. For a series that falls below critical flow, such as a series that
    starts at 0, use `Discharge` instead. Only the explicit model supports this condition: the ADI model accepts one
    boundary value per inflow face.
    """

    rate: Annotated[float | Series, Key("discharge, m3/s, positive into the domain", "discharge", "2 m3/s")]
    depth: Annotated[float, Key("depth at the boundary, metres", "length", 0.3, "depth")]
    ghost = inflow_ghost
    level_ghosts = True
    keeps_level = False  # `still_level` is a depth

    def still_level(self) -> float:
        return float(self.depth)

    def check(self, side: str, width: float, gravity: float) -> None:
        """Raise `InputError` if the depth is not positive or the inflow is not supercritical."""
        if not self.depth > 0.0:
            raise InputError(
                f"depth = {self.depth:g} m on the {side} side", allowed="above 0 m",
                problem="The depth of an inflow must be positive.",
            )  # fmt: skip
        slowest = float(self.value(width).values.min())
        if not slowest**2 > gravity * self.depth**3:
            min_discharge = width * (gravity * self.depth**3) ** 0.5
            raise InputError(
                f"an inflow of {slowest * width:.4g} m3/s, {self.depth:g} m deep, on the {side} side",
                allowed=f"more than {min_discharge:.4g} m3/s on {width:g} m (Froude number above 1); in subcritical "
                "flow the interior determines the depth",
                fix=f'kind = "discharge", in Python Discharge({slowest * width:.4g})',
                problem="The inflow is not supercritical.",
            )

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        rate = self.value(width)
        speed = float(rate.values.max()) / self.depth + (gravity * self.depth) ** 0.5
        return 0.0 if rate.is_constant else speed**2 / gravity
