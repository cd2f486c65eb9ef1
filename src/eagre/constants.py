"""Physical constants and common default values, SI units."""

SHORTEST, LONGEST = 1e-9, 1e9
"""Bounds of the cell size, m; squares and inverses of sizes within them are representable in single precision."""

FARTHEST = 1e12
"""Largest absolute coordinate of a corner of the domain, m."""

GRAVITY = 9.81
"""Gravitational acceleration, m s-2 (value of the reference solutions)."""

WATER_DENSITY = 1000.0
"""Density of water, kg m-3."""

EARTH_ROTATION = 7.292115e-5
"""Angular velocity of the Earth, rad s-1."""

DRY_AIR_GAS_CONSTANT = 287.0
"""Specific gas constant of dry air, J kg-1 K-1 (value of Straka et al. 1993, as the heat capacity)."""

DRY_AIR_HEAT_CAPACITY = 1004.0
"""Specific heat capacity of dry air at constant pressure, J kg-1 K-1."""

REFERENCE_PRESSURE = 1e5
"""Reference pressure of potential temperature, Pa."""


VON_KARMAN = 0.4
"""Von Karman constant of the logarithmic wind profile."""
