"""What early exit of the explicit model gains: a flood over a mostly dry plain, milliseconds a step.

``PYTHONPATH=src python benchmarks/studies/early_exit.py cuda 8192 0.05`` prints the time of a step of SSP-RK2 in both
precisions where every cell is worked on ("off"), where dry rows are passed over in each tile ("rows", what "auto" does
while no list pays), and where tiles with water are listed ("on"), and whether the last two end with the same bits.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import eagre
from eagre.backend.timing import times_of

PRECISIONS, WAYS = ("single", "double"), ("off", "rows", "on")
STEPS = {"cpu": 4, "cuda": 40}


def flood(n: int, wet: float, device: str, precision: str, active_tiles: str) -> Any:
    """n x n cells of which a part holds water: a round pond in the middle of a plain, whose rim breaks at once."""
    grid = eagre.Grid(n, n, 1.0, 1.0)
    centre, radius = 0.5 * n, n * np.sqrt(wet / np.pi)
    x, y = (grid.x - centre).astype(np.float32), (grid.y - centre).astype(np.float32)[:, None]
    depth = np.where(x * x + y * y < radius * radius, 1.0 + 0.1 * np.sin(0.11 * x) * np.cos(0.07 * y), 0.0)
    return eagre.ShallowWater(grid, 0.0, depth=depth, device=device, precision=precision, active_tiles=active_tiles)


def milliseconds(model: Any, steps: int) -> float:
    """Of a step, the shortest of several times."""
    make = model.steps_without_checks(steps)
    return 1e3 * min(times_of(model._engine.device, make, repeats=4, warm_up=1)) / steps


def main() -> None:
    device, n, wet = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    steps = STEPS[device.partition(":")[0]]
    asked = sys.argv[4:]
    for precision in [one for one in asked if one in PRECISIONS] or PRECISIONS:
        found, bits = {}, []
        for name in [one for one in asked if one in WAYS] or WAYS:
            model = flood(n, wet, device, precision, "on" if name == "on" else "off" if name == "off" else "auto")
            if name == "rows":
                model._engine.chooser.never()
            found[name] = milliseconds(model, steps)
            bits.append((model.time, model.state()["q"].tobytes()))
            share = model._engine.active_fraction()
        told = ", ".join(f"{name} {time:.3f}" for name, time in found.items())
        gains = ", ".join(f"{time / found['on']:.1f} times as fast as {name}" for name, time in found.items())
        same = "the same bits" if bits[-1] == bits[len(bits) // 2] else "OTHER BITS"
        told = f"{told} ms a step; on: {gains}; {share:.1%} of tiles listed; {same}"
        print(f"{n} x {n}, {wet:.0%} wet, {precision}: {told}", flush=True)


if __name__ == "__main__":
    main()
