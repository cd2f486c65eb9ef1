"""Where a step of the anelastic model spends its time on a GPU: every launch on its own, and whole steps.

python benchmarks/studies/anelastic_profile.py --points 128 --precision single [--pressure gcr] [--hill] [--viscous]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any

import numpy as np

from eagre.backend.device import HostCall
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.grid import Grid
from eagre.laboratory.bench.anelastic import _turbulence
from eagre.laboratory.cases.atmosphere import taylor_green_cube
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.pressure.projection import Projection


def hill(precision: str, device: str = "cuda") -> AnelasticFlow:
    """Wind of 10 m/s over a hill of slope 0.6, 129 x 65 x 65 points."""
    grid = Grid.from_points(129, 65, 128 * 250.0, 64 * 250.0, periodic=(True, False))
    x, y = grid.x - grid.x.mean(), grid.y[:, None] - grid.y.mean()
    ground = 924.0 / (1.0 + (x / 1000.0) ** 2) * np.exp(-((y / 6000.0) ** 2))
    air = Atmosphere.anelastic(buoyancy_frequency=0.01, wind=(10.0, 0.0))
    return AnelasticFlow(
        grid, 65, top_height=16000.0, atmosphere=air, terrain_height=ground, time_step=5.0, tolerance=1e-7,
        device=device, precision=precision,
    )  # fmt: skip


def name_of(launch: Any) -> str:
    """What is launched."""
    program = launch.program
    name = getattr(program, "__name__", None) or getattr(getattr(program, "py_func", None), "__name__", "?")
    module = getattr(getattr(program, "py_func", program), "__module__", "")
    return module.replace("eagre_program_", "")[:28] if name == "run" else name


def seconds_of(device: Any, launches: Any, times: int = 20) -> float:
    """Seconds of launches on the device, many times in one graph where that can be."""
    go = device.repeated(launches, times)
    return min(times_of(device, go, repeats=3, warm_up=1)) / times


def profile(model: Any, bandwidth: float) -> None:
    """Print each launch of a step."""
    device, steps = model.engine.device, model.engine.steps
    projection = steps.projection
    until = getattr(projection._until, "until", projection._until)
    control = np.zeros(5)
    control[[0, 4]] = 1.0, 1e18
    word = np.prod(model.setup.shape) * np.dtype(model.engine.real).itemsize
    parts = {
        "explicit": steps.explicit(), "start": until._start, "iteration": until._iteration,
        "final": projection.final, "finish": steps.finish(),
    }  # fmt: skip
    for part, launches in parts.items():
        device.fill(until.control, control)
        seconds = seconds_of(device, launches)
        words = bandwidth * seconds / word
        print(f"  {part}: {seconds * 1e6:.1f} us together, {words:.1f} words, {len(launches)} launches")
        found = defaultdict(list)
        for launch in launches:
            device.fill(until.control, control)
            name = name_of(launch) + ("*" if isinstance(launch, HostCall) else "")
            found[name].append(seconds_of(device, [launch]))
        for name, all_ in found.items():
            times, words = (" ".join(f"{one * f:.1f}" for one in all_) for f in (1e6, bandwidth / word))
            print(f"    {name:30s} {times} us = {words} words", flush=True)


def as_graph(model: Any) -> None:
    """Print the time of steps that are one graph."""
    engine = model.engine
    legs = engine._batches
    for iterations in {1, legs.iterations}:
        work = legs._launches(iterations)
        seconds = seconds_of(engine.device, work, 10)
        speed = np.prod(model.setup.shape) / seconds / 1e9
        print(f"  one graph of {len(work)} launches, {iterations} iterations: {seconds * 1e3:.3f} ms = {speed:.2f} G/s")


def whole(model: Any, steps: int) -> None:
    """Print the time of whole steps."""
    device = model.engine.device
    start = time.perf_counter()
    model.advance(1e9, max_steps=3)
    device.synchronize()
    print(f"  first 3 steps {time.perf_counter() - start:.2f} s")
    go, before = model.steps_without_checks(steps), dict(model.engine.counts)
    seconds = min(times_of(device, go, repeats=3, warm_up=1)) / steps
    start = time.perf_counter()
    model.advance(1e9, max_steps=2 * steps)
    device.synchronize()
    looked = (time.perf_counter() - start) / (2 * steps)
    after, cells = model.engine.counts, np.prod(model.setup.shape)
    made = (after["iterations"] - before["iterations"]) / (after["steps"] - before["steps"])
    left = f"dt div {after['divergence']:.1e}, courant {after['courant']:.2f}, {made:.1f} iterations a step"
    print(f"  whole step {seconds * 1e3:.3f} ms = {cells / seconds / 1e9:.3f} Gcell-steps/s, {left}")
    print(f"  with looks {looked * 1e3:.3f} ms a step", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, nargs="*", default=[128])
    parser.add_argument("--precision", nargs="*", default=["single", "double"])
    parser.add_argument("--pressure", nargs="*", default=["fft"])
    parser.add_argument("--hill", action="store_true")
    parser.add_argument("--viscous", action="store_true", help="the Taylor-Green vortex at a Reynolds number of 1600")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    bandwidth = 0.0
    for precision in given.precision:
        for points in given.points:
            for pressure in given.pressure:
                options = {"tolerance": 1e-7, "device": given.device, "precision": precision}
                model = hill(precision, given.device) if given.hill else _turbulence(points, "fft", **options)
                if given.viscous:
                    model = taylor_green_cube(points, time_step=0.4 * 2.0 * np.pi / points, **options)
                engine = model.engine
                bandwidth = bandwidth or copy_bandwidth(engine.device)
                if pressure == "gcr" and not given.hill:
                    steps = engine.steps
                    steps.projection = Projection(
                        engine.device, precision, engine.metric, steps.base.density, velocity=steps.fields.velocity,
                        forces=steps.fields.forces, provisional_in_forces=steps.stages[0].is_free, tolerance=1e-7,
                        method="gcr", preconditioner="none", num_directions=1,
                    )  # fmt: skip
                case = "hill" if given.hill else points
                print(f"{case} {precision} {pressure}, copy {bandwidth / 1e9:.0f} GB/s", flush=True)
                whole(model, given.steps)
                if given.device != "cpu":
                    as_graph(model)
                profile(model, bandwidth)


if __name__ == "__main__":
    main()
