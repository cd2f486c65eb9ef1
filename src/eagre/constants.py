"""Physical constants and defaults that models share (SI units)."""

GRAVITY = 9.81
"""Acceleration of gravity, m s-2 (the value of the reference figures)."""

WATER_DENSITY = 1000.0
"""Density of water, kg m-3."""

EARTH_ROTATION = 7.292115e-5
"""Angular velocity of the Earth, rad s-1."""
