"""Residual (tidal mean) currents next to staircase coasts in the implicit and the explicit shallow-water model.

``PYTHONPATH=src python benchmarks/studies/residual_currents.py`` prints, for a tide past an island, past a headland and
through a channel at an angle to the grid, the largest mean current and its root mean square over the water, and the
largest root mean square of the tidal current. With ``irrotational`` the tide is small and the bed has no friction:
the flow is irrotational, so that the mean current is that of the wave alone (`wave_current`).
"""

from __future__ import annotations

import math
import sys
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from eagre import Absorbing, Boundaries, Grid, Series, ShallowWater, ShallowWaterADI, TimeStatistics

G = 9.81
DEPTH = 10.0  # m
PERIOD = 14400.0  # s
CELL = 100.0  # m
BANK = 5.0  # level of land in the explicit model, m
GRID = Grid(60, 40, CELL, CELL)
STEPS = (60.0, 20.0, 10.0, 5.0)  # time steps of the implicit model, s


class Residual(NamedTuple):
    """Currents, m s-1, and the wall time of a run, s."""

    largest: float
    rms: float
    tidal: float
    seconds: float


def land(coast: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return whether positions, m, are land."""
    if coast == "island":
        return np.hypot(x - 3000.0, y - 2100.0) < 800.0
    if coast == "headland":
        return y < 2000.0 * np.exp(-(((x - 3000.0) / 700.0) ** 2))
    return abs(y - 1000.0 - x / 3.0) > 700.0  # a channel that rises by one cell in three


def wave_current(amplitude: float) -> float:
    """Return the mean current of a progressive wave that balances its Stokes transport, m s-1."""
    return 0.5 * amplitude**2 * math.sqrt(G / DEPTH) / DEPTH


def mean_current(coast: str, time_step: float | None, amplitude: float, manning: float) -> Residual:
    """Run two tides and average over the second one; without a time step with the explicit model."""
    x, y = GRID.mesh()
    times = np.linspace(0.0, 2.0 * PERIOD, 481)
    tide = Series(times, amplitude * np.sin(2.0 * np.pi * times / PERIOD))
    options: dict[str, Any] = {
        "surface_elevation": 0.0,
        "manning": manning,
        "device": "cpu",
        "precision": "double",
        "boundaries": Boundaries(west=Absorbing(level=0.0, incoming=tide), east=Absorbing(level=0.0)),
        "time_statistics": TimeStatistics(mean=["velocity"], variance=["velocity"], start=PERIOD),
    }
    model: Any
    if time_step is None:
        model = ShallowWater(GRID, np.where(land(coast, *GRID.mesh("corner")), BANK, -DEPTH), **options)
    else:
        model = ShallowWaterADI(GRID, -DEPTH, time_step, land_mask=land(coast, x, y), **options)
    start = perf_counter()
    model.advance(2.0 * PERIOD)
    seconds = perf_counter() - start
    found = {name: np.nan_to_num(values) for name, values in model.maps.sample().items()}
    inside = ~land(coast, x, y) & (abs(x - 3000.0) < 2000.0)
    speed = np.hypot(found["mean_velocity_x"], found["mean_velocity_y"])[inside]
    tidal = np.sqrt(2.0 * found["eddy_kinetic_energy"][inside])
    return Residual(float(speed.max()), float(np.sqrt((speed**2).mean())), float(tidal.max()), seconds)


def main() -> None:
    """Print the table."""
    small = "irrotational" in sys.argv[1:]
    amplitude, manning = (0.05, 0.0) if small else (0.35, 0.025)
    print(f"amplitude {amplitude} m, n = {manning}, current of the wave {wave_current(amplitude):.5f} m/s")
    print(f"{'coast':10s}{'model':>18s}{'largest':>10s}{'rms':>10s}{'tidal':>8s}{'s':>7s}   (m/s)")
    for coast in ("island", "headland", "channel"):
        for step in (None, *STEPS):
            name = "explicit" if step is None else f"implicit, {step:g} s"
            one = mean_current(coast, step, amplitude, manning)
            print(f"{coast:10s}{name:>18s}{one.largest:10.5f}{one.rms:10.5f}{one.tidal:8.3f}{one.seconds:7.1f}")


if __name__ == "__main__":
    main()
