"""Fast evaluation of waves at fixed points, such as the points of a wave-generation zone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.waves.linear import LinearWaves
from eagre.waves.steady import Array, Complex, Field, RegularWave

MAX_TABLE_BYTES = 4 * 2**30
"""Maximum size of a table of points and waves, bytes."""
NEGLIGIBLE = 1e-13
"""Harmonics below this fraction of the largest one are omitted."""
MAX_SAMPLES = 4096
"""Maximum number of points per wave length for the harmonics; reached only for nearly limiting waves."""


class Harmonics(NamedTuple):
    """Harmonics of elevation and potential: real parts of sums of weights exp(i (k . x - omega t + phase)).

    wave_number_x, wave_number_y, phase, angular_frequency : (n,), rad/m, rad, rad/s; weights : (n, 2), m and m2/s;
    level : m; drift_x, drift_y : of the potential, m/s; rate : m2/s2.
    """

    wave_number_x: Array
    wave_number_y: Array
    phase: Array
    angular_frequency: Array
    weights: Complex
    level: float = 0.0
    drift_x: float = 0.0
    drift_y: float = 0.0
    rate: float = 0.0


class FixedPoints:
    """Surface elevation and potential at fixed points for many times, computed from tables.

    Parameters
    ----------
    waves : LinearWaves or RegularWave
    x, y : arrays, m
        Positions of the points; broadcast together.

    Raises
    ------
    InputError
        If the table, 16 bytes per point and wave (or harmonic), exceeds 4 GiB.

    Notes
    -----
    The table holds exp(i (k . x + phase)); each time costs one product of the table with two vectors. For use on a GPU,
    `table`, (points, n), `weights`, (n, 2), and ``angular_frequency`` define a sum of linear waves completely.
    Elevation and surface potential of a regular wave both travel with the wave, so they are such sums too.
    """

    def __init__(self, waves: LinearWaves | RegularWave, x: Field, y: Field) -> None:
        points_x, points_y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        self.waves, self.shape = waves, points_x.shape
        components = from_regular(waves) if isinstance(waves, RegularWave) else from_linear(waves)
        count = components.phase.size
        if 16 * points_x.size * count > MAX_TABLE_BYTES:
            raise InputError(
                f"{points_x.size} points and {count} waves", allowed=f"{MAX_TABLE_BYTES // 16:.3g} points times waves",
                fix=f"count = {max(1, MAX_TABLE_BYTES // 16 // points_x.size)}",
            )  # fmt: skip
        x_column, y_column = points_x.reshape(-1, 1), points_y.reshape(-1, 1)
        angle = x_column * components.wave_number_x + y_column * components.wave_number_y + components.phase
        self.table = np.exp(1j * angle)
        self.weights, self.angular_frequency = components.weights, components.angular_frequency
        self._level, self._rate = components.level, components.rate
        self._drift = components.drift_x * points_x + components.drift_y * points_y

    def surface(self, t: float) -> tuple[Array, Array]:
        """Return elevation, m, and potential, m2/s, at a time, s, with the shape of the points.

        The potential is evaluated at z = 0 for linear waves, and at the surface for a regular wave.
        """
        phased_weights = self.weights * np.exp(-1j * self.angular_frequency * float(t))[:, None]
        both = (self.table @ phased_weights).real
        elevation, potential = both[:, 0].reshape(self.shape), both[:, 1].reshape(self.shape)
        return elevation + self._level, potential + (self._drift + self._rate * float(t))


def from_linear(waves: LinearWaves) -> Harmonics:
    """Return the harmonics of a sum of linear waves."""
    k_x, k_y = waves.wave_number * np.cos(waves.direction), waves.wave_number * np.sin(waves.direction)
    # The potential is an imaginary part; a factor -i makes it a real part like the elevation.
    potential = -1j * waves.amplitude * waves.gravity / waves.angular_frequency
    weights = np.column_stack([waves.amplitude.astype(np.complex128), potential])
    return Harmonics(k_x, k_y, np.broadcast_to(waves.phase, k_x.shape), waves.angular_frequency, weights)


def from_regular(wave: RegularWave) -> Harmonics:
    """Return the harmonics of elevation and surface potential of a regular wave, without the drift of the current."""
    along_x, along_y = np.cos(wave.direction), np.sin(wave.direction)
    points = 64
    while True:
        along = (2.0 * np.pi / points * np.arange(points) - wave.phase) / wave.wave_number
        positions = along_x * along, along_y * along, 0.0
        eta = wave.elevation(*positions) - wave.mean_level
        phi = wave.surface_potential(*positions) - wave.eulerian_current * along
        weights = 2.0 / points * np.fft.rfft(np.stack([eta, phi], axis=1), axis=0)[1 : points // 2]
        relative = np.abs(weights) / np.abs(weights).max(axis=0, initial=np.finfo(float).tiny)
        count = int(np.nonzero((relative > NEGLIGIBLE).any(axis=1))[0].max(initial=0)) + 1
        if count <= points // 4 or points >= MAX_SAMPLES:
            break
        points *= 2
    number = np.arange(1.0, count + 1.0).astype(np.float64)
    k, current = number * wave.wave_number, wave.eulerian_current
    return Harmonics(
        along_x * k, along_y * k, number * float(wave.phase), number * float(wave.angular_frequency), weights[:count],
        wave.mean_level, along_x * current, along_y * current, wave.potential_rate,
    )  # fmt: skip
