"""Random seas from wave spectra, and focused wave groups."""

from __future__ import annotations

import numpy as np

from eagre.arguments import of_type
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import number, positive, whole
from eagre.waves.linear import LinearWaves
from eagre.waves.spectra import DirectionalSpectrum, Spectrum, Spreading
from eagre.waves.steady import Array

_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class Sea(LinearWaves):
    """Random sea of first order (single-summation model).

    Every wave has a distinct frequency and one direction. No two waves of the same frequency cross, so the waves are
    not phase-locked and the variance in time is the same at all points.

    Parameters
    ----------
    spectrum : Spectrum
        Frequency spectrum, combined with `spreading`, or a `DirectionalSpectrum`, which defines the directions.
    depth : float, m
        Water depth, or ``math.inf``.
    spreading : Spreading, optional
        Directional spreading about `mean_direction`; without it the sea is long-crested.
    mean_direction : float, rad
        Mean direction of travel (`from_nautical` converts from a direction of origin).
    count : int
        Number of waves. Records longer than about count / (2 bandwidth) repeat in part.
    phase_seed, amplitude_seed : int
        Seeds of the phases, and of the directions and random amplitudes. Equal seeds give the same sea.
    amplitudes : str
        ``"deterministic"``: each wave has the variance of its bin, and directions cover the spreading evenly.
        ``"random"``: amplitudes are Rayleigh distributed and directions are random, as in a Gaussian sea, so the
        variance differs between realisations. M. J. Tucker et al. (1984), doi:10.1016/0141-1187(84)90050-6.
    bins : str
        ``"equal_energy"``: bins of equal variance, with waves at their mean frequencies. ``"equal_frequency"``: bins of
        equal width, with waves at their centres; the sea repeats after one over the width.
    band : tuple of float, Hz, optional
        Lowest and highest frequency, with a sharp cutoff; default: the `band` of the spectrum (half to five times the
        peak frequency of parametric spectra). The variance outside is omitted and not redistributed.
    gravity, stretching
        See `LinearWaves`.

    Attributes
    ----------
    seeds : tuple of int
        phase_seed and amplitude_seed.
    band : tuple of float, Hz
        Lowest and highest frequency.
    energy_fraction : float
        Fraction of the variance of the spectrum that lies in the band.

    Notes
    -----
    The total variance equals the variance of the spectrum within the band (for random amplitudes: on average).
    Good values: 200 waves for an hour at one point, at least 1000 for maps and directional seas.
    """

    def __init__(
        self, spectrum: Spectrum, depth: float, *, spreading: Spreading | None = None, mean_direction: float = 0.0,
        count: int = 1000, phase_seed: int = 1, amplitude_seed: int = 2, amplitudes: str = "deterministic",
        bins: str = "equal_energy", band: tuple[float, float] | None = None, gravity: float = GRAVITY,
        stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        count = whole("count", count, 1, 10_000_000)
        if amplitudes not in ("deterministic", "random"):
            raise InputError(
                f"amplitudes = {amplitudes!r}", allowed="deterministic, random", fix='amplitudes = "random"'
            )
        self.seeds = (checked_seed("phase_seed", phase_seed), checked_seed("amplitude_seed", amplitude_seed))
        self.band, mean = checked_band(spectrum, band), number("mean_direction", mean_direction, "rad")
        frequency, variance = discretised(spectrum, self.band, count, bins)
        draw = np.random.default_rng(self.seeds[1])
        amplitude = np.sqrt(2.0 * variance)
        fraction = (draw.random() + _GOLDEN * np.arange(count)) % 1.0
        if amplitudes == "random":
            amplitude *= np.sqrt(-np.log1p(-draw.random(count)))  # a^2 is exponential about its mean
            fraction = draw.random(count)
        super().__init__(
            amplitude=amplitude, angular_frequency=2.0 * np.pi * frequency,
            direction=_directions(spectrum, spreading, mean, frequency, fraction),
            phase=2.0 * np.pi * np.random.default_rng(self.seeds[0]).random(count), depth=depth, gravity=gravity,
            stretching=stretching,
        )  # fmt: skip
        self.spectrum, self.spreading, self.mean_direction = spectrum, spreading, mean
        self.energy_fraction = min(1.0, float(variance.sum()) / spectrum.variance)


def _directions(
    spectrum: Spectrum, spreading: Spreading | None, mean: float, frequency: Array, fraction: Array
) -> Array:
    """Return the direction of each wave, rad."""
    if isinstance(spectrum, DirectionalSpectrum):
        if spreading is not None or mean != 0.0:
            raise InputError(
                "a DirectionalSpectrum with spreading or mean_direction",
                allowed="a DirectionalSpectrum alone, which defines the directions", fix="Sea(spectrum, depth)",
            )  # fmt: skip
        return spectrum.directions(frequency, fraction)
    return np.full(frequency.size, mean) if spreading is None else mean + spreading.quantile(fraction)


def discretised(spectrum: Spectrum, band: tuple[float, float], count: int, bins: str) -> tuple[Array, Array]:
    """Return frequencies, Hz, and variances, m2, of `count` waves, with the total variance of the band."""
    if bins not in ("equal_energy", "equal_frequency"):
        raise InputError(f"bins = {bins!r}", allowed="equal_energy, equal_frequency", fix='bins = "equal_energy"')
    points = max(20001, 20 * count + 1)
    f, density = spectrum.table(band, points)
    below = _running(density, f)
    if not below[-1] > 0.0:
        raise InputError(f"a band of {band[0]:g} to {band[1]:g} Hz without energy", allowed="a band of the spectrum")
    if bins == "equal_frequency":
        edges = np.linspace(*band, count + 1)
        return 0.5 * (edges[1:] + edges[:-1]), np.diff(np.interp(edges, f, below))
    first = _running(f * density, f)
    energy_edges = np.linspace(0.0, below[-1], count + 1)
    rising = np.concatenate([[True], np.diff(below) > 0.0])
    means = np.diff(np.interp(energy_edges, below[rising], first[rising])) / (below[-1] / count)
    return means, np.full(count, below[-1] / count)


def _running(values: Array, x: Array) -> Array:
    """Return the cumulative integral by the trapezoidal rule."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(x))])


def checked_band(spectrum: Spectrum, band: tuple[float, float] | None) -> tuple[float, float]:
    """Return lowest and highest frequency, Hz."""
    of_type("spectrum", spectrum, Spectrum, "Jonswap(significant_height=2.0, peak_period=8.0)")
    if band is None:
        return spectrum.band
    try:
        low, high = (positive("band", value, "Hz", 0.1) for value in band)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        low, high = 1.0, 0.0
    if not low < high:
        raise InputError(f"band = {band}", allowed="two frequencies, the lower one first, Hz", fix="band = (0.05, 0.5)")
    return low, high


def checked_seed(name: str, value: int) -> int:
    """Return a seed as an int."""
    return whole(name, value, 0, 2**63 - 1)


class FocusedGroup(LinearWaves):
    """Focused wave group (NewWave): the most probable shape of an extreme crest, in phase at one point and time.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum; only its shape is used.
    depth : float, m
        Water depth, or ``math.inf``.
    crest_height : float, m
        Linear elevation at the focus; negative for a trough.
    x, y, t : float, m and s
        Position and time of the focus.
    spreading : Spreading, optional
        Directional spreading of a short-crested group, with `direction_count` directions at each frequency.
    mean_direction : float, rad
        Direction of travel of the group.
    count, direction_count : int
        Numbers of frequencies and directions. The group repeats after count / bandwidth.
    band : tuple of float, Hz, optional
        Lowest and highest frequency; see `Sea`.
    gravity, stretching
        See `LinearWaves`.

    Notes
    -----
    Amplitudes are proportional to the variance of the bins: P. S. Tromans, A. R. Anaturk and P. Hagemeijer (1991),
    A new model for the kinematics of large ocean waves, ISOPE, volume 3, 64-71. The theory is
    of first order; in a nonlinear model the group focuses at another position and slightly later.
    """

    def __init__(
        self, spectrum: Spectrum, depth: float, *, crest_height: float, x: float = 0.0, y: float = 0.0, t: float = 0.0,
        spreading: Spreading | None = None, mean_direction: float = 0.0, count: int = 200, direction_count: int = 31,
        band: tuple[float, float] | None = None, gravity: float = GRAVITY, stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        crest = number("crest_height", crest_height, "m", 1.0)
        count, many = whole("count", count, 1, 1_000_000), whole("direction_count", direction_count, 1, 10_000)
        if isinstance(spectrum, DirectionalSpectrum):
            raise InputError(
                "a DirectionalSpectrum for a focused group", allowed="a spectrum by frequency and a spreading"
            )
        frequency, variance = discretised(spectrum, checked_band(spectrum, band), count, "equal_frequency")
        angles = np.array([0.0])
        if spreading is not None:
            angles = spreading.quantile((np.arange(many) + 0.5) / many)
        omega, direction = np.meshgrid(2.0 * np.pi * frequency, mean_direction + angles, indexing="ij")
        amplitude = np.repeat(crest * variance / variance.sum() / angles.size, angles.size)
        super().__init__(
            amplitude=amplitude, angular_frequency=omega.ravel(), direction=direction.ravel(), depth=depth,
            gravity=positive("gravity", gravity, "m s-2", GRAVITY), stretching=stretching,
        )  # fmt: skip
        self.energy_fraction = min(1.0, float(variance.sum()) / spectrum.variance)
        self.focus = (number("x", x), number("y", y), number("t", t))
        along = self.focus[0] * np.cos(self.direction) + self.focus[1] * np.sin(self.direction)
        self.phase = self.angular_frequency * self.focus[2] - self.wave_number * along
