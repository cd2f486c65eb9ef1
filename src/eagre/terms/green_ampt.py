"""Infiltration after Green and Ampt (1911)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell, real
from eagre.grid import Grid
from eagre.kernels.roots import larger, select
from eagre.terms.assembly.base import Quantity, Term, checked_amount

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
