"""Waves from measured records of the surface, and separation of incident and reflected waves by an array of gauges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.waves.checked import number, positive
from eagre.waves.dispersion import wave_number
from eagre.waves.linear import LinearWaves
from eagre.waves.steady import Array, Field

MIN_SPACING, MAX_SPACING = 0.05, 0.45  # spacing of a pair of gauges, wave lengths
MIN_VARIANCE_FRACTION = 0.8
_MIN_CONDITION = math.sin(2.0 * math.pi * MIN_SPACING) ** 2  # of a pair at either limit of its spacing
_MIN_POWER = 1e-3  # relative to the largest power; weaker frequencies are noise and leakage
_MIN_PERIODS, _MIN_SAMPLES = 5.0, 4.0  # peak periods in a record; samples per peak period
_LINE_WIDTH, _LINE_VARIANCE = 2, 0.99  # bins about the harmonics of regular waves, and the variance in them
_TAPER = 0.5  # a Hann window


class MeasuredWaves(LinearWaves):
    """First-order waves that reproduce a record of the surface at one point.

    Parameters
    ----------
    times : (n,) array, s
        Evenly spaced times.
    surface : (n,) array, m
        Elevation at `times`; the mean is subtracted.
    depth : float, m
        Water depth, or ``math.inf``.
    x, y : float, m
        Position of the gauge.
    direction : float, rad
        Direction of travel of all waves, which one gauge cannot determine.
    band : tuple of float, Hz, optional
        Frequencies to keep, with a sharp cutoff; default: all from 1 / duration to below half the sampling rate.
    taper : float
        Fraction of the record, 0 to 0.5, over which a cosine taper is applied at each end.
    gravity, stretching
        See `LinearWaves`.

    Attributes
    ----------
    mean_level : float
        Mean of the record, which was subtracted, m.
    duration : float
        Period after which the waves repeat, n times the interval, s.

    Notes
    -----
    At the gauge, without `band` and `taper`, the waves reproduce the record to rounding error. The record is treated as
    periodic: a difference between its first and last elevation appears at high frequencies. Elsewhere each wave travels
    in one direction by the linear dispersion relation, so a record that contains reflected waves gives wrong waves.
    """

    def __init__(
        self, times: Field, surface: Field, depth: float, *, x: float = 0.0, y: float = 0.0, direction: float = 0.0,
        band: tuple[float, float] | None = None, taper: float = 0.0, gravity: float = GRAVITY,
        stretching: str = "wheeler",
    ) -> None:  # fmt: skip
        times, eta, interval = checked_record(times, surface)
        self.mean_level, self.duration = float(eta.mean()), eta.size * interval
        modes = np.fft.rfft((eta - self.mean_level) * tapering(eta.size, taper)) * (2.0 / eta.size)
        frequency = np.arange(modes.size) / self.duration
        selected = (frequency > 0.0) & (2 * np.arange(modes.size) < eta.size)
        if band is not None:
            selected &= (frequency >= band[0]) & (frequency <= band[1])
        if not selected.any():
            raise InputError(
                f"band = {band}", allowed=f"a band within {1 / self.duration:.4g} to {0.5 / interval:.4g} Hz",
                fix=f"band = ({1 / self.duration:.4g}, {0.25 / interval:.4g})",
            )  # fmt: skip
        direction = number("direction", direction, "rad")
        super().__init__(
            amplitude=np.abs(modes[selected]), angular_frequency=2.0 * np.pi * frequency[selected], direction=direction,
            phase=0.0, depth=depth, gravity=gravity, stretching=stretching,
        )  # fmt: skip
        self.energy_fraction = float(np.sum(np.abs(modes[selected]) ** 2) / max(np.sum(np.abs(modes) ** 2), 1e-300))
        along = number("x", x) * math.cos(direction) + number("y", y) * math.sin(direction)
        self.phase = self.angular_frequency * float(times[0]) - np.angle(modes[selected]) - self.wave_number * along


def checked_record(times: Field, surface: Field) -> tuple[Array, Array, float]:
    """Return times, elevations and the interval, s, of a record with even spacing.

    Raises
    ------
    InputError
        If the arrays differ in shape, are shorter than 4, not finite, or the times are not evenly spaced.
    """
    t, eta = array_copy("times", times), array_copy("surface", surface)
    if t.ndim != 1 or t.shape != eta.shape or t.size < 4 or not (np.isfinite(t) & np.isfinite(eta)).all():
        raise InputError(
            f"times of shape {t.shape} and a surface of shape {eta.shape}",
            allowed="two 1-D arrays of the same length, 4 or more, of finite numbers",
        )
    interval = (t[-1] - t[0]) / (t.size - 1)
    worst = np.abs(t - t[0] - interval * np.arange(t.size)).max()
    if not interval > 0.0 or worst > 0.01 * interval:
        raise InputError(
            f"times that deviate from even spacing by up to {worst:.3g} s", allowed="evenly spaced, increasing times",
            fix="even = np.arange(times[0], times[-1], interval); surface = np.interp(even, times, surface)",
        )  # fmt: skip
    return t, eta, float(interval)


def tapering(count: int, fraction: float) -> Array:
    """Return a cosine taper, (count,), that rises and falls over a fraction `fraction` of the record at its ends."""
    if not 0.0 <= fraction <= 0.5:
        raise InputError(f"taper = {fraction!r}", allowed="a number from 0 to 0.5", fix="taper = 0.05")
    position = (np.arange(count) + 0.5) / count
    edge = np.minimum(position, 1.0 - position)
    return np.where(edge < fraction, 0.5 - 0.5 * np.cos(np.pi * edge / max(fraction, 1e-12)), 1.0)


class Reflection(NamedTuple):
    """Incident and reflected waves.

    Parameters
    ----------
    coefficient : float
        K_r = sqrt(reflected variance / incident variance) over the frequencies below.
    incident_height, reflected_height : float, m
        4 sqrt(m0) of each.
    frequency : (n,) array, Hz
        Energetic frequencies at which the gauges separate the waves.
    incident, reflected : (n,) arrays, m
        Complex amplitudes at x = 0 of exp(i omega t): a exp(-i p) for the waves a cos(k x - omega t + p) and
        a cos(-k x - omega t + p). Divided by the root mean square of the taper.
    variance_fraction : float
        Fraction of the variance of the records, within the band, at these frequencies.
    residual : float
        Fraction of the variance at these frequencies outside of the fit; nan for two gauges, which the fit
        matches exactly.
    """

    coefficient: float
    incident_height: float
    reflected_height: float
    frequency: Array
    incident: np.ndarray
    reflected: np.ndarray
    variance_fraction: float
    residual: float


class _Line(NamedTuple):
    """Complex amplitudes of the records, (m, n), at frequencies, Hz, and wave numbers, rad/m, (n,); positions, m."""

    modes: np.ndarray
    frequency: Array
    wave_number: Array
    positions: Array

    def select(self, chosen: np.ndarray) -> _Line:
        """Return the part at chosen frequencies."""
        return _Line(self.modes[:, chosen], self.frequency[chosen], self.wave_number[chosen], self.positions)

    @property
    def power(self) -> Array:
        """Variance at each frequency, m2, averaged over the gauges."""
        return 0.5 * np.mean(np.abs(self.modes) ** 2, axis=0)


def separate_reflection(
    surfaces: Field, positions: Field, interval: float, depth: float, *, band: tuple[float, float] | None = None,
    taper: float | None = None, gravity: float = GRAVITY,
) -> Reflection:  # fmt: skip
    """Separate incident from reflected waves with two or more gauges in a line.

    Parameters
    ----------
    surfaces : (m, n) array, m
        Record of each gauge at the same times.
    positions : (m,) array, m
        Positions along the line. Incident waves travel towards larger positions.
    interval : float, s
    depth : float, m
        Uniform along the gauges.
    band : tuple of float, Hz, optional
        Frequencies of the analysis; all without it.
    taper : float, optional
        Fraction of the records, 0 to 0.5, that fades at each end; 0 for an integer number of periods. Without it,
        records of regular waves are cut to an integer number of periods and other records get a Hann window (0.5).
    gravity : float, m s-2

    Raises
    ------
    InputError
        If the gauges separate the waves at less than 80 % of the variance, or without `taper` for records shorter than
        5 peak periods or with fewer than 4 samples per peak period.

    Notes
    -----
    At each frequency both complex amplitudes are fitted by least squares: Y. Goda and Y. Suzuki (1976),
    doi:10.9753/icce.v15.47, for two gauges; E. P. D. Mansard and E. R. Funke (1980), doi:10.1061/9780872622647.008,
    for three. A frequency is used if at least one pair of gauges is 0.05 to 0.45 wave lengths apart and the fit is
    as well conditioned as for such a pair. Frequencies with less than 0.1 % of the largest power are left out.
    """
    eta, x = _checked(surfaces, positions)
    interval, depth = positive("interval", interval, "s", 0.1), positive("depth", depth, "m", infinite=True)
    eta = eta - eta.mean(axis=1, keepdims=True)
    if not eta.any():
        raise InputError("surfaces without variation", allowed="records of waves", problem="The records hold no waves.")
    if taper is None:
        eta, taper = _whole_periods(eta, interval)
    line = _line(eta - eta.mean(axis=1, keepdims=True), x, interval, taper, depth, gravity)
    low, high = band or (0.0, 0.5 / interval)
    line = line.select((line.frequency >= low) & (line.frequency <= high))
    if not line.modes.any():
        raise InputError(
            f"band = ({low:g}, {high:g})", allowed=f"a band with waves, below {0.5 / interval:.4g} Hz",
            problem="The records have no variance in this band.",
        )  # fmt: skip
    usable = separable(line.wave_number, x)
    energetic = line.power >= _MIN_POWER * line.power.max()
    used, present = (float(line.power[chosen].sum()) for chosen in (usable & energetic, energetic))
    if used < MIN_VARIANCE_FRACTION * present:
        raise _unsuitable(line, used / present)
    return _fitted(line.select(usable & energetic), used / float(line.power.sum()))


def separable(wave_number: Array, positions: Array) -> np.ndarray:
    """Return where, by wave number, rad/m, gauges at positions, m, separate incident from reflected waves."""
    count = positions.size
    distance = np.abs(positions[:, None] - positions)[np.triu_indices(count, 1)]
    lengths = np.outer(distance, wave_number) / (2.0 * np.pi)
    spaced = ((lengths >= MIN_SPACING) & (lengths <= MAX_SPACING)).any(axis=0)
    coherence = np.abs(np.exp(2j * np.outer(positions, wave_number)).sum(axis=0)) / count
    return spaced & (1.0 - coherence**2 >= _MIN_CONDITION * (1.0 - 1e-9))


def _checked(surfaces: Field, positions: Field) -> tuple[Array, Array]:
    """Return the records, (m, n), and positions, (m,)."""
    eta, x = array_copy("surfaces", surfaces), array_copy("positions", positions)
    if eta.ndim != 2 or x.shape != eta.shape[:1] or x.size < 2 or np.unique(x).size < x.size:
        raise InputError(
            f"surfaces of shape {eta.shape} and positions of shape {x.shape}",
            allowed="(m, n) and (m,) for m >= 2 gauges at different places",
            problem="Incident and reflected waves are separated by two or more gauges at different places.",
        )
    if eta.shape[1] < 8 or not np.isfinite(eta).all():
        raise InputError(
            f"{eta.shape[1]} samples", allowed="8 or more finite numbers per gauge",
            problem="The records are too short or have missing values.",
        )  # fmt: skip
    return eta, x


def _whole_periods(eta: Array, interval: float) -> tuple[Array, float]:
    """Return records and taper: regular waves cut to an integer number of periods and 0, others and a Hann window."""
    count = eta.shape[1]
    power = (np.abs(np.fft.rfft(eta * tapering(count, _TAPER), axis=1)) ** 2).sum(axis=0)
    power[0] = 0.0
    peak = int(np.argmax(power))
    cycles = peak + _peak_offset(power, peak)  # in the record
    if cycles < _MIN_PERIODS or count < _MIN_SAMPLES * cycles:
        raise InputError(
            f"{cycles:.3g} peak periods in {count} samples, {count / cycles:.3g} per period",
            allowed=f"{_MIN_PERIODS:g} or more periods of {_MIN_SAMPLES:g} or more samples",
            problem="The records are too short or too coarse in time to separate incident from reflected waves.",
        )  # fmt: skip
    bins = np.arange(power.size)
    near = np.abs(bins - cycles * np.round(bins / cycles)) <= _LINE_WIDTH + 0.5
    if power[near].sum() < _LINE_VARIANCE * power.sum() or cycles < 3 * _LINE_WIDTH:
        return eta, _TAPER
    whole = np.arange(math.ceil(0.5 * cycles), int(cycles + 1e-6) + 1)
    samples = whole * count / cycles
    best = int(np.argmin(np.abs(samples - np.round(samples)) - 1e-6 * whole))
    return eta[:, count - min(count, round(float(samples[best]))) :], 0.0


def _peak_offset(power: Array, peak: int) -> float:
    """Return the offset, -0.5 to 0.5 bins, of a spectral line from the largest bin of a Hann-windowed spectrum."""
    if not 0 < peak < power.size - 1:
        return 0.0
    left, top, right = np.sqrt(power[peak - 1 : peak + 2])
    side, other = (right, 1.0) if right >= left else (left, -1.0)
    return float(other * (2.0 * side - top) / (side + top))


def _line(eta: Array, x: Array, interval: float, taper: float, depth: float, gravity: float) -> _Line:
    """Return the Fourier transform of tapered records, scaled to keep the variance."""
    window = tapering(eta.shape[1], taper)
    modes = np.fft.rfft(eta * window, axis=1)[:, 1:] * (2.0 / eta.shape[1] / math.sqrt(float(np.mean(window**2))))
    frequency = np.asarray(np.fft.rfftfreq(eta.shape[1], interval)[1:], np.float64)
    return _Line(modes, frequency, wave_number(2.0 * np.pi * frequency, depth, gravity), x)


def _fitted(line: _Line, fraction: float) -> Reflection:
    """Return the least-squares fit of both waves at each frequency."""
    modes, frequency, k, x = line
    forward = np.exp(1j * np.outer(x, k))
    both = (forward**2).sum(axis=0)
    one, other = (forward * modes).sum(axis=0), (forward.conj() * modes).sum(axis=0)
    inverse = 1.0 / (x.size**2 - np.abs(both) ** 2)
    incident = (x.size * one - both * other) * inverse
    reflected = (x.size * other - both.conj() * one) * inverse
    left = modes - incident * forward.conj() - reflected * forward
    residual = float(np.sum(np.abs(left) ** 2) / np.sum(np.abs(modes) ** 2)) if x.size > 2 else math.nan
    ahead_height, back_height = (
        4.0 * math.sqrt(0.5 * float(np.sum(np.abs(waves) ** 2))) for waves in (incident, reflected)
    )
    if ahead_height == 0.0:
        raise InputError("surfaces without incident waves", allowed="waves towards larger positions")
    ratio = back_height / ahead_height
    return Reflection(ratio, ahead_height, back_height, frequency, incident, reflected, fraction, residual)


def _unsuitable(line: _Line, fraction: float) -> InputError:
    """Return the error for gauges that separate the waves at too little of the variance."""
    length = 2.0 * math.pi / float(line.wave_number[np.argmax(line.power)])
    x = np.sort(line.positions)
    apart = " and ".join(f"{distance:.4g}" for distance in np.diff(x))
    shortest = float(np.diff(x).min())
    return InputError(
        f"gauges {apart} m apart and waves of length {length:.4g} m at the peak",
        allowed=f"pairs of gauges 0.05 to 0.45 wave lengths apart: {MIN_SPACING * length:.3g} to "
        f"{MAX_SPACING * length:.3g} m at the peak. Gauges {shortest:.4g} m apart suit lengths of "
        f"{shortest / MAX_SPACING:.3g} to {shortest / MIN_SPACING:.3g} m",
        fix=f"gauges at 0, {0.1 * length:.3g} and {0.27 * length:.3g} m, or a band of frequencies that the gauges suit",
        problem=f"The gauges separate incident from reflected waves at {fraction:.0%} of the variance only; "
        f"{MIN_VARIANCE_FRACTION:.0%} are needed.",
    )
