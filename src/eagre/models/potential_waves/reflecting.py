"""Reflection coefficient of a run from its gauges, for the run summary, if positions and records permit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.zones import across_x, from_side
from eagre.waves import group_velocity, separate_reflection, wave_number

FEWEST_GAUGES = 3
FEWEST_PERIODS, MOST_PERIODS = 5, 20  # wave periods in a record of regular waves
FEWEST_OF_A_SEA = 30  # peak periods in a record of a sea
SAMPLES_A_PERIOD = 8.0
LEVEL = 0.01  # relative variation of the depth along the gauges up to which the bed counts as level
BAND, BAND_OF_A_SEA = (0.75, 1.25), (0.6, 1.6)  # relative to the frequency, or the peak frequency
MIN_VARIANCE_FRACTION = (
    0.9  # fraction of the variance of the band at frequencies at which the gauges separate the waves
)
TAPER = 0.5  # for a sea: a Hann window
TRUE, SHARE = 0.005, 0.2  # permitted error of the coefficient due to finite wave height: absolute, and relative
SLOWER = 1.1  # relative frequency of the slowest waves behind the front of regular waves
NEARLY = 1e-6  # tolerance of the interval, relative

STRAIGHT = 0.9998  # cosine of the angle, 1 degree

Records = Callable[[], tuple[np.ndarray, np.ndarray]]


class Made(NamedTuple):
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
    setup: Setup, made: Made, points: Sequence[tuple[float, float]], records: Records
) -> list[tuple[str, str]]:
    """Return a row of the run summary, or an empty list.

    Parameters
    ----------
    setup : Setup
    made : Made
    points : sequence of (x, y)
        Positions of the gauges, m.
    records : callable
        Function that returns times, (n,), s, and surface elevations, (n, gauges), m.
    """
    line = line_of(setup, made, points)
    if line is None:
        return []
    record = _last(made, line, *records())
    if record is None:
        return []
    surfaces, interval, periods = record
    low, high = (share / made.period for share in _band(made))
    try:
        found = separate_reflection(
            surfaces, line.positions, interval, line.depth, band=(low, high), gravity=setup.gravity,
            taper=0.0 if made.regular else TAPER,
        )  # fmt: skip
    except InputError:
        return []
    if found.variance_fraction < MIN_VARIANCE_FRACTION:
        return []
    if not setup.linear and _of_height(setup, made, line, found.incident_height) > TRUE + SHARE * found.coefficient:
        return []
    places = sorted(points[k]["xy".index(line.axis)] for k in line.which)
    text = (
        f"{found.coefficient:.2g} from {low:.3g} to {high:.3g} Hz, by {len(places)} gauges at {line.axis} = "
        f"{places[0]:.4g} to {places[-1]:.4g} m, linear theory, last {periods} periods of {made.period:.4g} s"
    )
    return [("reflection", text)]


def _of_height(setup: Setup, made: Made, line: Line, height: float) -> float:
    """Return the spurious reflection coefficient of linear theory due to the amplitude dispersion of high waves.

    By the second-order Stokes approximation, omega^2 = g k tanh(kh) (1 + S (ka)^2): R. L. Wiegel, Oceanographical
    Engineering (1964), section 2.6; S = 1 in deep water.
    """
    h, omega = line.depth, 2.0 * np.pi / made.period
    k = float(wave_number(omega, h, setup.gravity))
    kh, ka = min(k * h, 20.0), k * height / np.sqrt(8.0)
    s = (8.0 + np.cosh(4.0 * kh) - 2.0 * np.tanh(kh) ** 2) / (8.0 * np.sinh(kh) ** 4)
    true = k - 0.5 * omega * s * ka**2 / float(group_velocity(k, h, setup.gravity))
    both = np.exp(1j * k * np.outer(line.positions, [1.0, -1.0]))
    found = np.linalg.lstsq(both, np.exp(1j * true * line.positions), rcond=None)[0]
    return float(abs(found[1]) / abs(found[0]))


def _band(made: Made) -> tuple[float, float]:
    return BAND if made.regular else BAND_OF_A_SEA


def line_of(setup: Setup, made: Made, points: Sequence[tuple[float, float]]) -> Line | None:
    """Return gauges in a line along the waves, outside zones and sponges, over a level bed; None if too few."""
    grid, along_x = setup.grid, across_x(made.side)
    along = grid.x if along_x else grid.y
    rows: dict[int, dict[int, int]] = {}  # by row: gauge index by point
    for number, place in enumerate(points):
        j, i = grid.cell_of(*place)
        row, at = (j, i) if along_x else (i, j)
        if not _inside_a_strip(setup, along_x, at):
            rows.setdefault(row, {})[at] = number
    if not rows:
        return None
    row, gauges = max(rows.items(), key=lambda item: len(item[1]))
    if len(gauges) < FEWEST_GAUGES:
        return None
    depth = setup.depth[row] if along_x else setup.depth[:, row]
    between = depth[min(gauges) : max(gauges) + 1]
    if np.ptp(between) > LEVEL * between.max():
        return None
    omega = 2.0 * np.pi * (SLOWER if made.regular else BAND_OF_A_SEA[1]) / made.period
    g = setup.gravity
    speeds = np.array([float(group_velocity(wave_number(omega, float(h), g), float(h), g)) for h in depth])
    returns = made.ramp + 2.0 * float(np.sum(np.diff(along) / speeds[1:]))
    positions = from_side(made.side, grid.x, grid.y)[list(gauges)]
    return Line("x" if along_x else "y", list(gauges.values()), positions, float(between.mean()), returns)


def _inside_a_strip(setup: Setup, along_x: bool, at: int) -> bool:
    """Return whether a point of the line is inside a zone or sponge, or one lies along the line."""
    for strip in (*setup.relaxation_zones, *setup.sponges):
        if across_x(strip.side) != along_x:
            return True  # a strip along the line changes the wave height
        if from_side(strip.side, setup.grid.x, setup.grid.y)[at] < strip.width:
            return True
    return False


def goes_straight(side: str, wave: Any) -> bool:
    """Return whether the waves of a zone section travel normal to its side."""
    ahead = {"west": 0.0, "south": 0.5 * math.pi, "east": math.pi, "north": 1.5 * math.pi}[side]
    if wave is None or getattr(wave, "spreading", None) is not None:
        return False
    return math.cos(wave.goes_to() - ahead) > STRAIGHT


def _last(made: Made, line: Line, times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float, int] | None:
    """Return the final records, (gauges, n), m, their interval, s, and number of periods; None if too short."""
    if times.size < 3:
        return None
    interval = float(times[1] - times[0])
    if abs(times[-1] - times[-2] - interval) > NEARLY * interval:
        times, values = times[:-1], values[:-1]  # the run does not end at a multiple of the interval
    most = int((times[-1] - line.returns) / made.period)
    fewest = FEWEST_PERIODS if made.regular else FEWEST_OF_A_SEA
    if most < fewest or made.period < SAMPLES_A_PERIOD * interval:
        return None
    most = min(most, MOST_PERIODS) if made.regular else most
    choices = np.arange(max(fewest, most // 2), most + 1) if made.regular else np.array([most])
    samples = choices * made.period / interval
    best = int(np.argmin(np.abs(samples - np.round(samples)) - 1e-9 * choices))
    count = round(float(samples[best]))
    if np.ptp(np.diff(times[-count:])) > NEARLY * interval + 1e-9 * abs(float(times[-1])):
        return None
    surfaces = values[-count:, line.which].T
    return (surfaces, interval, int(choices[best])) if np.isfinite(surfaces).all() else None
