"""Multigrid for screened Poisson equations with coefficients that vary, many at once."""

from eagre.solvers.multigrid.solver import Multigrid

__all__ = ["Multigrid"]
