"""Linear (Airy) waves and their sums."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import GRAVITY, WATER_DENSITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, number, positive
from eagre.waves.dispersion import small_wave_number, wave_number
from eagre.waves.steady import Array, Field, Profile, RegularWave, highest_wave, too_high


class AiryWave(RegularWave):
    """Linear wave: first order in the wave height.

    Parameters
    ----------
    height : float, m
        Wave height from crest to trough, H = 2 a.
    depth : float, m
        Water depth, or ``math.inf``.
    length, period : float, m or s
        Exactly one of the two.
    eulerian_current : float, m/s
        Uniform current, positive in the wave direction; (omega - k U)^2 = g k tanh(k h).
    gravity : float, m s-2
    direction, phase : float, rad
        See `RegularWave`.

    Raises
    ------
    InputError
        If the wave is higher than the highest steady wave, or an opposing current blocks it.

    Notes
    -----
    G. B. Airy (1845); R. G. Dean and R. A. Dalrymple (1991), doi:10.1142/1232, section 3.4. Above z = 0
    velocities follow from the formulas, which grow with z; pressures are linear in the height. The surface conditions
    are satisfied up to an error of second order in the height.
    """

    def __init__(
        self, height: float, depth: float, *, length: float | None = None, period: float | None = None,
        eulerian_current: float = 0.0, gravity: float = GRAVITY, direction: float = 0.0, phase: float = 0.0,
    ) -> None:  # fmt: skip
        height, depth = positive("height", height, "m"), positive("depth", depth, "m", infinite=True)
        gravity, current = positive("gravity", gravity, "m s-2", GRAVITY), number("eulerian_current", eulerian_current)
        if exactly_one({"length": length, "period": period}, "length = 10.0, or period = 2.5") == "length":
            k = 2.0 * math.pi / positive("length", length, "m")
        else:
            k = small_wave_number(positive("period", period, "s"), depth, gravity, current)
        if height > highest_wave(2.0 * math.pi / k, depth):
            raise too_high(height, 2.0 * math.pi / k, depth)
        speed, a = math.sqrt(math.tanh(k * depth)), 0.5 * k * height
        profile = Profile(np.array([a]), np.array([a / speed]), speed, 0.5 * a * a / speed, 0.5 * speed * speed)
        super().__init__(
            profile, height=height, depth=depth, gravity=gravity, wave_number=k,
            eulerian_current=current, direction=direction, phase=phase,
        )  # fmt: skip

    def surface_potential(self, x: Field, y: Field, t: Field, at: str = "still water") -> Array:
        """Return the surface potential, m2/s, evaluated at z = 0, or at z = eta with ``at="surface"``."""
        level = surface_level(at, lambda: self.elevation(x, y, t))
        return self.potential(x, y, level, t)

    def dynamic_pressure(self, x: Field, y: Field, z: Field, t: Field, density: float = WATER_DENSITY) -> Array:
        """Return the dynamic pressure to first order, Pa: rho g a cosh k(z + h) / cosh k h cos(theta)."""
        even, _ = self._sums(1, x, y, z, t)
        return density * (self.celerity - self.eulerian_current) * even.real


def surface_level(level_name: str, elevation: Callable[[], Array]) -> Array | float:
    """Return the level, m, at which a linear potential is evaluated, by name."""
    if level_name not in ("still water", "surface"):
        allowed = '"still water" (z = 0) or "surface" (z = eta)'
        raise InputError(f"at = {level_name!r}", allowed=allowed, fix='at = "surface"')
    return elevation() if level_name == "surface" else 0.0


STRETCHINGS = ("wheeler", "constant", "none")
_BLOCK = 1 << 18  # values per block


class LinearWaves:
    """Sum of first-order (linear) waves, each with a frequency and a direction.

    eta = sum a cos(k (x cos d + y sin d) - omega t + phase). Positions, times and levels broadcast together.

    Parameters
    ----------
    amplitude : (n,) array, m
        Amplitudes of the waves.
    angular_frequency : (n,) array, rad/s
        Angular frequencies, > 0.
    direction : (n,) array or float, rad
        Directions of travel, from the x axis towards the y axis.
    phase : (n,) array or float, rad
        Phases at x = y = t = 0.
    depth : float, m
        Water depth, or ``math.inf``.
    gravity : float, m s-2
        Acceleration of gravity.
    stretching : str
        Level z' at which velocities are evaluated: ``"wheeler"``, z' = (z - eta) h / (h + eta) (J. D. Wheeler (1970),
        doi:10.2118/2712-PA); ``"constant"``, z' = min(z, 0); ``"none"``, z' = z, where velocities of high frequencies
        grow strongly above z = 0.

    Attributes
    ----------
    wave_number : (n,) array, rad/m
    variance : float, m2
        Variance m0 of the elevation.
    significant_height : float, m
        4 sqrt(m0).
    energy_fraction : float
        Fraction of the variance of the spectrum or record that lies in the band of the components; 1 without a band.
    """

    energy_fraction = 1.0

    def __init__(
        self, *, amplitude: Field, angular_frequency: Field, direction: Field = 0.0, phase: Field = 0.0,
        depth: float, gravity: float = GRAVITY, stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        self.depth = positive("depth", depth, "m", infinite=True)
        self.gravity = positive("gravity", gravity, "m s-2", GRAVITY)
        inputs = {"amplitude": amplitude, "angular_frequency": angular_frequency}
        inputs |= {"direction": direction, "phase": phase}
        arrays = {name: array_copy(name, value) for name, value in inputs.items()}
        try:
            shaped = np.broadcast_arrays(*(np.atleast_1d(array) for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise InputError(
                f"arrays of the shapes {shapes}", allowed="one number per wave, (n,), or one number for all waves"
            ) from None
        bad = [
            name for name, array in zip(arrays, shaped, strict=True) if array.ndim != 1 or not np.isfinite(array).all()
        ]
        if bad or (shaped[1] <= 0.0).any():
            what = bad[0] if bad else "angular_frequency"
            raise InputError(f"{what} = {inputs[what]!r}", allowed="finite numbers, (n,); frequencies > 0")
        if stretching not in STRETCHINGS:
            raise InputError(
                f"stretching = {stretching!r}", allowed=", ".join(STRETCHINGS), fix='stretching = "wheeler"'
            )
        self.amplitude, self.angular_frequency, self.direction, self.phase = (array.copy() for array in shaped)
        self.stretching = stretching
        self.wave_number = wave_number(self.angular_frequency, self.depth, self.gravity)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.amplitude.size} waves, Hs = {self.significant_height:.4g} m)"

    @property
    def variance(self) -> float:
        """Variance of the elevation, m2."""
        return 0.5 * float(self.amplitude @ self.amplitude)

    @property
    def significant_height(self) -> float:
        """4 sqrt(m0), m."""
        return 4.0 * math.sqrt(self.variance)

    # -- the surface --------------------------------------------------------------------------------

    def elevation(self, x: Field, y: Field, t: Field) -> Array:
        """Return the surface elevation, m, at positions, m, and times, s."""
        return self._sums(x, y, None, t, (self.amplitude, "one", "cos"))[0]

    def surface_potential(self, x: Field, y: Field, t: Field, at: str = "still water") -> Array:
        """Return the surface potential, m2/s, evaluated at z = 0, or at z = eta with ``at="surface"``."""
        level = surface_level(at, lambda: self.elevation(x, y, t))
        if at == "surface":
            return self.potential(x, y, level, t)
        return self._sums(x, y, None, t, (self.amplitude * self.gravity / self.angular_frequency, "one", "sin"))[0]

    # -- below it -----------------------------------------------------------------------------------

    def potential(self, x: Field, y: Field, z: Field, t: Field) -> Array:
        """Return the velocity potential, m2/s, without stretching."""
        weights = self.amplitude * self.gravity / self.angular_frequency
        return self._sums(x, y, np.asarray(z, np.float64), t, (weights, "cosh", "sin"))[0]

    def velocity(self, x: Field, y: Field, z: Field, t: Field) -> tuple[Array, Array, Array]:
        """Return the velocity (u, v, w), m/s, along x, y and z (upward, 0 at the still-water level)."""
        weights = self.amplitude * self.gravity * self.wave_number / self.angular_frequency
        return self._flow(weights, "cos", "sin", x, y, z, t)

    def acceleration(self, x: Field, y: Field, z: Field, t: Field) -> tuple[Array, Array, Array]:
        """Return the acceleration d(u, v, w)/dt, m s-2; to first order equal to the material acceleration."""
        u, v, w = self._flow(self.amplitude * self.gravity * self.wave_number, "sin", "cos", x, y, z, t)
        return u, v, -w

    def dynamic_pressure(self, x: Field, y: Field, z: Field, t: Field, density: float = WATER_DENSITY) -> Array:
        """Return the dynamic pressure to first order, Pa: rho g sum a cosh k(z + h) / cosh k h cos(theta)."""
        weights = density * self.gravity * self.amplitude
        return self._sums(x, y, self._level(x, y, z, t), t, (weights, "cosh", "cos"))[0]

    # -- sums ---------------------------------------------------------------------------------------

    def _flow(
        self, weights: Array, level: str, upward: str, x: Field, y: Field, z: Field, t: Field
    ) -> tuple[Array, Array, Array]:
        """Return the sums for x, y (with cosh) and z (with sinh); `level` and `upward` are cos or sin."""
        d, z_level = self.direction, self._level(x, y, z, t)
        u, v, w = self._sums(
            x, y, z_level, t, (weights * np.cos(d), "cosh", level), (weights * np.sin(d), "cosh", level),
            (weights, "sinh", upward),
        )  # fmt: skip
        return u, v, w

    def _level(self, x: Field, y: Field, z: Field, t: Field) -> Array:
        """Return the level z' at which the formulas are evaluated."""
        z = np.asarray(z, np.float64)
        if self.stretching == "constant":
            return np.minimum(z, 0.0)
        if self.stretching == "none":
            return z
        eta = self.elevation(x, y, t)
        return (z - eta) if math.isinf(self.depth) else (z - eta) * (self.depth / (self.depth + eta))

    def _sums(
        self, x: Field, y: Field, z: Array | float | None, t: Field, *terms: tuple[Array, str, str]
    ) -> list[Array]:
        """Return sums of weights times 1, cosh k(z + h) / cosh k h or sinh k(z + h) / cosh k h, times cos or sin."""
        arrays = [np.asarray(value, np.float64) for value in ((x, y, t) if z is None else (x, y, t, z))]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        flat = [np.broadcast_to(array, shape).reshape(-1, 1) for array in arrays]
        k_x, k_y = self.wave_number * np.cos(self.direction), self.wave_number * np.sin(self.direction)
        out = [np.zeros(flat[0].size) for _ in terms]
        trigs = {name: getattr(np, name) for name in {term[2] for term in terms}}
        points = max(1, _BLOCK // k_x.size)
        for start in range(0, flat[0].size, points):
            chunk = slice(start, start + points)
            theta = flat[0][chunk] * k_x + flat[1][chunk] * k_y - flat[2][chunk] * self.angular_frequency + self.phase
            turning = {name: trig(theta) for name, trig in trigs.items()}
            profiles = {"one": 1.0} if z is None else self._profiles(flat[3][chunk])
            for total, (weights, profile, trig) in zip(out, terms, strict=True):
                total[chunk] = (turning[trig] * profiles[profile]) @ weights
        return [total.reshape(shape) for total in out]

    def _profiles(self, z: Array) -> dict[str, Array]:
        """Return cosh k(z + h) / cosh k h and sinh k(z + h) / cosh k h without overflow in deep water."""
        k = self.wave_number
        down = np.exp(k * z)
        if math.isinf(self.depth):
            return {"cosh": down, "sinh": down}
        up, scale = np.exp(-k * (z + 2.0 * self.depth)), 1.0 + np.exp(-2.0 * k * self.depth)
        return {"cosh": (down + up) / scale, "sinh": (down - up) / scale}
