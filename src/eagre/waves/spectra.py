"""Frequency spectra of waves, directional spreading of their energy, and conversion of directions."""

from __future__ import annotations

import math
import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, positive
from eagre.waves.dispersion import wave_number
from eagre.waves.steady import Array, Field

_RADIANS = 2.0 * math.pi  # per cycle
_FREQUENCIES = {
    "Hz": 1.0, "mHz": 1e-3, "kHz": 1e3, "1/s": 1.0, "s-1": 1.0, "rad/s": 1.0 / _RADIANS, "rads-1": 1.0 / _RADIANS,
}  # fmt: skip
"""Factors to Hz, by unit without blanks."""
_LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "ft": 0.3048}
_PER_FREQUENCY = {
    "/Hz": 1.0, "Hz-1": 1.0, "/mHz": 1e3, "/kHz": 1e-3,
    **dict.fromkeys(("/(rad/s)", "s/rad", "srad-1", "/rads", "rad-1s"), _RADIANS),
}  # fmt: skip
_DENSITIES = {
    f"{length}2{per}": metres**2 * factor
    for length, metres in _LENGTHS.items()
    for per, factor in _PER_FREQUENCY.items()
}
"""Factors to m2/Hz, by unit without blanks."""
_BRACKETS = re.compile(r".*?[(\[](.*)[)\]]\s*")
_SUPERSCRIPTS = str.maketrans("\u00b2\u207b\u00b9", "2-1")
HEADER = "f (Hz),S (m2/Hz)"
_ANGLES = np.linspace(-np.pi, np.pi, 7201)


def frequency_factor(column: str, path: Path) -> float:
    """Return the factor from the unit in the name of a frequency column to Hz."""
    return _factor(column, path, _FREQUENCIES, "Hz, mHz, kHz, 1/s or rad/s")


def density_factor(column: str, path: Path, frequency: float) -> float:
    """Return the factor from the unit in the name of a density column to m2/Hz.

    `frequency` is the factor of the frequency column: m2 s is per rad/s if frequencies are in rad/s, else per Hz.
    """
    seconds = _RADIANS if frequency == _FREQUENCIES["rad/s"] else 1.0
    factors = _DENSITIES | {f"{length}2s": metres**2 * seconds for length, metres in _LENGTHS.items()}
    return _factor(column, path, factors, "m2/Hz, m2 s, m2 s/rad or m2/(rad/s), also with cm, mm or ft")


def _factor(column: str, path: Path, factors: dict[str, float], allowed: str) -> float:
    match = _BRACKETS.fullmatch(column)
    written = match[1].strip() if match else ""
    unit = re.sub(r"[\s^*.\u00b7]", "", written.translate(_SUPERSCRIPTS))
    if unit in factors:
        return factors[unit]
    what = f"the unit {written!r} of the column {column!r}" if written else f"the column {column!r} without a unit"
    raise InputError(
        f"{path}: {what}", allowed=f"{allowed}, in brackets in the header", fix=HEADER,
        problem="The table of a spectrum needs the units of frequency and density in its header.",
    )  # fmt: skip


_SHAPE = np.geomspace(0.2, 30.0, 8001)  # f / f_p at which shapes are integrated; f^-5 beyond


class Spectrum(ABC):
    """Variance density spectrum of the surface elevation."""

    @abstractmethod
    def density(self, frequency: Field) -> Array:
        """Return the density S, m2/Hz, at frequencies, Hz; 0 outside `band` for tabulated spectra."""

    @property
    @abstractmethod
    def band(self) -> tuple[float, float]:
        """Default frequency band of a sea with this spectrum, Hz."""

    @property
    def variance(self) -> float:
        """Variance m0 of the whole spectrum, m2."""
        return self.moment(0)

    def table(self, band: tuple[float, float] | None = None, count: int = 20001) -> tuple[Array, Array]:
        """Return frequencies, Hz, and densities, m2/Hz, over a band, for integration."""
        low, high = self.band if band is None else band
        frequency = np.linspace(low, high, count)
        return frequency, self.density(frequency)

    def moment(self, order: int, band: tuple[float, float] | None = None) -> float:
        """Return the moment of f^order S, m2 Hz^order, over a band, Hz."""
        frequency, density = self.table(band)
        return float(np.trapezoid(frequency**order * density, frequency))


