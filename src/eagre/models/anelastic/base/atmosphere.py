"""Base state of the atmosphere: reference density and potential temperature, and the ambient state.

    rho_b(z)      reference density
    theta_b(z)    reference potential temperature
    theta_e(z)    ambient potential temperature; theta = theta_e + theta'
    u_e, v_e(z)   ambient wind, in geostrophic balance for f other than 0

Three sets of equations differ only in their reference state: *incompressible* (rho_b constant, no buoyancy),
*Boussinesq* (rho_b and theta_b constant) and *anelastic* in the form of Lipps and Hemler (rho_b in hydrostatic balance
with theta_b).

Source: F. B. Lipps and R. S. Hemler, J. Atmos. Sci. 39, 2192-2210 (1982),
doi:10.1175/1520-0469(1982)039<2192:ASAODM>2.0.CO;2; J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput.
Fluids 37, 1193-1207 (2008), doi:10.1016/j.compfluid.2007.12.001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.arguments import of_type
from eagre.checks import checked_number, one_of
from eagre.constants import DRY_AIR_GAS_CONSTANT, DRY_AIR_HEAT_CAPACITY, GRAVITY, REFERENCE_PRESSURE
from eagre.errors import InputError
from eagre.models.anelastic.base.vertical_profiles import (
    ExponentialProfile,
    Layers,
    LinearProfile,
    Profile,
    TableProfile,
    check_tops,
    slope,
)
from eagre.plausible import check_plausible, plausible_number

Array = np.ndarray
ZERO_PROFILE = ExponentialProfile(0.0)
MAX_FALL = -4e-3  # K/m: temperature falls by 6.5 K/km, potential temperature by less even in convective layers
TROPOSPHERE = 8_000.0  # m over which temperature falls at all latitudes
FIX = "atmosphere=Atmosphere.boussinesq()"
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
    """Reference and ambient profiles; construct by one of the static methods.

    Attributes
    ----------
    equations : {"incompressible", "boussinesq", "anelastic"}
    density, reference, ambient : Profile
        rho_b, kg m-3; theta_b and theta_e, K.
    wind : pair of Profile
        u_e and v_e, m/s.
    gravity : float
        m s-2; 0 without buoyancy.
    """

    equations: str
    density: Profile | Density
    reference: Profile
    ambient: Profile
    wind: tuple[Profile, Profile] = (ZERO_PROFILE, ZERO_PROFILE)
    gravity: float = GRAVITY

    def stability(self, z: Array, layers: Layers) -> Array:
        """Return N^2 = g (d theta_e / dz) / theta_b, s-2, averaged over layers."""
        if self.gravity == 0.0:
            return np.zeros(np.shape(z))
        return self.gravity * slope(self.ambient, z, layers) / self.reference(z)

    def heat_capacity(self, z: Array) -> Array:
        """Return the volumetric heat capacity for potential temperature, J m-3 K-1.

        It is the ratio of the sensible heat flux, W m-2, to the flux of potential temperature, K m s-1:
        rho_b c_p (p/p00)^(Rd/c_p) for the anelastic equations, rho_b c_p for the others, where theta is temperature.
        """
        exner = self.density.exner(z) if isinstance(self.density, Density) else 1.0
        return DRY_AIR_HEAT_CAPACITY * self.density(z) * exner

    @property
    def profiles(self) -> list[tuple[str, Profile]]:
        """Profiles with their names."""
        u, v = self.wind
        return [("theta_b", self.reference), ("theta_e", self.ambient), ("the wind along x", u), ("along y", v)]

    @staticmethod
    def incompressible(
        *, density: float = 1.0, wind: tuple[float | Profile, float | Profile] = (0.0, 0.0)
    ) -> Atmosphere:
        """Return an atmosphere of constant density without buoyancy."""
        rho = checked_number("density", density, 1e-6, 1e6)
        return Atmosphere(
            "incompressible",
            ExponentialProfile(rho),
            ExponentialProfile(300.0),
            ExponentialProfile(300.0),
            _wind(wind),
            0.0,
        )

    @staticmethod
    def boussinesq(
        *,
        theta: float = 300.0,
        buoyancy_frequency: float = 0.0,
        density: float = 1.0,
        wind: tuple[float | Profile, float | Profile] = (0.0, 0.0),
        gravity: float = GRAVITY,
    ) -> Atmosphere:
        """Return a Boussinesq atmosphere of constant N: ``theta_e = theta (1 + N^2 z / g)``.

        Parameters
        ----------
        theta : float, K
            Reference potential temperature, and ambient potential temperature at z = 0.
        buoyancy_frequency : float, s-1
            N, at least 0.
        density : float, kg m-3
        wind : pair of float or Profile, m/s
        gravity : float, m s-2
        """
        ground, g, n = _checked(theta, gravity, buoyancy_frequency)
        ambient = ExponentialProfile(ground) if n == 0.0 else LinearProfile(ground, n**2 / g)
        rho = checked_number("density", density, 1e-6, 1e6)
        return Atmosphere("boussinesq", ExponentialProfile(rho), ExponentialProfile(ground), ambient, _wind(wind), g)

    @staticmethod
    def anelastic(
        *,
        theta: float = 300.0,
        reference_frequency: float = 0.0,
        buoyancy_frequency: float = 0.0,
        surface_pressure: float = REFERENCE_PRESSURE,
        wind: tuple[float | Profile, float | Profile] = (0.0, 0.0),
        gravity: float = GRAVITY,
    ) -> Atmosphere:
        """Return an anelastic atmosphere: ``theta_b = theta e^(N_b^2 z / g)``, ``theta_e = theta e^(N^2 z / g)``.

        The reference density is in hydrostatic balance with theta_b.

        Parameters
        ----------
        theta : float, K
            Potential temperature at z = 0.
        reference_frequency, buoyancy_frequency : float, s-1
            N_b of the reference state and N of the ambient state; 0 is neutral.
        surface_pressure : float, Pa
            Pressure at z = 0.
        """
        ground, g, n = _checked(theta, gravity, buoyancy_frequency)
        n_b = plausible_number("buoyancy_frequency", reference_frequency, "reference_frequency")
        pressure = plausible_number("surface_pressure", surface_pressure, "surface_pressure")
        reference = ExponentialProfile(ground, n_b**2 / g)
        ambient = ExponentialProfile(ground, n**2 / g)
        return Atmosphere("anelastic", Density(reference, pressure, g), reference, ambient, _wind(wind), g)

    @staticmethod
    def from_sounding(
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
        """Return an atmosphere whose ambient state is a sounding.

        Parameters
        ----------
        heights : (n,), m
        theta : (n,), K
            Potential temperature; virtual potential temperature for moist air.
        u, v : (n,), m/s
            Ambient wind; 0 by default.
        equations : {"anelastic", "boussinesq"}
        reference : {"isentropic", "sounding"}
            theta_b of the anelastic equations: the lowest theta of the sounding at all heights, or the sounding.
        surface_pressure : float, Pa
            Pressure at z = 0.
        """
        ambient = TableProfile(heights, theta, "theta")
        check_plausible("potential_temperature", ambient.values, "theta")
        _refuse_temperature(ambient)
        for name, values in (("u", u), ("v", v)):
            check_plausible("wind", 0.0 if values is None else values, name)
        wind: list[Profile] = [
            ZERO_PROFILE if one is None else TableProfile(heights, one, name) for name, one in (("u", u), ("v", v))
        ]
        pair = (wind[0], wind[1])
        ground, g, _ = _checked(float(ambient.values[0]), gravity, 0.0)
        if one_of("equations", equations, EQUATIONS[1:]) == "boussinesq":
            return Atmosphere("boussinesq", ExponentialProfile(1.0), ExponentialProfile(ground), ambient, pair, g)
        isentropic = one_of("reference", reference, ("isentropic", "sounding")) == "isentropic"
        base: Profile = ExponentialProfile(ground) if isentropic else ambient
        pressure = plausible_number("surface_pressure", surface_pressure, "surface_pressure")
        return Atmosphere("anelastic", Density(base, pressure, g), base, ambient, pair, g)


def _refuse_temperature(profile: TableProfile) -> None:
    """Raise `InputError` for a lapse rate above 4 K/km, which indicates temperature, not potential temperature."""
    last = int(np.searchsorted(profile.heights, profile.heights[0] + TROPOSPHERE, "right")) - 1
    rise, height = profile.values[last] - profile.values[0], profile.heights[last] - profile.heights[0]
    if height >= 1000.0 and rise < MAX_FALL * height:
        raise InputError(
            f"theta from {profile.values[0]:g} K at {profile.heights[0]:g} m to {profile.values[last]:g} K at "
            f"{profile.heights[last]:g} m",
            allowed=f"potential temperatures whose mean slope is above {1e3 * MAX_FALL:g} K/km",
            fix="theta = temperature * (1e5 / pressure) ** (287.0 / 1004.0)",
            problem="The column theta holds temperature, not potential temperature.",
        )


def checked_atmosphere(atmosphere: Atmosphere | None) -> Atmosphere:
    """Return `atmosphere`, or an incompressible one by default."""
    return of_type("atmosphere", atmosphere or Atmosphere.incompressible(), Atmosphere, FIX)


def check_height(atmosphere: Atmosphere, height: float, periodic: bool = False) -> None:
    """Raise `InputError` for a top, m, above the profiles or the atmosphere, or a density that is not periodic."""
    check_tops(atmosphere.profiles, height)
    density = atmosphere.density
    if periodic and float(np.ptp(density(np.array([0.0, height])))) > 0.0:
        raise InputError(
            "a periodic z with a density that decreases with height", allowed="walls along z, or boussinesq equations",
            fix='equations = "boussinesq"', problem="The density is not periodic in z.",
        )  # fmt: skip
    if isinstance(density, Density) and float(np.min(density.exner(np.array(height)))) <= 0.0:
        theta = float(density.theta(np.zeros(())))
        max_height = 0.9 * DRY_AIR_HEAT_CAPACITY / density.gravity * theta
        fix = f"top_height = {max_height:.3g}, or a reference_frequency above 0"
        raise InputError(
            f"a domain height of {height:g} m for theta = {theta:g} K",
            allowed="a top below the end of the reference atmosphere", fix=fix,
            problem="The domain top is above the end of the reference atmosphere.",
        )  # fmt: skip


def _checked(theta: float, gravity: float, frequency: float) -> tuple[float, float, float]:
    return (
        plausible_number("potential_temperature", theta, "theta"),
        checked_number("gravity", gravity, 1e-6, 1e6),
        plausible_number("buoyancy_frequency", frequency, "buoyancy_frequency"),
    )


def _wind(wind: tuple[float | Profile, float | Profile]) -> tuple[Profile, Profile]:
    u, v = wind
    return _component(u), _component(v)


def _component(wind: float | Profile) -> Profile:
    return ExponentialProfile(plausible_number("wind", wind, "wind")) if isinstance(wind, (int, float)) else wind
