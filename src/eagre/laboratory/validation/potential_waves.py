"""Validation of the potential-flow wave model by standing and steady waves and by measured waves over beds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.grid import Grid
from eagre.laboratory.cases import wave_tanks
from eagre.laboratory.cases.ow3d_reference import BAR, CODE, WHALIN, read_table
from eagre.laboratory.validation.measures import draw_gauges, draw_harmonics, observed_orders, surface_at
from eagre.laboratory.validation.result import Check, Run, Validation, each, once
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.model import PotentialWaves
from eagre.waves import FocusedGroup, Jonswap, StreamFunctionWave, separate_reflection

GRAVITY = 9.81


def standing(run: Run, points: int, depth: float, **options: object) -> tuple[PotentialWaves, np.ndarray, float]:
    """Return a linear wave in a basin of 1 m, its shape, and its angular frequency, rad/s."""
    grid = Grid.from_points(points, 1, 0.5, 1.0)
    shape = np.cos(2.0 * math.pi * grid.x)[None]
    k = 2.0 * math.pi
    model = PotentialWaves(
        grid, depth, surface_elevation=1e-3 * shape, linear=True, gravity=GRAVITY,
        tolerance=1e-7 if run.precision == "double" else 2e-6, **{**run.options, **options},
    )  # fmt: skip  # pyright: ignore[reportArgumentType]
    return model, shape, math.sqrt(GRAVITY * k * math.tanh(k * depth))


def linear(run: Run) -> Iterator[Check]:
    """Ten periods of linear waves, shallow to deep: period and height against sqrt(g k tanh kh)."""
    for kh in (0.3, 1.0, 3.0, 6.0):
        model, shape, omega = standing(run, 33, kh / (2.0 * math.pi))
        period = 2.0 * math.pi / omega
        model.advance(10.0 * period)
        eta, phi = (model.field(name).astype(float) for name in ("surface_elevation", "surface_potential"))
        size = 1e-3 * (shape**2).sum()
        cosine, sine = (float((field * shape).sum() / size) for field in (eta, -phi * omega / GRAVITY))
        error = math.atan2(sine, cosine) / (2.0 * math.pi * 10.0)
        yield Check(f"period at kh {kh:g}, relative error", abs(error), 1e-4, detail="33 points, half a length")
        yield Check(f"height at kh {kh:g}, relative error", abs(math.hypot(cosine, sine) - 1.0), 1e-4)


STANDING: dict[str, Validation] = {"linear-standing-waves": each(linear)}


# -- the Laplace problem ----------------------------------------------------------------------------------------------


class CurvedBed:
    """Irrotational flow along a bed that is a streamline, 1 m long, periodic, and symmetric about its ends.

    phi = cosh(k (z + a)) cos(k x) + B cosh(2 k (z + b)) cos(2 k x). The bed z = -h(x) is the zero of the stream
    function divided by sin(k x): sinh(k (z + a)) + 2 B cos(k x) sinh(2 k (z + b)) = 0.
    """

    k, a, b, share = 2.0 * math.pi, 0.25, 0.1, 0.02

    def depth(self, x: np.ndarray) -> np.ndarray:
        """Return h, m, by Newton's method."""
        z, k = np.full(x.shape, -self.a), self.k
        for _ in range(60):
            c = 2.0 * self.share * np.cos(k * x)
            value = np.sinh(k * (z + self.a)) + c * np.sinh(2.0 * k * (z + self.b))
            z = z - value / (k * np.cosh(k * (z + self.a)) + 2.0 * k * c * np.cosh(2.0 * k * (z + self.b)))
        return -z

    def potential(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return phi, m2/s."""
        k = self.k
        second = self.share * np.cosh(2.0 * k * (z + self.b)) * np.cos(2.0 * k * x)
        return np.cosh(k * (z + self.a)) * np.cos(k * x) + second

    def upward(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return phi_z, m/s."""
        k = self.k
        second = 2.0 * k * self.share * np.sinh(2.0 * k * (z + self.b)) * np.cos(2.0 * k * x)
        return k * np.sinh(k * (z + self.a)) * np.cos(k * x) + second


def curved_bed_errors(n: int, layers: int, order: int, along: str) -> tuple[float, float]:
    """Return maximum relative errors of w~ and of the potential, n points per wavelength along x, y or the diagonal."""
    flow, both = CurvedBed(), along == "diagonal"
    side = math.sqrt(2.0) if both else 1.0
    spacing = {"x": (1.0, 1.0 / n), "y": (1.0 / n, 1.0)}.get(along, (side / n, side / n))
    vertical, device = Vertical(layers, order), select("cpu")
    position = np.arange(n) * (side / n)
    x = {"x": position[None], "y": position[:, None]}.get(along, (position[None] + position[:, None]) / math.sqrt(2.0))
    h, eta = flow.depth(x), 0.03 * np.cos(flow.k * x) + 0.01 * np.sin(2.0 * flow.k * x)
    problem = LaplaceProblem(h, spacing, vertical, (along != "x", along != "y"), device, "double", max_iterations=200)
    surface = flow.potential(x, eta)
    device.fill(problem.fields, np.stack([eta, surface]))
    problem.solve(1e-13)
    z = vertical.sigma[:-1, None, None] * (h + eta) - h
    computed, known = device.host(problem.psi)[:-1] + surface, flow.potential(x, z)
    w, exact = device.host(problem.w)[0], flow.upward(x, eta)
    return float(np.abs(w - exact).max() / np.abs(exact).max()), float(
        np.abs(computed - known).max() / np.abs(known).max()
    )


def manufactured(run: Run) -> Iterator[Check]:
    """Orders of the potential and of w~ under a curved surface over a curved bed; points and layers are doubled."""
    cases = ("x", 2, (32, 64)), ("x", 4, (32, 64)), ("x", 6, (96, 192)), ("y", 4, (32, 64)), ("diagonal", 4, (24, 48))
    for along, order, sizes in cases:
        errors = np.array([curved_bed_errors(n, n // 4 + 1, order, along) for n in sizes])
        bed = f"bed curved along {along}, {sizes[0]} and {sizes[1]} columns"
        for m, what in enumerate(("w~", "Phi")):
            computed = observed_orders(errors[:, m].tolist())[-1]
            yield Check(f"order of {what} at order {order}, {bed}", computed, order - 0.5, True)
            yield Check(f"largest relative error of {what} at order {order}, {bed}", errors[-1, m])


def dispersion(run: Run) -> Iterator[Check]:
    """Celerity of a linear wave on the grid against sqrt(g tanh(kh) / k), order 6, 9 layers."""
    device = select("cpu")
    for points, limit in ((8, 2e-4), (16, 5e-5), (32, 5e-5)):
        for kh in (0.5, 1.0, math.pi, 2.0 * math.pi):
            h = np.full((1, points), kh / (2.0 * math.pi))
            problem = LaplaceProblem(
                h, (1.0, 1.0 / points), Vertical(9, 6), (False, True), device, "double", True, max_iterations=200
            )
            shape = np.cos(2.0 * math.pi * np.arange(points) / points)
            device.fill(problem.phi, shape[None, None])
            problem.solve(1e-13)
            k_tanh = float(device.host(problem.w)[0, 0] @ shape / (shape @ shape))
            error = math.sqrt(k_tanh / (2.0 * math.pi * math.tanh(kh))) - 1.0
            yield Check(f"celerity, relative error, kh {kh:.3g}, {points} points", abs(error), limit)


# -- waves that keep their form ---------------------------------------------------------------------------------------

KNOWN = (
    (0.08, 1.0, 1.0, 9.82, 1.2902737383148, 1.2842325935752),
    (0.2, 1.0, 2.0 * math.pi, 9.81, 2.7648548305022, 2.7472763091226),
)
"""Height, depth, length, m; g; celerity for zero mean Eulerian and for zero mean Stokes current, m/s, from two
other codes.
"""


def steady_numbers(run: Run) -> Iterator[Check]:
    """Celerities of stream-function waves in both conventions against other codes."""
    for height, depth, length, gravity, eulerian, stokes in KNOWN:
        waves = (
            StreamFunctionWave(height, depth, length=length, gravity=gravity, eulerian_current=0.0),
            StreamFunctionWave(height, depth, length=length, gravity=gravity, stokes_current=0.0),
        )
        for wave, kind, known in zip(waves, ("Eulerian", "Stokes"), (eulerian, stokes), strict=True):
            what = f"celerity without mean {kind} current, H {height:g} m, relative error"
            yield Check(what, abs(wave.celerity / known - 1.0), 1e-10)


def energy_of(model: PotentialWaves) -> float:
    """Return kinetic and potential energy."""
    return model.diagnostics()["energy"]


def travelling(
    run: Run, periods: int, wave: StreamFunctionWave, points: int, limits: tuple[float, ...]
) -> Iterator[Check]:
    """Steady wave in a periodic basin of one wavelength: shape, celerity and energy after a number of periods."""
    grid = Grid.from_points(points, 1, wave.length, 1.0, periodic=(True, False))
    start = np.asarray(wave.elevation(grid.x, 0.0, 0.0))
    model = PotentialWaves(
        grid, wave.depth, surface_elevation=start[None], gravity=wave.gravity, periodic="x",
        surface_potential=np.asarray(wave.surface_potential(grid.x, 0.0, 0.0))[None], time_step=wave.period / 64.0,
        tolerance=1e-5 if run.precision == "single" else 1e-7, **run.options,
    )  # fmt: skip
    energy = energy_of(model)
    model.advance(periods * wave.period)
    eta = np.asarray(model.field("surface_elevation"), np.float64)[0]
    modes, first = np.fft.rfft(eta), np.fft.rfft(start)
    phase_lag = float(np.angle(modes[1] / first[1])) / (2.0 * math.pi * periods)
    shifted = np.fft.irfft(modes * np.exp(-1j * np.arange(modes.size) * np.angle(modes[1] / first[1])), points)
    detail = f"H/L {wave.height / wave.length:.3g}, {points} points, {periods} periods"
    errors = abs(phase_lag), float(np.abs(shifted - start).max()) / wave.height, abs(energy_of(model) / energy - 1.0)
    names = "celerity, relative error", "shape, largest error / H", "energy, relative change"
    for name, value, limit in zip(names, errors, limits, strict=True):
        yield Check(name, value, limit, detail=detail)


def steady(run: Run, periods: int = 25) -> Iterator[Check]:
    """Stream-function waves, shallow to deep, over 25 periods."""
    for height, depth, points, limits in (
        (0.0175, 0.5 / math.pi / 2.0, 32, (1e-4, 1e-3, 1e-3)),
        (0.05, 1.0, 32, (1e-4, 1e-3, 1e-3)),
        (0.08, 1.0, 64, (1e-4, 1e-3, 1e-3)),
    ):
        wave = StreamFunctionWave.over_still_water(height, depth, length=1.0, eulerian_current=0.0)
        yield from travelling(run, periods, wave, points, limits)


# -- a standing wave --------------------------------------------------------------------------------------------------

AGNON_GLOZMAN = (0.8867e-1, 0.5243e-2, 0.4978e-3, 0.6542e-4, 0.1007e-4, 0.1653e-5, 0.2753e-6, 0.4522e-7)
STANDING_PERIOD, STANDING_GRAVITY = 1.13409, 9.82
STANDING_KNOWN = ((0.0, 0.0478354, -0.0415052), (1.0, 0.0477296, -0.0415848), (2.0, 0.0478078, -0.0415262))
"""Time in periods; elevation at the wall and half a wavelength from it, m: converged runs of another code."""


def nonlinear_standing(run: Run) -> Iterator[Check]:
    """Standing wave 2 m long and 0.089 m high in 2 m of water, over two periods.

    Initial state: Y. Agnon, M. Glozman, Wave Motion 24, 139-150 (1996), doi:10.1016/0165-2125(96)00012-8, page 145.
    """
    grid = Grid.from_points(33, 1, 1.0, 1.0)
    n = np.arange(1.0, 9.0)
    eta = 0.5 * (n**0.25 * AGNON_GLOZMAN) @ np.cos(math.pi * np.outer(n, grid.x))
    model = PotentialWaves(
        grid, 2.0, surface_elevation=eta[None], gravity=STANDING_GRAVITY, vertical_points=13,
        time_step=STANDING_PERIOD / 100.0, tolerance=1e-5 if run.precision == "single" else 1e-7, **run.options,
    )  # fmt: skip
    energy = energy_of(model)
    for periods, wall, mid_value in STANDING_KNOWN:
        if periods:
            model.advance(periods * STANDING_PERIOD)
        computed = np.asarray(model.field("surface_elevation"), np.float64)[0]
        apart = max(abs(computed[0] - wall), abs(computed[-1] - mid_value))
        yield Check(
            f"elevation after {periods:g} periods, largest difference, m", apart, 2e-6, detail="33 points, 13 layers"
        )
    yield Check("energy, relative change", abs(energy_of(model) / energy - 1.0), 1e-4)


# -- waves that come and go -------------------------------------------------------------------------------------------


def flume(
    run: Run, waves: Any, length: float, points: int, zones: list[RelaxationZone], dt: float, **options: Any
) -> PotentialWaves:
    """Return a flume 0.45 m deep."""
    grid = Grid.from_points(points, 1, length, 1.0)
    return PotentialWaves(
        grid,
        0.45,
        relaxation_zones=zones,
        time_step=dt,
        tolerance=1e-4,
        vertical_points=7,
        **{**run.options, **options},
    )


def zones(run: Run) -> Iterator[Check]:
    """Waves of 2 s generated in the west and absorbed in the east of a flume: reflection, and generated height."""
    for height, limit in ((0.01, 0.02), (0.06, 0.02)):
        wave = StreamFunctionWave.over_still_water(height, 0.45, period=2.0, stokes_current=0.0)
        zones_of_run = [RelaxationZone("west", 4.0, 2.0, wave, ramp=4.0), RelaxationZone("east", 7.0, 2.0)]
        model = flume(run, wave, 28.0, 281, zones_of_run, 0.04)
        positions = {f"{x:g} m": (x, 0.0) for x in (10.0, 10.6, 11.5)}
        computed = np.array(list(surface_at(model, positions, 40.0 + 0.04 * np.arange(200)).values()))
        apart = separate_reflection(
            computed, np.array([10.0, 10.6, 11.5]), 0.04, depth=0.45, band=(0.4, 0.6), taper=0.0
        )
        first = 2.0 * float(np.abs(wave.elevation_coefficients[0]))
        yield Check(f"reflection of the zone, H {height:g} m", apart.coefficient, limit, detail="281 points")
        yield Check(
            "height of the first harmonic, relative error",
            abs(apart.incident_height / math.sqrt(2.0) / first - 1.0),
            0.01,
        )


def group(run: Run) -> Iterator[Check]:
    """A focused group of linear waves meets at its focal point and time."""
    waves = FocusedGroup(Jonswap(0.1, 1.6), 0.45, crest_height=0.004, x=9.0, t=24.0, band=(0.35, 1.2), count=120)
    zones_of_run = [RelaxationZone("west", 4.0, 1.6, waves, ramp=2.0), RelaxationZone("east", 8.0, 2.0)]
    model = flume(run, waves, 24.0, 481, zones_of_run, 0.04)
    times = 20.0 + 0.04 * np.arange(200)
    computed = surface_at(model, {"focus": (9.0, 0.0)}, times)["focus"]
    exact = np.asarray(waves.elevation(9.0, 0.0, times))
    yield Check("largest difference / crest", float(np.abs(computed - exact).max()) / 0.004, 0.05, detail="481 points")
    yield Check("time of the crest, error, s", abs(float(times[np.argmax(computed)]) - 24.0), 0.041)


REGULAR: dict[str, Validation] = {
    "manufactured": once("double", manufactured),
    "dispersion": once("double", dispersion),
    "steady-wave-numbers": once("double", steady_numbers),
    "steady-waves": each(steady),
    "nonlinear-standing-wave": each(nonlinear_standing),
    "zones": each(zones),
    "focused-group": each(group),
}


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
