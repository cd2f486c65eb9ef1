"""Waves of permanent form: kinematics and pressure from the Fourier coefficients of any theory; the highest wave."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from eagre.constants import WATER_DENSITY
from eagre.errors import InputError
from eagre.waves.checked import number

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
Field = npt.ArrayLike
_MOST_LEVELS = 40
_ABOVE = (0.0077829, 0.0095721, 0.141063, 0.0)
_BELOW = (0.0093407, 0.0317567, 0.0788340, 1.0)
_LEAST_STEEPNESS = 1e-6


class Profile(NamedTuple):
    """Steady wave in the co-moving frame, in units of 1/k, sqrt(g/k) and sqrt(g/k^3).

    The mean speed of the flow against the wave is `mean_speed` at every level below the trough.

    Parameters
    ----------
    elevation : (N,) array
        E_j of eta = sum E_j cos(j theta), j = 1 .. N.
    potential : (N,) array
        B_j of phi = -mean_speed X + sum B_j cosh(j (z + h)) / cosh(j h) sin(j theta).
    mean_speed : float
        Mean speed of the flow in this frame.
    transport : float
        Volume flux through a fixed section for zero mean Eulerian velocity, positive in the wave direction.
    bernoulli : float
        q^2 / 2 + eta at the surface, with the speed q and eta relative to the mean level.
    """

    elevation: Array
    potential: Array
    mean_speed: float
    transport: float
    bernoulli: float


class RegularWave:
    """Periodic wave of permanent form; base class of all theories of regular waves.

    The wave travels in the direction `direction` (radians from the x axis towards the y axis). With
    X = x cos(direction) + y sin(direction) and theta = k X - omega t + phase, crests are at theta = 0, 2 pi .. z is
    upward, z = -depth is the bed and z = 0 the mean water level (except for `over_still_water`). Positions, times and
    levels broadcast together.

    Attributes
    ----------
    height, length, period, depth : float
        Height H from crest to trough, m; length L, m; period T, s; depth h of the bed below z = 0, m, or infinite.
    mean_level : float
        Mean elevation, m: 0, or the set-down of a wave created by `over_still_water`.
    wave_number, angular_frequency, celerity : float
        Wave number k, rad/m; angular frequency omega, rad/s; celerity c = L / T in the fixed frame, m/s.
    eulerian_current, stokes_current : float
        Mean velocities, m/s, positive in the wave direction: the time mean at a fixed point below the troughs, and the
        volume flux through a fixed section divided by the depth (c_E and c_S of Fenton (1988),
        doi:10.1016/0098-3004(88)90066-0).
    stokes_transport : float
        Volume flux due to the wave, m2/s: (stokes_current - eulerian_current) depth.
    bernoulli_constant : float
        q^2 / 2 + g eta at the surface in the co-moving frame, m2/s2; R of Fenton (1988) is this plus g depth.
    potential_rate : float
        Uniform rate K of the potential, m2/s2.
    elevation_coefficients, potential_coefficients : (N,) arrays
        E_j, m, and B_j, m2/s, of eta = mean_level + sum E_j cos(j theta) and
        phi = eulerian_current X + K t + sum B_j cosh(j k (z + depth)) / cosh(j k (depth + mean_level)) sin(j theta).

    Notes
    -----
    The potential satisfies phi_t + |grad phi|^2 / 2 + g eta = 0 at the surface, without a constant. It therefore has a
    uniform rate K, minus half the mean squared velocity at the bed (0 in infinite depth without a current). In a model
    with a Bernoulli constant in its surface condition, subtract ``potential_rate * t``. For a model that starts from
    still water use `over_still_water`, whose rate is 0.
    """

    height: float
    length: float
    period: float

    def __init__(
        self, profile: Profile, *, height: float, depth: float, gravity: float, wave_number: float,
        eulerian_current: float, direction: float, phase: float,
    ) -> None:  # fmt: skip
        self.direction, self.phase = number("direction", direction, "rad"), number("phase", phase, "rad")
        self.height, self.depth, self.gravity, self.wave_number = height, depth, gravity, wave_number
        self.mean_level = 0.0
        self.profile = profile
        speed = math.sqrt(gravity / wave_number)
        self.length = 2.0 * math.pi / wave_number
        self.eulerian_current = eulerian_current
        self.celerity = profile.mean_speed * speed + eulerian_current
        if not self.celerity > 0.0:
            raise InputError(
                f"a current of {eulerian_current:.4g} m/s against a wave of {self.length:.4g} m",
                allowed=f"currents above {-profile.mean_speed * speed:.4g} m/s",
                fix="the opposite direction, or a period",
                problem="The current carries the wave backwards.",
            )  # fmt: skip
        self.angular_frequency = wave_number * self.celerity
        self.period = 2.0 * math.pi / self.angular_frequency
        self.stokes_transport = profile.transport * speed / wave_number
        self.stokes_current = eulerian_current + self.stokes_transport / depth
        self.bernoulli_constant = profile.bernoulli * speed**2
        self.potential_rate = 0.5 * ((profile.mean_speed * speed) ** 2 - eulerian_current**2) - self.bernoulli_constant
        self.elevation_coefficients = profile.elevation / wave_number
        self.potential_coefficients = profile.potential * speed / wave_number
        self._cosines = math.cos(self.direction), math.sin(self.direction)

    @classmethod
    def over_still_water(cls, height: float, depth: float, **options: Any) -> Self:
        """Return the wave adjacent to still water with its surface at z = 0; its potential has no uniform rate.

        Its mean level is lower by the set-down, so that the mean pressure at the bed less half the mean square of the
        velocity there is that of the still water (M. S. Longuet-Higgins and R. W. Stewart (1962),
        doi:10.1017/S0022112062000877). Arguments are those of the class; `depth` is the still-water depth.
        """
        make = cast("Callable[..., Self]", cls)  # every theory takes height and depth first
        level = 0.0
        for _ in range(_MOST_LEVELS):
            wave = make(height, depth + level, **options)
            last, level = level, wave.potential_rate / wave.gravity
            if abs(level - last) < 1e-15 * wave.height:
                break
        return wave._moved(level)

    def _moved(self, level: float) -> Self:
        """Return a copy of the wave with its mean level at z = `level`, m."""
        other = copy.copy(self)
        other.mean_level, other.depth = level, self.depth - level
        other.bernoulli_constant = self.bernoulli_constant + self.gravity * level
        other.potential_rate = self.potential_rate - self.gravity * level
        return other

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(height={self.height:g}, length={self.length:g}, period={self.period:g}, "
            f"depth={self.depth:g}, celerity={self.celerity:g})"
        )

    # -- the surface --------------------------------------------------------------------------------

    def elevation(self, x: Field, y: Field, t: Field) -> Array:
        """Return the surface elevation eta, m, at positions, m, and times, s."""
        return self.mean_level + _polynomial(self.elevation_coefficients, np.exp(1j * self._theta(x, y, t))).real

    def surface_potential(self, x: Field, y: Field, t: Field) -> Array:
        """Return the surface potential phi~ = phi(x, y, eta, t), m2/s (see the notes of `RegularWave`)."""
        return self.potential(x, y, self.elevation(x, y, t), t)

    @property
    def crest(self) -> float:
        """Highest elevation, m."""
        return self.mean_level + float(self.elevation_coefficients.sum())

    @property
    def trough(self) -> float:
        """Lowest elevation, m, below 0."""
        signs = (-1.0) ** np.arange(1, self.elevation_coefficients.size + 1)
        return self.mean_level + float(self.elevation_coefficients @ signs)

    # -- below it -----------------------------------------------------------------------------------

    def potential(self, x: Field, y: Field, z: Field, t: Field) -> Array:
        """Return the velocity potential phi, m2/s, at positions and levels, m, and times, s."""
        along, sums = self._along(x, y), self._sums(0, x, y, z, t)
        return self.eulerian_current * along + self.potential_rate * np.asarray(t) + sums[0].imag

    def velocity(self, x: Field, y: Field, z: Field, t: Field) -> tuple[Array, Array, Array]:
        """Return the velocity (u, v, w), m/s; above the surface it is extrapolated by the same formulas."""
        even, odd = self._sums(1, x, y, z, t)
        return self._components(self.eulerian_current + even.real, odd.imag)

    def acceleration(self, x: Field, y: Field, z: Field, t: Field) -> tuple[Array, Array, Array]:
        """Return the local acceleration d(u, v, w)/dt at fixed points, m s-2."""
        even, odd = self._sums(2, x, y, z, t)
        return self._components(self.celerity * even.imag, -self.celerity * odd.real)

    def material_acceleration(self, x: Field, y: Field, z: Field, t: Field) -> tuple[Array, Array, Array]:
        """Return the material acceleration D(u, v, w)/Dt, m s-2."""
        even, odd = self._sums(1, x, y, z, t)
        relative, w = self.eulerian_current + even.real - self.celerity, odd.imag
        even, odd = self._sums(2, x, y, z, t)
        return self._components(-relative * even.imag + w * odd.real, relative * odd.real + w * even.imag)

    def dynamic_pressure(self, x: Field, y: Field, z: Field, t: Field, density: float = WATER_DENSITY) -> Array:
        """Return the dynamic pressure p + rho g z, Pa; rho g eta at the surface.

        Bernoulli's equation: -rho (phi_t + |grad phi|^2 / 2).
        """
        even, odd = self._sums(1, x, y, z, t)
        relative = self.eulerian_current + even.real - self.celerity
        return density * (self.bernoulli_constant - 0.5 * (relative**2 + odd.imag**2))

    # -- means --------------------------------------------------------------------------------------

    def kinetic_energy(self, density: float = WATER_DENSITY) -> float:
        """Return the mean kinetic energy of the wave per surface area, J m-2, for zero current.

        rho (c - current) transport / 2: M. S. Longuet-Higgins (1975), doi:10.1098/rspa.1975.0018, equation 2.8.
        """
        return 0.5 * density * (self.celerity - self.eulerian_current) * self.stokes_transport

    def potential_energy(self, density: float = WATER_DENSITY) -> float:
        """Return the mean potential energy per surface area, J m-2: rho g mean(eta^2) / 2."""
        return 0.25 * density * self.gravity * float(self.elevation_coefficients @ self.elevation_coefficients)

    # -- sums ---------------------------------------------------------------------------------------

    def _along(self, x: Field, y: Field) -> Array:
        return self._cosines[0] * np.asarray(x, np.float64) + self._cosines[1] * np.asarray(y, np.float64)

    def _theta(self, x: Field, y: Field, t: Field) -> Array:
        return self.wave_number * self._along(x, y) - self.angular_frequency * np.asarray(t, np.float64) + self.phase

    def _components(self, along: Array, w: Array) -> tuple[Array, Array, Array]:
        return self._cosines[0] * along, self._cosines[1] * along, w

    def _sums(self, power: int, x: Field, y: Field, z: Field, t: Field) -> tuple[Complex, Complex]:
        """Return sums over j of (j k)^power B_j exp(i j theta) times cosh(j k (z+h)) / cosh(j k h), and sinh / cosh.

        Horner's rule in exp(k z + i theta) and exp(-k (z + 2 h) + i theta) needs two exponentials per point and does
        not overflow in deep water.
        """
        k, j = self.wave_number, np.arange(1, self.potential_coefficients.size + 1)
        water = self.depth + self.mean_level
        weights = (j * k) ** power * self.potential_coefficients / (1.0 + np.exp(-2.0 * j * k * water))
        theta, kz = self._theta(x, y, t), k * (np.asarray(z, np.float64) - self.mean_level)
        down = _polynomial(weights, np.exp(kz + 1j * theta))
        if math.isinf(self.depth):
            return down, down
        up = _polynomial(weights, np.exp(-kz - 2.0 * k * water + 1j * theta))
        return down + up, down - up


def _polynomial(coefficients: Array, z: Complex) -> Complex:
    """Return the sum of c_j z^j from j = 1, by Horner's rule."""
    total = np.zeros_like(z)
    for c in coefficients[::-1]:
        total = (total + c) * z
    return total


