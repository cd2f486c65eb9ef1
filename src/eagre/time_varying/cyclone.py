"""Wind and pressure of a tropical cyclone along a track.

G. J. Holland, Mon. Weather Rev. 108, 1212-1218 (1980), doi:10.1175/1520-0493(1980)108<1212:AAMOTW>2.0.CO;2;
G. J. Holland, J. I. Belanger and A. Fritz, Mon. Weather Rev. 138, 4393-4401 (2010), doi:10.1175/2010MWR3317.1.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from typing import Any

import numpy as np

from eagre.constants import EARTH_ROTATION
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import QUANTITIES, check_plausible
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField

AIR_DENSITY = 1.15  # air density in the cyclone, kg m-3 (Holland 1980)
SHAPES = (1.0, 2.5)  # bounds of the shape parameter B (Holland 1980)
TO_SURFACE = 0.9  # ratio of the 10 m wind to the gradient wind above the boundary layer
OF_TRANSLATION = 0.55
"""Fraction of the translation velocity in the surface wind: N. Lin and D. Chavas, J. Geophys. Res. 117, D09120 (2012),
doi:10.1029/2011JD017126.
"""
MAX_TRANSLATION = 0.5  # upper limit of this contribution, fraction of the maximum wind, for weak storms that move fast
INFLOW = math.radians(20.0)
PEAK = np.linspace(0.2, 1.0, 801)  # distances from the centre, divided by R, where the maximum wind is searched
STEPS_A_RADIUS = 6.0  # records per time in which the centre moves by the radius of maximum wind
NODES_A_RADIUS = 8.0
MAX_RECORDS = 100_000


@dataclass(frozen=True, eq=False)
class Track:
    """Track of a tropical cyclone: position and intensity at increasing times; all arrays (n,), n >= 2.

    Parameters
    ----------
    times : s
    x, y : m
        Coordinates of the centre, in the coordinates of the grid.
    latitude : degrees north
        Latitude of the centre; determines the sense of rotation and the Coriolis parameter.
    central_pressure : Pa
    max_wind : m s-1
        Maximum 10-minute mean wind at 10 m, including the effect of translation.
    radius : m
        Radius of maximum wind.
    outer_wind, outer_radius : m s-1 and m, optional
        Azimuthal-mean wind at an outer radius; required by the profile "holland-2010".
    """

    times: np.ndarray
    x: np.ndarray
    y: np.ndarray
    latitude: np.ndarray
    central_pressure: np.ndarray
    max_wind: np.ndarray
    radius: np.ndarray
    outer_wind: np.ndarray | None = None
    outer_radius: np.ndarray | None = None

    def __post_init__(self) -> None:
        for field in self._given_fields():
            values = np.array(getattr(self, field.name), np.float64)
            if values.ndim != 1 or values.shape != np.shape(self.times) or not np.isfinite(values).all():
                raise InputError(
                    f"{field.name} of a track", allowed="finite numbers, one for each time",
                    problem=f"The values {field.name} of the track are not valid.",
                )  # fmt: skip
            object.__setattr__(self, field.name, values)
        if self.times.size < 2 or not (np.diff(self.times) > 0).all():
            raise InputError(
                f"{self.times.size} times of a track", allowed="two or more, increasing",
                problem="The track needs at least two times in increasing order.",
            )  # fmt: skip
        for name, low, high in (("max_wind", 1.0, np.inf), ("radius", 1e3, 5e5)):
            values = getattr(self, name)
            if not ((values >= low) & (values <= high)).all():
                got = f"{name} of a track from {values.min():g} to {values.max():g}"
                raise InputError(
                    got, allowed=f"{low:g} to {high:g}, SI units", problem=f"The {name} of the track is out of range."
                )
        check_plausible("air_pressure", self.central_pressure, "central_pressure", "a track")
        check_plausible("wind", self.max_wind, "max_wind", "a track")
        if self.outer_wind is not None and self.outer_radius is not None:
            self._check_outer(self.outer_wind, self.outer_radius)
        if not (np.abs(self.latitude) <= 60.0).all() or self.latitude.min() * self.latitude.max() < 0.0:
            raise InputError(
                "latitudes of a track on both sides of the equator or beyond 60", allowed="one hemisphere",
                problem="The track must stay in one hemisphere, between 60 degrees south and 60 degrees north.",
            )  # fmt: skip

    def _given_fields(self) -> list[Field[Any]]:
        return [one for one in fields(self) if getattr(self, one.name) is not None]

    def _check_outer(self, wind: np.ndarray, radius: np.ndarray) -> None:
        """Raise `InputError` unless the outer wind is weaker than the rotating wind and outside the maximum."""
        way = np.hypot(np.diff(self.x), np.diff(self.y)) / np.diff(self.times)
        carried = _translation(self.max_wind, np.maximum(np.append(way[0], way), np.append(way, way[-1])))
        wrong = (wind <= 0.0) | (wind >= self.max_wind - carried) | (radius <= self.radius) | (radius > 2e6)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(
                f"outer_wind {wind[k]:g} m/s at outer_radius {radius[k]:g} m in row {k + 1} of a track",
                allowed=f"below {self.max_wind[k] - carried[k]:g} m/s, the maximum wind without translation; radius "
                f"from {self.radius[k]:g} m to 2e+06 m",
                problem="The outer wind of the track is too strong, or is not outside the radius of maximum wind.",
            )

    def at(self, time: float) -> dict[str, float]:
        """Return all values at a time, s, interpolated linearly."""
        values = {
            one.name: float(np.interp(time, self.times, getattr(self, one.name))) for one in self._given_fields()[1:]
        }
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, self.times.size - 2))
        step = self.times[k + 1] - self.times[k]
        return values | {"u": (self.x[k + 1] - self.x[k]) / step, "v": (self.y[k + 1] - self.y[k]) / step}

    def instants(self) -> np.ndarray:
        """Return the record times, s: the times of the track, refined by the displacement of the centre."""
        way = np.hypot(np.diff(self.x), np.diff(self.y)) / np.minimum(self.radius[1:], self.radius[:-1])
        counts = np.maximum(1, np.ceil(STEPS_A_RADIUS * way)).astype(int)
        if counts.sum() > MAX_RECORDS:
            got, problem = f"a track of {counts.sum()} records", "The track needs too many records."
            raise InputError(got, allowed=f"up to {MAX_RECORDS}", problem=problem)
        segments = zip(self.times[:-1], self.times[1:], counts, strict=True)
        return np.concatenate([*(np.linspace(a, b, n, endpoint=False) for a, b, n in segments), self.times[-1:]])


def wind_of_1980(r: np.ndarray, max_wind: float, deficit: float, storm: dict[str, float]) -> tuple[np.ndarray, float]:
    """Return the 10 m wind without translation, m s-1, at distances r, m, and the shape parameter B (Holland 1980).

    B = V (V + R |f|) rho e / (p_n - p_c) puts the maximum wind at R. The gradient wind above the boundary layer is
    sqrt(B (p_n - p_c) / rho (R/r)^B exp(-(R/r)^B) + (r f / 2)^2) - r |f| / 2; the 10 m wind is 0.9 times this wind.
    The profile is scaled to the maximum V, which differs where B is clipped or R |f| is not small.

    max_wind : maximum wind V; deficit : p_n - p_c, Pa.
    """
    f = abs(2.0 * EARTH_ROTATION * math.sin(math.radians(storm["latitude"])))
    above = max_wind / TO_SURFACE
    shape = _shape_of(above * (above + storm["radius"] * f), deficit, SHAPES)

    def gradient(distance: np.ndarray) -> np.ndarray:
        power, turning = (storm["radius"] / distance) ** shape, 0.5 * distance * f
        return np.sqrt(shape * deficit / AIR_DENSITY * power * np.exp(-power) + turning**2) - turning

    return max_wind / gradient(storm["radius"] * PEAK).max() * gradient(r), shape


def wind_of_2010(r: np.ndarray, max_wind: float, deficit: float, storm: dict[str, float]) -> tuple[np.ndarray, float]:
    """As `wind_of_1980`, through a second wind outside (Holland and others 2010).

    V = V_m ((R/r)^b exp(1 - (R/r)^b))^x (their equation 6) with b = V_m^2 rho e / (p_n - p_c) (7) of winds at the
    surface; x is 1/2 to R and from there on linear in r to x_n at r_n, so that V is V_n there (10). Beyond it x stays.
    """
    shape = _shape_of(max_wind**2, deficit, (TO_SURFACE**2 * SHAPES[0], TO_SURFACE**2 * SHAPES[1]))
    radius, outer = storm["radius"], storm["outer_radius"]

    def logarithm(distance: Any) -> Any:
        power = (radius / distance) ** shape
        return np.log(power) + 1.0 - power

    last = math.log(storm["outer_wind"] / max_wind) / float(logarithm(outer))
    exponent = 0.5 + (last - 0.5) * np.clip((r - radius) / (outer - radius), 0.0, 1.0)
    return max_wind * np.exp(exponent * logarithm(r)), shape


def _shape_of(squared: float, deficit: float, bounds: tuple[float, float]) -> float:
    """Return B for a squared wind, m2 s-2."""
    return min(max(squared * AIR_DENSITY * math.e / deficit, bounds[0]), bounds[1])


def _translation(max_wind: Any, velocity: Any) -> Any:
    """Return the contribution of the translation velocity to the maximum wind, m s-1."""
    return np.minimum(OF_TRANSLATION * velocity, MAX_TRANSLATION * max_wind)


PROFILES = {"holland-1980": wind_of_1980, "holland-2010": wind_of_2010}


def holland(
    dx: np.ndarray, dy: np.ndarray, storm: dict[str, float], ambient: float, profile: str = "holland-1980"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the 10 m wind along x and y, m s-1, and the pressure, Pa, at (dx, dy), m, from the cyclone centre.

    p = p_c + (p_n - p_c) exp(-(R/r)^B). The rotating wind follows one of `PROFILES`, with an inflow angle of 20
    degrees. The translation contributes a fraction of the translation velocity, proportional to the rotating wind. The
    maximum of the sum is ``max_wind``; the translation contributes at most half of it.

    Parameters
    ----------
    dx, dy : array, m
        Distance from the centre.
    storm : dict
        Values of the track at one time, see `Track.at`.
    ambient : float, Pa
        Ambient pressure p_n.
    profile : str
        One of `PROFILES`.
    """
    velocity = math.hypot(storm["u"], storm["v"])
    carried = float(_translation(storm["max_wind"], velocity))
    rotation = storm["max_wind"] - carried
    deficit = max(ambient - storm["central_pressure"], 100.0)
    r = np.maximum(np.hypot(dx, dy), 1e-3 * storm["radius"])
    speed, shape = PROFILES[profile](r, rotation, deficit, storm)
    sense = math.copysign(1.0, storm["latitude"])
    around, inwards = speed * math.cos(INFLOW) / r, speed * math.sin(INFLOW) / r
    fraction = speed / rotation * (carried / velocity if velocity else 0.0)
    wind_x = -sense * around * dy - inwards * dx + fraction * storm["u"]
    wind_y = sense * around * dx - inwards * dy + fraction * storm["v"]
    return wind_x, wind_y, ambient - deficit * (1.0 - np.exp(-((storm["radius"] / r) ** shape)))


