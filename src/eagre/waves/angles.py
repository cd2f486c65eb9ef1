"""Directions: where waves go to, in radians from the x axis towards the y axis, and the nautical way to say it."""

from __future__ import annotations

import numpy as np

from eagre.waves.steady import Array, Field


def from_nautical(degrees: Field) -> Array:
    """Direction in radians, of waves that come *from* a compass direction, with x east and y north.

    Parameters
    ----------
    degrees : array
        Clockwise from north, where the waves come from, as forecasts and SWAN's nautical convention have it.

    Returns
    -------
    array, rad
        Where they go *to*, anticlockwise from east, in [-pi, pi).
    """
    return wrapped(np.deg2rad(270.0 - np.asarray(degrees, np.float64)))


def to_nautical(direction: Field) -> Array:
    """Compass direction, degrees in [0, 360), that waves come from which go to `direction`, rad."""
    return np.mod(270.0 - np.rad2deg(np.asarray(direction, np.float64)), 360.0)


def wrapped(angle: Field) -> Array:
    """An angle, rad, in [-pi, pi)."""
    return np.mod(np.asarray(angle, np.float64) + np.pi, 2.0 * np.pi) - np.pi
