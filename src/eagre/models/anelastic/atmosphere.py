"""The air at rest: reference density and potential temperature, and the ambient state that perturbations are of.

    rho_b(z)      reference density
    theta_b(z)    reference potential temperature
    theta_e(z)    ambient potential temperature; theta = theta_e + theta'
    u_e, v_e(z)   ambient wind, in balance with the pressure where the Earth turns

Three sets of equations differ by their references alone: *incompressible* (rho_b constant, no buoyancy),
*Boussinesq* (rho_b and theta_b constant) and *anelastic* in the form of Lipps and Hemler (rho_b in hydrostatic balance
with theta_b).

Source: F. B. Lipps and R. S. Hemler, J. Atmos. Sci. 39, 2192-2210 (1982),
doi:10.1175/1520-0469(1982)039<2192:ASAODM>2.0.CO;2; J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput.
Fluids 37, 1193-1207 (2008), doi:10.1016/j.compfluid.2007.12.001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.checks import checked_number, one_of
from eagre.constants import DRY_AIR_GAS_CONSTANT, DRY_AIR_HEAT_CAPACITY, GRAVITY, REFERENCE_PRESSURE
from eagre.errors import InputError
from eagre.given import of_type
from eagre.models.anelastic.profiles import Exponential, Linear, Profile, Table, check_tops, slope

Array = np.ndarray
STILL = Exponential(0.0)
COLD_AIR = 100.0  # K; below it degrees Celsius may be meant
EQUATIONS = ("incompressible", "boussinesq", "anelastic")


@dataclass(frozen=True)
class Density:
    """Density in hydrostatic balance with a potential temperature, kg m-3.

    ``rho = p00 pi^(cp/Rd - 1) / (Rd theta)``, ``pi = (p0/p00)^(Rd/cp) - (g/cp) int dz / theta``; with
    ``theta = theta_0 e^(S z)`` and p0 = p00 that is
    ``rho_0 e^(-S z) [1 - g (1 - e^(-S z)) / (cp theta_0 S)]^(cp/Rd - 1)``.
    """

    theta: Profile
    surface_pressure: float = REFERENCE_PRESSURE  # Pa
    gravity: float = GRAVITY

    @property
    def top(self) -> float:
        return self.theta.top

    def exner(self, z: Array) -> Array:
        """(p / p00)^(Rd / cp)."""
        at_ground = (self.surface_pressure / REFERENCE_PRESSURE) ** (DRY_AIR_GAS_CONSTANT / DRY_AIR_HEAT_CAPACITY)
        return at_ground - self.gravity / DRY_AIR_HEAT_CAPACITY * self.theta.inverse_integral(z)

    def __call__(self, z: Array) -> Array:
        power = DRY_AIR_HEAT_CAPACITY / DRY_AIR_GAS_CONSTANT - 1.0
        pressure = np.maximum(self.exner(z), 0.0)
        return REFERENCE_PRESSURE * pressure**power / (DRY_AIR_GAS_CONSTANT * self.theta(z))


@dataclass(frozen=True)
class Atmosphere:
    """Reference and ambient profiles; made by `incompressible`, `boussinesq`, `anelastic` or `of_sounding`.

    Attributes
    ----------
    equations : {"incompressible", "boussinesq", "anelastic"}
    density, reference, ambient : Profile
        rho_b, kg m-3; theta_b and theta_e, K.
    wind : pair of Profile
        u_e and v_e, m/s.
    gravity : float
        m s-2; 0 where nothing is buoyant.
    """

    equations: str
    density: Profile | Density
    reference: Profile
    ambient: Profile
    wind: tuple[Profile, Profile] = (STILL, STILL)
    gravity: float = GRAVITY

    def stability(self, z: Array, spacing: float) -> Array:
        """N^2 = g (d theta_e / dz) / theta_b, s-2, as a mean over levels `spacing` m apart."""
        if self.gravity == 0.0:
            return np.zeros(np.shape(z))
        return self.gravity * slope(self.ambient, z, spacing) / self.reference(z)

    def heat_capacity(self, z: Array) -> Array:
        """What a flux of sensible heat, W m-2, is divided by for one of potential temperature, K m s-1: J m-3 K-1.

        rho_b c_p (p/p00)^(Rd/c_p) of anelastic air, rho_b c_p of other air, whose theta is its temperature.
        """
        exner = self.density.exner(z) if isinstance(self.density, Density) else 1.0
        return DRY_AIR_HEAT_CAPACITY * self.density(z) * exner

    @property
    def profiles(self) -> list[tuple[str, Profile]]:
        """All of them with their names."""
        u, v = self.wind
        return [("theta_b", self.reference), ("theta_e", self.ambient), ("the wind along x", u), ("along y", v)]


def incompressible(*, density: float = 1.0, wind: tuple[float | Profile, float | Profile] = (0.0, 0.0)) -> Atmosphere:
    """Air, or any fluid, of one density in which nothing is buoyant."""
    rho = checked_number("density", density, 1e-6, 1e6)
    return Atmosphere("incompressible", Exponential(rho), Exponential(300.0), Exponential(300.0), _wind(wind), 0.0)


def boussinesq(
    *,
    theta: float = 300.0,
    buoyancy_frequency: float = 0.0,
    density: float = 1.0,
    wind: tuple[float | Profile, float | Profile] = (0.0, 0.0),
    gravity: float = GRAVITY,
) -> Atmosphere:
    """One density and one reference temperature; N is the same everywhere: ``theta_e = theta (1 + N^2 z / g)``.

    Parameters
    ----------
    theta : float, K
    buoyancy_frequency : float, s-1
        N; negative for N^2 < 0, air that overturns.
    density : float, kg m-3
    wind : pair of float or Profile, m/s
    gravity : float, m s-2
    """
    ground, g, n = _checked(theta, gravity, buoyancy_frequency)
    ambient = Exponential(ground) if n == 0.0 else Linear(ground, n * abs(n) / g)
    rho = checked_number("density", density, 1e-6, 1e6)
    return Atmosphere("boussinesq", Exponential(rho), Exponential(ground), ambient, _wind(wind), g)


def anelastic(
    *,
    theta: float = 300.0,
    reference_frequency: float = 0.0,
    buoyancy_frequency: float = 0.0,
    surface_pressure: float = REFERENCE_PRESSURE,
    wind: tuple[float | Profile, float | Profile] = (0.0, 0.0),
    gravity: float = GRAVITY,
) -> Atmosphere:
    """Density in hydrostatic balance with ``theta_b = theta e^(N_b^2 z / g)``; ``theta_e = theta e^(N^2 z / g)``.

    Parameters
    ----------
    theta : float, K
        At z = 0.
    reference_frequency, buoyancy_frequency : float, s-1
        N_b of the reference and N of the ambient air; 0 is neutral.
    surface_pressure : float, Pa
        At z = 0.
    """
    ground, g, n = _checked(theta, gravity, buoyancy_frequency)
    n_b = checked_number("reference_frequency", reference_frequency, 0.0, 1.0)
    pressure = checked_number("surface_pressure", surface_pressure, 1e2, 1e7)
    reference = Exponential(ground, n_b**2 / g)
    ambient = Exponential(ground, n * abs(n) / g)
    return Atmosphere("anelastic", Density(reference, pressure, g), reference, ambient, _wind(wind), g)


def of_sounding(
    heights: Array,
    theta: Array,
    u: Array | None = None,
    v: Array | None = None,
    *,
    equations: str = "anelastic",
    reference: str = "isentropic",
    surface_pressure: float = REFERENCE_PRESSURE,
    gravity: float = GRAVITY,
) -> Atmosphere:
    """An ambient state from values at heights.

    Parameters
    ----------
    heights : (n,), m
    theta : (n,), K
        Potential temperature; the virtual one where the air is moist.
    u, v : (n,), m/s
        0 if not given.
    equations : {"anelastic", "boussinesq"}
    reference : {"isentropic", "sounding"}
        theta_b of anelastic air: the lowest theta everywhere, or the sounding itself.
    surface_pressure : float, Pa
        At z = 0.
    """
    ambient = Table(heights, theta, "theta")
    if (ambient.values <= 0.0).any():
        raise InputError(f"theta = {ambient.values.min():g} K", allowed="above 0 K", fix="kelvin, not degrees Celsius")
    wind: list[Profile] = [STILL if one is None else Table(heights, one, name) for name, one in (("u", u), ("v", v))]
    pair = (wind[0], wind[1])
    ground, g, _ = _checked(float(ambient.values[0]), gravity, 0.0)
    if one_of("equations", equations, EQUATIONS[1:]) == "boussinesq":
        return Atmosphere("boussinesq", Exponential(1.0), Exponential(ground), ambient, pair, g)
    isentropic = one_of("reference", reference, ("isentropic", "sounding")) == "isentropic"
    base: Profile = Exponential(ground) if isentropic else ambient
    pressure = checked_number("surface_pressure", surface_pressure, 1e2, 1e7)
    return Atmosphere("anelastic", Density(base, pressure, g), base, ambient, pair, g)


def checked_air(atmosphere: Atmosphere | None) -> Atmosphere:
    """`atmosphere`, or one of one density in which nothing is buoyant."""
    return of_type("atmosphere", atmosphere or incompressible(), Atmosphere, "atmosphere=boussinesq()")


def check_height(atmosphere: Atmosphere, height: float, periodic: bool = False) -> None:
    """Refuse a top, m, above which there is no air left, or above the profiles, or where the density would jump."""
    check_tops(atmosphere.profiles, height)
    density = atmosphere.density
    if periodic and float(np.ptp(density(np.array([0.0, height])))) > 0.0:
        raise InputError(
            "a periodic z for air whose density falls with height", allowed="walls along z, or boussinesq equations",
            fix='equations = "boussinesq"',
        )  # fmt: skip
    if isinstance(density, Density) and float(np.min(density.exner(np.array(height)))) <= 0.0:
        theta = float(density.theta(np.zeros(())))
        if theta < COLD_AIR:
            fix = f"theta = {theta + 273.15:g}, in kelvin"
        else:
            most = 0.9 * DRY_AIR_HEAT_CAPACITY / density.gravity * theta
            fix = f"height = {most:.3g}, or a reference_frequency above 0"
        raise InputError(
            f"a domain {height:g} m high in air of theta = {theta:g} K",
            allowed="a top below the end of the reference atmosphere", fix=fix,
        )  # fmt: skip


def _checked(theta: float, gravity: float, frequency: float) -> tuple[float, float, float]:
    return (
        checked_number("theta", theta, 1.0, 1e4),
        checked_number("gravity", gravity, 1e-6, 1e6),
        checked_number("buoyancy_frequency", frequency, -1.0, 1.0),
    )


def _wind(wind: tuple[float | Profile, float | Profile]) -> tuple[Profile, Profile]:
    u, v = (
        Exponential(checked_number("wind", one, -1e3, 1e3)) if isinstance(one, (int, float)) else one for one in wind
    )
    return u, v