def cyclone_fields(
    track: Track, grid: Grid, ambient: float = 101_300.0, name: str = "cyclone", profile: str = "holland-1980"
) -> tuple[TimeVaryingField, TimeVaryingField, TimeVaryingField]:
    """Return wind along x, wind along y and pressure of a cyclone as time-varying fields on a grid.

    Parameters
    ----------
    track : Track
    grid : Grid
    ambient : float, Pa
        Ambient pressure far from the cyclone.
    name : str
        Name of the track, for error messages.
    profile : str
        One of `PROFILES`.

    Raises
    ------
    InputError
        For an ambient pressure below a central pressure, an unknown profile, or a profile that needs an outer wind
        if the track has none.

    Notes
    -----
    The centre moves by a sixth of the radius of maximum wind between records; nodes are an eighth of it apart.
    """
    check_plausible("air_pressure", ambient, "ambient")
    if ambient <= track.central_pressure.max():
        raise InputError(
            f"ambient = {ambient:g} Pa for central pressures to {track.central_pressure.max():g} Pa",
                allowed="a pressure above all of them", fix="ambient = 101300.0",
                problem="The ambient pressure is not above the central pressures of the track.",
            )  # fmt: skip
    if profile not in PROFILES:
        raise InputError(f"profile = {profile!r}", allowed=", ".join(PROFILES), fix='profile = "holland-1980"')
    if profile == "holland-2010" and (track.outer_wind is None or track.outer_radius is None):
        raise InputError(
            f"profile {profile} of a track without an outer wind", allowed="outer_wind and outer_radius",
            problem=f"The profile {profile} requires an outer wind.",
        )  # fmt: skip
    nodes = NodeGrid.within(grid, float(track.radius.min()) / NODES_A_RADIUS)
    record_times = RecordTimeAxis(track.instants(), name)
    x, y = np.meshgrid(*nodes.points(grid))

    def field_of(index: int, what: str, quantity: str) -> TimeVaryingField:
        def read(k: int) -> np.ndarray:
            storm = track.at(float(record_times.times[k]))
            return holland(x - storm["x"], y - storm["y"], storm, ambient, profile)[index]

        known = QUANTITIES[quantity]
        return TimeVaryingField(record_times, nodes, read, what, known.maximum, known.unit, quantity)

    quantities = (("wind along x", "wind"), ("wind along y", "wind"), ("pressure", "air_pressure"))
    wind_x, wind_y, pressure = (field_of(n, *quantity_names) for n, quantity_names in enumerate(quantities))
    return wind_x, wind_y, pressure
