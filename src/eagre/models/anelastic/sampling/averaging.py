"""Time statistics of the anelastic model at every point (`eagre.kernels.averages`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.fields import Variable
from eagre.kernels.averages import Quantities, quantity, speed_of
from eagre.models.anelastic.sampling.slices import axes_of
from eagre.models.anelastic.setup import Setup
from eagre.stepping.averages import StatisticsPlan, TimeStatistics, statistics_array_count, statistics_plan_of
from eagre.stepping.averaging import SteppedAverages
from eagre.stepping.mapped import RunMaps

INDICES = "k, j, i"
AT = "[levels[k], j, i]"
WIND_AND_HEAT = ("u", "v", "w", "wind_speed", "theta", "theta_perturbation")
SOURCES = {"wind_speed": ("u", "v"), "theta_perturbation": ("theta",)}
"""State fields of derived quantities."""


def requested_statistics(
    time_statistics: TimeStatistics | None, variables: Sequence[Variable], scalars: Sequence[str], count: int
) -> StatisticsPlan | None:
    """Return the requested statistics, checked against the variables and scalars of the model on `count` levels."""
    known = {one.name: one for one in variables}
    possible = [name for name in (*WIND_AND_HEAT, *scalars) if name in known]
    return statistics_plan_of(time_statistics, known, possible, count=count)


def levels_of(requested: StatisticsPlan, count: int) -> np.ndarray:
    """Return the indices of the stored levels, of `count` levels."""
    return np.arange(count) if requested.levels is None else np.array(requested.levels)


def stored_fields(requested: StatisticsPlan | None, precision: str, count: int) -> int:
    """Return the memory of the statistics on a device, in fields of `count` levels in the precision of the run."""
    if requested is None:
        return 0
    return math.ceil(statistics_array_count(requested, precision) * levels_of(requested, count).size / count)


def sources_of(requested: StatisticsPlan) -> list[str]:
    """Return the state fields that the statistics read."""
    return list(dict.fromkeys(one for name in requested.planes.quantities for one in SOURCES.get(name, (name,))))


def quantities_of(requested: StatisticsPlan) -> Quantities:
    """Return point functions of the requested quantities, from the fields of `sources_of` and the levels."""
    sources = sources_of(requested)
    fields = ", ".join([*(f"field_{n}" for n in range(len(sources))), "levels"])
    source_cells = {name: quantity(fields, f"field_{n}{AT}", INDICES) for n, name in enumerate(sources)}
    cells = dict(source_cells)
    for name in requested.planes.quantities:
        if name == "wind_speed":
            cells[name] = speed_of(fields, source_cells["u"], source_cells["v"], INDICES)
        elif name in SOURCES:
            cells[name] = source_cells[SOURCES[name][0]]
    return Quantities(fields, cells, INDICES)


class PointAverages(SteppedAverages):
    """Time statistics at all points, or on selected levels, from a start time, s."""

    def __init__(self, engine: Any, time: float) -> None:
        requested: StatisticsPlan | None = engine.setup.time_statistics
        if requested is None:
            super().__init__(engine, Quantities("", {}))
            return
        levels = levels_of(requested, engine.setup.shape[0])
        present = engine.steps.fields.present
        fields = (*(present[name] for name in sources_of(requested)), engine.device.array(levels.astype(np.uint32)))
        super().__init__(engine, quantities_of(requested), *fields, shape=(levels.size, *engine.setup.grid.shape))
        self.begin(time)


def maps_of(engine: Any, state: Callable[[], tuple[Mapping[str, np.ndarray], float]]) -> RunMaps | None:
    """Return the statistics for output, (z, y, x), or (y, x) for a single level; None without statistics.

    state : returns the state of the statistics and the time, s.
    """
    setup: Setup = engine.setup
    requested = setup.time_statistics
    if requested is None:
        return None
    levels = levels_of(requested, setup.shape[0])
    has_theta = "theta" in requested.planes.quantities
    theta = np.broadcast_to(engine.base_state.theta, setup.shape)[levels] if has_theta else 0.0
    if levels.size > 1:
        known: dict[str, Any] = {"axes": axes_of(setup, "", levels=levels), "dimensions": ("z", "y", "x")}
    else:
        (k,) = levels
        altitude = setup.levels.z[k] if setup.terrain else None
        known = {"axes": axes_of(setup, "z", float(setup.levels.height[k]), altitude=altitude)}
    return RunMaps(setup.grid, state, requested, {"theta": theta}, **known)
