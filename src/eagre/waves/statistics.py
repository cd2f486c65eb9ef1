"""Wave statistics of surface records."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.arguments import array_copy
from eagre.errors import InputError
from eagre.waves.checked import positive, whole
from eagre.waves.spectra import TabulatedSpectrum
from eagre.waves.steady import Array, Field


class SeaState(NamedTuple):
    """Statistics of a record; heights in m, periods in s. Statistics of individual waves are NaN without waves.

    Parameters
    ----------
    significant_height : float
        Significant wave height Hs = 4 sqrt(m0), with the variance m0 of the record.
    one_third_height, highest, mean_height : float
        H1/3, maximum and mean height of the zero-crossing waves.
    mean_period : float
        Mean zero-crossing period Tz.
    peak_period, tm01, tm02 : float
        1 / f_p, m0 / m1 and sqrt(m0 / m2), from `power_spectrum`.
    skewness : float
        Skewness mean(eta^3) / m0^(3/2), > 0 for sharp crests and flat troughs.
    asymmetry : float
        Asymmetry mean(H(eta)^3) / m0^(3/2), with H the Hilbert transform in time; < 0 for steep fronts: S. Elgar and
        R. T. Guza (1985), doi:10.1017/S0022112085002397.
    mean_level : float
        Mean of the record, m (set-up).
    count : int
        Number of waves.
    """

    significant_height: float
    one_third_height: float
    highest: float
    mean_height: float
    mean_period: float
    peak_period: float
    tm01: float
    tm02: float
    skewness: float
    asymmetry: float
    mean_level: float
    count: int


class ZeroCrossingWaves(NamedTuple):
    """Zero-crossing waves in chronological order, (count,) each: height, crest and trough, m, period, s."""

    height: Array
    crest: Array
    trough: Array
    period: Array


def sea_state(
    surface: Field, interval: float, *, crossing: str = "up", band: tuple[float, float] | None = None,
    segment: int | None = None,
) -> SeaState:  # fmt: skip
    """Return statistics of a record of the surface at one point.

    Parameters
    ----------
    surface : (n,) array, m
        Evenly spaced elevations; the mean is subtracted.
    interval : float, s
        Sampling interval. Crests between samples are missed: 1 % of the height for 20 samples per wave.
    crossing : str
        ``"up"`` or ``"down"``: type of zero crossing that starts a wave.
    band : tuple of float, Hz, optional
        Frequency band for tm01 and tm02.
    segment : int, optional
        Segment length of `power_spectrum`.
    """
    eta = checked_surface(surface)
    _refuse_still(eta)
    level = float(eta.mean())
    eta = eta - level
    variance = float(np.mean(eta * eta))
    spectrum = power_spectrum(eta, interval, segment=segment)
    waves = zero_crossings(eta, interval, crossing=crossing)
    highest = np.sort(waves.height)[::-1]
    third = highest[: max(1, round(highest.size / 3))]
    m0, m1, m2 = (_moment(spectrum, order, band) for order in (0, 1, 2))
    scale = variance**1.5
    quadrature = np.fft.irfft(-1j * np.fft.rfft(eta), eta.size)  # the Hilbert transform
    return SeaState(
        4.0 * math.sqrt(variance), _mean(third), float(highest[0]) if highest.size else math.nan, _mean(highest),
        _mean(waves.period), 1.0 / _peak(spectrum), m0 / m1, math.sqrt(m0 / m2), float(np.mean(eta**3)) / scale,
        float(np.mean(quadrature**3)) / scale, level, int(highest.size),
    )  # fmt: skip


def zero_crossings(surface: Field, interval: float, *, crossing: str = "up") -> ZeroCrossingWaves:
    """Return the waves between up- or down-crossings of the mean, with crossing times interpolated linearly.

    surface : (n,), m; interval : s.
    """
    if crossing not in ("up", "down"):
        raise InputError(f"crossing = {crossing!r}", allowed="up, down", fix='crossing = "up"')
    interval = positive("interval", interval, "s", 0.1)
    eta = checked_surface(surface)
    eta = eta - eta.mean()
    sign = eta if crossing == "up" else -eta
    index = np.flatnonzero((sign[:-1] < 0.0) & (sign[1:] >= 0.0))
    if index.size < 2:
        return ZeroCrossingWaves(*(np.empty(0) for _ in range(4)))
    times = (index + eta[index] / (eta[index] - eta[index + 1])) * interval
    starts, end = index + 1, index[-1] + 1
    crest = np.maximum.reduceat(eta[:end], starts[:-1])
    trough = np.minimum.reduceat(eta[:end], starts[:-1])
    return ZeroCrossingWaves(crest - trough, crest, trough, np.diff(times))


def power_spectrum(surface: Field, interval: float, *, segment: int | None = None) -> TabulatedSpectrum:
    """Return the variance density by Welch's method, with half-overlapping Hann windows, without the mean.

    Parameters
    ----------
    surface : (n,) array, m
        Evenly spaced elevations.
    interval : float, s
        Sampling interval.
    segment : int, optional
        Samples per segment; the resolution is 1 / (segment interval). Default: an eighth of the record, at least 256.

    Notes
    -----
    P. D. Welch (1967), doi:10.1109/TAU.1967.1161901.
    """
    from scipy.signal import welch

    interval = positive("interval", interval, "s", 0.1)
    eta = checked_surface(surface)
    _refuse_still(eta)
    size = min(eta.size, max(256, eta.size // 8)) if segment is None else whole("segment", segment, 8, eta.size)
    frequency, density = welch(eta, 1.0 / interval, nperseg=size, detrend="constant")
    return TabulatedSpectrum(frequency[1:], density[1:])


def checked_surface(surface: Field) -> Array:
    """Return a record as an array of at least 8 finite numbers, (n,)."""
    eta = array_copy("surface", surface)
    if eta.ndim != 1 or eta.size < 8 or not np.isfinite(eta).all():
        raise InputError(f"a surface of shape {eta.shape}", allowed="finite numbers, (n,), 8 or more")
    return eta


def is_still(surface: Array) -> bool:
    """Return whether a record is constant, that is, without waves."""
    return float(np.ptp(surface)) == 0.0


def _refuse_still(eta: Array) -> None:
    if is_still(eta):
        raise InputError("a constant surface", allowed="a record of waves")


def _moment(spectrum: TabulatedSpectrum, order: int, band: tuple[float, float] | None) -> float:
    f, s = spectrum.frequency, spectrum.values
    inside = (f >= band[0]) & (f <= band[1]) if band else np.ones(f.size, bool)
    return float(np.sum(f[inside] ** order * s[inside]))


def _peak(spectrum: TabulatedSpectrum) -> float:
    """Return the peak frequency, Hz, by a parabola through the largest density and its neighbours."""
    f, s = spectrum.frequency, spectrum.values
    i = int(np.argmax(s))
    if not 0 < i < s.size - 1:
        return float(f[i])
    bend = s[i - 1] - 2.0 * s[i] + s[i + 1]
    return float(f[i] + 0.5 * (s[i - 1] - s[i + 1]) / bend * (f[1] - f[0])) if bend < 0.0 else float(f[i])


def _mean(values: Array) -> float:
    return float(values.mean()) if values.size else math.nan
