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
from eagre.models.shallow_water_adi.sampling.velocity import beds_at, velocities_at

NEGATIVE_DEPTH = 10.0  # negative depth, in dry depths, above which the summary reports it
FREE = 0.5  # |u| dt / dx up to which the outflow limiter is inactive
SMOOTH = 0.33  # |u| dt / dx up to which currents over rough beds are stable


class CourantMonitor:
    """Monitor of |u| dt / dx and of negative depths at the state checks of a run.

    Attributes
    ----------
    max_courant : float
        Maximum |u| dt / dx.
    max_location : tuple
        Time, s, cell (j, i) and depth, m, of the maximum.
    seconds, seen : float, s
        Model time with values above `FREE`, and total model time.
    lowest : float, m
        Minimum depth; negative where the outflow exceeded the volume of a cell.
    min_depth_location : tuple
        Time, s, and cell (j, i) of the minimum depth.
    """

    def __init__(self, start: float) -> None:
        self.max_courant, self.seconds, self.seen = 0.0, 0.0, 0.0
        self.max_location: tuple[float, tuple[int, int], float] | None = None
        self.lowest, self.min_depth_location = 0.0, (start, (0, 0))
        self._last = start

    def record(self, engine: Any, rows: np.ndarray, time: float) -> None:
        """Record the state at `time`, s; rows : sums over rows. A time before the last one adds no duration."""
        grid, passed = engine.setup.grid, max(time - self._last, 0.0)
        courant = float(rows[:, FASTEST].max()) * engine.dt / min(grid.dx, grid.dy)
        self.seen += passed
        self.seconds += passed if courant > FREE else 0.0
        self._last = time
        row = int(np.argmin(rows[:, SHALLOWEST]))
        if rows[row, SHALLOWEST] < self.lowest:
            self.lowest, self.min_depth_location = float(rows[row, SHALLOWEST]), (time, _shallowest(engine, row))
        if courant > self.max_courant:
            self.max_courant = courant
            if courant > FREE:
                self.max_location = (time, *_fastest(engine, int(np.argmax(rows[:, FASTEST]))))

    def resume(self, time: float) -> None:
        """Continue from `time`, s, with the recorded values."""
        self._last = time

    def negative_depth_rows(self, dry_depth: float) -> list[tuple[str, str]]:
        """Return a row of the run summary if negative depths exceed the thickness of a thin layer."""
        if self.lowest > -NEGATIVE_DEPTH * dry_depth:
            return []
        time, (j, i) = self.min_depth_location
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
        if self.max_location is None:
            text = f"maximum {self.max_courant:.2g}"
            if grows and self.max_courant > SMOOTH:
                step = f"time_step = {0.9 * SMOOTH * dt / self.max_courant:.2g}"
                text += f". Above {SMOOTH:g} currents over a rough bed can become unstable. Safe: {step}"
            return [("|u| dt / dx", text)] if self.seen > 0.0 else []
        time, (j, i), depth = self.max_location
        maximum = f"maximum {self.max_courant:.2g}, at t = {time:.6g} s in cell (j, i) = ({j}, {i}), {depth:.3g} m deep"
        what = "the outflow limiter reduced the flow" if drying else "the scheme is unstable above 1"
        long = f"above {FREE:g} for {self.seconds:.4g} s of {self.seen:.4g} s: {what}"
        return [("|u| dt / dx", maximum), ("", f"{long}. Safe: time_step = {0.9 * FREE * dt / self.max_courant:.2g}")]


def _shallowest(engine: Any, row: int) -> tuple[int, int]:
    """Return the cell of a row with the minimum depth."""
    j, i = np.full(engine.setup.grid.nx, row), np.arange(engine.setup.grid.nx)
    surface, bed = engine.sample(j, i)[0].astype(float), engine.setup.rows.values_in(engine.setup.bed, j, i)
    return row, int(np.argmin(np.where(bed < LAND, surface - bed, np.inf)))


def _fastest(engine: Any, row: int) -> tuple[tuple[int, int], float]:
    """Return the cell of a row with the maximum speed, and its depth, m."""
    setup = engine.setup
    j, i = np.full(setup.grid.nx, row), np.arange(setup.grid.nx)
    samples, beds = engine.sample(j, i), beds_at(setup, j, i)
    u, v = velocities_at(samples, beds, setup.face_dry_depth)
    depth = samples[0].astype(float) - beds[0]
    column = int(np.argmax(np.hypot(u, v) * (depth > 2.0 * setup.dry_depth)))
    return (row, column), float(depth[column])
