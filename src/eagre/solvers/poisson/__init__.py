"""Fast direct solvers for the Poisson and Helmholtz equations with constant coefficients."""

from eagre.solvers.poisson.solver import PoissonSolver, solve_poisson

__all__ = ["PoissonSolver", "solve_poisson"]
