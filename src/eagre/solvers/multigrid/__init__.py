"""Multigrid solver for screened Poisson equations with variable coefficients, for several right-hand sides at once."""

from eagre.solvers.multigrid.solver import Multigrid

__all__ = ["Multigrid"]
