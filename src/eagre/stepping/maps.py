"""Maps that a run gathers on its device (`eagre.kernels.maps`): what is asked for, where it is kept, what comes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.given import all_of_type, of_type
from eagre.kernels.maps import NOTHING, SINCE, THRESHOLDS, UNSET, WET, Kept
from eagre.names import nearest

LARGEST = "time: maximum"
CLASSES = ("H1", "H2", "H3", "H4", "H5", "H6")
AIDR = ((0.3, 0.3, 2.0), (0.5, 0.6, 2.0), (1.2, 0.6, 2.0), (2.0, 1.0, 2.0), (4.0, 4.0, 4.0))
"""Largest depth, m, depth times speed, m2 s-1, and speed, m s-1, of the classes H1 to H5 (AIDR Guideline 7-3, 2017)."""

VARIABLES = (
    Variable(
        "max_surface_elevation", "m", "largest surface elevation", "water_surface_height_above_reference_datum",
        cell_methods=LARGEST,
    ),
    Variable("max_depth", "m", "largest water depth", "flood_water_thickness", cell_methods=LARGEST),
    Variable("time_of_max_depth", "s", "time of the largest water depth"),
    Variable("max_speed", "m s-1", "largest speed, averaged over depth", "flood_water_speed", cell_methods=LARGEST),
    Variable("max_unit_discharge", "m2 s-1", "largest unit discharge, depth times speed", cell_methods=LARGEST),
    Variable(
        "max_hazard_rating", "m2 s-1", "largest hazard rating of DEFRA without debris, depth (speed + 0.5 m/s)",
        cell_methods=LARGEST,
    ),
    Variable("hazard_class", "1", "largest hazard class of AIDR", cell_methods=LARGEST, flags=CLASSES),
)  # fmt: skip
"""Maps without a threshold."""

_NEEDED = {  # planes of each
    "max_surface_elevation": ("HIGHEST",),
    "max_depth": ("HIGHEST",),
    "time_of_max_depth": ("HIGHEST", "TIME"),
    "max_speed": ("FASTEST",),
    "max_unit_discharge": ("STRONGEST",),
    "max_hazard_rating": ("RATING",),
    "hazard_class": ("HIGHEST", "FASTEST", "STRONGEST"),
}
_TIMED = (
    ("arrival_time", "time at which the depth first was above", "time: point"),
    ("arrival_time_rise", "time at which the surface first was over that of the start by more than", "time: point"),
    ("duration", "time for which the depth was above", "time: sum"),
)
"""Maps with a threshold: name, long name and cell methods."""

MOST_DURATIONS = 8  # bits of a byte


def threshold_name(stem: str, threshold: float) -> str:
    """Name of a map with a threshold, m: ``arrival_time_300mm``."""
    return f"{stem}_{1000.0 * threshold:.10g}mm".replace(".", "p")


@dataclass(frozen=True)
class Maps:
    """Maps of what was largest, when it came and how long it lasted, gathered at every accepted step.

    Parameters
    ----------
    variables : sequence of str
        Of ``max_surface_elevation``, ``max_depth``, ``time_of_max_depth``, ``max_speed``, ``max_unit_discharge``,
        ``max_hazard_rating`` and ``hazard_class``.
    arrival_depths : sequence of float, m
        The time at which the depth first is above each.
    arrival_rises : sequence of float, m
        The time at which the surface first is higher above that of the start than each; the depth on dry land.
    duration_depths : sequence of float, m
        How long in all the depth was above each; 8 at most.
    wet_depth : float, m
        A depth that does not count as water; at least that which the model calls dry.

    Notes
    -----
    A step reads one word a cell more for surface, depth, the time of the largest one and arrivals together, and one
    each for speed, unit discharge and rating; where one is larger than ever it is written too. Times are in s since
    model time 0, kept from the start of the run on with the digits of the run's precision. Maps are not numbers where
    there was no water.

    References
    ----------
    Surendran et al., FD2320/TR2, DEFRA (2005), equation 3.1. AIDR Guideline 7-3, Flood Hazard (2017), table 2.
    """

    variables: Sequence[str] = ("max_surface_elevation", "max_depth", "time_of_max_depth", "max_speed")
    arrival_depths: Sequence[float] = ()
    arrival_rises: Sequence[float] = ()
    duration_depths: Sequence[float] = ()
    wet_depth: float = 0.0

    def __post_init__(self) -> None:
        for name in all_of_type("variables", self.variables, str, 'variables = ["max_depth"]'):
            if name not in _NEEDED:
                fix = f'variables = ["{nearest(name, _NEEDED) or "max_depth"}"]'
                raise InputError(f"variables with {name!r}", allowed=", ".join(_NEEDED), fix=fix)
        if not (math.isfinite(self.wet_depth) and self.wet_depth >= 0.0):
            raise InputError(
                f"wet_depth = {self.wet_depth!r} m", allowed="a depth of 0 or more", fix="wet_depth = 0.01"
            )
        least = {"arrival_depths": self.wet_depth, "arrival_rises": 0.0, "duration_depths": 0.0}
        for key, low in least.items():
            values = list(getattr(self, key))
            for one in values:
                if not (math.isfinite(one) and one >= low) or values.count(one) > 1:
                    allowed = f"different numbers from {low:g} m on"
                    raise InputError(f"{key} = {values}", allowed=allowed, fix=f"{key} = [{max(low, 0.1):g}]")
        if len(self.duration_depths) > MOST_DURATIONS:
            got = f"duration_depths with {len(self.duration_depths)} depths"
            fix = f"duration_depths = {list(self.duration_depths)[:MOST_DURATIONS]}"
            raise InputError(got, allowed=f"{MOST_DURATIONS} at most", fix=fix)
        if not self.outputs:
            raise InputError("variables = [] and no thresholds", allowed="a map", fix='variables = ["max_depth"]')

    @property
    def outputs(self) -> list[Variable]:
        """What comes out."""
        return [*(one for one in VARIABLES if one.name in self.variables), *self.timed]

    @property
    def timed(self) -> list[Variable]:
        """The maps with a threshold, in the order of their planes."""
        return [
            Variable(threshold_name(stem, one), "s", f"{what} {one:g} m", cell_methods=method)
            for values, (stem, what, method) in zip(self._rows.values(), _TIMED, strict=True)
            for one in values
        ]

    @property
    def planes(self) -> dict[str, int]:
        """First plane of everything that has to be kept, by the name of its switch without ``AT_``."""
        wanted = {plane for name in self.variables for plane in _NEEDED[name]}
        wanted |= {"HIGHEST"} if self.arrival_depths or self.arrival_rises else set()
        found = {name: n for n, name in enumerate(sorted(wanted))}
        count = len(found)
        if self.arrival_rises:
            found["FIRST"], count = count, count + 1
        for name, values in self._rows.items():
            found[name], count = count, count + len(values)
        return found

    @property
    def _rows(self) -> dict[str, Sequence[float]]:
        return {"ARRIVALS": self.arrival_depths, "RISES": self.arrival_rises, "DURATIONS": self.duration_depths}

    @property
    def count(self) -> int:
        """How many planes are kept."""
        return self.planes["DURATIONS"] + len(self.duration_depths)

    @property
    def switches(self) -> dict[str, Any]:
        """Of the cells of `eagre.kernels.maps`."""
        rows = {name: len(values) for name, values in self._rows.items()}
        return {"TAKEN": True, **rows, **{f"AT_{name}": at for name, at in self.planes.items()}}

    def numbers(self, since: float, dry: float) -> np.ndarray:
        """`Kept.numbers` of maps that begin at a time, s; dry : the depth that the model calls dry, m."""
        found = np.zeros(THRESHOLDS + sum(len(values) for values in self._rows.values()))
        found[SINCE], found[WET] = since, max(self.wet_depth, dry)
        found[THRESHOLDS:] = [one for values in self._rows.values() for one in values]
        return found


def planes_of(maps: Maps | None) -> int:
    """How many arrays maps take on a device."""
    return 0 if maps is None else of_type("maps", maps, Maps, 'Maps(["max_depth"])').count


class Water(NamedTuple):
    """How a model reads what it stores of the surface: functions of (ny, nx) arrays, m."""

    surface: Callable[[np.ndarray], np.ndarray]
    depth: Callable[[np.ndarray], np.ndarray]


class Gathered:
    """The maps of a run on one device.

    Parameters
    ----------
    maps : Maps or None
        None keeps nothing.
    device : Device
    shape : (ny, nx)
    real : type
        Of the run.
    dry : float
        Depth that the model calls dry, m.

    Attributes
    ----------
    kept : Kept
        On the device, for `eagre.kernels.maps`.
    switches : dict
    """

    def __init__(self, maps: Maps | None, device: Device, shape: tuple[int, int], real: Any, dry: float) -> None:
        self.maps, self._device, self._shape, self._dry, self._real = maps, device, shape, dry, real
        self.switches: dict[str, Any] = {} if maps is None else maps.switches
        planes = (1, 1, 1) if maps is None else (maps.count, *shape)
        bits = shape if maps is not None and maps.duration_depths else (1, 1)
        numbers = np.zeros(THRESHOLDS) if maps is None else maps.numbers(0.0, dry)
        self.kept = Kept(device.zeros(planes, real), device.zeros(bits, np.uint8), device.array(numbers))

    def begin(self, surface: np.ndarray, time: float) -> None:
        """Begin at a time, s, with what the model stores of the surface, (ny, nx), that of the bed where it is dry."""
        if self.maps is None:
            return
        planes, at = np.full(self.kept.planes.shape, UNSET, self._real), self.maps.planes
        for name, start in (("HIGHEST", NOTHING), ("FIRST", surface)):
            if name in at:
                planes[at[name]] = start
        planes[at["DURATIONS"] :] = 0.0
        self._fill(planes, np.zeros(self.kept.above.shape, np.uint8), self.maps.numbers(time, self._dry))

    def _fill(self, *values: np.ndarray) -> None:
        for array, own in zip(self.kept, values, strict=True):
            self._device.fill(array, own)

    def state(self) -> dict[str, np.ndarray]:
        """What a restart needs; nothing where there are no maps."""
        if self.maps is None:
            return {}
        planes, above, numbers = (self._device.host(array) for array in self.kept)
        return {"maps": planes, "maps_above": above, "maps_numbers": numbers}

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Whether a state has maps of the same kind."""
        if self.maps is None or "maps" not in state:
            return False
        same = np.array_equal(state["maps_numbers"][WET:], self.maps.numbers(0.0, self._dry)[WET:])
        return same and state["maps"].shape[0] == self.maps.count

    def take_over(self, state: Mapping[str, np.ndarray], surface: np.ndarray, time: float) -> None:
        """Go on with the maps of a state, or `begin` where it has no such."""
        if self.goes_on(state):
            self._fill(state["maps"], state["maps_above"], state["maps_numbers"])
        else:
            self.begin(surface, time)