def highest_wave(length: float, depth: float) -> float:
    """Return the height, m, of the highest steady wave of a length, m, in a depth, m (``math.inf``: 0.141063 length).

    J. D. Fenton (1990), Nonlinear wave theories, in The Sea 9A, equation 32: a fit of the results of
    J. M. Williams (1981), doi:10.1098/rsta.1981.0159. Real waves break earlier.
    """
    if math.isinf(depth):
        return _ABOVE[2] * length
    ratio = length / depth
    return depth * float(np.polyval(_ABOVE, ratio) / np.polyval(_BELOW, ratio))


def check_height(height: float, length: float, depth: float) -> None:
    """Reject a wave above `highest_wave`; arguments in m."""
    highest = highest_wave(length, depth)
    if height > highest:
        raise too_high(height, length, depth)


def check_steepness(height: float, length: float) -> None:
    """Reject a wave so low that rounding errors dominate the nonlinear equations; arguments in m."""
    if height < _LEAST_STEEPNESS * length:
        raise InputError(
            f"a wave with H/L = {height / length:.3g}", allowed=f"at least {_LEAST_STEEPNESS:g} for this theory",
            fix="AiryWave(...)",
        )  # fmt: skip


def too_high(height: float, length: float, depth: float, reached: float = 0.0) -> InputError:
    """Return the error for a wave above the highest one, or so close to it that the solver failed.

    reached : largest height, m, with a solution; 0 if unknown.
    """
    highest = highest_wave(length, depth)
    relative = "" if math.isinf(depth) else f", H/h = {height / depth:.4f} (limit {highest / depth:.4f})"
    what = f"a wave of height {height:g} m and length {length:.6g} m in {depth:g} m of water: "
    if height < 0.9 * highest and length > 50.0 * depth:
        return InputError(
            f"{what}L/h = {length / depth:.4g}{relative}", allowed="waves up to about 100 depths long",
            fix=f"length = {50.0 * depth:g}",
        )  # fmt: skip
    hint = f"; solutions were found up to H = {reached:.4g} m" if 0.0 < reached < highest else ""
    return InputError(
        f"{what}H/L = {height / length:.5f} (limit {highest / length:.5f}){relative}{hint}",
        allowed="waves below the highest one (Fenton 1990)",
        fix=f"height = {0.95 * min(highest, reached or highest):.3g}",
    )
