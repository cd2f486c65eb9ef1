"""Time of a step with an option over the time without it, for each model, measured in turns in one process.

From the root of the repository: ``python benchmarks/options.py [MODEL ...] [--device cuda] [--precision double]``. The
table goes to the screen and, with ``--output FILE``, into a JSON file. Both numbers of a line are medians of the turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np
from records import keep

import eagre
from eagre import Boundaries, InternalLine, Wall
from eagre.laboratory.bench.machine import device_name

LATEST = 1e7  # model time that no run reaches, s
SIZES = {
    "cpu": {"shallow-water": 512, "shallow-water-adi": 512, "barotropic": 513, "potential-waves": 257, "anelastic": 64},
    "cuda": {
        "shallow-water": 2048,
        "shallow-water-adi": 2048,
        "barotropic": 2049,
        "potential-waves": 1025,
        "anelastic": 256,
    },
}
MAPS = eagre.Maps(("max_surface_elevation", "max_depth", "max_speed", "hazard_class"), arrival_depths=[0.3])
AVERAGES = eagre.TimeStatistics(mean=("surface_elevation",))


def water(model: Any, n: int, **options: Any) -> dict[str, dict[str, Any]]:
    """Return the options of a shallow-water model on n x n cells of 10 m, a third of which are dry, by name."""
    corners = np.arange(n + 1) * 10.0
    bed = (
        -5.0
        + 2.0 * np.sin(corners / 700.0)[None, :] * np.cos(corners / 900.0)[:, None]
        + 8.0 * (corners[:, None] > 7.0 * n)
    )
    default = {"model": model, "grid": eagre.Grid(n, n, 10.0, 10.0), "bed_elevation": bed, "surface_elevation": 0.0}
    default |= {"manning": 0.03, **options}
    wall = InternalLine([(3.0 * n, 2.0 * n), (3.3 * n, 6.0 * n)], Wall())
    return {
        name: default | more
        for name, more in {
            "default": {},
            "wall inside": {"boundaries": Boundaries(internal=[wall])},
            "maps of maxima": {"maps": MAPS},
            "averages": {"time_statistics": AVERAGES},
            "stage": {"boundaries": Boundaries(west=eagre.Stage(0.1))},
            "rain": {"sources": [eagre.Rain(1e-6)]},
            "rotation": {"sources": [eagre.Coriolis(latitude=35.0)]},
            "infiltration": {"sources": [eagre.Infiltration(1e-7)]},
            "infiltration, Green-Ampt": {"sources": [eagre.GreenAmpt(1e-6, 0.1, 0.3)]},
        }.items()
    }


def explicit(n: int) -> dict[str, dict[str, Any]]:
    """Return the options of the explicit model."""
    options = water(eagre.ShallowWater, n)
    srk2 = options["default"] | {"scheme": "srk2"}
    return options | {"srk2": srk2, "srk2, wall inside": options["wall inside"] | {"scheme": "srk2"}}


def implicit(n: int) -> dict[str, dict[str, Any]]:
    """Return the options of the implicit model."""
    return water(eagre.ShallowWaterADI, n, time_step=1.0)


def barotropic(n: int) -> dict[str, dict[str, Any]]:
    """Return the options of the barotropic model on n x n points."""
    grid = eagre.Grid.from_points(n, n, 1.0, 1.0)
    wind = -np.sin(np.pi * grid.y[:, None]) + 0.0 * grid.x
    default = {"model": eagre.BarotropicVorticity, "grid": grid, "time_step": 1e-7, "wind_forcing": wind}
    default |= {"viscosity": 0.05}
    return {
        name: default | more
        for name, more in {
            "default": {},
            "tracer": {"tracer": np.abs(wind), "tracer_diffusivity": 0.01},
            "two layers": {"layers": eagre.Layers(3.0, 1.0)},
            "biharmonic viscosity": {"biharmonic_viscosity": 1e-9},
            "implicit viscosity": {"viscosity_scheme": "implicit"},
            "averages": {"time_statistics": eagre.TimeStatistics(mean=("streamfunction",))},
        }.items()
    }


def waves(n: int) -> dict[str, dict[str, Any]]:
    """Return the options of the waves on n x (n - 1) / 16 + 1 points of 0.25 m."""
    ny = (n - 1) // 16 + 1
    grid = eagre.Grid.from_points(n, ny, 0.25 * (n - 1), 0.25 * (ny - 1))
    wave = 0.05 * np.cos(2.0 * np.pi * grid.x / 8.0) + 0.0 * grid.y[:, None]
    depth = 2.0 + 0.3 * np.sin(np.maximum(grid.x - 30.0, 0.0) / 5.0) + 0.0 * grid.y[:, None]  # level at the paddle
    default = {"model": eagre.PotentialWaves, "grid": grid, "depth": depth, "surface_elevation": wave}
    times = np.append(np.linspace(0.0, 600.0, 6001), LATEST)  # long enough for all turns
    push = eagre.Series(times, 0.05 * np.sin(2.0 * np.pi * times / 2.0), "velocity")  # a flux inlet, by its last row
    stroke = 0.016 * np.where(times < 590.0, np.sin(2.0 * np.pi * times / 2.0), 0.0)  # at rest before the last row
    position = eagre.Series(times, stroke, "position")
    return {
        name: default | more
        for name, more in {
            "default": {},
            "paddle": {"wavemakers": [eagre.Wavemaker("west", velocity=push)]},
            "piston": {"wavemakers": [eagre.Wavemaker("west", position=position)]},
            "breaking": {"breaking": True},
            "sponge": {"sponges": [eagre.SpongeLayer("east", 10.0, 0.3)]},
            "preconditioner lines": {"preconditioner": "lines"},
            "surface filter": {"surface_filter": 10},
        }.items()
    }


def anelastic(n: int) -> dict[str, dict[str, Any]]:
    """Return the options of the anelastic model on n^3 points of 50 m."""
    grid = eagre.Grid.from_points(n, n, 50.0 * n, 50.0 * n, periodic=(True, True))
    sides = eagre.Grid.from_points(n, n, 50.0 * (n - 1), 50.0 * (n - 1))
    x, y = 2.0 * np.pi * grid.x / (50.0 * n), 2.0 * np.pi * grid.y[:, None] / (50.0 * n)
    hill = 200.0 * np.exp(-4.0 * (2.0 - np.cos(x - np.pi) - np.cos(y - np.pi)))
    atmosphere = eagre.Atmosphere.boussinesq(buoyancy_frequency=0.01, wind=(5.0, 2.0))
    default = {"model": eagre.AnelasticFlow, "grid": grid, "levels": n, "top_height": 50.0 * (n - 1)}
    default |= {"atmosphere": atmosphere, "time_step": 2.0}
    return {
        name: default | more
        for name, more in {
            "default": {},
            "third order": {"third_order": True},
            "hill": {"terrain_height": hill},
            "open sides": {"grid": sides, "boundaries": {"x": "open", "y": "open"}},
            "walls": {"grid": sides, "boundaries": {"x": "wall", "y": "wall"}},
            "closure": {"closure": eagre.Smagorinsky()},
            "viscosity": {"viscosity": 1.0},
        }.items()
    }


MODELS: Mapping[str, Callable[[int], dict[str, dict[str, Any]]]] = {
    "shallow-water": explicit,
    "shallow-water-adi": implicit,
    "barotropic": barotropic,
    "potential-waves": waves,
    "anelastic": anelastic,
}


def duration(model: Any, steps: int) -> float:
    """Return the duration of steps, s."""
    start = time.perf_counter()
    model.advance(LATEST, max_steps=steps)
    model.device.synchronize()
    return time.perf_counter() - start


def ratios(name: str, device: str, precision: str, repeats: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a record per option: milliseconds per step, and the ratio to the default of the same turns."""
    size, times, runs = SIZES[device.partition(":")[0]][name], {}, {}
    for option, settings in MODELS[name](size).items():
        arguments = dict(settings)
        model = runs[option] = arguments.pop("model")(**arguments, device=device, precision=precision)
        model.advance(LATEST, max_steps=4)  # compiles
        times[option] = []
    steps = 4
    while duration(runs["default"], steps) < seconds:  # the first turn of a number of steps captures graphs on a GPU
        steps *= 2
    for model in runs.values():
        duration(model, steps)
    for _ in range(repeats):
        for option, model in runs.items():
            times[option].append(1e3 * duration(model, steps) / steps)
    for option, values in times.items():
        yield {
            "model": name,
            "variant": option,
            "device": device_name(runs[option].device),
            "precision": precision,
            "shape": [size],
            **({"threads": numba.get_num_threads()} if device == "cpu" else {}),
            "ms_per_step": round(median(values), 5),
            "ratio": round(median(value / base for value, base in zip(values, times["default"], strict=True)), 4),
        }


def main() -> None:
    """Measure and print the options of the models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), help=", ".join(MODELS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="single")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="duration of a turn of the default option")
    parser.add_argument("--output", type=Path, help="JSON file to update with the records")
    settings = parser.parse_args()
    records = []
    for name in settings.models:
        for record in ratios(name, settings.device, settings.precision, settings.repeats, settings.seconds):
            records.append(record)
            print(
                f"{name:18} {record['variant']:22} {record['ms_per_step']:9.3f} ms  {record['ratio']:6.2f}", flush=True
            )
    if settings.output:
        for record in records:
            keep(settings.output, record)


if __name__ == "__main__":
    main()
