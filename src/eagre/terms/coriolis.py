"""Coriolis force on an f-plane or a beta plane."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eagre.arguments import real_number
from eagre.backend.compilation.cells import Cell, cell
from eagre.constants import EARTH_ROTATION
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.base import Quantity, Term


@cell
def coriolis(h, along, across, f):
    """Force on the unit discharge, m2 s-2: f hv along x, -f hu along y; `f` includes the sign.

    The force is to the right of the current for f > 0. A. E. Gill, Atmosphere-Ocean Dynamics (1982), chapter 7.
    """
    return f * across


@dataclass(frozen=True)
class Coriolis(Term):
    """Coriolis force: f hv in the equation of hu, -f hu in the equation of hv.

    Parameters
    ----------
    latitude : float, degrees north
        Latitude, for f = 2 Omega sin(latitude). Give either `latitude` or `f`.
    f : float, s-1
        Coriolis parameter at the middle of the domain, positive in the northern hemisphere.
    beta : float, m-1 s-1
        Gradient of f along y (beta plane). 0 gives an f-plane.
    """

    latitude: float | None = None
    f: float | None = None
    beta: float = 0.0

    force_cell: ClassVar[Cell | None] = coriolis

    def __post_init__(self) -> None:
        if (self.latitude is None) == (self.f is None):
            raise InputError(
                f"latitude = {self.latitude}, f = {self.f}",
                allowed="exactly one of latitude (degrees) and f (s-1)",
                fix="Coriolis(latitude=35.0)",
                problem="The Coriolis term needs either latitude or f.",
            )
        if not math.isfinite(real_number("beta", self.beta)):
            raise InputError(
                f"beta = {self.beta}", allowed="a finite number, m-1 s-1", problem="The value of beta is not finite."
            )
        if self.f is not None:
            check_plausible("coriolis", real_number("f", self.f), "f")
        if self.latitude is not None and not -90.0 <= real_number("latitude", self.latitude) <= 90.0:
            raise InputError(
                f"latitude = {self.latitude}",
                allowed="-90 to 90 degrees north",
                problem="The latitude is out of range.",
            )

    @property
    def parameter(self) -> float:
        """f at the middle of the domain, s-1."""
        if self.f is not None:
            return self.f
        assert self.latitude is not None
        return 2.0 * EARTH_ROTATION * math.sin(math.radians(self.latitude))

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        f = self.parameter + self.beta * (grid.y - (grid.y0 + 0.5 * grid.ny * grid.dy))
        check_plausible("coriolis", f, "f")
        return (Quantity.of(f if along == "x" else -f),)

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        if self.beta != 0.0:
            self.reject_ensemble("the Coriolis parameter of a beta plane would vary from member to member")
        return self
