"""Supercritical inflow: discharge and depth are given, and both taken."""

from dataclasses import dataclass
from typing import Annotated

from eagre.backend.cells import cell, real
from eagre.boundaries.base import GivenDischarge, Key
from eagre.boundaries.discharge import OF_DISCHARGES, slope_behind
from eagre.errors import InputError
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.limiters import within
from eagre.series import Series


@cell
def around_face(face, inside, most, m, p):
    """Value of ghost m for which the first one has `face` at the face: the mean with the cell inside, within `most`."""
    first = face + within(face - inside, most)
    if m < real(1.5):
        return first
    return first - slope_behind(face - first, inside - first, p)


@cell
def inflow_ghost(near, second, copied, bed_1, bed_k, m, value, level, p):
    """Unit discharge `value` and depth `level` at the face, whatever the water inside does."""
    w_1, n_1, _ = near
    h_1 = max(w_1 - bed_1, real(0.0))
    bed_face = bed_1 + real(0.5) * (bed_k - bed_1) / m
    h_k = around_face(bed_face + level, w_1, real(0.25) * level, m, p) - bed_k
    u = value * desingularised_inverse(level, p.kappa4)
    u_1 = n_1 * desingularised_inverse(h_1, p.kappa4)
    if OF_DISCHARGES:
        return bed_k + h_k, around_face(value, n_1, real(0.25) * value, m, p), real(0.0)
    return bed_k + h_k, h_k * around_face(u, u_1, real(0.25) * u, m, p), real(0.0)


@dataclass(frozen=True)
class Inflow(GivenDischarge):
    """Supercritical inflow: water that enters faster than its waves, so that nothing inside acts on it.

    Parameters
    ----------
    rate : float or Series
        Discharge, m3 s-1, into the domain, spread evenly over the part's width.
    depth : float
        Depth at the side, m. The discharge must be faster than its waves: rate / width > sqrt(g depth^3).

    Notes
    -----
    Depth and discharge at the face are those given, to rounding, once fast water stands inside; deep, slow water there
    holds back some percents of the first seconds. Good for flumes and spillways. A series that falls
    below critical flow, as one that starts at 0 does, is no supercritical inflow: a discharge is right there. The
    explicit model only: an implicit line has one number where water enters.
    """

    rate: Annotated[float | Series, Key("flow, m3/s, into the domain", "discharge", "2 m3/s")]
    depth: Annotated[float, Key("depth at the side, metres", "length", 0.3, "depth")]
    ghost = inflow_ghost
    keeps_level = False  # but a depth

    def still_level(self) -> float:
        return float(self.depth)

    def check(self, side: str, width: float, gravity: float) -> None:
        """Refuse a depth of 0 or less, and a discharge that is not faster than its waves."""
        if not self.depth > 0.0:
            raise InputError(
                f"depth = {self.depth:g} m on the {side} side", allowed="above 0 m",
                problem="The depth of an inflow must be positive.",
            )  # fmt: skip
        slowest = float(self.value(width).values.min())
        if not slowest**2 > gravity * self.depth**3:
            least = width * (gravity * self.depth**3) ** 0.5
            raise InputError(
                f"an inflow of {slowest * width:.4g} m3/s, {self.depth:g} m deep, on the {side} side",
                allowed=f"more than {least:.4g} m3/s on {width:g} m (Froude number above 1); in subcritical flow the "
                "interior determines the depth",
                fix=f'kind = "discharge", in Python Discharge({slowest * width:.4g})',
                problem="The inflow is not supercritical.",
            )

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        rate = self.value(width)
        speed = float(rate.values.max()) / self.depth + (gravity * self.depth) ** 0.5
        return 0.0 if rate.is_constant else speed**2 / gravity
