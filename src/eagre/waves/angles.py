"""Wave directions: conversion between directions of travel, in radians from the x axis, and nautical directions."""

from __future__ import annotations

import numpy as np

from eagre.waves.nonlinear.steady import Array, Field


def from_nautical(degrees: Field) -> Array:
    """Return the direction of travel of waves that come *from* a compass direction, with x east and y north.

    Parameters
    ----------
    degrees : array
        Direction of origin, clockwise from north (nautical convention of forecasts and SWAN).

    Returns
    -------
    array, rad
        Direction of travel, anticlockwise from east, in [-pi, pi).
    """
    return wrapped(np.deg2rad(270.0 - np.asarray(degrees, np.float64)))


def to_nautical(direction: Field) -> Array:
    """Return the compass direction of origin, degrees in [0, 360), of waves that travel to `direction`, rad."""
    return np.mod(270.0 - np.rad2deg(np.asarray(direction, np.float64)), 360.0)


def wrapped(angle: Field) -> Array:
    """Return an angle, rad, wrapped into [-pi, pi)."""
    return np.mod(np.asarray(angle, np.float64) + np.pi, 2.0 * np.pi) - np.pi
