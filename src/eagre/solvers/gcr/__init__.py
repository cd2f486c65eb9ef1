"""Generalized conjugate residuals, GCR(k): for any linear operator, and as launches on a device."""

from eagre.solvers.gcr.polynomial import chebyshev
from eagre.solvers.gcr.solver import Found, gcr

__all__ = ["Found", "chebyshev", "gcr"]
