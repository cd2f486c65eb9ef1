"""Batched solvers for tridiagonal systems on CPUs and GPUs; most users only need `solve`."""

from eagre.solvers.tridiagonal.solve import methods, solve

__all__ = ["methods", "solve"]