def cut_maps(state: Mapping[str, np.ndarray], first: int, last: int) -> dict[str, np.ndarray]:
    """The maps of rows first .. last - 1 from a state of the whole domain; nothing where it has none."""
    rows = slice(first, last)
    found = {name: state[name][:, rows] for name in ("maps", "maps_averages") if name in state}
    if "maps_above" in state:
        above = state["maps_above"]
        found["maps_above"] = above[rows] if above.size > 1 else above
    return found


def join_maps(states: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The maps of the whole domain from those of its bands of rows."""
    found = dict(states[0])
    for name in ("maps", "maps_averages"):
        if name in found:
            found[name] = np.concatenate([state[name] for state in states], axis=1)
    if "maps_above" in found:
        above = [state["maps_above"] for state in states]
        if above[0].shape == states[0]["maps"].shape[1:]:
            found["maps_above"] = np.concatenate(above)
    return found


def values_of(maps: Maps, state: Mapping[str, np.ndarray], now: float, water: Water) -> dict[str, np.ndarray]:
    """The maps at a time, s, (ny, nx) each, from `Gathered.state` of the whole domain."""
    planes, since, at = state["maps"], float(state["maps_numbers"][SINCE]), maps.planes
    found: dict[str, np.ndarray] = {}
    if "HIGHEST" in at:
        highest = planes[at["HIGHEST"]]
        wet = highest > 0.1 * NOTHING
        stored = np.where(wet, highest, 0)
        found["max_surface_elevation"] = _where(wet, water.surface(stored), planes)
        found["max_depth"] = _where(wet, water.depth(stored), planes)
    for plane, name, power in _POWERS:
        if plane in at:
            values = planes[at[plane]]
            found[name] = _where(values >= 0, np.maximum(values, 0) ** power, planes)
    if "hazard_class" in maps.variables:
        found["hazard_class"] = hazard_class(*(found[f"max_{one}"] for one in ("depth", "unit_discharge", "speed")))
    if "TIME" in at:
        found["time_of_max_depth"] = _times(planes[at["TIME"]], since)
    timed = len(maps.arrival_depths) + len(maps.arrival_rises)
    for n, name in enumerate(one.name for one in maps.timed):
        plane = planes[at["ARRIVALS"] + n]
        if n < timed:
            found[name] = _times(plane, since)
        else:
            on = ((state["maps_above"] >> (n - timed)) & 1) == 1
            lasted = np.where(on, plane + planes.dtype.type(now - since), plane)
            found[name] = _where(lasted > 0, lasted, planes)
    return {one.name: found[one.name] for one in maps.outputs}


_POWERS = (("FASTEST", "max_speed", 0.5), ("STRONGEST", "max_unit_discharge", 0.5), ("RATING", "max_hazard_rating", 1))


def _where(there: np.ndarray, values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Values where there are any, in the type of `like`."""
    return np.where(there, values, np.nan).astype(like.dtype)


def _times(plane: np.ndarray, since: float) -> np.ndarray:
    """Times, s, from those since the start."""
    return _where(plane >= 0, since + plane.astype(np.float64), plane)


def hazard_class(depth: np.ndarray, unit_discharge: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """AIDR's class, 1 to 6, of the largest depth, m, unit discharge, m2 s-1, and speed, m s-1; NaN where dry.

    A class is the worst of what the three ask for by themselves, so the largest of each give the largest class.
    """
    found = np.ones_like(depth)
    for deepest, strongest, fastest in AIDR:
        found += (depth > deepest) | (unit_discharge > strongest) | (speed > fastest)
    return np.where(depth == depth, found, depth)
