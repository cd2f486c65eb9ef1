"""Wave forces on a slender vertical cylinder (Morison equation)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import WATER_DENSITY
from eagre.errors import InputError
from eagre.waves.checked import number, positive
from eagre.waves.steady import Array, Field


class CylinderForce(NamedTuple):
    """Wave force and moment on a cylinder.

    Parameters
    ----------
    force : (2, ...), N
        Force along x and y.
    moment : (2, ...), N m
        Overturning moment of these forces about a point on the axis: force times lever arm. A positive force above the
        point gives a positive moment.
    drag, inertia : (2, ...), N
        Drag and inertia parts of the force.
    """

    force: Array
    moment: Array
    drag: Array
    inertia: Array


def morison_force(
    z: Field, velocity: Field, acceleration: Field, diameter: float, *, drag_coefficient: float = 1.0,
    inertia_coefficient: float = 2.0, about: float | None = None, density: float = WATER_DENSITY,
) -> CylinderForce:  # fmt: skip
    """Return force and overturning moment by the Morison equation, from profiles of the undisturbed flow.

    dF = rho (pi D^2 / 4) Cm du/dt dz + rho (D / 2) Cd |u| u dz, u and du/dt the horizontal vectors.

    Parameters
    ----------
    z : (..., n), m
        Increasing levels from the lower end of the cylinder to the instantaneous surface, n >= 3, for every time or
        (n,) for all times. Good values: 21 levels, as in `Probes(sigma=numpy.linspace(0, 1, 21))`.
    velocity, acceleration : (2, ..., n), m/s and m/s2
        Components along x and y at these levels. The material acceleration D/Dt is the usual choice in steep waves.
    diameter : float, m
        Diameter, small compared with the wave length: D / L < 0.2.
    drag_coefficient, inertia_coefficient : float
        Drag and inertia coefficients Cd and Cm, >= 0; Cm is 2 for a cylinder in potential flow.
    about : float, m, optional
        Level of the reference point of the moment; default: the lowest level.
    density : float, kg/m3

    Raises
    ------
    InputError
        If levels do not increase, shapes do not match, values are not finite (levels above the water), or a coefficient
        is negative.

    Notes
    -----
    J. R. Morison, J. W. Johnson, S. A. Schaaf (1950), doi:10.2118/950149-G. The integral over the levels uses
    Simpson's rule. End effects, diffraction and run-up are not included.
    """
    from scipy.integrate import simpson  # slow import, deferred until needed

    z, u, rate = array_copy("z", z), array_copy("velocity", velocity), array_copy("acceleration", acceleration)
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
    loads = drag, inertia, (drag + inertia) * arm
    whole = [np.asarray(simpson(load, x=levels, axis=-1), np.float64) for load in loads]
    return CylinderForce(whole[0] + whole[1], whole[2], whole[0], whole[1])


def _check(z: Array, u: Array, rate: Array) -> None:
    n = z.shape[-1] if z.ndim else 0
    shapes = f"z {z.shape}, velocity {u.shape}, acceleration {rate.shape}"
    if n < 3 or u.shape != rate.shape or u.shape[:1] != (2,) or u.shape[-1] != n or z.ndim >= u.ndim:
        raise InputError(shapes, allowed="z (..., n) with at least 3 levels; velocity and acceleration (2, ..., n)")
    if z.ndim > 1 and z.shape != u.shape[1:]:
        raise InputError(shapes, allowed="levels (n,) for all times, or (..., n) for every time")
    if not all(np.isfinite(array).all() for array in (z, u, rate)):
        raise InputError(
            "a profile with values that are not finite", allowed="levels in the water, up to the surface",
            fix="Probes(..., sigma=numpy.linspace(0.0, 1.0, 21))",
        )  # fmt: skip
    if not (np.diff(z, axis=-1) > 0.0).all():
        raise InputError(
            "levels that do not increase", allowed="levels from the lower end of the cylinder to the surface"
        )