@dataclass(frozen=True)
class Jonswap(Spectrum):
    """JONSWAP spectrum of a growing sea, scaled to a significant wave height.

    S = scale f^-5 exp(-1.25 (f_p / f)^4) gamma^exp(-(f - f_p)^2 / (2 sigma^2 f_p^2)), sigma 0.07 below f_p, else 0.09.

    Parameters
    ----------
    significant_height : float, m
        Significant wave height, 4 sqrt(m0) of the whole spectrum; the band from f_p / 2 to 5 f_p holds 99.8 % of m0.
    peak_period : float, s
        Peak period, 1 / f_p.
    gamma : float
        Peak enhancement factor, 1 to 7; 3.3 is the mean of the experiment.

    Notes
    -----
    K. Hasselmann et al. (1973), Deutsche Hydrographische Zeitschrift A 8 (12), section 2.
    """

    significant_height: float
    peak_period: float
    gamma: float = 3.3

    def __post_init__(self) -> None:
        positive("significant_height", self.significant_height, "m")
        positive("peak_period", self.peak_period, "s", 8.0)
        if not 1.0 <= self.gamma <= 20.0:
            raise InputError(f"gamma = {self.gamma!r}", allowed="a number from 1 to 20", fix="gamma = 3.3")

    @property
    def band(self) -> tuple[float, float]:
        return 0.5 / self.peak_period, 5.0 / self.peak_period

    @property
    def variance(self) -> float:
        return self.significant_height**2 / 16.0

    def density(self, frequency: Field) -> Array:
        relative = np.asarray(frequency, np.float64) * self.peak_period
        scale = self.significant_height**2 / 16.0 * self.peak_period / self._area()
        return scale * self._shape(relative)

    def _shape(self, relative: Array) -> Array:
        """Return the spectral shape as a function of f / f_p, without the scale."""
        u = np.maximum(relative, 1e-3)
        sigma = np.where(u <= 1.0, 0.07, 0.09)
        peak = self.gamma ** np.exp(-0.5 * ((u - 1.0) / sigma) ** 2)
        return np.where(relative > 0.0, u**-5 * np.exp(-1.25 * u**-4) * peak, 0.0)

    def _area(self) -> float:
        """Return the integral of the shape, which is u^-5 beyond the table."""
        return float(np.trapezoid(self._shape(_SHAPE), _SHAPE)) + 0.25 * float(_SHAPE[-1]) ** -4


