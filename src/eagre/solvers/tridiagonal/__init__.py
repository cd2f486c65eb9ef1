"""Batched solvers for tridiagonal systems on CPUs and GPUs; most users only need `solve`."""

from eagre.solvers.tridiagonal.solve import METHODS, solve

__all__ = ["METHODS", "solve"]
