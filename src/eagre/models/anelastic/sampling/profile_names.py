"""Names and long names of horizontally averaged profiles."""

from __future__ import annotations

from collections.abc import Sequence

from eagre.fields import Variable

MEANS = (
    Variable("u", "m s-1", "mean wind along x", "x_wind"),
    Variable("v", "m s-1", "mean wind along y", "y_wind"),
    Variable("w", "m s-1", "mean vertical velocity", "upward_air_velocity"),
    Variable("pressure", "m2 s-2", "mean pressure perturbation divided by the reference density, up to a constant"),
)
WINDS = (
    Variable("variance_u", "m2 s-2", "variance of the wind along x"),
    Variable("variance_v", "m2 s-2", "variance of the wind along y"),
    Variable("variance_w", "m2 s-2", "variance of the vertical velocity"),
    Variable("covariance_u_v", "m2 s-2", "covariance of the horizontal wind components"),
    Variable("covariance_u_w", "m2 s-2", "resolved vertical flux of x-momentum divided by density"),
    Variable("covariance_v_w", "m2 s-2", "resolved vertical flux of y-momentum divided by density"),
    Variable("third_moment_w", "m3 s-3", "third central moment of the vertical velocity"),
    Variable(
        "turbulent_kinetic_energy", "m2 s-2", "resolved turbulent kinetic energy per unit mass",
        "specific_turbulent_kinetic_energy_of_air",
    ),
)  # fmt: skip
THETA = (
    Variable("theta", "K", "mean potential temperature", "air_potential_temperature"),
    Variable("theta_perturbation", "K", "mean potential temperature minus the ambient potential temperature"),
    Variable("covariance_w_theta", "K m s-1", "resolved vertical flux of potential temperature"),
    Variable("variance_theta", "K2", "variance of the potential temperature"),
    Variable("third_moment_theta", "K3", "third central moment of the potential temperature"),
)
BUDGET = (
    Variable("tke_storage", "m2 s-3", "tendency of the resolved turbulent kinetic energy"),
    Variable("tke_shear", "m2 s-3", "shear production of resolved turbulent kinetic energy"),
    Variable("tke_buoyancy", "m2 s-3", "buoyancy production of resolved turbulent kinetic energy"),
    Variable("tke_transport", "m2 s-3", "turbulent transport of resolved turbulent kinetic energy"),
    Variable("tke_pressure", "m2 s-3", "pressure transport of resolved turbulent kinetic energy"),
    Variable("tke_residual", "m2 s-3", "residual: dissipation by advection, viscosity, closure and sponge layers"),
)

SUBGRID = (
    Variable("subgrid_flux_u_w", "m2 s-2", "subgrid vertical flux of x-momentum divided by density"),
    Variable("subgrid_flux_v_w", "m2 s-2", "subgrid vertical flux of y-momentum divided by density"),
    Variable("subgrid_flux_w_theta", "K m s-1", "subgrid vertical flux of potential temperature"),
    Variable("subgrid_dissipation", "m2 s-3", "subgrid dissipation in the equilibrium of the closure"),
    Variable("eddy_viscosity", "m2 s-1", "eddy viscosity of the closure"),
)


def of_closure(stratified: bool, scalars: Sequence[str]) -> tuple[Variable, ...]:
    """Return the profiles of the closure: subgrid fluxes, dissipation and eddy viscosity."""
    carried = [Variable(f"subgrid_flux_w_{name}", "m s-1", f"subgrid vertical flux of {name}") for name in scalars]
    return (*SUBGRID[:2], *(SUBGRID[2:3] if stratified else ()), *carried, *SUBGRID[3:])


def of_scalar(name: str) -> tuple[Variable, ...]:
    """Return mean, flux, variance and third moment of a passive scalar."""
    return (
        Variable(name, "1", f"mean of the passive scalar {name}"),
        Variable(f"covariance_w_{name}", "m s-1", f"resolved vertical flux of {name}"),
        Variable(f"variance_{name}", "1", f"variance of {name}"),
        Variable(f"third_moment_{name}", "1", f"third central moment of {name}"),
    )
