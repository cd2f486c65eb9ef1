"""What horizontally averaged profiles are called in files."""

from __future__ import annotations

from collections.abc import Sequence

from eagre.fields import Variable

MEANS = (
    Variable("u", "m s-1", "mean wind along x", "x_wind"),
    Variable("v", "m s-1", "mean wind along y", "y_wind"),
    Variable("w", "m s-1", "mean upward wind", "upward_air_velocity"),
    Variable("pressure", "m2 s-2", "mean pressure perturbation over the reference density, up to a constant"),
)
WINDS = (
    Variable("variance_u", "m2 s-2", "variance of the wind along x"),
    Variable("variance_v", "m2 s-2", "variance of the wind along y"),
    Variable("variance_w", "m2 s-2", "variance of the upward wind"),
    Variable("covariance_u_v", "m2 s-2", "covariance of both horizontal winds"),
    Variable("covariance_u_w", "m2 s-2", "resolved upward flux of momentum along x over density"),
    Variable("covariance_v_w", "m2 s-2", "resolved upward flux of momentum along y over density"),
    Variable("third_moment_w", "m3 s-3", "third central moment of the upward wind"),
    Variable(
        "turbulent_kinetic_energy", "m2 s-2", "resolved turbulent kinetic energy of a unit of mass",
        "specific_turbulent_kinetic_energy_of_air",
    ),
)  # fmt: skip
THETA = (
    Variable("theta", "K", "mean potential temperature", "air_potential_temperature"),
    Variable("theta_perturbation", "K", "mean potential temperature over that of the ambient air"),
    Variable("covariance_w_theta", "K m s-1", "resolved upward flux of potential temperature"),
    Variable("variance_theta", "K2", "variance of the potential temperature"),
    Variable("third_moment_theta", "K3", "third central moment of the potential temperature"),
)
BUDGET = (
    Variable("tke_storage", "m2 s-3", "rate of the resolved turbulent kinetic energy"),
    Variable("tke_shear", "m2 s-3", "resolved turbulent kinetic energy made from the mean wind"),
    Variable("tke_buoyancy", "m2 s-3", "resolved turbulent kinetic energy made by buoyancy"),
    Variable("tke_transport", "m2 s-3", "divergence of the resolved flux of turbulent kinetic energy, negative"),
    Variable("tke_pressure", "m2 s-3", "divergence of the flux of pressure, negative"),
    Variable("tke_residual", "m2 s-3", "what is left: dissipation by the scheme, viscosity, closure and absorbers"),
)

SUBGRID = (
    Variable("subgrid_flux_u_w", "m2 s-2", "upward flux of momentum along x over density that the closure carries"),
    Variable("subgrid_flux_v_w", "m2 s-2", "upward flux of momentum along y over density that the closure carries"),
    Variable("subgrid_flux_w_theta", "K m s-1", "upward flux of potential temperature that the closure carries"),
    Variable("subgrid_dissipation", "m2 s-3", "dissipation in the balance of the closure"),
    Variable("eddy_viscosity", "m2 s-1", "eddy viscosity of the closure"),
)


def of_closure(stratified: bool, scalars: Sequence[str]) -> tuple[Variable, ...]:
    """What a closure carries and takes."""
    carried = [
        Variable(f"subgrid_flux_w_{name}", "m s-1", f"upward flux of {name} that the closure carries")
        for name in scalars
    ]
    return (*SUBGRID[:2], *(SUBGRID[2:3] if stratified else ()), *carried, *SUBGRID[3:])


def of_scalar(name: str) -> tuple[Variable, ...]:
    """Mean, flux, variance and third moment of what is carried."""
    return (
        Variable(name, "1", f"mean of the passive scalar {name}"),
        Variable(f"covariance_w_{name}", "m s-1", f"resolved upward flux of {name}"),
        Variable(f"variance_{name}", "1", f"variance of {name}"),
        Variable(f"third_moment_{name}", "1", f"third central moment of {name}"),
    )
