"""Wind forcing at the points, steady or time-varying, and its interpolation in time on the device."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Device
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.barotropic.inputs import curl_at_points, field_at_points
from eagre.models.barotropic.inversion import Launches
from eagre.models.barotropic.setup import Setup
from eagre.terms.wind import check_air_density, law_of
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField
from eagre.time_varying.series import Series


@cell
def count_step(k, clock, weight):
    """Set weight = interpolation weight of the odd record for the next step and increment the step counter; k is 0.

    clock : (5,), double: step number, time of step 0, time step, times of the even and the odd record, s.
    """
    time = clock[1] + clock[0] * clock[2]
    weight[k] = real((time - clock[3]) / (clock[4] - clock[3]))
    clock[0] += 1.0


@cell
def blend_records(j, i, even, odd, weight, curl):
    """Set the curl at point (j, i) by linear interpolation between two records."""
    curl[j, i] = even[j, i] + weight[0] * (odd[j, i] - even[j, i])


class Wind:
    """Wind forcing of a run on a device.

    Attributes
    ----------
    kind : int
        0 none, 1 a function of y, 2 a field of x and y: the switch WIND of kernels.
    curl : device array, (my + 2, 1) or (my + 2, mx + 2)
        Wind forcing curl(tau) / (rho D), 1 / s2; a time-varying forcing is updated before each step.
    clock : device array, (5,)
        Step counter and times of the records of a time-varying forcing; see `count_step`.

    Parameters
    ----------
    pad : callable
        Extends an array of values at points by boundary points.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, kind: Any, pad: Callable[..., np.ndarray]) -> None:
        self._setup, self._device, self._precision, self._real, self._pad = setup, device, precision, kind, pad
        self._held: list[int | None] = [None, None]
        curl = setup.curl
        if setup.time_varying_wind is None:
            self.kind = 0 if not curl.any() else 1 if bool((curl == curl[:, :1]).all()) else 2
            self.curl = device.array(pad(curl)[:, : 1 if self.kind < 2 else None].astype(kind))
            return
        self.kind = 2
        self.curl, *self._records = (device.zeros(setup.shape, kind) for _ in range(3))
        self.clock, self._weight = device.zeros((5,), np.float64), device.zeros((1,), kind)

    def launches(self) -> Launches:
        """Return the launches that update the curl for the next step."""
        if self._setup.time_varying_wind is None:
            return []
        device = self._device
        count, blend = (device.loop(one, self._precision) for one in (count_step, blend_records))
        fields = (*self._records, self._weight, self.curl)
        return [
            device.over(count, (1,), (self.clock, self._weight)),
            device.over(blend, self._setup.shape, fields),
        ]

    def use(self, steps: int, start: float) -> None:
        """Copy the records that bracket the current time to the device; steps : number of completed steps.

        start : time of step 0, s.
        """
        field = self._setup.time_varying_wind
        if field is None:
            return
        for slot, record in enumerate(self._records):
            if self._held[slot] != field.used[slot]:
                values = field.in_use(slot)[slice(*self._setup.rows)]
                self._device.fill(record, self._pad(values).astype(self._real))
                self._held[slot] = field.used[slot]
        times = (field.instants.times[k] for k in field.used)
        self._device.fill(self.clock, np.array([float(steps), start, self._setup.time_step, *times]))


def between_points(grid: Grid) -> Grid:
    """Return the cells whose corners are the points; a `TimeVaryingField` on these cells has a node at each point."""
    return Grid(grid.nx - 1, grid.ny - 1, grid.dx, grid.dy, float(grid.x[0]), float(grid.y[0]), grid.crs)


def wind_array_count(value: Any) -> int:
    """Return the number of device arrays that a time-varying `wind_forcing` adds: two records."""
    return 2 if isinstance(value, TimeVaryingField) else 0


def checked_curl(value: Any, rows: LocalRows, time: float) -> dict[str, Any]:
    """Return the `Setup` entries of a `wind_forcing`: values at the points at `time`, s, and the field itself.

    rows : rows of this process, which the values have.
    """
    grid = rows.grid
    if not isinstance(value, TimeVaryingField):
        return {"curl": field_at_points("wind_forcing", value, rows)}
    if value.nodes.shape != grid.shape:
        raise InputError(
            f"wind_forcing on {value.nodes.shape} nodes", allowed=f"a node at each of the {grid.shape} points",
            fix="nodes = NodeGrid(grid.ny - 1, grid.nx - 1)",
        )  # fmt: skip
    value.instants.hats[0].covers(time, time)
    return {"curl": rows.held(value.at(time)), "time_varying_wind": value}


