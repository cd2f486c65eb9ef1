"""Validation of the potential-flow wave model by exact solutions: curved bed, dispersion, steady waves, zones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.grid import Grid
from eagre.laboratory.validation.comparison.gauges import surface_at
from eagre.laboratory.validation.comparison.norms import observed_orders
from eagre.laboratory.validation.comparison.setting import Check, Run, Validation, each, once
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.model import PotentialWaves
from eagre.waves import FocusedGroup, Jonswap, StreamFunctionWave, separate_reflection

GRAVITY = 9.81

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
