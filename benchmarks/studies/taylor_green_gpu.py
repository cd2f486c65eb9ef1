"""The Taylor-Green vortex at a Reynolds number of 1600 to t = 10 s: seconds to solution, and its largest dissipation.

    python benchmarks/studies/taylor_green_gpu.py --points 256 512 [--precision single] [--device cuda]

The spectral run on 512 points (case C3.5 of the workshops on high-order methods) dissipates most at 8.97 s, 0.0128575.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from eagre.laboratory.cases.atmosphere import taylor_green_cube
from eagre.laboratory.validation.anelastic import SPECTRAL

PEAK = (8.97, 0.0128575)
EVERY = 0.1  # s, between two energies


def peak_of(times: np.ndarray, energies: np.ndarray) -> tuple[float, float]:
    """Time and size of the largest -dE/dt: a parabola through three differences between neighbours."""
    middle, loss = 0.5 * (times[1:] + times[:-1]), -np.diff(energies) / np.diff(times)
    n = int(np.clip(loss.argmax(), 1, loss.size - 2))
    curve, slope, top = np.polyfit(middle[n - 1 : n + 2] - middle[n], loss[n - 1 : n + 2], 2)
    return float(middle[n] - 0.5 * slope / curve), float(top - 0.25 * slope**2 / curve)


def run(points: int, end: float, courant: float, options: dict[str, str]) -> None:
    """Print what a run of so many points finds."""
    begin = time.perf_counter()
    model = taylor_green_cube(points, courant_number=courant, **options)  # type: ignore[arg-type]
    model.advance(EVERY, max_steps=3)  # all is compiled by now
    warm = time.perf_counter() - begin
    times, energies = np.arange(0.0, end + 0.5 * EVERY, EVERY), [0.125]
    begin, before = time.perf_counter(), model.steps
    for moment in times[1:]:
        model.advance(float(moment))
        parts = (0.5 * float((x * x).mean(dtype=np.float64)) for x in model.engine.steps.fields.now)
        energies.append(sum(parts))
        if points > 256 and round(2.0 * moment, 6).is_integer():
            spent, made = time.perf_counter() - begin, model.steps - before
            when, size = peak_of(times[: len(energies)], np.array(energies))
            print(f"  t = {moment:.1f} s, energy {energies[-1]:.6f}, largest dissipation {size:.6f} at {when:.2f} s; "
                  f"{made} steps in {spent:.1f} s, the next {model.time_step:.4g} s", flush=True)  # fmt: skip
    spent = time.perf_counter() - begin
    steps, counts = model.steps - before, model.statistics()
    speed = steps * points**3 / spent / 1e9
    print(f"{points}^3 {options['precision']}: {steps} steps of up to {counts['dt_max']:.4g} s in {spent:.2f} s "
          f"({speed:.3f} Gcell-steps/s), {warm:.1f} s before", flush=True)  # fmt: skip
    found = dict(zip(np.round(times, 6).tolist(), energies, strict=True))
    missed = {time: found[time] / energy - 1.0 for time, energy in SPECTRAL.items() if time in found}
    print("  energy over the spectral one - 1: " + "  ".join(f"{time:g}: {miss:+.4f}" for time, miss in missed.items()))
    when, size = peak_of(times, np.array(energies))
    print(f"  largest dissipation {size:.6f} at {when:.3f} s; spectral {PEAK[1]} at {PEAK[0]} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[256])
    parser.add_argument("--precision", choices=["single", "double"], default="single")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--end", type=float, default=10.0, help="s")
    parser.add_argument("--courant", type=float, default=0.5, help="share of its mass that a cell may lose in a step")
    given = parser.parse_args()
    for points in given.points:
        run(points, given.end, given.courant, {"device": given.device, "precision": given.precision})


if __name__ == "__main__":
    main()
