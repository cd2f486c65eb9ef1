"""Generalized conjugate residual solver GCR(k) for general linear operators, and its device kernels."""

from eagre.solvers.gcr.solver import Found, chebyshev, gcr

__all__ = ["Found", "chebyshev", "gcr"]
