"""Validation of the ADI shallow-water model: exact flows, rotation, single precision, and the explicit model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eagre.boundaries import Boundaries, Stage
from eagre.constants import GRAVITY, WATER_DENSITY
from eagre.contract import Model
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.laboratory.cases import basins, dam_breaks, monai
from eagre.laboratory.cases.mike21 import pool
from eagre.laboratory.cases.water import WaterCase
from eagre.laboratory.validation.measures import (
    draw_convergence,
    draw_gauges,
    draw_profile,
    monai_data,
    observed_orders,
    relative_norms,
    root_mean_square,
    surface_at,
    water_of,
)
from eagre.laboratory.validation.result import BOTH, PRECISIONS, Check, Run, Validation, each, once
from eagre.terms.coriolis import Coriolis
from eagre.terms.wind import WindStress
from eagre.time_varying.series import Series

if TYPE_CHECKING:
    from eagre.models.shallow_water_adi.model import ShallowWaterADI


REST = {"single": 5e-6, "double": 1e-12}
MASS = {"single": 2e-6, "double": 1e-13}


def adi_model(run: Run, grid: Grid, bed: Any, time_step: float, **options: Any) -> ShallowWaterADI:
    """Return an `eagre.ShallowWaterADI` on the device and in the precision of the run."""
    from eagre.models.shallow_water_adi.model import ShallowWaterADI

    return ShallowWaterADI(grid, bed, time_step, **run.options, **options)


def model_of(run: Run, case: WaterCase, courant: float) -> ShallowWaterADI:
    """Return the model for a ready-made case between walls, at a Courant number of its maximum depth."""
    step = courant * case.grid.dx / math.sqrt(GRAVITY * float(case.initial.depth.max()))
    depth, threshold = case.initial.depth, 1e-6
    over = np.where(depth > threshold, 1.0 / np.maximum(depth, threshold), 0.0)
    water: dict[str, Any] = {"depth": depth, "manning": case.manning}
    water |= {"velocity_x": case.initial.discharge_x * over, "velocity_y": case.initial.discharge_y * over}
    return adi_model(run, case.grid, case.bed_elevation, step, **water)


def standing_wave(run: Run, dimensions: int = 2, start: str = "half-step") -> Iterator[Check]:
    """Order of a small standing wave at the Courant number 2."""
    length, depth, amplitude, cells = 1000.0, 10.0, 1e-5, (16, 32, 64, 128)
    wave = math.pi / length * math.sqrt(dimensions)
    omega = math.sqrt(GRAVITY * depth) * wave
    end = 0.35 * 2.0 * math.pi / omega
    errors = []
    for n in cells:
        grid = Grid(n, n if dimensions == 2 else 4, length / n, length / n)
        x, y = grid.mesh()
        shape = np.cos(math.pi * x / length) * (np.cos(math.pi * y / length) if dimensions == 2 else 1.0)
        step = end / round(end * math.sqrt(GRAVITY * depth) / (2.0 * grid.dx))
        model = adi_model(run, grid, -depth, step, surface_elevation=amplitude * shape, start=start)
        model.advance(end)
        exact = amplitude * shape * math.cos(omega * end)
        errors.append(float(np.abs(model.field("surface_elevation") - exact).max()) / amplitude)
    run.picture(draw_convergence, run.name, cells, {"surface": errors})
    limit = 1.9 if start == "half-step" else None
    yield Check("order of the surface", observed_orders(errors)[-1], limit, True, f"n = {cells}, Courant number 2")
    yield Check("max |error| / amplitude", errors[-1], detail=f"n = {cells[-1]}")


def lake_at_rest(run: Run) -> Iterator[Check]:
    """A lake over random depths, partly dry, 1000 steps: fluxes and mass."""
    grid = Grid(67, 45, 100.0, 80.0)
    bed = np.random.default_rng(3).uniform(-20.0, 2.0, grid.shape_of("corner"))
    model = adi_model(run, grid, bed, 20.0, surface_elevation=0.0, manning=1 / 32)
    model.advance(20_000.0)
    max_value = max(float(np.abs(model.field(f"discharge_{a}")).max()) for a in "xy")
    yield Check("max |p|, |q| [m2 s-1]", max_value, REST[run.precision], detail="1000 steps")


def wave_in_pool(run: Run) -> Iterator[Check]:
    """A hump in a closed pool (dx = 10 m, dt = 2 s): pictures at steps 0, 10 .. 70, mirror symmetry, mass."""
    n = 96
    grid = Grid(n, n, 10.0, 10.0)
    x, y = grid.mesh()
    hump = np.exp(-((x - 480.0) ** 2 + (y - 480.0) ** 2) / (2.0 * 60.0**2))
    model = adi_model(run, grid, -10.0, 2.0, surface_elevation=hump, manning=1 / 32)
    curves = {"step 0": model.field("surface_elevation")[n // 2]}
    for step in range(10, 80, 10):
        model.advance(2.0 * step)
        curves[f"step {step}"] = model.field("surface_elevation")[n // 2]
    z = model.field("surface_elevation").astype(float)
    apart = max(float(np.abs(z - z[:, ::-1]).max()), float(np.abs(z - z[::-1]).max()))
    yield Check("mirror asymmetry [m]", apart, 1e-5 if run.precision == "single" else 1e-12, detail="70 steps")
    mass = abs(model.diagnostics()["volume_error"])
    yield Check("relative change of mass", mass, MASS[run.precision], detail="70 steps")
    run.picture(draw_profile, "Wave in a pool", grid.x, curves)


def tide(run: Run) -> Iterator[Check]:
    """A tide in a closed channel against the linear solution with Lorentz-linearised friction."""
    length, depth, amplitude, period, chezy = 40e3, 10.0, 0.02, 44712.0 / 4, 30.0
    grid = Grid(200, 3, length / 200, length / 200)
    omega, end = 2.0 * math.pi / period, 15.0 * period
    rate, profile = _tide_solution(grid.x, length, depth, amplitude, omega, chezy)
    times = np.arange(0.0, 20.0 * period, 60.0)
    level = Series(times, amplitude * np.cos(omega * times) * np.minimum(1.0, times / (2.0 * period)))
    sides = Boundaries(west=Stage(level))
    model = adi_model(run, grid, -depth, 60.0, surface_elevation=0.0, chezy=chezy, boundaries=sides)
    model.advance(end)
    exact = (profile * np.exp(1j * omega * end)).real
    error = float(np.abs(model.field("surface_elevation")[1] - exact).max()) / float(np.abs(profile).max())
    courant = math.sqrt(GRAVITY * depth) * 60.0 / grid.dx
    detail = f"friction {rate:.1e} s-1, Courant number {courant:.1f}"
    yield Check("max |error| / largest amplitude", error, 0.05, detail=detail)


def _tide_solution(
    x: np.ndarray, length: float, depth: float, amplitude: float, omega: float, chezy: float
) -> tuple[float, np.ndarray]:
    """Return friction, s-1, and complex surface amplitude: z = a cos(k (L - x)) / cos(k L), k^2 g h = w^2 - i w r.

    r = 8 / (3 pi) g U / (C^2 h) (Lorentz) with the maximum speed U, averaged along the channel.
    """
    rate = 0.0
    for _ in range(50):
        k = np.sqrt((omega**2 - 1j * omega * rate) / (GRAVITY * depth))
        speed = np.abs(omega * amplitude / (depth * k) * np.sin(k * (length - x)) / np.cos(k * length))
        mean = float((speed**3).mean() / (speed**2).mean())
        rate = 0.5 * rate + 0.5 * 8.0 / (3.0 * math.pi) * GRAVITY * mean / (chezy**2 * depth)
    return rate, amplitude * np.cos(k * (length - x)) / np.cos(k * length)


def wind_set_up(run: Run) -> Iterator[Check]:
    """Wind over a closed lake tilts its surface: rho g h dz/dx = stress."""
    grid = Grid(80, 5, 250.0, 250.0)
    depth, stress = 5.0, 0.2
    slope = stress / (WATER_DENSITY * GRAVITY * depth)
    wind = (WindStress(stress),)
    model = adi_model(run, grid, -depth, 30.0, surface_elevation=0.0, manning=0.5, sources=wind)
    model.advance(3.0 * 86400.0)
    z = model.field("surface_elevation")[2].astype(float)
    computed = (z[-1] - z[0]) / (grid.x[-1] - grid.x[0])
    yield Check("|slope / exact - 1|", abs(computed / slope - 1.0), 0.01)


def dam_break(run: Run, low: float) -> Iterator[Check]:
    """A dam break of 1 m onto water of depth `low`, m, against the exact solution.

    Limits: the error of a shift by two cells, and the order 1/2 of a first-order scheme at shocks and at the ends of a
    rarefaction (N. N. Kuznetsov, USSR Comput. Math. Math. Phys. 16(6), 105-119 (1976),
    doi:10.1016/0041-5553(76)90046-X).
    """
    errors = []
    for n in (100, 200):
        case = dam_breaks.dam_break(n, low=low)
        model = model_of(run, case, 0.2)
        model.advance(case.end_time)
        assert case.exact is not None
        exact, computed = case.exact(case.end_time).depth, water_of(model).depth
        errors.append(relative_norms(computed, exact).l1)
    two_cells = 2.0 * float(exact.max()) / float(exact[1].sum())
    detail = f"{case.grid.nx} cells, {model.steps} steps"
    yield Check("relative L1 error of h", errors[-1], two_cells, detail=detail)
    yield Check("order of the error", observed_orders(errors)[-1], 0.5, True, "100 to 200 cells")
    bed = case.bed_centre[1]
    run.picture(draw_profile, run.name, case.grid.x, {run.precision: computed[1] + bed}, exact[1] + bed)


def parabolic_bowl(run: Run, shift: float = 250.0, courant: float = 0.5) -> Iterator[Check]:
    """Rotating planar surface in a frictionless paraboloid: errors, mass and negative depths after one period.

    The limit of the error is that of a shift by half a cell, 8 dx / (3 pi radius). With a shift of half the radius the
    run-up speed is as large as the wave speed; this case has no limit and shows the range of the scheme.
    """
    case = basins.planar_bowl(100, shift=shift)
    model = model_of(run, case, courant)
    model.advance(case.end_time)
    assert case.exact is not None
    error = relative_norms(water_of(model).depth, case.exact(case.end_time).depth).l1
    diagnostics = model.diagnostics()
    lowest = -diagnostics["min_depth"] / diagnostics["max_depth"]
    gentle = shift <= 250.0
    half_cell = 8.0 * case.grid.dx / (3.0 * math.pi * 2500.0) if gentle else None
    yield Check("relative L1 error of h", error, half_cell, detail=f"{model.steps} steps")
    yield Check("relative change of mass", abs(diagnostics["volume_error"]), MASS[run.precision])
    yield Check("largest negative depth / depth", lowest, 0.1 if gentle else None)


IMPLICIT: dict[str, Validation] = {
    "standing-wave-1d": once("double", standing_wave, dimensions=1),
    "standing-wave-2d": once("double", standing_wave),
    "standing-wave-2d-zero-start": once("double", standing_wave, start="zero"),
    "lake": each(lake_at_rest),
    "pool": each(wave_in_pool),
    "tide": each(tide),
    "wind-set-up": each(wind_set_up),
    "stoker": each(dam_break, 0.1),
    "ritter": each(dam_break, 0.0),
    "bowl": each(parabolic_bowl),
    "bowl-violent": each(parabolic_bowl, shift=1250.0),
}


def geostrophic_vortex(run: Run) -> Iterator[Check]:
    """A vortex in geostrophic balance on a flat bottom is steady for a day (linear equations)."""
    grid = Grid(100, 100, 10e3, 10e3)
    x, y = grid.mesh()
    f, depth, radius = 1e-4, 100.0, 100e3
    z = 0.5 * np.exp(-((x - 500e3) ** 2 + (y - 500e3) ** 2) / (2.0 * radius**2))
    u, v = GRAVITY / f * z * (y - 500e3) / radius**2, -GRAVITY / f * z * (x - 500e3) / radius**2
    model = adi_model(
        run, grid, -depth, 600.0, surface_elevation=z, velocity_x=u * depth / (depth + z),
        velocity_y=v * depth / (depth + z), sources=(Coriolis(f=f),), momentum_advection="off",
    )  # fmt: skip
    model.advance(86400.0)
    yield Check("change in a day / amplitude", float(np.abs(model.field("surface_elevation") - z).max()) / 0.5, 0.02)


def geostrophic_adjustment(run: Run) -> Iterator[Check]:
    """Geostrophic adjustment: a hump on a rotating sea emits waves and leaves a vortex; field after 12 hours, linear.

    Each Fourier mode of the surface is z(t) = z(0) (f^2 + g h k^2 cos w t) / w^2 with w^2 = f^2 + g h k^2, as its
    potential vorticity is conserved (A. E. Gill, Atmosphere-Ocean Dynamics, Academic Press (1982), section 7.2). The
    waves do not reach the walls.
    """
    length, depth, f, height, radius, end = 4000e3, 100.0, 1e-4, 0.01, 250e3, 12 * 3600.0
    errors = []
    for n in (40, 80):
        grid = Grid(n, n, length / n, length / n)
        x, y = grid.mesh()
        z = height * np.exp(-((x - 0.5 * length) ** 2 + (y - 0.5 * length) ** 2) / (2.0 * radius**2))
        k = 2.0 * math.pi * np.fft.fftfreq(n, grid.dx)
        waves = GRAVITY * depth * (k**2 + k[:, None] ** 2)
        left = (f**2 + waves * np.cos(np.sqrt(f**2 + waves) * end)) / (f**2 + waves)
        exact = np.fft.ifft2(np.fft.fft2(z) * left).real
        step, turning = end * 15.0 / n / 11.0, (Coriolis(f=f),)
        model = adi_model(run, grid, -depth, step, surface_elevation=z, momentum_advection="off", sources=turning)
        model.advance(end)
        computed = model.field("surface_elevation")
        errors.append(float(np.abs(computed - exact).max()) / height)
    detail = f"{n} x {n} cells, {model.steps} steps"
    yield Check("max |error| / height of the hump", errors[-1], 0.01, detail=detail)
    yield Check("order of the surface", observed_orders(errors)[-1], 1.85, True, "40 to 80 cells per side")
    curves = {"start": z[n // 2], "12 h": computed[n // 2]}
    run.picture(draw_profile, "A hump on a rotating sea after 12 h", grid.x, curves, exact[n // 2])


def precisions(run: Run) -> Iterator[Check]:
    """Single against double precision in the pool of the source: the 1e-5 of its section 9.4, and its growth."""
    models = [pool((64, 64), run.setting.device, precision, "mike21") for precision in PRECISIONS]
    for steps in (100, 1000, 10_000):
        for model in models:
            model.advance(20.0 * steps)
        for field, text in (("surface_elevation", "z [m]"), ("discharge_x", "p [m2 s-1]")):
            single, double = (model.field(field).astype(np.float64) for model in models)
            apart = float(np.abs(single - double).max())
            yield Check(f"largest difference of {text}, {steps} steps", apart, {100: 2e-5, 1000: 1e-4}.get(steps))


ROTATION: dict[str, Validation] = {
    "geostrophic-vortex": each(geostrophic_vortex),
    "geostrophic-adjustment": each(geostrophic_adjustment),
    "precisions": once(BOTH, precisions),
}


BAY_CELL, BAY_STEP = 40.0, 1.0  # m, s: Courant number 0.95 in the deepest water
WET = 0.1  # depth from which a cell counts as flooded, m


def monai_valley(run: Run, coarsen: int = 1) -> Iterator[Check]:
    """Gauges of Monai Valley: both models on the cells of the flume, the explicit one also on cells 3 times as large.

    The last run shows the time to solution at equal error.
    """
    folder, missing = monai_data(run)
    if folder is None:
        yield from missing
        return
    measured = monai.read_measurement(folder)
    fine, coarse = (monai.monai_valley(folder, coarsen * factor) for factor in (1, 3))
    options = {"manning": fine.manning, "boundaries": fine.boundaries, "dry_depth": 1e-4, "surface_elevation": 0.0}
    makers: dict[str, Callable[[], Model]] = {
        "explicit": partial(fine.model, **run.options),
        "explicit, large cells": partial(coarse.model, **run.options),
        "implicit": partial(adi_model, run, fine.grid, fine.bed_elevation, 0.0125, **options),
    }
    series: dict[str, dict[str, np.ndarray]] = {}
    for name, make in makers.items():
        make().advance(0.02)  # compilation
        model, start = make(), perf_counter()
        series[name] = surface_at(model, fine.gauges, measured.times)
        detail = f"{model.grid.nx} x {model.grid.ny} cells, {model.steps} steps, {perf_counter() - start:.1f} s"
        for gauge, values in measured.elevation.items():
            yield Check(
                f"{name}, {gauge}: RMS [m]", root_mean_square(series[name][gauge] - values), 0.008, detail=detail
            )
    title = f"Monai Valley, implicit, {run.precision}"
    run.picture(draw_gauges, title, measured.times, series["implicit"], measured.times, measured.elevation)


class Bay(NamedTuple):
    """Results of the demo bay: surface at the gauges, flooded land, steps, seconds."""

    gauges: dict[str, np.ndarray]  # (n,), m
    flooded: float  # m2
    steps: int
    seconds: float


def demo_case() -> Path:
    """Return the case file of `make demo`, next to the source of the package or below the current folder.

    Raises
    ------
    InputError
        If it is not found.
    """
    for root in (Path(__file__).resolve().parents[4], Path.cwd()):
        path = root / "examples" / "demo" / "case.toml"
        if path.is_file():
            return path
    raise InputError(
        "no examples/demo/case.toml next to the package or in this folder",
        allowed="a clone of the project",
        fix="eagre validate shallow-water-adi --case demo-bay (in the root folder of the clone)",
        problem="The case file of this validation was not found.",
    )


def run_bay(times: np.ndarray, cell: float, step: float | None, device: Any, precision: str) -> Bay:
    """Run the demo with cells of `cell` m: explicit without `step`, s, otherwise ADI; compilation is not timed."""
    from eagre.models.shallow_water.config import ShallowWaterCase
    from eagre.models.shallow_water_adi.config import ShallowWaterADICase

    path = demo_case()
    text = path.read_text(encoding="utf-8").replace("dx = 20.0", f"dx = {cell}")
    kind = ShallowWaterCase
    if step is not None:
        kind = ShallowWaterADICase
        text = text.replace('model = "shallow-water"', f'model = "{kind.kind}"')
        text += f"\n[numerics]\ntime_step = {step}\n"
    case = kind.loads(text, path.parent)
    assert case.gauges is not None
    case.build(device, precision).advance(1.0)
    model = case.build(device, precision)
    dry = model.field("depth") < WET
    max_depth, start = np.zeros(model.grid.shape), perf_counter()

    def look() -> None:
        np.maximum(max_depth, model.field("depth"), out=max_depth)

    gauges = surface_at(model, case.gauges.on(model.grid), times, look)
    seconds = perf_counter() - start
    return Bay(gauges, float((dry & (max_depth > WET)).sum()) * model.grid.cell_area, model.steps, seconds)


def demo_bay(run: Run) -> Iterator[Check]:
    """Tsunami of the demo in a bay, on cells of 40 m: gauges and flooded land of both models.

    The incoming wave and the flooded area are checked; the hour at the gauges, with bores reflected from the coast, is
    only reported.
    """
    try:
        demo_case()
    except InputError as error:
        if run.setting.chosen:
            raise
        yield Check("not run: case file not found", 0.0, detail=error.fix)
        return
    times = np.arange(0.0, 3601.0, 10.0)
    explicit, implicit = (run_bay(times, BAY_CELL, step, **run.options) for step in (None, BAY_STEP))
    incoming = times < 840.0
    crest = float(explicit.gauges["bay_mouth"].max())
    for name, values in implicit.gauges.items():
        apart = values - explicit.gauges[name]
        if name == "bay_mouth":
            yield Check(f"{name}, 14 min: RMS / crest", root_mean_square(apart[incoming]) / crest, 0.01)
        yield Check(f"{name}, 1 h: RMS [m]", root_mean_square(apart))
    for name, bay in (("explicit", explicit), ("implicit", implicit)):
        yield Check(f"{name}, flooded [ha]", 1e-4 * bay.flooded, detail=f"{bay.steps} steps, {bay.seconds:.1f} s")
    yield Check("flooded: |implicit / explicit - 1|", abs(implicit.flooded / explicit.flooded - 1.0), 0.1)
    title = f"Tsunami in a bay, implicit and explicit model, {run.precision}"
    run.picture(draw_gauges, title, times, implicit.gauges, times, explicit.gauges, "explicit")


BESIDE: dict[str, Validation] = {"monai": each(monai_valley), "demo-bay": each(demo_bay)}
