"""Courant-number monitor: maximum |u| dt / dx of a run, and place and duration of the action of the outflow limiter.

With drying, a face that would take more than half of the water of its upstream cell in a step is limited
(`kernels.drying_drag`), in deep and in thin water. So flow with more than one cell per step is too slow. Without drying
such flow is unstable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.kernels.water_sums import FASTEST, SHALLOWEST
from eagre.models.shallow_water_adi.kernels import LAND
from eagre.models.shallow_water_adi.velocity import velocities_at

OVERDRAWN = 10.0  # negative depth, in dry depths, above which the summary reports it
FREE = 0.5  # |u| dt / dx up to which the outflow limiter is inactive
SMOOTH = 0.33  # |u| dt / dx up to which currents over rough beds are stable


class Brake:
    """Monitor of |u| dt / dx and of negative depths at the state checks of a run.

    Attributes
    ----------
    largest : float
        Maximum |u| dt / dx.
    place : tuple
        Time, s, cell (j, i) and depth, m, of the maximum.
    seconds, seen : float, s
        Model time with values above `FREE`, and total model time.
    lowest : float, m
        Minimum depth; negative where the outflow exceeded the volume of a cell.
    low_place : tuple
        Time, s, and cell (j, i) of the minimum depth.
    """

    def __init__(self, start: float) -> None:
        self.largest, self.seconds, self.seen = 0.0, 0.0, 0.0
        self.place: tuple[float, tuple[int, int], float] | None = None
        self.lowest, self.low_place = 0.0, (start, (0, 0))
        self._last = start

    def look(self, engine: Any, rows: np.ndarray, time: float) -> None:
        """Record the state at `time`, s; rows : sums over rows. A time before the last one adds no duration."""
        grid, passed = engine.setup.grid, max(time - self._last, 0.0)
        part = float(rows[:, FASTEST].max()) * engine.dt / min(grid.dx, grid.dy)
        self.seen += passed
        self.seconds += passed if part > FREE else 0.0
        self._last = time
        row = int(np.argmin(rows[:, SHALLOWEST]))
        if rows[row, SHALLOWEST] < self.lowest:
            self.lowest, self.low_place = float(rows[row, SHALLOWEST]), (time, _shallowest(engine, row))
        if part > self.largest:
            self.largest = part
            if part > FREE:
                self.place = (time, *_fastest(engine, int(np.argmax(rows[:, FASTEST]))))

    def resume(self, time: float) -> None:
        """Continue from `time`, s, with the recorded values."""
        self._last = time

    def overdrawn(self, dry_depth: float) -> list[tuple[str, str]]:
        """Return a row of the run summary if negative depths exceed the thickness of a thin layer."""
        if self.lowest > -OVERDRAWN * dry_depth:
            return []
        time, (j, i) = self.low_place
        where = f"at t = {time:.6g} s in cell (j, i) = ({j}, {i})"
        return [
            (
                "depth",
                f"minimum {self.lowest:.2g} m, {where}: the outflow exceeded the volume of the cell. "
                "Use a shorter time_step.",
            )
        ]

    def summary_rows(self, dt: float, drying: bool, grows: bool) -> list[tuple[str, str]]:
        """Return rows of the run summary.

        dt : time step of the user, s. grows : whether grid-scale eddies can grow.
        """
        if self.place is None:
            text = f"maximum {self.largest:.2g}"
            if grows and self.largest > SMOOTH:
                step = f"time_step = {0.9 * SMOOTH * dt / self.largest:.2g}"
                text += f". Above {SMOOTH:g} currents over a rough bed can become unstable. Safe: {step}"
            return [("|u| dt / dx", text)] if self.seen > 0.0 else []
        time, (j, i), depth = self.place
        most = f"maximum {self.largest:.2g}, at t = {time:.6g} s in cell (j, i) = ({j}, {i}), {depth:.3g} m deep"
        what = "the outflow limiter reduced the flow" if drying else "the scheme is unstable above 1"
        long = f"above {FREE:g} for {self.seconds:.4g} s of {self.seen:.4g} s: {what}"
        return [("|u| dt / dx", most), ("", f"{long}. Safe: time_step = {0.9 * FREE * dt / self.largest:.2g}")]


def _shallowest(engine: Any, row: int) -> tuple[int, int]:
    """Return the cell of a row with the minimum depth."""
    columns = np.arange(engine.setup.grid.nx)
    surface = engine.at(np.full(columns.shape, row), columns)[0].astype(float)
    return row, int(np.argmin(np.where(engine.setup.bed[row] < LAND, surface - engine.setup.bed[row], np.inf)))


def _fastest(engine: Any, row: int) -> tuple[tuple[int, int], float]:
    """Return the cell of a row with the maximum speed, and its depth, m."""
    setup = engine.setup
    columns = np.arange(setup.grid.nx)
    words = engine.at(np.full(columns.shape, row), columns)
    u, v = velocities_at(words, setup, np.full(columns.shape, row), columns)
    depth = words[0].astype(float) - setup.bed[row]
    i = int(np.argmax(np.hypot(u, v) * (depth > 2.0 * setup.dry_depth)))
    return (row, i), float(depth[i])
