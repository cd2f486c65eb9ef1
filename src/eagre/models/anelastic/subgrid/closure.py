"""Smagorinsky-Lilly closure: parameters, mixing lengths and stability rates.

    K = l^2 sqrt(max(0, 2 S:S - N^2 / Pr)),    1/l^2 = 1/(c D)^2 + 1/(kappa z)^2 with surface drag

Source: J. Smagorinsky, Mon. Weather Rev. 91, 99-164 (1963), doi:10.1175/1520-0493(1963)091<0099:GCEWTP>2.3.CO;2;
D. K. Lilly, Tellus 14, 148-172 (1962), doi:10.3402/tellusa.v14i2.9537; P. J. Mason, D. J. Thomson, J. Fluid Mech. 242,
51-78 (1992), doi:10.1017/S0022112092002271.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.checks import checked_number
from eagre.constants import VON_KARMAN
from eagre.models.anelastic.base.metric import Metric

Array = np.ndarray


@dataclass(frozen=True)
class Smagorinsky:
    """Smagorinsky-Lilly eddy viscosity.

    Parameters
    ----------
    constant : float
        Smagorinsky constant c; 0.17 for isotropic turbulence, 0.1 for shear flow.
    prandtl : float
        Turbulent Prandtl number Pr: the diffusivity of theta and scalars is K / Pr; K = 0 for N^2 / (2 S:S) > Pr.
    length : float, m, optional
        Filter length D; by default the cube root of the cell volume (in two dimensions the square root of the area).
    """

    constant: float = 0.17
    prandtl: float = 1.0 / 3.0
    length: float | None = None

    def checked(self) -> Smagorinsky:
        """Return a checked copy."""
        length = None if self.length is None else checked_number("length", self.length, 1e-6, 1e9)
        constant = checked_number("constant", self.constant, 0.0, 10.0)
        return Smagorinsky(constant, checked_number("prandtl", self.prandtl, 0.01, 100.0), length)

    @property
    def stiffness(self) -> float:
        """Maximum ratio of the damping to K times a Laplacian: 2 for normal stresses, 1 / Pr for theta."""
        return max(2.0, 1.0 / self.prandtl)


def square_length(closure: Smagorinsky, metric: Metric, matched: bool) -> Array:
    """Return l^2, (nz, 1, 1) or (nz, ny, nx), m2; `matched`: l approaches kappa z at the surface."""
    dz = metric.jacobian * metric.spacing[0]
    sizes = [size for size, n in zip((dz, *metric.spacing[1:]), metric.shape, strict=True) if n > 1]
    grid_length = np.prod(np.broadcast_arrays(*sizes), axis=0) ** (1.0 / len(sizes)) if sizes else np.ones(dz.shape)
    free = (closure.constant * (grid_length if closure.length is None else closure.length)) ** 2 + np.zeros(dz.shape)
    if not matched:
        return free
    wall = (VON_KARMAN * (metric.height - metric.height[:1])) ** 2
    return free * wall / np.maximum(free + wall, 1e-300)


def stiffness_of(metric: Metric) -> Array:
    """Return s = ``sum_a (sum_I |g^I_a| / d_I)^2``, (nz, 1, 1) or (nz, ny, nx), m-2; maximum decay rate: 4 K s."""
    over = [1.0 / d if n > 1 else 0.0 for d, n in zip(metric.spacing, metric.shape, strict=True)]
    up = over[0] / metric.jacobian
    if not metric.terrain:
        return over[2] ** 2 + over[1] ** 2 + up**2
    fade = metric.fade[:, None, None] if metric.fade.size > 1 else metric.fade
    east, north = (np.abs(fade * slope) * up for slope in (metric.slope_x, metric.slope_y))
    return (over[2] + east) ** 2 + (over[1] + north) ** 2 + up**2
