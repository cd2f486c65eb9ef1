"""Maps of extrema, arrival times and durations, accumulated on the device (`eagre.kernels.maps`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from eagre.arguments import all_of_type, of_type
from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.kernels.maps import SINCE, THRESHOLDS, UNSET, UNSET_SURFACE, WET, MapArrays
from eagre.names import nearest
from eagre.terms.infiltration import NAME as SOIL

TIME_MAXIMUM = "time: maximum"
CLASSES = ("H1", "H2", "H3", "H4", "H5", "H6")
AIDR = ((0.3, 0.3, 2.0), (0.5, 0.6, 2.0), (1.2, 0.6, 2.0), (2.0, 1.0, 2.0), (4.0, 4.0, 4.0))
"""Upper limits of depth, m, unit discharge, m2 s-1, and speed, m s-1, of H1 to H5 (AIDR Guideline 7-3, 2017)."""

VARIABLES = (
    Variable(
        "max_surface_elevation", "m", "maximum water surface elevation", "water_surface_height_above_reference_datum",
        cell_methods=TIME_MAXIMUM,
    ),
    Variable("max_depth", "m", "maximum water depth", "flood_water_thickness", cell_methods=TIME_MAXIMUM),
    Variable("time_of_max_depth", "s", "time of the maximum water depth"),
    Variable("max_speed", "m s-1", "maximum depth-averaged speed", "flood_water_speed", cell_methods=TIME_MAXIMUM),
    Variable("max_unit_discharge", "m2 s-1", "maximum unit discharge (depth times speed)", cell_methods=TIME_MAXIMUM),
    Variable(
        "max_hazard_rating", "m2 s-1", "maximum DEFRA hazard rating without debris, depth (speed + 0.5 m/s)",
        cell_methods=TIME_MAXIMUM,
    ),
    Variable("hazard_class", "1", "maximum AIDR hazard class", cell_methods=TIME_MAXIMUM, flags=CLASSES),
)  # fmt: skip
"""Maps without a threshold."""

_NEEDED = {  # accumulated arrays needed by each map
    "max_surface_elevation": ("HIGHEST",),
    "max_depth": ("HIGHEST",),
    "time_of_max_depth": ("HIGHEST", "TIME"),
    "max_speed": ("FASTEST",),
    "max_unit_discharge": ("STRONGEST",),
    "max_hazard_rating": ("RATING",),
    "hazard_class": ("HIGHEST", "FASTEST", "STRONGEST"),
}
_TIMED = (
    ("arrival_time", "arrival time of a depth of {} m", "time: point"),
    ("arrival_time_rise", "arrival time of a {} m rise of the water surface", "time: point"),
    ("duration", "duration of a depth above {} m", "time: sum"),
)
"""Maps with a threshold: name, long name and cell methods."""

MAX_DURATIONS = 8  # flags fit one byte


def threshold_name(stem: str, threshold: float) -> str:
    """Return the name of a map with a threshold, m: ``arrival_time_300mm``."""
    return f"{stem}_{1000.0 * threshold:.10g}mm".replace(".", "p")


@dataclass(frozen=True)
class Maps:
    """Maps of extrema, arrival times and durations of flooding, accumulated at every accepted step.

    Parameters
    ----------
    variables : sequence of str
        Any of ``max_surface_elevation``, ``max_depth``, ``time_of_max_depth``, ``max_speed``, ``max_unit_discharge``,
        ``max_hazard_rating`` and ``hazard_class``.
    arrival_depths : sequence of float, m
        Depth thresholds for the first time at which the depth exceeds each.
    arrival_rises : sequence of float, m
        Thresholds for the first time at which the surface rises above its initial level (on dry land: the depth)
        by more than each.
    duration_depths : sequence of float, m
        Depth thresholds for the total time with a larger depth; at most 8.
    wet_depth : float, m
        Depth up to which a cell counts as dry; at least the dry depth of the model.

    Notes
    -----
    A step reads one additional value per cell for surface, depth, time of maximum depth and arrival times together, and
    one each for speed, unit discharge and rating; a new maximum is also written. Times are in s since model time 0 and
    are stored relative to the start of the run in the precision of the run. Maps are NaN in cells that were never wet.

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
                problem = "The list variables contains an unknown map."
                raise InputError(f"variables with {name!r}", allowed=", ".join(_NEEDED), fix=fix, problem=problem)
        if not (math.isfinite(self.wet_depth) and self.wet_depth >= 0.0):
            raise InputError(
                f"wet_depth = {self.wet_depth!r} m", allowed="a depth of 0 or more", fix="wet_depth = 0.01"
            )
        lower_limits = {"arrival_depths": self.wet_depth, "arrival_rises": 0.0, "duration_depths": 0.0}
        for key, low in lower_limits.items():
            all_of_type(key, getattr(self, key), Real, f"{key} = [0.1]")
            values = list(getattr(self, key))
            for one in values:
                if not (math.isfinite(one) and one >= low) or values.count(one) > 1:
                    allowed = f"different numbers, {low:g} m or more"
                    raise InputError(f"{key} = {values}", allowed=allowed, fix=f"{key} = [{max(low, 0.1):g}]")
        if len(self.duration_depths) > MAX_DURATIONS:
            got = f"duration_depths with {len(self.duration_depths)} depths"
            fix = f"duration_depths = {list(self.duration_depths)[:MAX_DURATIONS]}"
            problem = "There are too many thresholds of durations."
            raise InputError(got, allowed=f"{MAX_DURATIONS} at most", fix=fix, problem=problem)
        if not self.outputs:
            raise InputError(
                "variables = [] and no thresholds", allowed="a map", fix='variables = ["max_depth"]',
                problem="No maps are requested.",
            )  # fmt: skip

    @property
    def outputs(self) -> list[Variable]:
        """Output variables."""
        return [*(one for one in VARIABLES if one.name in self.variables), *self.timed]

    @property
    def timed(self) -> list[Variable]:
        """Output variables with a threshold, in the order of their arrays."""
        return [
            Variable(threshold_name(stem, one), "s", what.format(f"{one:g}"), cell_methods=method)
            for values, (stem, what, method) in zip(self._rows.values(), _TIMED, strict=True)
            for one in values
        ]

    @property
    def planes(self) -> dict[str, int]:
        """Index of the first array of each accumulated quantity, by the name of its switch without ``AT_``."""
        needed = {plane for name in self.variables for plane in _NEEDED[name]}
        needed |= {"HIGHEST"} if self.arrival_depths or self.arrival_rises else set()
        indices = {name: n for n, name in enumerate(sorted(needed))}
        count = len(indices)
        if self.arrival_rises:
            indices["FIRST"], count = count, count + 1
        for name, values in self._rows.items():
            indices[name], count = count, count + len(values)
        return indices

    @property
    def _rows(self) -> dict[str, Sequence[float]]:
        return {"ARRIVALS": self.arrival_depths, "RISES": self.arrival_rises, "DURATIONS": self.duration_depths}

    @property
    def count(self) -> int:
        """Number of accumulated arrays."""
        return self.planes["DURATIONS"] + len(self.duration_depths)

    @property
    def switches(self) -> dict[str, Any]:
        """Compile-time switches of `eagre.kernels.maps`; a map alone is bitwise identical to one among others."""
        rows = {name: len(values) for name, values in self._rows.items()}
        return {"TAKEN": True, "FUSED": False, **rows, **{f"AT_{name}": index for name, index in self.planes.items()}}

    def numbers(self, since: float, dry: float) -> np.ndarray:
        """Return `MapArrays.numbers` of maps that start at a time, s; dry : dry depth of the model, m."""
        numbers = np.zeros(THRESHOLDS + sum(len(values) for values in self._rows.values()))
        numbers[SINCE], numbers[WET] = since, max(self.wet_depth, dry)
        numbers[THRESHOLDS:] = [one for values in self._rows.values() for one in values]
        return numbers


