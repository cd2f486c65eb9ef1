"""Wind stress: prescribed, or from a time-varying wind field and a drag law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.constants import WATER_DENSITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.base import Quantity, RecordQuantity, Term, checked_field, checked_pattern
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series


@cell
def wind_stress(h, along, across, stress):
    """Force on the unit discharge, m2 s-2: tau / rho along the line, independent of the depth.

    C. B. Vreugdenhil, Numerical Methods for Shallow-Water Flow (1994), chapter 2, doi:10.1007/978-94-015-8354-1.
    """
    return stress


@dataclass(frozen=True, eq=False)
class WindStress(Term):
    """Wind stress on the water surface.

    Parameters
    ----------
    x, y : float or Series, N m-2
        Stress, positive eastwards (x) and northwards (y).
    pattern : (ny, nx) array, optional
        Factor of both components, per cell.
    """

    x: float | Series = 0.0
    y: float | Series = 0.0
    pattern: np.ndarray | None = None

    force_cell: ClassVar[Cell | None] = wind_stress

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        stress = Series.of(self.x if along == "x" else self.y, f"wind stress {along}")
        pattern = checked_pattern(self.pattern, grid, "wind stress")
        source = "" if stress.is_constant else stress.name
        check_plausible("wind_stress", np.abs(pattern).max() * stress.values, along, source)
        return (Quantity.of(pattern / WATER_DENSITY, stress),)


AIR_DENSITY = 1.225
"""Density of the standard atmosphere at 15 degrees Celsius, kg m-3."""

MAX_DRAG = 2.5e-3
"""Upper limit of the drag coefficient; it does not increase above about 33 m/s.

M. D. Powell, P. J. Vickery and T. A. Reinhold, Nature 422, 279-283 (2003), doi:10.1038/nature01481.
"""


class DragLaw(NamedTuple):
    """Drag law C_d = min(most, max(least, intercept + slope U)), U the wind speed at 10 m, m s-1."""

    intercept: float
    slope: float  # s m-1
    minimum: float = 0.0


LAWS = {
    "large-pond": DragLaw(0.49e-3, 0.065e-3, 1.2e-3),
    "garratt": DragLaw(0.75e-3, 0.067e-3),
    "wu": DragLaw(0.80e-3, 0.065e-3),
    "smith-banke": DragLaw(0.63e-3, 0.066e-3),
}
"""Drag laws by name.

W. G. Large and S. Pond, J. Phys. Oceanogr. 11, 324-336 (1981), doi:10.1175/1520-0485(1981)011<0324:OOMFMI>2.0.CO;2:
1.2e-3 up to 11 m/s. J. R. Garratt, Mon. Weather Rev. 105, 915-929 (1977),
doi:10.1175/1520-0493(1977)105<0915:RODCOO>2.0.CO;2. J. Wu, J. Geophys. Res. 87, 9704-9706 (1982),
doi:10.1029/JC087iC12p09704. S. D. Smith and E. G. Banke, Q. J. R. Meteorol. Soc. 101, 665-673 (1975),
doi:10.1002/qj.49710142920.
"""


def law_of(drag: str | float, largest_drag: float) -> tuple[float, float, float, float]:
    """Return intercept, slope, s m-1, minimum and maximum of the drag coefficient.

    drag : name of a law, or a constant coefficient.
    """
    if not isinstance(drag, str):
        if not (isinstance(drag, (int, float)) and 0.0 < drag <= 0.01):
            raise InputError(
                f"drag = {drag!r}", allowed="a coefficient above 0, at most 0.01", fix="drag = 1.3e-3",
                problem="The drag coefficient is out of range.",
            )  # fmt: skip
        return float(drag), 0.0, 0.0, float(drag)
    if drag not in LAWS:
        raise InputError(
            f'drag = "{drag}"', allowed=f"{', '.join(LAWS)}, or a number", fix='drag = "garratt"',
            problem="The drag law is unknown.",
        )  # fmt: skip
    if not 0.0 < largest_drag <= 0.01:
        raise InputError(
            f"largest_drag = {largest_drag!r}", allowed="above 0, at most 0.01",
            problem="The upper limit of the drag coefficient is out of range.",
        )  # fmt: skip
    law = LAWS[drag]
    return law.intercept, law.slope, law.minimum, largest_drag


def check_air_density(density: float) -> None:
    """Raise `InputError` if the air density, kg m-3, is out of range."""
    if not 0.5 < density < 2.0:
        raise InputError(
            f"air_density = {density!r}", allowed="0.5 to 2 kg/m3", fix="air_density = 1.225",
            problem="The air density is out of range.",
        )  # fmt: skip


@cell
def weather_wind(h, along, across, u_even, u_odd, v_even, v_odd, intercept, slope, minimum, maximum):
    """Force on the unit discharge, m2 s-2: C_d U u rho_a / rho, u the wind component along the line, U the wind speed.

    The coefficients are those of `DragLaw` times rho_a / rho.
    """
    u, v = u_even + u_odd, v_even + v_odd
    speed = math.sqrt(u * u + v * v)
    return min(maximum, max(minimum, intercept + slope * speed)) * speed * u


@dataclass(frozen=True, eq=False)
class WeatherWind(Term):
    """Wind stress from a time-varying wind field: rho_a C_d |U| U.

    Parameters
    ----------
    x, y : TimeVaryingField, m s-1
        Wind at 10 m, positive towards the east (x) and the north (y) of the grid.
    drag : str or float
        Name of a drag law (`LAWS`), or a constant drag coefficient.
    largest_drag : float
        Upper limit of the drag coefficient of a law.
    air_density : float, kg m-3
        Density of the air.
    """

    x: TimeVaryingField
    y: TimeVaryingField
    drag: str | float = "large-pond"
    largest_drag: float = MAX_DRAG
    air_density: float = AIR_DENSITY

    force_cell: ClassVar[Cell | None] = weather_wind

    @property
    def law(self) -> tuple[float, float, float, float]:
        """Intercept, slope, s m-1, minimum and maximum of the drag coefficient."""
        return law_of(self.drag, self.largest_drag)

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        components = ((self.x, "wind_x"), (self.y, "wind_y"))
        x, y = (RecordQuantity.pair(checked_field(one, grid, name)) for one, name in components)
        check_air_density(self.air_density)
        ratio = self.air_density / WATER_DENSITY
        winds = (*x, *y) if along == "x" else (*y, *x)
        return *winds, *(Quantity.of(ratio * number) for number in self.law)

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        self.reject_ensemble("its field would extend over all stacked members")
