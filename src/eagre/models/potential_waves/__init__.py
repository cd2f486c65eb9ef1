"""Fully nonlinear potential-flow waves on a sigma grid: under construction, the Laplace problem stands."""
