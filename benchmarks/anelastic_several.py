"""One run of air on several devices beside one: seconds a step of decaying turbulence, and how far fields are apart.

    python benchmarks/anelastic_several.py --devices cuda:0,cuda:1 [--points 512] [--precision single] [--steps 20]

A device that is named twice has two bands: then the ratio tells what bands cost, not what a second device brings.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.models.anelastic.model import AnelasticFlow


def seconds_a_step(model: AnelasticFlow, steps: int) -> float:
    """The least of three runs of so many steps."""
    model.advance(1e9, max_steps=3)
    found = []
    for _ in range(3):
        model.engine.device.synchronize()
        begin = time.perf_counter()
        model.steps_without_checks(steps)()
        model.engine.device.synchronize()
        found.append((time.perf_counter() - begin) / steps)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--points", type=int, nargs="+", default=[512])
    parser.add_argument("--precision", choices=["single", "double"], default="single")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    for points in given.points:
        found, speed = [], []
        for device in (given.devices.split(",")[0], given.devices):
            known = {"time_step": 1.5 / points, "tolerance": 1e-6, "precision": given.precision}
            model = decaying_turbulence(points, "solenoidal", device=device, **known)
            speed.append(seconds_a_step(model, given.steps))
            found.append(model.field("u"))
            print(f"  {device}: {model.summary_rows}, {model.statistics()}")
        apart = float(np.abs(found[1] - found[0]).max() / np.abs(found[0]).max())
        told = ", ".join(f"{seconds * 1e3:.3f} ms" for seconds in speed)
        print(f"{points}^3 {given.precision}: one and {given.devices}: {told} a step, "
              f"{speed[0] / speed[1]:.2f} times, {apart:.1e} apart", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
