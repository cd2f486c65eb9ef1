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