def planes_of(maps: Maps | None) -> int:
    """Return the number of device arrays used by maps."""
    return 0 if maps is None else of_type("maps", maps, Maps, 'Maps(["max_depth"])').count


class Water(NamedTuple):
    """Conversion of the stored surface of a model to surface elevation and depth: functions of (ny, nx) arrays, m."""

    surface: Callable[[np.ndarray], np.ndarray]
    depth: Callable[[np.ndarray], np.ndarray]


class MapAccumulator:
    """Maps of a run on one device.

    Parameters
    ----------
    maps : Maps or None
        None: nothing is accumulated.
    device : Device
    shape : (ny, nx)
    real : type
        Floating-point type of the run.
    dry : float
        Dry depth of the model, m.

    Attributes
    ----------
    kept : MapArrays
        Device arrays for `eagre.kernels.maps`.
    switches : dict
    """

    def __init__(self, maps: Maps | None, device: Device, shape: tuple[int, int], real: Any, dry: float) -> None:
        self.maps, self._device, self._shape, self._dry, self._real = maps, device, shape, dry, real
        self.switches: dict[str, Any] = {} if maps is None else maps.switches
        planes = (1, 1, 1) if maps is None else (maps.count, *shape)
        bits = shape if maps is not None and maps.duration_depths else (1, 1)
        numbers = np.zeros(THRESHOLDS) if maps is None else maps.numbers(0.0, dry)
        self.arrays = MapArrays(device.zeros(planes, real), device.zeros(bits, np.uint8), device.array(numbers))

    def begin(self, surface: Callable[[], np.ndarray], time: float) -> None:
        """Start at a time, s; surface : returns the stored surface, (ny, nx), which is the bed in dry cells."""
        if self.maps is None:
            return
        planes, indices = np.full(self.arrays.planes.shape, UNSET, self._real), self.maps.planes
        if "HIGHEST" in indices:
            planes[indices["HIGHEST"]] = UNSET_SURFACE
        if "FIRST" in indices:
            planes[indices["FIRST"]] = surface()
        planes[indices["DURATIONS"] :] = 0.0
        self._fill(planes, np.zeros(self.arrays.above.shape, np.uint8), self.maps.numbers(time, self._dry))

    def _fill(self, *values: np.ndarray) -> None:
        for array, value in zip(self.arrays, values, strict=True):
            self._device.fill(array, value)

    def state(self) -> dict[str, np.ndarray]:
        """Return the data for a restart; empty without maps."""
        if self.maps is None:
            return {}
        planes, above, numbers = (self._device.host(array) for array in self.arrays)
        return {"maps": planes, "maps_above": above, "maps_numbers": numbers}

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether a state has maps of the same kind."""
        if self.maps is None or "maps" not in state:
            return False
        same = np.array_equal(state["maps_numbers"][WET:], self.maps.numbers(0.0, self._dry)[WET:])
        return same and state["maps"].shape[0] == self.maps.count

    def take_over(self, state: Mapping[str, np.ndarray], surface: Callable[[], np.ndarray], time: float) -> None:
        """Continue with the maps of a state, or `begin` if it has none of the same kind."""
        if self.goes_on(state):
            self._fill(state["maps"], state["maps_above"], state["maps_numbers"])
        else:
            self.begin(surface, time)


NUMBERS = ("maps_numbers", "maps_weights")  # arrays of maps without rows of the grid


def maps_of_rows(state: Mapping[str, np.ndarray], first: int, last: int) -> dict[str, np.ndarray]:
    """Return the maps and the cumulative infiltration of rows first .. last - 1 from a state of the whole domain.

    Fields that the state does not have are omitted.
    """
    rows = slice(first, last)
    rows_of_maps = {name: state[name][:, rows] for name in ("maps", "maps_averages") if name in state}
    if SOIL in state:
        rows_of_maps[SOIL] = state[SOIL][rows]
    if "maps_above" in state:
        above = state["maps_above"]
        rows_of_maps["maps_above"] = above[rows] if above.size > 1 else above
    return rows_of_maps


def join_rows(name: str, slabs: Sequence[np.ndarray]) -> np.ndarray:
    """Return a field of the whole domain from the fields of its row slabs; the numbers of maps are the same in all."""
    return slabs[0] if name in NUMBERS or slabs[0].size == 1 else np.concatenate(slabs, axis=-2)


def values_of(maps: Maps, state: Mapping[str, np.ndarray], time: float, water: Water) -> dict[str, np.ndarray]:
    """Return the maps at a time, s, (ny, nx) each, from `MapAccumulator.state` of the whole domain."""
    planes, since, indices = state["maps"], float(state["maps_numbers"][SINCE]), maps.planes
    values_by_name: dict[str, np.ndarray] = {}
    if "HIGHEST" in indices:
        highest = planes[indices["HIGHEST"]]
        wet = highest > 0.1 * UNSET_SURFACE
        stored = np.where(wet, highest, 0)
        values_by_name["max_surface_elevation"] = _where(wet, water.surface(stored), planes)
        values_by_name["max_depth"] = _where(wet, water.depth(stored), planes)
    for plane, name, power in _POWERS:
        if plane in indices:
            values = planes[indices[plane]]
            values_by_name[name] = _where(values >= 0, np.maximum(values, 0) ** power, planes)
    if "hazard_class" in maps.variables:
        values_by_name["hazard_class"] = hazard_class(
            *(values_by_name[f"max_{one}"] for one in ("depth", "unit_discharge", "speed"))
        )
    if "TIME" in indices:
        values_by_name["time_of_max_depth"] = _times(planes[indices["TIME"]], since)
    timed = len(maps.arrival_depths) + len(maps.arrival_rises)
    for n, name in enumerate(one.name for one in maps.timed):
        plane = planes[indices["ARRIVALS"] + n]
        if n < timed:
            values_by_name[name] = _times(plane, since)
        else:
            on = ((state["maps_above"] >> (n - timed)) & 1) == 1
            lasted = np.where(on, plane + planes.dtype.type(time - since), plane)
            values_by_name[name] = _where(lasted > 0, lasted, planes)
    return {one.name: values_by_name[one.name] for one in maps.outputs}


_POWERS = (("FASTEST", "max_speed", 0.5), ("STRONGEST", "max_unit_discharge", 0.5), ("RATING", "max_hazard_rating", 1))


def _where(there: np.ndarray, values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return the values where the mask is True and NaN elsewhere, in the type of `like`."""
    return np.where(there, values, np.nan).astype(like.dtype)


def _times(plane: np.ndarray, since: float) -> np.ndarray:
    """Return times, s, from times relative to the start."""
    return _where(plane >= 0, since + plane.astype(np.float64), plane)


def hazard_class(depth: np.ndarray, unit_discharge: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Return the AIDR class, 1 to 6, of maximum depth, m, unit discharge, m2 s-1, and speed, m s-1; NaN where dry.

    The class is the maximum of the classes of the three quantities, so maxima of the quantities give the maximum class.
    """
    classes = np.ones_like(depth)
    for deepest, strongest, fastest in AIDR:
        classes += (depth > deepest) | (unit_discharge > strongest) | (speed > fastest)
    return np.where(depth == depth, classes, depth)
