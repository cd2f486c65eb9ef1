"""Checks of prescribed waves against the basin, and notes on them before a run.

Direction, depth and periodicity are checked. Linear theory predicts two errors: celerity with these layers, and
reflection of absorbing wavemakers.

**Celerity.** A wave of small height and wave number k over a flat bed satisfies on the layers of a `Vertical`, with
the difference weights D and D2 along sigma::

    D2 Phi / h^2 = k^2 Phi in the interior,   D Phi = 0 at the bottom,   Phi = 1 at the surface
    c^2 = g D Phi / (h k^2) at the surface,   exact: c^2 = g tanh(k h) / k

Horizontal differences and time steps add errors that depend on points per wave and steps per period.

**Reflection.** A piston of velocity U makes a wave of the amplitude B U / omega and a local elevation E U_t / omega^2
at its face, with Biesel's transfer function and the evanescent wave numbers k_j tan(k_j h) = -omega^2 / g::

    B = 4 sinh^2(k h) / (sinh(2 k h) + 2 k h),   E = sum 4 sin^2(k_j h) / (sin(2 k_j h) + 2 k_j h)

Absorption sets U = -sqrt(g / h) eta at the face, where the elevation is twice the incident wave plus both parts. With
r = sqrt(g / h) / omega the reflection coefficient is::

    R = |(1 - r B - i r E) / (1 + r B - i r E)|

Source of B and E: R. G. Dean, R. A. Dalrymple (1991), doi:10.1142/1232, section 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone, across_x, from_side
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.waves import FocusedGroup, LinearWaves, RegularWave, Sea

MAX_ACROSS = 0.02  # sine of the angle to the axis of a flume
MAX_VARIANCE_ACROSS = 0.01  # fraction of the variance at larger angles
MIN_VARIANCE_INWARD = 0.5  # fraction of the variance that travels into the basin
DEPTH_TOLERANCE = 0.05  # relative
DEEP = 0.99  # tanh(k h) above which waves do not depend on the depth
PERIODS_TOLERANCE = 0.01  # wave lengths per basin
MAX_JUMP = 0.05  # relative to the elevation, across a periodic axis
INWARD = {"west": (1.0, 0.0), "east": (-1.0, 0.0), "south": (0.0, 1.0), "north": (0.0, -1.0)}
MAX_CELERITY_ERROR = 0.01  # of the celerity, above which it is noted
MAX_REFLECTION = 0.03  # of an absorbing wavemaker, above which it is noted
MAX_LAYERS = 65  # that are suggested
GROWTH = 1.15  # ratio of the numbers of layers that are tried
EVANESCENT = 200  # modes in the sum for E


def check_zone(
    zone: RelaxationZone, zones: Sequence[RelaxationZone], depth: np.ndarray, grid: Grid, periodic: tuple[bool, bool]
) -> None:
    """Reject a zone whose waves contradict the basin; `zones` are all zones, `depth` that of still water, (ny, nx)."""
    waves = zone.waves
    if not isinstance(waves, (LinearWaves, RegularWave)):
        return
    check_direction(waves, grid)
    check_depth(waves, depth_under(zone, grid, depth))
    same = [zone, *(other for other in zones if other is not zone and _equal(other.waves, waves))]
    if not any(_inward(other.side, waves) >= MIN_VARIANCE_INWARD for other in same):
        raise InputError(
            f"a direction of {math.degrees(_mean_direction(waves)):.4g} degrees in the zone in the {zone.side}",
            allowed=f"waves that travel away from the {zone.side} side, measured from the x axis towards the y axis",
            fix=f'direction = "{math.degrees(math.atan2(*INWARD[zone.side][::-1])):g} deg"',
            problem="The waves of this zone travel out of the basin.",
        )
    along = (periodic[1] and not across_x(zone.side), periodic[0] and across_x(zone.side))
    if isinstance(waves, RegularWave):
        _check_lengths(waves, grid, along)
    elif not isinstance(waves, FocusedGroup):  # a group ends within the basin
        _check_steps(waves, grid, along)


def check_zones(zones: Sequence[RelaxationZone], depth: np.ndarray, grid: Grid, periodic: tuple[bool, bool]) -> None:
    """Reject zones whose waves contradict the basin."""
    for zone in zones:
        check_zone(zone, zones, depth, grid, periodic)


def check_initial(waves: LinearWaves | RegularWave, depth: np.ndarray, grid: Grid, periodic: tuple[bool, bool]) -> None:
    """Reject initial waves that contradict the basin; `periodic` is that of y and x."""
    check_direction(waves, grid)
    check_depth(waves, depth)
    if isinstance(waves, RegularWave):
        _check_lengths(waves, grid, (periodic[1], periodic[0]))
        return
    x, y = grid.x, grid.y
    highest = float(np.abs(waves.elevation(x[None], y[:, None], 0.0)).max())
    for name, repeats, jump in (
        ("x", periodic[1], waves.elevation(x[0] + np.array([[0.0], [grid.nx * grid.dx]]), y, 0.0)),
        ("y", periodic[0], waves.elevation(x, y[0] + np.array([[0.0], [grid.ny * grid.dy]]), 0.0)),
    ):
        step = float(np.abs(np.diff(jump, axis=0)).max())
        if repeats and step > MAX_JUMP * highest:
            raise InputError(
                f"a step of {step:.3g} m along {name} between waves up to {highest:.3g} m high",
                allowed="walls and zones, or waves that repeat over the basin", fix='periodic = "none"',
                problem=f"The initial waves do not repeat over the basin, which is periodic along {name}.",
            )  # fmt: skip


def check_direction(waves: LinearWaves | RegularWave, grid: Grid) -> None:
    """Reject waves across a flume, an axis of one point."""
    direction, variance = _components(waves)
    for name, count, across, along in (
        ("ny", grid.ny, np.sin(direction), "0 deg"),
        ("nx", grid.nx, np.cos(direction), "90 deg"),
    ):
        if count == 1 and float(variance[np.abs(across) > MAX_ACROSS].sum()) > MAX_VARIANCE_ACROSS:
            spread = float(np.ptp(direction)) > MAX_ACROSS
            got = f"a mean direction of {math.degrees(_mean_direction(waves)):.4g} degrees"
            raise InputError(
                f"{got}{' with spreading' if spread else ''} and {name} = 1",
                allowed=f"waves along the flume, or more points: {name} > 1",
                fix=f"no spreading, or {name} = 65" if spread else f'direction = "{along}"',
                problem="The waves travel at an angle to the axis of the flume.",
            )


def check_depth(waves: LinearWaves | RegularWave, under: np.ndarray) -> None:
    """Reject waves of a depth that is not found under them, unless they are deep-water waves in both."""
    low, high = float(under.min()), float(under.max())
    if low * (1.0 - DEPTH_TOLERANCE) <= waves.depth <= high * (1.0 + DEPTH_TOLERANCE):
        return
    if math.tanh(float(np.min(waves.wave_number)) * min(low, waves.depth)) > DEEP:
        return
    bed = f"{high:.4g} m deep" if high - low <= DEPTH_TOLERANCE * high else f"{low:.4g} to {high:.4g} m deep"
    raise InputError(
        f"depth = {waves.depth:g} over water {bed}", allowed="a depth that is found under the waves",
        fix=f"depth = {high:.4g}", problem="The waves are those of another depth than the water under them has.",
    )  # fmt: skip


def depth_under(zone: Any, grid: Grid, depth: np.ndarray) -> np.ndarray:
    """Return the depths of still water, m, in a zone; `zone` has a side and a width."""
    inside = from_side(zone.side, grid.x, grid.y) <= zone.width
    return depth[:, inside] if across_x(zone.side) else depth[inside]


def _check_lengths(waves: RegularWave, grid: Grid, periodic: tuple[bool, bool]) -> None:
    """Reject a wave of which the basin does not hold an integer number along periodic x and y."""
    extents = (grid.nx * grid.dx, math.cos(waves.direction)), (grid.ny * grid.dy, math.sin(waves.direction))
    for name, repeats, (extent, component) in zip("xy", periodic, extents, strict=True):
        count = abs(component) * extent / waves.length
        if repeats and abs(count - round(count)) > PERIODS_TOLERANCE:
            raise InputError(
                f"{count:.4g} wave lengths of {waves.length:.4g} m in the {extent:g} m of the basin along {name}",
                allowed="an integer number of them",
                fix=f"length = {waves.length * count / max(1, round(count)):.6g}, or walls",
                problem=f"The wave does not repeat over the basin, which is periodic along {name}.",
            )


def _check_steps(waves: LinearWaves, grid: Grid, periodic: tuple[bool, bool]) -> None:
    """Reject waves whose elevation has a step, in the root mean square over time, along periodic x and y."""
    direction, variance = _components(waves)
    for name, repeats, component in (
        ("x", periodic[0], np.cos(direction) * grid.nx * grid.dx),
        ("y", periodic[1], np.sin(direction) * grid.ny * grid.dy),
    ):
        step = math.sqrt(float(np.sum(variance * (2.0 * np.sin(0.5 * waves.wave_number * component)) ** 2)))
        if repeats and step > MAX_JUMP:
            raise InputError(
                f"a step along {name} of {100.0 * step:.3g} % of the elevation, both in the root mean square",
                allowed="walls and zones, or waves that repeat over the basin", fix='periodic = "none"',
                problem=f"The waves of the zone do not repeat over the basin, which is periodic along {name}.",
            )  # fmt: skip


def _components(waves: LinearWaves | RegularWave) -> tuple[np.ndarray, np.ndarray]:
    """Return the direction, rad, of each component and its fraction of the variance."""
    if isinstance(waves, RegularWave):
        return np.array([waves.direction]), np.ones(1)
    return waves.direction, waves.amplitude**2 / np.sum(waves.amplitude**2)


def _inward(side: str, waves: LinearWaves | RegularWave) -> float:
    """Return the fraction of the variance that travels away from a side."""
    direction, variance = _components(waves)
    (x, y), tiny = INWARD[side], 1e-6
    return float(variance[x * np.cos(direction) + y * np.sin(direction) > tiny].sum())


def _mean_direction(waves: LinearWaves | RegularWave) -> float:
    """Return the mean direction, rad, weighted by the variance."""
    direction, variance = _components(waves)
    return float(np.angle(np.sum(variance * np.exp(1j * direction))))


def _equal(one: Any, other: Any) -> bool:
    """Return whether two waves have the same surface."""
    if one is None or one is other:
        return one is other
    x, t = np.linspace(0.0, 7.3, 9), np.linspace(0.0, 3.1, 9)
    first, second = (np.asarray(waves.elevation(x, 0.7 * x, t)) for waves in (one, other))
    return bool(np.allclose(first, second, rtol=0.0, atol=1e-6 * max(float(np.abs(second).max()), 1e-12)))


MIN_VARIANCE = 0.98  # fraction of the variance that the frequency band must hold
MIN_POINTS = 10.0  # per wave length of a regular wave
RESOLVED, COARSE_VARIANCE = 5.0, 0.01  # points per wave length; fraction of the variance that may have fewer
NYQUIST, ALIASED_VARIANCE = 2.0, 1e-4


def wave_notes(waves: Any, grid: Grid, what: str) -> list[str]:
    """Return notes on the waves of a zone or of the initial surface; `what` names them, as in "zone in the west"."""
    return [*_band_notes(waves, what), *_resolution_notes(waves, grid, what)]


def _band_notes(waves: Any, what: str) -> list[str]:
    """Report a frequency band that leaves out a part of the spectrum or record."""
    fraction = getattr(waves, "energy_fraction", 1.0)
    if fraction >= MIN_VARIANCE:
        return []
    frequency = waves.angular_frequency / (2.0 * math.pi)
    low, high = waves.band if isinstance(waves, Sea) else (frequency.min(), frequency.max())
    text = f"{what}: the band {low:.4g} to {high:.4g} Hz holds {fraction:.1%} of the variance of the waves"
    if isinstance(waves, Sea):
        requested = 4.0 * math.sqrt(waves.spectrum.variance)
        text += f"; Hs is {requested * math.sqrt(fraction):.3g} m instead of {requested:.3g} m"
    return [text]


def _resolution_notes(waves: Any, grid: Grid, what: str) -> list[str]:
    """Report a regular wave, or a part of the variance of a sea, with too few points per wave length."""
    if not isinstance(waves, (LinearWaves, RegularWave)):
        return []
    points = points_per_length(waves, grid)
    if isinstance(waves, RegularWave):
        few = f"{points[0]:.1f} points per wave length of {waves.length:.4g} m"
        return [f"{what}: {few}; {MIN_POINTS:g} or more are needed"] if points[0] < MIN_POINTS else []
    fraction = waves.amplitude**2 / np.sum(waves.amplitude**2)
    coarse, aliased = (float(fraction[points < limit].sum()) for limit in (RESOLVED, NYQUIST))
    if coarse <= COARSE_VARIANCE and aliased <= ALIASED_VARIANCE:
        return []
    return [
        f"{what}: components with {coarse:.1%} of the variance have fewer than {RESOLVED:g} points per wave length, "
        f"{points.min():.1f} at the highest frequency, {waves.angular_frequency.max() / (2.0 * math.pi):.3g} Hz; "
        "refine the grid or cut the spectrum (key highest)"
    ]


def points_per_length(waves: LinearWaves | RegularWave, grid: Grid) -> np.ndarray:
    """Return the points per wave length of each component, (n,): the smaller number of those along x and y."""
    k, direction = np.atleast_1d(waves.wave_number), np.atleast_1d(waves.direction)
    per_point = np.zeros(k.shape)
    for count, step, component in ((grid.nx, grid.dx, np.cos(direction)), (grid.ny, grid.dy, np.sin(direction))):
        if count > 1:
            per_point = np.maximum(per_point, k * np.abs(component) * step)
    return 2.0 * math.pi / np.maximum(per_point, 1e-300)


def celerity_error(vertical: Vertical, kh: float) -> float:
    """Return the relative error of the celerity of linear waves on these layers; -1 where no wave propagates."""
    nz, first = vertical.nz, vertical.first
    matrix = vertical.second[: nz + 1].copy() - kh**2 * np.eye(nz + 1)
    matrix[0] = np.eye(nz + 1)[0]
    matrix[nz] = first[nz - 1]
    potential = np.linalg.solve(matrix, np.eye(nz + 1)[0])
    rise = float(first[0] @ potential)
    return math.sqrt(max(rise, 0.0) / (kh * math.tanh(kh))) - 1.0


def better_layers(vertical: Vertical, kh: float) -> Vertical | None:
    """Return layers on which the celerity is right to `MAX_CELERITY_ERROR`; None above `MAX_LAYERS`."""
    nz = vertical.nz
    while nz <= MAX_LAYERS:
        layers = Vertical(nz, vertical.order, True)
        if abs(celerity_error(layers, kh)) < MAX_CELERITY_ERROR:
            return layers
        nz = max(nz + 1, round(GROWTH * nz))
    return None


def wavemaker_reflection(kh: float) -> float:
    """Return the reflection coefficient of an absorbing wavemaker for waves of this relative depth k h."""
    q = kh * math.tanh(kh)  # omega^2 h / g
    gain = 1.0 / math.sqrt(q)
    wave = 4.0 * math.tanh(kh) ** 2 / (2.0 * math.tanh(kh) + 2.0 * kh / math.cosh(min(kh, 300.0)) ** 2)
    k = (np.arange(EVANESCENT) + 1.0) * math.pi
    for _ in range(60):  # k_j h = j pi - arctan(q / (k_j h))
        k = (np.arange(EVANESCENT) + 1.0) * math.pi - np.arctan(q / k)
    local = float((4.0 * np.sin(k) ** 2 / (np.sin(2.0 * k) + 2.0 * k)).sum())
    return abs((1.0 - gain * wave - 1j * gain * local) / (1.0 + gain * wave - 1j * gain * local))


def mean_wave_number(surface: np.ndarray, spacing: tuple[float, float]) -> float:
    """Return the energy-weighted wave number of an elevation and a potential, (2, ny, nx), 1/m; 0 at rest.

    It follows from the mean squares of the potential, or where that is 0 of the elevation, and of its differences.
    """
    for values in (surface[1], surface[0]):
        variance = float(values.var())
        if variance > 0.0:
            total = 0.0
            for axis, step in enumerate(spacing):
                if values.shape[axis] > 1:
                    ratio = float((np.diff(values, axis=axis) ** 2).mean()) / variance
                    total += (2.0 / step * math.asin(min(1.0, 0.5 * math.sqrt(ratio)))) ** 2
            return math.sqrt(total)
    return 0.0
