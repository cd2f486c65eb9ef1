"""Batched tridiagonal systems on the CPU and on GPUs; `solve` is all that most need."""

from eagre.solvers.tridiagonal.solve import METHODS, solve

__all__ = ["METHODS", "solve"]
