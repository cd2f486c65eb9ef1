"""Maps and time statistics of a run as input of `eagre.io.MeasuredWriter`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from eagre.fields import TIME_BOUNDS, Variable, time_bounds
from eagre.grid import Grid
from eagre.io.cf import axis_attributes
from eagre.io.writers.measured import Axis
from eagre.kernels import averages
from eagre.kernels import maps as extremes
from eagre.stepping.averages import StatisticsPlan
from eagre.stepping.maps import Maps, Water, values_of
from eagre.terms.infiltration import INFILTRATION_DEPTH, NAME

GROUND = {
    "long_name": "cell-mean bed elevation",
    "units": "m",
    "standard_name": "ground_level_altitude",
}


class RunMaps:
    """Maps and time statistics of a run up to the current time.

    Parameters
    ----------
    grid : Grid
    state : callable
        Returns the state of the maps, including the current model state, and the time, s.
    time_statistics : StatisticsPlan, optional
    lifts : mapping, optional
        See `StatisticsPlan.values`.
    maps : Maps, optional
        Flood maps, with `bed`, (ny, nx) array, m, of the cells, and `water`.
    infiltrates : bool
        Whether the maps include the cumulative infiltration.
    axes : sequence of Axis, optional
        Axes of fields with other dimensions than (y, x), with their `dimensions`.

    Attributes
    ----------
    variables, axes, dimensions
        See `eagre.io.writers.measured.Measured`.
    """

    def __init__(
        self, grid: Grid, state: Callable[[], tuple[Mapping[str, np.ndarray], float]],
        time_statistics: StatisticsPlan | None = None, lifts: Mapping[str, float | np.ndarray] | None = None, *,
        maps: Maps | None = None,
        bed: np.ndarray | None = None, water: Water | None = None, axes: Sequence[Axis] | None = None,
        infiltrates: bool = False, dimensions: tuple[str, ...] = ("y", "x"),
    ) -> None:  # fmt: skip
        self._state, self._maps, self._water, self._lifts = state, maps, water, lifts or {}
        self._averages, self._infiltrates = time_statistics, infiltrates
        self.variables: Sequence[Variable] = [
            *(maps.outputs if maps is not None else ()),
            *(time_statistics.outputs if time_statistics is not None else ()),
            *((INFILTRATION_DEPTH,) if infiltrates else ()),
        ]  # fmt: skip
        self.dimensions: dict[str, tuple[str, ...]] = dict.fromkeys((one.name for one in self.variables), dimensions)
        where = "the points" if bed is None else "the cell centres"
        if axes is None:
            axes = [Axis(one, (one,), getattr(grid, one), axis_attributes(one, f"{one} of {where}")) for one in "xy"]
        self.axes: Sequence[Axis] = axes if bed is None else [*axes, Axis("bed", ("y", "x"), bed, GROUND)]

    def sample(self) -> dict[str, np.ndarray]:
        """Return the current maps, (ny, nx) or (levels, ny, nx), and their time bounds; NaN where a map has no value.

        The time bounds begin with the earliest statistic; the cell methods of later ones state their start.
        """
        state, time = self._state()
        if not state:  # the first process of a run has the maps
            return {}
        maps: dict[str, np.ndarray] = {}
        starts = [
            float(state[numbers][since])
            for request, numbers, since in (
                (self._maps, "maps_numbers", extremes.SINCE),
                (self._averages, "maps_weights", averages.SINCE),
            )
            if request is not None and any(one.over_time for one in request.outputs)
        ]
        if starts:
            maps[TIME_BOUNDS] = time_bounds(min(starts), time)
        if self._maps is not None and self._water is not None:
            maps |= values_of(self._maps, state, time, self._water)
        if self._averages is not None:
            maps |= self._averages.values(state, self._lifts)
        if self._infiltrates:
            maps[INFILTRATION_DEPTH.name] = state[NAME]
        return maps
