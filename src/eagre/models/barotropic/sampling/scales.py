"""Nondimensional numbers of a wind-driven gyre and notes on its resolution."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class DoubleGyre:
    """Dimensional parameters of a wind-driven double gyre.

    Defaults: Bleichrodt (2011), after Berloff and McWilliams (1999).

    The basin is pi L x pi L. Scaling with velocity U, time L / U and vorticity U / L keeps the form of the equation;
    alpha, beta, mu and 1 / Re replace the wind forcing, beta, bottom friction and viscosity.

    Parameters
    ----------
    length : float, m
        Length scale L.
    depth : float, m
        Water depth D.
    beta : float, 1 / (m s)
    density : float, kg m-3
    wind_stress : float, N m-2
        Amplitude tau0 of tau_x = -tau0 / 2 cos(2 y / L).
    viscosity : float, m2 s-1
        Lateral viscosity A.
    friction : float, 1 / s
        Linear bottom friction epsilon0.
    velocity : float, m / s
        Velocity scale U; default the Sverdrup velocity tau0 / (rho D beta L), for which alpha = beta.

    References
    ----------
    P. S. Berloff and J. C. McWilliams, J. Phys. Oceanogr. 29, 1925-1949 (1999),
    doi:10.1175/1520-0485(1999)029<1925:LSLFVI>2.0.CO;2.
    """

    length: float = 3.84e6
    depth: float = 300.0
    beta: float = 2e-11
    density: float = 1e3
    wind_stress: float = 5e-2
    viscosity: float = 400.0
    friction: float = 0.0
    velocity: float | None = None

    @property
    def scale_velocity(self) -> float:
        """Velocity scale U, m / s."""
        return self.velocity or self.wind_stress / (self.density * self.depth * self.beta * self.length)

    @property
    def time_scale(self) -> float:
        """Time scale L / U, s."""
        return self.length / self.scale_velocity

    @property
    def curl(self) -> float:
        """Amplitude of curl(tau) / (rho D), 1 / s2: the forcing is -curl sin(2 y / L)."""
        return self.wind_stress / (self.density * self.depth * self.length)

    @property
    def numbers(self) -> dict[str, float]:
        """Nondimensional numbers alpha, beta, mu and Re."""
        u, length = self.scale_velocity, self.length
        return {
            "alpha": self.wind_stress * length / (self.density * self.depth * u**2),
            "beta": self.beta * length**2 / u,
            "mu": self.friction * length / u,
            "reynolds": u * length / self.viscosity if self.viscosity > 0 else math.inf,
        }

    def nondimensional_time(self, seconds: float) -> float:
        """Return a time in units of L / U."""
        return seconds / self.time_scale


def munk_width(viscosity: float, beta: float) -> float:
    """Return the width (A / beta)^(1/3) of the Munk boundary layer; infinite without beta."""
    return (viscosity / abs(beta)) ** (1.0 / 3.0) if beta != 0.0 else math.inf


def layer_note(viscosity: float, beta: float, dx: float) -> str:
    """Return a note on the resolution of the western boundary layer; a warning below 2 points per Munk width."""
    if beta == 0.0 or viscosity == 0.0:
        return "western boundary layer: no Munk layer (beta or viscosity is 0)"
    points = munk_width(viscosity, beta) / dx
    text = f"western boundary layer: {points:.2f} points per Munk width"
    if points < 2.0:
        return f"{text}; below 2 the solution is grid-scale noise (Bleichrodt 2011 recommends 5)"
    return f"{text} (Bleichrodt 2011 recommends 5)"


def radius_note(radius: float, spacing: float) -> list[str]:
    """Return a note if the deformation radius is below the grid spacing, m."""
    if radius >= spacing:
        return []
    return [
        f"the deformation radius of {radius:.4g} m is {radius / spacing:.2f} grid spacings: it is not resolved; "
        f"use a grid spacing of {0.5 * radius:.2g} m or less, or a rigid lid"
    ]


def numbers_note(curl: float, beta: float, viscosity: float, friction: float, length: float) -> list[str]:
    """Return a note with the nondimensional numbers of Bleichrodt (2011), for length scale `length`, m.

    The list is empty without wind or beta.
    """
    if curl == 0.0 or beta == 0.0:
        return []
    u = curl / abs(beta)
    numbers = {"alpha": curl * length**2 / u**2, "beta": abs(beta) * length**2 / u, "mu": friction * length / u}
    numbers["Re"] = u * length / viscosity if viscosity > 0.0 else math.inf
    return ["nondimensional: " + ", ".join(f"{name} = {value:.4g}" for name, value in numbers.items())]
