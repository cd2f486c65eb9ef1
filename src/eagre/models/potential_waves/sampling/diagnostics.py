"""Diagnostics of the surface: largest slope, velocity, volume and energies."""

from __future__ import annotations

import numpy as np

from eagre.constants import WATER_DENSITY
from eagre.models.potential_waves.setup import Setup
from eagre.solvers.finite_differences import centred

Array = np.ndarray


def derivative(values: Array, axis: int, setup: Setup) -> Array:
    """Return the derivative of values at the points, (ny, nx), along y (0) or x (1), in the order of the run.

    The derivative is 0 along an axis of one point.
    """
    count = values.shape[axis]
    if count == 1:
        return np.zeros(values.shape)
    half = setup.vertical.order // 2
    widths = [(half, half) if k == axis else (0, 0) for k in range(2)]
    wide = np.pad(values, widths, mode="wrap" if setup.periodic[axis] else "reflect")
    result = np.zeros(values.shape)
    for m, weight in enumerate(centred(setup.vertical.order, setup.spacing[axis], 1)):
        result += weight * np.take(wide, range(m, m + count), axis=axis)
    return result


def maximum_slope(eta: Array, setup: Setup) -> tuple[float, tuple[int, int]]:
    """Return the largest slope of an elevation, (ny, nx), m, and its point (j, i)."""
    slope = np.hypot(derivative(eta, 1, setup), derivative(eta, 0, setup))
    j, i = np.unravel_index(int(np.argmax(slope)), slope.shape)
    return float(slope[j, i]), (int(j), int(i))


def surface_velocity(surface: Array, w: Array, setup: Setup) -> tuple[Array, Array]:
    """Return u and v at the surface, (ny, nx), m/s: grad phi~ - w~ grad eta."""
    components = []
    for axis in (1, 0):
        along = derivative(surface[1], axis, setup)
        components.append(along if setup.linear else along - w * derivative(surface[0], axis, setup))
    return components[0], components[1]


def rise(surface: Array, w: Array, setup: Setup) -> Array:
    """Return d eta / dt, (ny, nx), m/s: w~ - u . grad eta with the velocity at the surface."""
    if setup.linear:
        return w
    u, v = surface_velocity(surface, w, setup)
    return w - u * derivative(surface[0], 1, setup) - v * derivative(surface[0], 0, setup)


def volume(eta: Array, setup: Setup) -> float:
    """Return the volume of the water, m3."""
    return float(np.sum(setup.areas * (setup.depth + eta)))


def energies(surface: Array, w: Array, setup: Setup) -> tuple[float, float]:
    """Return kinetic and potential energy, J: rho / 2 times the integrals of phi~ eta_t and g eta^2."""
    kinetic = float(np.sum(setup.areas * surface[1] * rise(surface, w, setup)))
    potential = setup.gravity * float(np.sum(setup.areas * surface[0] ** 2))
    return 0.5 * WATER_DENSITY * kinetic, 0.5 * WATER_DENSITY * potential
