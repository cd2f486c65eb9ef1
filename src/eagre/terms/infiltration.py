"""Infiltration at a constant potential rate and after Green and Ampt (1911), and the cumulative infiltration of a run.

The potential depth of a step follows from the term. Both shallow-water models apply it to the state at the end of a
step (`infiltrated`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell, real
from eagre.backend.device import Device
from eagre.fields import Variable
from eagre.grid import Grid
from eagre.kernels.bits import binade, is_bad
from eagre.kernels.roots import larger, select, smaller
from eagre.terms.base import Quantity, Term, checked_amount
from eagre.terms.collect import Terms
from eagre.terms.compose import SOIL, TermArrays, bind


@cell
def infiltration(h, soil, dt, rate):
    """Potential infiltration depth of a step, m: f dt."""
    return rate * dt


@dataclass(frozen=True, eq=False)
class Infiltration(Term):
    """Infiltration at a constant potential rate, while a cell has water.

    Parameters
    ----------
    rate : float or (ny, nx) array, m s-1
        Potential infiltration rate, 0 to 1e-2; 10 mm/h is 10e-3 / 3600.

    Notes
    -----
    The cumulative infiltration is the field `infiltration_depth`. A step removes at most the water of a cell, so rain
    up to the rate infiltrates completely.
    """

    rate: float | np.ndarray

    soil_cell: ClassVar[Cell | None] = infiltration

    def infiltration(self, grid: Grid) -> tuple[Quantity, ...]:
        return (Quantity.of(checked_amount(self.rate, grid, "rate", "infiltration")),)


MIN_SUM = 1e-30  # m: avoids 0 / 0 for a conductivity of 0


@cell
def green_ampt(h, soil, dt, conductivity, suction, deficit):
    """Potential infiltration depth D of a step, m, from dF/dt = K (1 + (psi + h) theta / F), dh/dt = -dF/dt.

    The integral over a step contains ln(1 + x). With ln(1 + x) = 2 x / (2 + x) it becomes the quadratic equation

        D^2 + (2 F - (1 - theta) K dt) D - 2 K dt (F + (psi + h) theta) = 0,

    whose positive root exists for any dt and for F = 0. Without the factor 1 - theta, for a constant depth h, the root
    is the explicit solution of R. M. Li, M. A. Stevens and D. B. Simons, J. Irrig. Drain. Div. 102(2), 239-248 (1976),
    doi:10.1061/JRCEA4.0001092.

    soil : cumulative infiltration F, m; conductivity : K, m s-1; suction : psi, m; deficit : theta.
    """
    by_gravity = conductivity * dt
    product = real(2.0) * by_gravity * (soil + (suction + h) * deficit)
    b = real(2.0) * soil - (real(1.0) - deficit) * by_gravity
    root = math.sqrt(b * b + real(4.0) * product)
    # Both forms are the same root; neither subtracts nearly equal numbers.
    return select(b > real(0.0), real(2.0) * product / larger(b + root, real(MIN_SUM)), real(0.5) * (root - b))


@dataclass(frozen=True, eq=False)
class GreenAmpt(Term):
    """Infiltration after Green and Ampt (1911), with the depth of the water on the surface.

    Parameters
    ----------
    hydraulic_conductivity : float or (ny, nx) array, m s-1
        Hydraulic conductivity K behind the wetting front, 0 to 1e-2; often half of the saturated conductivity.
    suction_head : float or (ny, nx) array, m
        Suction head psi at the wetting front, 0 to 10, positive.
    moisture_deficit : float or (ny, nx) array
        Porosity minus initial water content, 0 to 1.

    Notes
    -----
    The potential rate is K (1 + (psi + h) theta / F), with the depth h, the deficit theta and the cumulative
    infiltration F, which is the field `infiltration_depth` and starts at 0. A step removes at most the water of a cell.
    The soil does not recover in dry periods.

    Typical values (Rawls et al. 1983): sand K = 118 mm/h, psi = 0.05 m; loam 3.4 mm/h, 0.09 m; clay 0.3 mm/h, 0.32 m.

    References
    ----------
    W. H. Green and G. A. Ampt, J. Agric. Sci. 4(1), 1-24 (1911), doi:10.1017/S0021859600001441. W. J. Rawls, D. L.
    Brakensiek and N. Miller, J. Hydraul. Eng. 109(1), 62-70 (1983), doi:10.1061/(ASCE)0733-9429(1983)109:1(62).
    """

    hydraulic_conductivity: float | np.ndarray
    suction_head: float | np.ndarray
    moisture_deficit: float | np.ndarray

    soil_cell: ClassVar[Cell | None] = green_ampt

    def infiltration(self, grid: Grid) -> tuple[Quantity, ...]:
        quantities = {
            "hydraulic_conductivity": "infiltration",
            "suction_head": "suction_head",
            "moisture_deficit": "moisture_deficit",
        }
        return tuple(
            Quantity.of(checked_amount(getattr(self, name), grid, name, one)) for name, one in quantities.items()
        )


INFILTRATION_DEPTH = Variable("infiltration_depth", "m", "cumulative infiltration depth", gauged=False)
NAME = "infiltration"  # of the cumulative infiltration in a state
MIN_UNIT = 2.0**-38  # m: quotients of a depth and it are less than 2^51
ROUND = 1.5 * 2.0**52  # (x + ROUND) - ROUND is the integer nearest to x, |x| < 2^51, in double precision


@cell
def removed(depth, soil, eta):
    """Return the depth by which eta falls, m, if `depth` infiltrates."""
    return depth


@removed.variant(None, "single")
def _removed(depth, soil, eta):
    # Units in the last place of eta that the cumulative infiltration completes. Rounding of each step would lose
    # infiltration that is slow compared with the precision of eta.
    unit = max(float(binade(eta)) * 2.0**-23, MIN_UNIT)
    scale = 1.0 / unit
    return real(unit * (((soil + float(depth)) * scale + ROUND) - (soil * scale + ROUND)))


@cell
def infiltrated(eta, bottom, soil, dt, forcing, row, index):
    """Return eta and the cumulative infiltration, m, after the infiltration of a step.

    The depth h = eta - bottom is the upper limit. The cumulative infiltration is double.

    eta, bottom : surface, and its value in a dry cell, m; soil : cumulative infiltration, m; dt : time step, s;
    forcing, row, index : see `eagre.terms.compose`.
    """
    h = larger(eta - bottom, real(0.0))
    depth = smaller(SOIL(real(0.0), h, real(soil), dt, forcing, row, index), h)
    level = select(depth < h, larger(eta - removed(depth, soil, eta), bottom), smaller(eta, bottom))
    return select(is_bad(eta), eta, level), soil + float(depth)  # a run that blew up must not look dry


@cell
def sum_of_row(j, soil, sums):
    """Set sums[j] to the sum of row j of the cumulative infiltration, m."""
    total = 0.0
    for i in range(soil.shape[1]):
        total += soil[j, i]
    sums[j] = total


class Soil:
    """Cumulative infiltration of a run on one device.

    Parameters
    ----------
    terms : Terms
    device : Device
    real : type
        Floating-point type of the run.
    count : int
        Number of buffers, as many as the state has.

    Attributes
    ----------
    depths : list of (ny, nx) double arrays, m
        Cumulative infiltration of each buffer.
    arguments : tuple
        Arguments `terms` of a kernel; `switches` selects the formula.
    """

    def __init__(self, terms: Terms, device: Device, real: Any, count: int = 1) -> None:
        self._device, self.present = device, bool(terms.soil)
        shape = terms.grid.shape if self.present else (1, 1)
        self.depths = [device.zeros(shape, np.float64) for _ in range(count)]
        if not self.present:
            return
        self._sums = device.zeros((shape[0],), np.float64)

        def to_device(role: str, values: np.ndarray) -> Any:
            return device.array(values.astype(real))

        values = device.zeros((1, 1), np.float64)
        bound = bind(terms, {"SOIL": "soil"}, values, 0, real, TermArrays(to_device, to_device))
        self.arguments, self.switches = bound.arguments, bound.switches

    def state(self, current: int = 0) -> dict[str, np.ndarray]:
        """Return the cumulative infiltration of a buffer, for a restart; empty without infiltration."""
        return {NAME: self._device.host(self.depths[current])} if self.present else {}

    def resume(self, state: Mapping[str, np.ndarray], current: int = 0) -> None:
        """Restore the cumulative infiltration of a state, or set it to 0 if the state has none."""
        if self.present:
            self._device.fill(self.depths[current], state.get(NAME, np.zeros(self.depths[current].shape)))

    def row_sums(self, current: int = 0) -> np.ndarray:
        """Return the sum over each row, m; empty without infiltration."""
        if not self.present:
            return np.zeros(0)
        program = self._device.loop(sum_of_row, "double")
        self._device.run([self._device.over(program, self._sums.shape, (self.depths[current], self._sums))])
        return self._device.host(self._sums)


def soil_array_count(terms: Terms, precision: str, count: int) -> int:
    """Return the number of arrays of a run, in its precision, with the cumulative infiltration of `count` buffers."""
    return count * (2 if precision == "single" else 1) if terms.soil else 0
