"""Generalized conjugate residual solver GCR(k) for general linear operators, and its device kernels."""

from eagre.solvers.gcr.polynomial import chebyshev
from eagre.solvers.gcr.solver import Found, gcr

__all__ = ["Found", "chebyshev", "gcr"]
