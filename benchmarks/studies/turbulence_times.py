"""Seconds of the whole decaying turbulence, 128^3 points and 400 steps, by transforms and GCR(1), and of its parts.

    python benchmarks/studies/turbulence_times.py [--points 128] [--steps 400] [--sweeps 2 4 6 8] [--device cuda]

Runs are by the wall clock around `advance`, with its looks, after one like it has compiled all and made its graphs;
dt times the divergence is 1e-7 at most after every step. Largest flow through the ground: |n . v| over the wind.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from anelastic_profile import hill, seconds_of

from eagre.backend.timing import copy_bandwidth
from eagre.laboratory.bench.anelastic import _turbulence
from eagre.models.anelastic.engine import StepBatches
from eagre.models.anelastic.model import AnelasticFlow
from eagre.models.anelastic.pressure.projection import Projection

TOLERANCE = 1e-7
WORDS = 10  # of an iteration in two kernels


def turbulence(points: int, pressure: str, precision: str, device: str) -> AnelasticFlow:
    """The vortices, with the pressure by transforms ("fft"), by GCR(1) ("gcr"), or after so many sweeps of it ("6")."""
    model = _turbulence(points, "fft", tolerance=TOLERANCE, device=device, precision=precision)
    if pressure != "fft":
        preconditioner, sweeps = ("none", 2) if pressure == "gcr" else ("chebyshev", int(pressure))
        engine, steps = model.engine, model.engine.steps
        steps.projection = Projection(
            engine.device, precision, engine.metric, steps.base.density, velocity=steps.fields.velocity,
            forces=steps.fields.forces, provisional_in_forces=steps.stages[0].is_free, tolerance=TOLERANCE,
            method="gcr", preconditioner=preconditioner, sweeps=sweeps, num_directions=1,
        )  # fmt: skip
        if engine.has_step_batches:
            engine._batches = StepBatches(steps, engine._state_arrays())
    return model


def whole(points: int, steps: int, pressure: str, precision: str, device: str) -> None:
    """Print the seconds of a run from its start."""
    model = turbulence(points, pressure, precision, device)
    first, dt = model.state(), model.time_step
    model.advance(40.5 * dt)
    best = np.inf
    for _ in range(2):
        model.restore(first)
        before = model.engine.counts["iterations"]
        begin = time.perf_counter()
        model.advance(1e9, max_steps=steps)
        model.engine.device.synchronize()
        best = min(best, time.perf_counter() - begin)
    counts = model.engine.counts
    print(f"{points}^3 {precision} {pressure}: {steps} steps in {best:.3f} s, {1e3 * best / steps:.4f} ms a step, "
          f"{(counts['iterations'] - before) / steps:.1f} iterations, dt div {counts['divergence']:.1e}, "
          f"energy {model.diagnostics()['mean_kinetic_energy']:.6f}", flush=True)  # fmt: skip


def iteration(points: int, precision: str, device: str, bandwidth: float) -> None:
    """Print the time of one iteration of GCR(1), whose gates are open."""
    model = turbulence(points, "gcr", precision, device)
    model.advance(1e9, max_steps=2)
    until = model.engine.steps.projection._until
    until = getattr(until, "until", until)
    control = np.zeros(5)
    control[[0, 4]] = 1.0, 1e18
    model.engine.device.fill(until.control, control)
    seconds = 2.0 * seconds_of(model.engine.device, until._iteration) / len(until._iteration)  # two kernels each
    floor = WORDS * points**3 * np.dtype(model.engine.real).itemsize / bandwidth
    print(f"{points}^3 {precision} GCR(1): {1e6 * seconds:.1f} us an iteration, {floor / seconds:.1%} of the floor of "
          f"{WORDS} words at {bandwidth / 1e9:.0f} GB/s", flush=True)  # fmt: skip


def over_a_hill(steps: int, precision: str, device: str) -> None:
    """Print iterations, time and the flow through the ground of slope 0.6."""
    model = hill(precision, device)
    model.advance(1e9, max_steps=10)
    before, begin = model.engine.counts["iterations"], time.perf_counter()
    model.advance(1e9, max_steps=steps)
    model.engine.device.synchronize()
    seconds, metric = (time.perf_counter() - begin) / steps, model.engine.metric
    made = (model.engine.counts["iterations"] - before) / steps
    u, v, w = (one[0] for one in model.engine.velocity())
    through = np.abs(w - metric.slope_x * u - metric.slope_y * v) / np.sqrt(1 + metric.slope_x**2 + metric.slope_y**2)
    steepest = np.hypot(metric.slope_x, metric.slope_y).max()
    print(f"hill of slope {steepest:.2f} {precision}: {made:.1f} iterations a step, {1e3 * seconds:.3f} ms, "
          f"dt div {model.engine.counts['divergence']:.1e}, n.v / U {through.max() / 10:.1e}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=128)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--iteration", type=int, default=256, help="points of the cube whose iteration is timed")
    parser.add_argument("--sweeps", type=int, nargs="*", default=[2, 4, 6, 8], help="of Chebyshev before GCR(1)")
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    for pressure in ("fft", "gcr", *map(str, given.sweeps)):
        for precision in ("single", "double"):
            whole(given.points, given.steps, pressure, precision, given.device)
    if given.device != "cpu":
        bandwidth = copy_bandwidth(turbulence(16, "fft", "single", given.device).engine.device)
        for precision in ("single", "double"):
            iteration(given.iteration, precision, given.device, bandwidth)
    for precision in ("double", "single"):
        over_a_hill(max(10, given.steps // 10), precision, given.device)


if __name__ == "__main__":
    main()
