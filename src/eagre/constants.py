"""Physical constants and defaults that models share (SI units)."""

SHORTEST, LONGEST = 1e-9, 1e9
"""Bounds of the size of a cell, m; between them and their squares and inverses every precision has room."""

FARTHEST = 1e12
"""Largest coordinate of a corner of the domain, m."""

GRAVITY = 9.81
"""Acceleration of gravity, m s-2 (the value of the reference figures)."""

WATER_DENSITY = 1000.0
"""Density of water, kg m-3."""

EARTH_ROTATION = 7.292115e-5
"""Angular velocity of the Earth, rad s-1."""

DRY_AIR_GAS_CONSTANT = 287.0
"""Of dry air, J kg-1 K-1 (the value of Straka et al. 1993, as the next)."""

DRY_AIR_HEAT_CAPACITY = 1004.0
"""Of dry air at constant pressure, J kg-1 K-1."""

REFERENCE_PRESSURE = 1e5
"""Where potential temperature is temperature, Pa."""


VON_KARMAN = 0.4
"""Of the log law."""
