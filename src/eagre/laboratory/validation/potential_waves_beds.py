"""Validation of the potential-flow wave model over Whalin's and Berkhoff's shoals and the bar of Beji and Battjes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eagre.grid import Grid
from eagre.laboratory.cases import wave_tanks
from eagre.laboratory.cases.ow3d_reference import BAR, CODE, WHALIN, read_table
from eagre.laboratory.validation.comparison.gauges import surface_at
from eagre.laboratory.validation.comparison.pictures import draw_gauges, draw_harmonics
from eagre.laboratory.validation.comparison.setting import Check, Run, Validation, each, once
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.model import PotentialWaves
from eagre.waves import StreamFunctionWave

WHALIN_SPREAD = (0.67e-3, 0.41e-3, 0.44e-3)
"""Spread of the reference for harmonics 1 to 3, m: sum of the differences of two grids and of two time windows."""

BAR_SPREAD = (0.2e-3, 0.3e-3, 0.5e-3, 0.9e-3)
"""Spread of the reference for harmonics 1 to 4, m: difference of two time windows."""


def harmonics(series: np.ndarray, periods: int, count: int) -> np.ndarray:
    """Return amplitudes of the first harmonics of evenly spaced values, (n, ...), over whole periods: (count, ...)."""
    modes = np.fft.rfft(series, axis=0)[periods : (count + 1) * periods : periods]
    return np.abs(modes) * (2.0 / series.shape[0])


# -- Whalin's shoal -------------------------------------------------------------------------------


def whalin(run: Run) -> Iterator[Check]:
    """T 2 s: amplitudes of three harmonics along the axis against another model on the same points."""
    grid, steps = Grid.from_points(257, 17, 35.0, 3.048), 50
    period, depth = wave_tanks.WHALIN_PERIOD, wave_tanks.WHALIN_DEPTH
    wave = StreamFunctionWave.over_still_water(wave_tanks.WHALIN_HEIGHT, depth, period=period, stokes_current=0.0)
    zones = [RelaxationZone("west", 5.0, period, wave, ramp=5.0), RelaxationZone("east", 5.0, period)]
    model = PotentialWaves(
        grid, wave_tanks.whalin_depth(*grid.mesh()), relaxation_zones=zones, vertical_points=7,
        time_step=period / steps, tolerance=1e-4, **run.options,
    )  # fmt: skip
    points = {f"{i}": (x, 3.048) for i, x in enumerate(grid.x)}
    computed = surface_at(model, points, 40.0 + np.arange(5 * steps) * (period / steps))
    amplitudes = harmonics(np.column_stack(list(computed.values())), 5, 3)
    inside, table = (grid.x > 5.0) & (grid.x < 30.0), read_table(WHALIN)
    known = None if table is None else table[:, 1:].T
    for n, limit in enumerate(WHALIN_SPREAD):
        name, maximum = f"harmonic {n + 1} on the axis", 1e3 * float(amplitudes[n][inside].max())
        if known is not None:
            apart = np.abs(amplitudes[n] - known[n])[inside].max()
            yield Check(f"{name}, maximum difference, mm", 1e3 * apart, 1e3 * limit, detail=f"from {CODE}")
        yield Check(f"{name}, maximum, mm", maximum, detail="257 x 17 x 7 points")
    run.picture(draw_harmonics, f"Whalin's shoal, axis, {run.precision} precision", grid.x, amplitudes, known, CODE)


def whalin_periods(run: Run) -> Iterator[Check]:
    """T 1 s and 3 s, 19.5 and 6.8 mm: incident amplitude, and maxima of three harmonics behind the shoal."""
    for period, height, layers, margin in ((1.0, 0.039, 9, 5.0), (3.0, 0.0136, 7, 9.0)):
        steps, length = 50, 30.0 + 2.0 * margin
        grid = Grid.from_points(round(length / 0.125) + 1, 25, length, 3.048, x0=-margin)
        wave = StreamFunctionWave.over_still_water(height, 0.4572, period=period, stokes_current=0.0)
        zones = [RelaxationZone("west", margin, period, wave, ramp=5.0), RelaxationZone("east", margin, period)]
        model = PotentialWaves(
            grid, wave_tanks.whalin_depth(*grid.mesh()), relaxation_zones=zones, vertical_points=layers,
            time_step=period / steps, tolerance=1e-4, **run.options,
        )  # fmt: skip
        points = {f"{i}": (x, 3.048) for i, x in enumerate(grid.x)}
        computed = surface_at(model, points, 45.0 + np.arange(5 * steps) * (period / steps))
        amplitudes = 1e3 * harmonics(np.column_stack(list(computed.values())), 5, 3)
        flat, downwave = (grid.x > 0.5) & (grid.x < 6.0), (grid.x > 16.0) & (grid.x < 29.0)
        incident = 1e3 * harmonics(wave.elevation(0.0, 0.0, np.arange(steps) * (period / steps))[:, None], 1, 1)[0, 0]
        apart = float(np.abs(amplitudes[0][flat].mean() / incident - 1.0))
        yield Check(f"T {period:g} s, mean harmonic 1 before the slope, relative error", apart, 0.02)
        harmonic_list = ", ".join(f"{high:.2f}" for high in amplitudes[:, downwave].max(axis=1))
        where = (
            f"maximum harmonics 1 to 3 behind the slope, {harmonic_list} mm; {grid.nx} x {grid.ny} x {layers} points"
        )
        yield Check(f"T {period:g} s, maximum harmonic 2, mm", float(amplitudes[1][downwave].max()), detail=where)


# -- the bar --------------------------------------------------------------------------------------

GAUGES = (4.0, 10.5, 12.5, 13.5, 14.5, 15.7, 17.3, 19.0, 21.0)


def bar_depth(x: np.ndarray) -> np.ndarray:
    """Return the depth, m: S. Beji, J. A. Battjes (1993), doi:10.1016/0378-3839(93)90022-Z."""
    return np.interp(x, [6.0, 12.0, 14.0, 17.0], [0.4, 0.1, 0.1, 0.4])


def bar(run: Run) -> Iterator[Check]:
    """T 2.02 s, H 0.02 m: harmonics at gauges against another model with the same start."""
    period, steps = 2.02, 100
    grid = Grid.from_points(1281, 1, 40.0, 1.0, x0=-7.5)
    wave = StreamFunctionWave.over_still_water(0.02, 0.4, period=period, stokes_current=0.0)
    zones = [RelaxationZone("west", 7.5, period, wave, ramp=5.0), RelaxationZone("east", 7.5, period)]
    model = PotentialWaves(
        grid,
        bar_depth(grid.x)[None],
        relaxation_zones=zones,
        vertical_points=11,
        time_step=period / steps,
        tolerance=1e-4,
        **run.options,
    )
    times = 15.0 * period + np.arange(10 * steps) * (period / steps)
    series = surface_at(model, {f"x = {x:g} m": (x, 0.0) for x in GAUGES}, times)
    yield from bar_checks(np.column_stack(list(series.values())), read_table(BAR))
    late = {name: values[5 * steps :] for name, values in series.items()}
    run.picture(draw_bar, f"Submerged bar, {run.precision} precision", times[5 * steps :], late)


def bar_checks(series: np.ndarray, table: np.ndarray | None) -> Iterator[Check]:
    """Return the checks of elevations at the gauges over ten periods, (1000, 9), m; table : reference or None."""
    first, last = (harmonics(window, 5, 4) for window in np.split(series, 2))
    known = None if table is None else harmonics(table[:500, 1:], 5, 4)
    for n, spread in enumerate(BAR_SPREAD):
        change = float(np.abs(last[n] - first[n]).max())
        if known is not None:
            apart = np.abs(last[n] - known[n])
            where = f"at {GAUGES[int(np.argmax(apart))]:g} m; windows of this run differ by {1e3 * change:.2g} mm"
            limit = 1e3 * (spread + change)
            yield Check(f"harmonic {n + 1}, maximum difference, mm", 1e3 * float(apart.max()), limit, detail=where)
        highest = GAUGES[int(np.argmax(last[n]))]
        yield Check(f"harmonic {n + 1}, maximum, mm", 1e3 * float(last[n].max()), detail=f"at {highest:g} m")


def draw_bar(path: Path, title: str, times: np.ndarray, computed: dict[str, np.ndarray]) -> Path:
    """Draw the elevations at the gauges and the reference, if present, over `times` (n,), s."""
    table = read_table(BAR)
    known = np.empty((0, 1 + len(GAUGES))) if table is None else table
    reference = dict(zip(computed, known[:, 1:].T, strict=True)) if len(known) else {}
    return draw_gauges(path, title, times, computed, known[:, 0], reference, CODE)


# -- Berkhoff's shoal -----------------------------------------------------------------------------


def berkhoff(run: Run) -> Iterator[Check]:
    """Waves of 1 s over an elliptic shoal on a slope: relative maximum height behind it, and its position.

    Reported without limits: the measurements are available as figures only (J. C. W. Berkhoff, N. Booij, A. C. Radder,
    Coastal Eng. 6, 255-279 (1982), doi:10.1016/0378-3839(82)90022-9).
    """
    steps, end = 40, 26
    model = wave_tanks.berkhoff(257, time_step=1.0 / steps, **run.options)
    high, low = np.full(model.grid.shape, -np.inf), np.full(model.grid.shape, np.inf)
    for n in range((end - 4) * steps, end * steps):
        model.advance(n / steps)
        eta = model.field("surface_elevation")
        np.maximum(high, eta, out=high)
        np.minimum(low, eta, out=low)
    ratio, grid = (high - low) / 0.0464, model.grid
    downwave = ratio[:, (grid.x > 0.0) & (grid.x < 10.0)]
    j, i = np.unravel_index(int(np.argmax(downwave)), downwave.shape)
    x = grid.x[(grid.x > 0.0) & (grid.x < 10.0)][i]
    yield Check(
        "maximum wave height behind the shoal / 0.0464 m", float(downwave.max()), detail="257 x 129 x 5 points, order 4"
    )
    yield Check("distance of the maximum from the centre of the shoal, m", float(x), detail=f"y = {grid.y[j]:.3g} m")


BEDS: dict[str, Validation] = {
    "whalin": each(whalin),
    "whalin-periods": once("single", whalin_periods),
    "bar": each(bar),
    "berkhoff": once("single", berkhoff),
}
