"""Fast direct solvers for Poisson's and Helmholtz' equation with constant coefficients."""

from eagre.solvers.poisson.solver import PoissonSolver, solve_poisson

__all__ = ["PoissonSolver", "solve_poisson"]