def varying_curl(curl: np.ndarray, factor: Series) -> TimeVaryingField:
    """Return a curl at the points, (ny, nx), times a time-dependent factor of two or more samples."""
    nodes = NodeGrid(curl.shape[0] - 1, curl.shape[1] - 1)
    time_axis = RecordTimeAxis(factor.times, factor.name)
    return TimeVaryingField(time_axis, nodes, lambda k: factor.values[k] * curl, "curl of the wind", np.inf, "s-2")


def moving_curl(
    stress_x: TimeVaryingField,
    stress_y: TimeVaryingField,
    grid: Grid,
    over: float,
    periodic: tuple[bool, bool] = (False, False),
) -> TimeVaryingField:
    """Return the wind forcing of a time-varying stress, record by record.

    Parameters
    ----------
    stress_x, stress_y : TimeVaryingField, N m-2
        Eastward and northward stress at common times, on the nodes of the grid of `between_points`.
    grid : Grid
        Grid of the model.
    over : float, kg m-2
        Density times depth.
    periodic : (bool, bool)
        Whether x and y are periodic.

    Returns
    -------
    TimeVaryingField
        Wind forcing at the points, 1 / s2: the argument `wind_forcing` of the model.

    Raises
    ------
    InputError
        For a stress on another grid, or components at different times.
    """
    if not np.array_equal(stress_x.instants.times, stress_y.instants.times):
        raise InputError("stress_x and stress_y at different times", allowed="stress_x and stress_y at the same times")
    cells = (grid.ny - 1, grid.nx - 1)
    for one in (stress_x, stress_y):
        if (one.nodes.ny, one.nodes.nx) != cells:
            got = f"a {one.name} for {one.nodes.ny} rows of {one.nodes.nx} cells"
            raise InputError(got, allowed=f"one for the {cells} cells between the points", fix="between_points(grid)")

    def read(k: int) -> np.ndarray:
        x, y = (at_points(one, one.checked(one.read(k), k), grid) for one in (stress_x, stress_y))
        return curl_at_points(x, y, grid, periodic) / over

    return TimeVaryingField(stress_x.instants, NodeGrid(*cells), read, "curl of the stress", np.inf, "s-2")


def stress_of_wind(
    wind_x: TimeVaryingField, wind_y: TimeVaryingField, drag: str | float, largest_drag: float, air_density: float
) -> tuple[TimeVaryingField, TimeVaryingField]:
    """Return the stress along x and y, N m-2, of a wind U at 10 m, m s-1: rho_a C_d |U| U of each record.

    drag, largest_drag, air_density : see `eagre.terms.wind.WeatherWind`. The stress is interpolated linearly
    between records.
    """
    intercept, slope, min_drag, max_drag = law_of(drag, largest_drag)
    check_air_density(air_density)
    winds = wind_x, wind_y

    def read(k: int, along: int) -> np.ndarray:
        u, v = (one.checked(one.read(k), k) for one in winds)
        speed = np.hypot(u, v)
        drag = np.minimum(max_drag, np.maximum(min_drag, intercept + slope * speed))
        return air_density * drag * speed * (u, v)[along]

    def component(along: int) -> TimeVaryingField:
        name = f"stress along {'xy'[along]}"
        return TimeVaryingField(wind_x.instants, wind_x.nodes, partial(read, along=along), name, np.inf, "N/m2")

    return component(0), component(1)


def at_points(field: TimeVaryingField, record: np.ndarray, grid: Grid) -> np.ndarray:
    """Return a record on nodes interpolated bilinearly to the points, (ny, nx)."""
    m, b = field.nodes.locate(0, 0.0, grid.ny)
    n, a = field.nodes.locate(1, 0.0, grid.nx)
    along = record[:, n] + a * (record[:, n + 1] - record[:, n])
    return along[m] + b[:, None] * (along[m + 1] - along[m])
