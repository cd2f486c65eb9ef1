"""Reflection coefficient of a run from its gauges, for the run summary, if positions and records permit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import across_x, from_side
from eagre.models.potential_waves.setup import Setup
from eagre.waves import group_velocity, separate_reflection, wave_number

FEWEST_GAUGES = 3
MIN_PERIODS, MAX_PERIODS = 5, 20  # wave periods in a record of regular waves
FEWEST_OF_A_SEA = 30  # peak periods in a record of a sea
SAMPLES_A_PERIOD = 8.0
LEVEL = 0.01  # relative variation of the depth along the gauges up to which the bed counts as level
BAND, BAND_OF_A_SEA = (0.75, 1.25), (0.6, 1.6)  # relative to the frequency, or the peak frequency
MIN_VARIANCE_FRACTION = (
    0.9  # fraction of the variance of the band at frequencies at which the gauges separate the waves
)
TAPER = 0.5  # for a sea: a Hann window
MAX_ERROR = 0.005  # permitted error of the coefficient due to finite wave height
MAX_RELATIVE_ERROR = 0.2  # added to `MAX_ERROR`, relative to the coefficient
SLOWER = 1.1  # relative frequency of the slowest waves behind the front of regular waves
INTERVAL_TOLERANCE = 1e-6  # tolerance of the interval, relative

STRAIGHT = 0.9998  # cosine of the angle, 1 degree

Records = Callable[[], tuple[np.ndarray, np.ndarray]]


class IncidentWaves(NamedTuple):
    """Waves along an axis from the only wave-generation zone.

    Parameters
    ----------
    side : str
        Side of the zone.
    period : float
        Period or peak period, s.
    regular : bool
        Whether the waves are regular.
    ramp : float
        Duration of the ramp, s.
    """

    side: str
    period: float
    regular: bool
    ramp: float


class Line(NamedTuple):
    """Gauges in a line.

    Parameters
    ----------
    axis : str
        "x" or "y".
    which : list of int
        Indices of the gauges.
    positions : (m,) array, m
        Distances from the side of the zone.
    depth : float, m
    returns : float, s
        Time at which waves have returned from the far side; for a sea at the highest frequency of the band.
    """

    axis: str
    which: list[int]
    positions: np.ndarray
    depth: float
    returns: float


def reflection_of(
    setup: Setup, incident: IncidentWaves, points: Sequence[tuple[float, float]], records: Records
) -> list[tuple[str, str]]:
    """Return a row of the run summary, or an empty list.

    Parameters
    ----------
    setup : Setup
    incident : IncidentWaves
    points : sequence of (x, y)
        Positions of the gauges, m.
    records : callable
        Function that returns times, (n,), s, and surface elevations, (n, gauges), m.
    """
    line = line_of(setup, incident, points)
    if line is None:
        return []
    record = _last(incident, line, *records())
    if record is None:
        return []
    surfaces, interval, periods = record
    low, high = (frequency / incident.period for frequency in _frequency_range(incident))
    try:
        reflection = separate_reflection(
            surfaces, line.positions, interval, line.depth, band=(low, high), gravity=setup.gravity,
            taper=0.0 if incident.regular else TAPER,
        )  # fmt: skip
    except InputError:
        return []
    if reflection.variance_fraction < MIN_VARIANCE_FRACTION:
        return []
    max_error = MAX_ERROR + MAX_RELATIVE_ERROR * reflection.coefficient
    if not setup.linear and _of_height(setup, incident, line, reflection.incident_height) > max_error:
        return []
    positions = sorted(points[k]["xy".index(line.axis)] for k in line.which)
    text = (
        f"{reflection.coefficient:.2g} from {low:.3g} to {high:.3g} Hz, by {len(positions)} gauges at {line.axis} = "
        f"{positions[0]:.4g} to {positions[-1]:.4g} m, linear theory, last {periods} periods of {incident.period:.4g} s"
    )
    return [("reflection", text)]


def _of_height(setup: Setup, incident: IncidentWaves, line: Line, height: float) -> float:
    """Return the spurious reflection coefficient of linear theory due to the amplitude dispersion of high waves.

    By the second-order Stokes approximation, omega^2 = g k tanh(kh) (1 + S (ka)^2): R. L. Wiegel, Oceanographical
    Engineering (1964), section 2.6; S = 1 in deep water.
    """
    h, omega = line.depth, 2.0 * np.pi / incident.period
    k = float(wave_number(omega, h, setup.gravity))
    kh, ka = min(k * h, 20.0), k * height / np.sqrt(8.0)
    s = (8.0 + np.cosh(4.0 * kh) - 2.0 * np.tanh(kh) ** 2) / (8.0 * np.sinh(kh) ** 4)
    true = k - 0.5 * omega * s * ka**2 / float(group_velocity(k, h, setup.gravity))
    both = np.exp(1j * k * np.outer(line.positions, [1.0, -1.0]))
    amplitudes = np.linalg.lstsq(both, np.exp(1j * true * line.positions), rcond=None)[0]
    return float(abs(amplitudes[1]) / abs(amplitudes[0]))


def _frequency_range(incident: IncidentWaves) -> tuple[float, float]:
    return BAND if incident.regular else BAND_OF_A_SEA


def line_of(setup: Setup, incident: IncidentWaves, points: Sequence[tuple[float, float]]) -> Line | None:
    """Return gauges in a line along the waves, outside zones and sponges, over a level bed; None if too few."""
    grid, along_x = setup.grid, across_x(incident.side)
    along = grid.x if along_x else grid.y
    rows: dict[int, dict[int, int]] = {}  # by row: gauge index by point
    for number, position in enumerate(points):
        j, i = grid.cell_of(*position)
        row, column = (j, i) if along_x else (i, j)
        if not _inside_zone_or_sponge(setup, along_x, column):
            rows.setdefault(row, {})[column] = number
    if not rows:
        return None
    row, gauges = max(rows.items(), key=lambda item: len(item[1]))
    if len(gauges) < FEWEST_GAUGES:
        return None
    depth = setup.depth[row] if along_x else setup.depth[:, row]
    between = depth[min(gauges) : max(gauges) + 1]
    if np.ptp(between) > LEVEL * between.max():
        return None
    omega = 2.0 * np.pi * (SLOWER if incident.regular else BAND_OF_A_SEA[1]) / incident.period
    g = setup.gravity
    speeds = np.array([float(group_velocity(wave_number(omega, float(h), g), float(h), g)) for h in depth])
    returns = incident.ramp + 2.0 * float(np.sum(np.diff(along) / speeds[1:]))
    positions = from_side(incident.side, grid.x, grid.y)[list(gauges)]
    return Line("x" if along_x else "y", list(gauges.values()), positions, float(between.mean()), returns)


def _inside_zone_or_sponge(setup: Setup, along_x: bool, index: int) -> bool:
    """Return whether a point of the line is inside a zone or sponge, or one lies along the line."""
    for layer in (*setup.relaxation_zones, *setup.sponges):
        if across_x(layer.side) != along_x:
            return True  # a zone or sponge along the line changes the wave height
        if from_side(layer.side, setup.grid.x, setup.grid.y)[index] < layer.width:
            return True
    return False


def goes_straight(side: str, wave: Any) -> bool:
    """Return whether the waves of a zone section travel normal to its side."""
    inward = {"west": 0.0, "south": 0.5 * math.pi, "east": math.pi, "north": 1.5 * math.pi}[side]
    if wave is None or getattr(wave, "spreading", None) is not None:
        return False
    return math.cos(wave.goes_to() - inward) > STRAIGHT


def _last(
    incident: IncidentWaves, line: Line, times: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, float, int] | None:
    """Return the final records, (gauges, n), m, their interval, s, and number of periods; None if too short."""
    if times.size < 3:
        return None
    interval = float(times[1] - times[0])
    if abs(times[-1] - times[-2] - interval) > INTERVAL_TOLERANCE * interval:
        times, values = times[:-1], values[:-1]  # the run does not end at a multiple of the interval
    max_periods = int((times[-1] - line.returns) / incident.period)
    fewest = MIN_PERIODS if incident.regular else FEWEST_OF_A_SEA
    if max_periods < fewest or incident.period < SAMPLES_A_PERIOD * interval:
        return None
    max_periods = min(max_periods, MAX_PERIODS) if incident.regular else max_periods
    choices = np.arange(max(fewest, max_periods // 2), max_periods + 1) if incident.regular else np.array([max_periods])
    samples = choices * incident.period / interval
    best = int(np.argmin(np.abs(samples - np.round(samples)) - 1e-9 * choices))
    count = round(float(samples[best]))
    if np.ptp(np.diff(times[-count:])) > INTERVAL_TOLERANCE * interval + 1e-9 * abs(float(times[-1])):
        return None
    surfaces = values[-count:, line.which].T
    return (surfaces, interval, int(choices[best])) if np.isfinite(surfaces).all() else None
