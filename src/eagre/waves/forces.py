"""Forces of waves on a slender vertical cylinder."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.constants import WATER_DENSITY
from eagre.errors import InputError
from eagre.given import own_array
from eagre.waves.checked import number, positive
from eagre.waves.steady import Array, Field


class CylinderForce(NamedTuple):
    """What waves do to a cylinder.

    Parameters
    ----------
    force : (2, ...), N
        Along x and y.
    moment : (2, ...), N m
        Of these forces about a point on the axis: force times lever arm, positive where a positive force above the
        point overturns it.
    drag, inertia : (2, ...), N
        The parts of the force.
    """

    force: Array
    moment: Array
    drag: Array
    inertia: Array


def morison_force(
    z: Field, velocity: Field, acceleration: Field, diameter: float, *, drag_coefficient: float = 1.0,
    inertia_coefficient: float = 2.0, about: float | None = None, density: float = WATER_DENSITY,
) -> CylinderForce:  # fmt: skip
    """Force and overturning moment by Morison's formula, from profiles of the undisturbed flow along the axis.

    dF = rho (pi D^2 / 4) Cm du/dt dz + rho (D / 2) Cd |u| u dz, u and du/dt the horizontal vectors.

    Parameters
    ----------
    z : (..., n), m
        Rising levels from the lower end of the cylinder to the surface of the moment, n >= 3; at every time its own,
        or (n,) for all. Twenty levels as `Probes(sigma=numpy.linspace(0, 1, 21))` has them are good.
    velocity, acceleration : (2, ..., n), m/s and m/s2
        Along x and y at these levels. The acceleration of the water, D/Dt, is the usual choice in steep waves.
    diameter : float, m
        Small beside the length of the waves: D / L < 0.2.
    drag_coefficient, inertia_coefficient : float
        Cd and Cm, >= 0; Cm is 2 for a cylinder in potential flow.
    about : float, m, optional
        Level of the moment; the lowest level without it.
    density : float, kg/m3

    Raises
    ------
    InputError
        For levels that do not rise, shapes that do not fit, values that are no numbers (levels without water), and
        coefficients below 0.

    Notes
    -----
    J. R. Morison, J. W. Johnson, S. A. Schaaf (1950), doi:10.2118/950149-G. Integrated by Simpson's rule through the
    levels. Drag and inertia are those of the section; ends, diffraction and run-up are not in it.
    """
    from scipy.integrate import simpson  # not when the package is imported: it takes a while

    z, u, rate = own_array("z", z), own_array("velocity", velocity), own_array("acceleration", acceleration)
    area, width = 0.25 * math.pi * positive("diameter", diameter, "m") ** 2, 0.5 * diameter
    density = positive("density", density, "kg/m3", WATER_DENSITY)
    coefficients = number("drag_coefficient", drag_coefficient), number("inertia_coefficient", inertia_coefficient)
    if min(coefficients) < 0.0:
        raise InputError(f"coefficients of {coefficients[0]:g} and {coefficients[1]:g}", allowed="0 or more")
    _check(z, u, rate)
    levels = np.broadcast_to(z, u.shape)
    drag = density * width * coefficients[0] * np.sqrt((u**2).sum(axis=0)) * u
    inertia = density * area * coefficients[1] * rate
    arm = levels - (levels[..., :1] if about is None else number("about", about, "m"))
    parts = drag, inertia, (drag + inertia) * arm
    whole = [np.asarray(simpson(part, x=levels, axis=-1), np.float64) for part in parts]
    return CylinderForce(whole[0] + whole[1], whole[2], whole[0], whole[1])


def _check(z: Array, u: Array, rate: Array) -> None:
    n = z.shape[-1] if z.ndim else 0
    shapes = f"z {z.shape}, velocity {u.shape}, acceleration {rate.shape}"
    if n < 3 or u.shape != rate.shape or u.shape[:1] != (2,) or u.shape[-1] != n or z.ndim >= u.ndim:
        raise InputError(shapes, allowed="(..., n) with 3 levels or more, and twice (2, ..., n)")
    if z.ndim > 1 and z.shape != u.shape[1:]:
        raise InputError(shapes, allowed="levels (n,), or those of every time as (..., n)")
    if not all(np.isfinite(array).all() for array in (z, u, rate)):
        raise InputError(
            "a profile with values that are no numbers", allowed="levels in the water, up to the surface",
            fix="Probes(..., sigma=numpy.linspace(0.0, 1.0, 21))",
        )  # fmt: skip
    if not (np.diff(z, axis=-1) > 0.0).all():
        raise InputError("levels that do not rise", allowed="levels from the lower end of the cylinder to the surface")
