"""Time per step of one run in several processes, and on as many devices of one process.

From the root of the repository, with the same model and size:

    python benchmarks/processes.py shallow-water --device cuda:0,cuda:1
    mpirun -n 2 python benchmarks/processes.py shallow-water --device cuda

Each prints one line of JSON: the median time per step of several turns, and a hash of the state after the first turn,
which is equal in both.
"""

from __future__ import annotations

import argparse
import json
import time
from hashlib import sha256
from statistics import median
from typing import Any

import numpy as np
from options import LATEST, MODELS, SIZES

from eagre.processes import distributed


def hash_of(state: dict[str, np.ndarray]) -> str:
    """Return a hash of all arrays of a state."""
    whole = sha256()
    for name in sorted(state):
        whole.update(np.ascontiguousarray(state[name]).tobytes())
    return whole.hexdigest()[:12]


def measured(model: Any, steps: int, turns: int) -> dict[str, Any]:
    """Return the time per step, ms, and the hash of the state after the first turn."""
    seconds, state = [], ""
    for _ in range(turns + 1):  # the first compiles
        first, start = model.steps, time.perf_counter()
        model.advance(LATEST, max_steps=steps)
        seconds.append((time.perf_counter() - start) / (model.steps - first))
        state = state or hash_of(model.state())
    return {"ms": round(1e3 * median(seconds[1:]), 4), "state": state, "device": str(model.device)}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="single")
    parser.add_argument("--points", type=int)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    points = given.points or SIZES["cuda" if given.device.startswith("cuda") else "cpu"][given.model]
    options = dict(MODELS[given.model](points)["default"])
    of = options.pop("model")

    def build(device: Any) -> Any:
        return of(**options, precision=given.precision, device=device)

    model = distributed(build, given.device)
    line = {"model": given.model, "points": points, "precision": given.precision}
    print(json.dumps(line | measured(model, given.steps, given.turns)), flush=True)


if __name__ == "__main__":
    main()
