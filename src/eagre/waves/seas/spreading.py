"""Directional spreading of wave energy, and conversion of directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from eagre.arguments import array_copy
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, positive
from eagre.waves.nonlinear.steady import Array, Field
from eagre.waves.seas.spectra import Spectrum, checked_frequencies

_ANGLES = np.linspace(-np.pi, np.pi, 7201)


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