@dataclass(frozen=True)
class PiersonMoskowitz(Jonswap):
    """Pierson-Moskowitz spectrum of a fully developed sea: `Jonswap` with gamma = 1.

    W. J. Pierson and L. Moskowitz (1964), doi:10.1029/JZ069i024p05181. With free height and period it is also known as
    Bretschneider or ISSC spectrum.
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma != 1.0:
            raise InputError(f"gamma = {self.gamma:g}", allowed="1", fix=f"Jonswap(..., gamma={self.gamma:g})")


@dataclass(frozen=True)
class TMA(Jonswap):
    """TMA spectrum: JONSWAP spectrum in finite depth, scaled to a significant wave height.

    The shape of `Jonswap` is multiplied by tanh^2(k h) / (1 + 2 k h / sinh(2 k h)).

    Parameters
    ----------
    depth : float, m
        Water depth.
    peak_period : float, s
        Peak period of the JONSWAP shape; the depth factor moves the peak to slightly higher frequencies.

    Notes
    -----
    E. Bouws et al. (1985), doi:10.1029/JC090iC01p00975, equations 10 to 13.
    """

    depth: float = float("nan")
    gravity: float = GRAVITY

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("depth", self.depth, "m", 10.0)

    def _shape(self, relative: Array) -> Array:
        omega = 2.0 * np.pi * np.maximum(relative, 1e-3) / self.peak_period
        kh = wave_number(omega, self.depth, self.gravity) * self.depth
        twice = np.clip(2.0 * kh, 1e-12, 700.0)
        return super()._shape(relative) * np.tanh(kh) ** 2 / (1.0 + twice / np.sinh(twice))


@dataclass(frozen=True, eq=False)
class TabulatedSpectrum(Spectrum):
    """Measured or computed spectrum, interpolated linearly and 0 outside its frequencies.

    Parameters
    ----------
    frequency : (n,) array, Hz
        Increasing frequencies, >= 0.
    values : (n,) array, m2/Hz
        Densities, >= 0.
    """

    frequency: Array
    values: Array

    def __post_init__(self) -> None:
        frequency, values = checked_frequencies(self.frequency), array_copy("values", self.values)
        if values.shape != frequency.shape or not (np.isfinite(values) & (values >= 0.0)).all() or not values.any():
            raise InputError(
                f"values of shape {values.shape} from {np.min(values, initial=0.0):g}",
                allowed=f"finite numbers >= 0, not all 0, of shape {frequency.shape}, m2/Hz",
            )
        object.__setattr__(self, "frequency", frequency)
        object.__setattr__(self, "values", values)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> TabulatedSpectrum:
        """Read a text table with the frequency in the first and the density in the second column.

        The header gives both units in brackets, as in ``f (Hz),S (m2/Hz)`` or ``omega (rad/s),S (m2 s/rad)``; densities
        per rad/s become densities per Hz.

        Raises
        ------
        InputError
            If a unit is missing or unknown.
        """
        from eagre.io.files import input_file
        from eagre.io.tables.table import read_table

        table = read_table(input_file(path, "spectrum"))
        data = table.numbers([0, 1])
        frequency = frequency_factor(table.names[0], table.path)
        return cls(data[:, 0] * frequency, data[:, 1] * density_factor(table.names[1], table.path, frequency))

    @property
    def band(self) -> tuple[float, float]:
        return float(self.frequency[0]), float(self.frequency[-1])

    def density(self, frequency: Field) -> Array:
        return np.interp(np.asarray(frequency, np.float64), self.frequency, self.values, left=0.0, right=0.0)


def checked_frequencies(values: Field) -> Array:
    """Return frequencies, Hz, as an increasing array, >= 0; reject others."""
    frequency = array_copy("frequency", values)
    allowed = "at least two increasing numbers >= 0, Hz"
    if frequency.ndim != 1 or frequency.size < 2 or not np.isfinite(frequency).all():
        raise InputError(f"frequencies of shape {frequency.shape}", allowed=allowed)
    if frequency[0] < 0.0:
        raise InputError(f"a frequency of {frequency[0]:g} Hz", allowed=allowed, problem="A frequency is negative.")
    falls = np.flatnonzero(np.diff(frequency) <= 0.0)
    if falls.size:
        pair = frequency[falls[0] : falls[0] + 2]
        raise InputError(
            f"{pair[1]:g} Hz after {pair[0]:g} Hz", allowed=allowed, problem="The frequencies do not increase."
        )
    return frequency


class Spreading(ABC):
    """Distribution of directions about their mean, equal for all frequencies."""

    @abstractmethod
    def density(self, angle: Field) -> Array:
        """Return the density D, 1/rad, at angles from the mean direction, rad; its integral over the circle is 1."""

    def quantile(self, share: Field) -> Array:
        """Return the angle, rad, in [-pi, pi], below which a fraction `share` of the energy lies."""
        density = self.density(_ANGLES)
        steps = 0.5 * (density[1:] + density[:-1]) * np.diff(_ANGLES)
        below = np.concatenate([[0.0], np.cumsum(steps)])
        return np.interp(np.asarray(share, np.float64), below / below[-1], _ANGLES)

    @property
    def width(self) -> float:
        """Directional width sqrt(2 (1 - m1)), rad, of A. J. Kuik et al. (1988), with m1 the mean of cos(angle)."""
        mean = np.trapezoid(self.density(_ANGLES) * np.cos(_ANGLES), _ANGLES)
        return float(np.sqrt(2.0 * (1.0 - mean)))


class CosineSpreading(Spreading):
    """Cosine-2s spreading, D proportional to cos^(2s)(angle / 2): M. S. Longuet-Higgins et al. (1963).

    Parameters
    ----------
    s : float
        Exponent, >= 0.5; swell has 20 to 100, wind sea 4 to 15.
    width : float, rad
        Instead of s: directional width sqrt(2 / (s + 1)) of Kuik et al. (1988),
        doi:10.1175/1520-0485(1988)018<1020:AMFTRA>2.0.CO;2, equation 34.
    """

    def __init__(self, s: float | None = None, *, width: float | None = None) -> None:
        if exactly_one({"s": s, "width": width}, "s = 10.0") == "width":
            s = 2.0 / positive("width", width, "rad", 0.4) ** 2 - 1.0
        self.s = positive("s", s, "", 10.0)
        if self.s < 0.5:
            raise InputError(f"s = {self.s:.3g}", allowed="s >= 0.5, or a width up to 1.15 rad", fix="s = 10.0")

    def density(self, angle: Field) -> Array:
        from scipy.special import gammaln

        factor = np.exp(gammaln(self.s + 1.0) - gammaln(self.s + 0.5)) / (2.0 * np.sqrt(np.pi))
        return factor * np.abs(np.cos(0.5 * wrapped(angle))) ** (2.0 * self.s)


@dataclass(frozen=True)
class NormalSpreading(Spreading):
    """Normal distribution of standard deviation `deviation`, rad, truncated at +-pi."""

    deviation: float

    def __post_init__(self) -> None:
        positive("deviation", self.deviation, "rad", 0.4)

    def density(self, angle: Field) -> Array:
        from scipy.special import erf

        inside = erf(np.pi / (np.sqrt(2.0) * self.deviation))
        bell = np.exp(-0.5 * (wrapped(angle) / self.deviation) ** 2)
        return bell / (inside * np.sqrt(2.0 * np.pi) * self.deviation)


@dataclass(frozen=True)
class WrappedNormalSpreading(Spreading):
    """Normal distribution of standard deviation `deviation`, rad, wrapped around the circle."""

    deviation: float

    def __post_init__(self) -> None:
        positive("deviation", self.deviation, "rad", 0.4)

    def density(self, angle: Field) -> Array:
        revolutions = np.arange(-8, 9) * (2.0 * np.pi)
        around = wrapped(angle)[..., None] + revolutions
        return np.exp(-0.5 * (around / self.deviation) ** 2).sum(axis=-1) / (np.sqrt(2.0 * np.pi) * self.deviation)


class DirectionalSpectrum(Spectrum):
    """Tabulated spectrum by frequency and direction, as in output files of wave models.

    Parameters
    ----------
    frequency : (n,) array, Hz
        Increasing frequencies.
    direction : (m,) array, rad
        Directions of travel, distinct, in any order and spacing; the table is periodic in direction.
    values : (n, m) array, m2/(Hz rad)
        Densities, >= 0.
    """

    def __init__(self, frequency: Field, direction: Field, values: Field) -> None:
        self.frequency = checked_frequencies(frequency)
        angles, table = wrapped(array_copy("direction", direction)), array_copy("values", values)
        order = np.argsort(angles)
        self.direction = angles[order]
        if self.direction.size < 3 or (np.diff(self.direction) <= 1e-9).any():
            raise InputError(f"{angles.size} directions", allowed="at least three distinct directions")
        if table.shape != (self.frequency.size, angles.size) or not (np.isfinite(table) & (table >= 0.0)).all():
            raise InputError(
                f"values of shape {table.shape}",
                allowed=f"finite numbers >= 0 of shape ({self.frequency.size}, {angles.size}), m2/(Hz rad)",
            )
        self.values = table[:, order]
        self._closed = np.append(self.direction, self.direction[0] + 2.0 * np.pi)

    @property
    def band(self) -> tuple[float, float]:
        return float(self.frequency[0]), float(self.frequency[-1])

    def density(self, frequency: Field) -> Array:
        """Return the density S, m2/Hz, at frequencies, Hz, integrated over directions."""
        table = np.column_stack([self.values, self.values[:, 0]])
        total = np.trapezoid(table, self._closed, axis=1)
        return np.interp(np.asarray(frequency, np.float64), self.frequency, total, left=0.0, right=0.0)

    def directions(self, frequency: Array, share: Array) -> Array:
        """Return directions, rad, below which a fraction `share` of the energy at each frequency lies, (n,)."""
        out = np.empty(frequency.size)
        closed = np.column_stack([self.values, self.values[:, 0]])
        for n, (f, u) in enumerate(zip(frequency, share, strict=True)):
            i = int(np.clip(np.searchsorted(self.frequency, f) - 1, 0, self.frequency.size - 2))
            weight = (f - self.frequency[i]) / (self.frequency[i + 1] - self.frequency[i])
            row = (1.0 - weight) * closed[i] + weight * closed[i + 1]
            fine = np.linspace(self._closed[0], self._closed[-1], 1441)
            dense = np.interp(fine, self._closed, row)
            below = np.concatenate([[0.0], np.cumsum(0.5 * (dense[1:] + dense[:-1]))])
            out[n] = np.interp(u * below[-1], below, fine) if below[-1] > 0.0 else 0.0
        return wrapped(out)


def from_nautical(degrees: Field) -> Array:
    """Return the direction of travel of waves that come *from* a compass direction, with x east and y north.

    Parameters
    ----------
    degrees : array
        Direction of origin, clockwise from north (nautical convention of forecasts and SWAN).

    Returns
    -------
    array, rad
        Direction of travel, anticlockwise from east, in [-pi, pi).
    """
    return wrapped(np.deg2rad(270.0 - np.asarray(degrees, np.float64)))


def to_nautical(direction: Field) -> Array:
    """Return the compass direction of origin, degrees in [0, 360), of waves that travel to `direction`, rad."""
    return np.mod(270.0 - np.rad2deg(np.asarray(direction, np.float64)), 360.0)


def wrapped(angle: Field) -> Array:
    """Return an angle, rad, wrapped into [-pi, pi)."""
    return np.mod(np.asarray(angle, np.float64) + np.pi, 2.0 * np.pi) - np.pi
