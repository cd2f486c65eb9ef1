"""Incident and reflected waves from gauges in a line."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.given import own_array
from eagre.waves.checked import positive
from eagre.waves.dispersion import wave_number
from eagre.waves.measured import tapering
from eagre.waves.steady import Array, Field

_LEAST = math.sin(0.1 * math.pi) ** 2  # 0.05 and 0.45 of a length between two gauges, as Goda and Suzuki have it


class Reflection(NamedTuple):
    """Incident and reflected waves.

    Parameters
    ----------
    coefficient : float
        K_r = sqrt(reflected variance / incident variance) over the frequencies below.
    incident_height, reflected_height : float, m
        4 sqrt(m0) of each.
    frequency : (n,) array, Hz
        Where the gauges tell the two apart.
    incident, reflected : (n,) arrays, m
        Complex amplitudes at x = 0 of exp(i omega t): the wave a cos(k x - omega t + p) has a exp(-i p), the reflected
        one a cos(-k x - omega t + p) too.
    """

    coefficient: float
    incident_height: float
    reflected_height: float
    frequency: Array
    incident: np.ndarray
    reflected: np.ndarray


def separate_reflection(
    surfaces: Field, positions: Field, interval: float, depth: float, *, band: tuple[float, float] | None = None,
    taper: float = 0.0, gravity: float = GRAVITY,
) -> Reflection:  # fmt: skip
    """Tell incident from reflected waves by two gauges or more in a line.

    Parameters
    ----------
    surfaces : (m, n) array, m
        A record of each gauge at the same times.
    positions : (m,) array, m
        Their places along the line, on which incident waves travel towards larger x.
    interval : float, s
    depth : float, m
        Uniform along the gauges.
    band : tuple of float, Hz, optional
        Frequencies that count; all without it.
    taper : float
        Share of the records, 0 to 0.5, that fades at each end: for records that hold no whole number of periods.

    Raises
    ------
    InputError
        If at no frequency of the band the gauges tell the two apart; the message says for which lengths they would.

    Notes
    -----
    At each frequency both complex amplitudes are fitted by least squares: Y. Goda and Y. Suzuki (1976),
    doi:10.9753/icce.v15.47, for two gauges (exact then), E. P. D. Mansard and E. R. Funke (1980),
    doi:10.1061/9780872622647.008, for three. Frequencies at which gauges stand near multiples of half a length apart
    are left out: for two gauges outside of 0.05 to 0.45 lengths.
    """
    eta, x = own_array("surfaces", surfaces), own_array("positions", positions)
    interval = positive("interval", interval, "s", 0.1)
    if eta.ndim != 2 or x.shape != eta.shape[:1] or x.size < 2 or np.unique(x).size < x.size:
        raise InputError(
            f"surfaces of shape {eta.shape} and positions of shape {x.shape}",
            allowed="two gauges or more at different places: (m, n) and (m,)",
        )
    eta = (eta - eta.mean(axis=1, keepdims=True)) * tapering(eta.shape[1], taper)
    modes = np.fft.rfft(eta, axis=1) * (2.0 / eta.shape[1])
    frequency = np.asarray(np.fft.rfftfreq(eta.shape[1], interval), np.float64)
    low, high = band or (0.0, 0.5 / interval)
    inside = (frequency > 0.0) & (frequency >= low) & (frequency <= high)
    frequency, modes = frequency[inside], modes[:, inside]
    k = wave_number(2.0 * np.pi * frequency, positive("depth", depth, "m", infinite=True), gravity)
    ahead = np.exp(1j * np.outer(x, k))
    both = (ahead**2).sum(axis=0)
    told = 1.0 - np.abs(both / x.size) ** 2 >= _LEAST
    if not told.any():
        apart = float(np.min(np.diff(np.sort(x))))
        raise InputError(
            f"gauges {apart:g} m apart and frequencies of {low:g} to {high:g} Hz",
            allowed=f"lengths of {apart / 0.45:.3g} to {apart / 0.05:.3g} m for that distance, as of two gauges",
        )
    ahead, modes, both, frequency = ahead[:, told], modes[:, told], both[told], frequency[told]
    one, other = (ahead * modes).sum(axis=0), (ahead.conj() * modes).sum(axis=0)
    inverse = 1.0 / (x.size**2 - np.abs(both) ** 2)
    incident = (x.size * one - both * other) * inverse
    reflected = (x.size * other - both.conj() * one) * inverse
    variances = [0.5 * float(np.sum(np.abs(waves) ** 2)) for waves in (incident, reflected)]
    if variances[0] == 0.0:
        raise InputError("surfaces without incident waves", allowed="records of waves")
    heights = [4.0 * math.sqrt(variance) for variance in variances]
    return Reflection(heights[1] / heights[0], heights[0], heights[1], frequency, incident, reflected)
