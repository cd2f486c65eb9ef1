"""Speed of a step of MPDATA, gauge and limiter, h an array: cell-steps a second, and of the copy bandwidth.

``PYTHONPATH=src python benchmarks/mpdata.py`` prints a table, verified first against the stages; with ``--write`` the
records go to ``benchmarks/results``. Bytes of a step: each field read and written once, the advector and h read once.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from records import RESULTS, keep, line

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector, Options
from eagre.backend.compilation.origin import cache_bytes
from eagre.backend.device import check_precision
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.benchmark import KEYS

SHAPES = [(16,) * 3, (32,) * 3, (64,) * 3, (128,) * 3, (64, 512, 512), (256,) * 3, (512,) * 3]
SIDES = ("periodic",) * 3
NOWHERE = (False,) * 3
DIFFERENCE = {"single": 1e-6, "double": 1e-14}


class Problem:
    """Random fields on a device, an advector of Courant numbers below 0.1 and h about 1."""

    def __init__(self, device: Any, precision: str, shape: tuple[int, int, int], fields: int) -> None:
        self.device, self.precision, self.shape = device, precision, shape
        rng, self.real = np.random.default_rng(0), check_precision(precision)
        noise = device.array(rng.uniform(-1.0, 1.0, min(2**24, np.prod([n + 1 for n in shape]))).astype(self.real))

        def random(shape: tuple[int, ...], low: float, high: float) -> Any:
            made = device.zeros(shape, self.real)
            flat = made.reshape(-1)
            with device.joined():
                for start in range(0, flat.size, noise.size):
                    part = flat[start : start + noise.size]
                    part[...] = 0.5 * (high - low) * noise[: part.size] + 0.5 * (high + low)
            return made

        nz, ny, nx = shape
        faces = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        self.advector = Advector(*(random(one, -0.05, 0.05) for one in faces), random(shape, 0.9, 1.1))
        self.x = [random(shape, -1.0, 1.0) for _ in range(fields)]
        self.out = [device.zeros(shape, self.real) for _ in range(fields)]

    def launches(self, source: list[Any], target: list[Any], kernels: str = "fast") -> list[Any]:
        """A step of all fields."""
        plan = plan_of(self.device, self.precision, self.shape, SIDES, Options(), kernels)
        return plan.together([(x, out, NOWHERE) for x, out in zip(source, target, strict=True)], self.advector)

    def difference(self) -> float:
        """Largest difference of a step from the stages."""
        known = self.device.zeros(self.shape, self.real)
        self.device.run(self.launches(self.x[:1], [known], "reference"))
        self.device.run(self.launches(self.x, self.out))
        with self.device.joined():
            return float(abs(known - self.out[0]).max())

    def seconds(self, repeats: int) -> list[float]:
        """Seconds of a step."""
        both = [*self.launches(self.x, self.out), *self.launches(self.out, self.x)]
        once = min(times_of(self.device, self.device.repeated(both, 1), 2, 1))
        rounds = max(1, min(500, int(0.05 / once)))
        return [one / (2 * rounds) for one in times_of(self.device, self.device.repeated(both, rounds), repeats, 1)]


def record(problem: Problem, seconds: list[float], error: float, copy: float, commit: str | None) -> dict[str, Any]:
    """Return a record with the keys of `eagre.laboratory.bench`."""
    fields, cells, size = len(problem.x), int(np.prod(problem.shape)), np.dtype(problem.real).itemsize
    moved = float((2 * fields + 4) * size)
    median = sorted(seconds)[len(seconds) // 2]
    cache = cache_bytes(problem.device)
    made = {
        "model": "solver:mpdata", "case": "gauge and limiter", "variant": f"{fields} field" + "s" * (fields > 1),
        "precision": problem.precision, "device": machine.device_name(problem.device),
        "threads": machine.thread_counts(problem.device)[-1], "shape": list(problem.shape), "steps": 0,
        "ms_per_step": 1e3 * median, "ms_best": 1e3 * min(seconds), "cell_steps_per_s": cells / median,
        "bytes_per_cell": moved, "copy_gb_per_s": copy / 1e9,
        "fraction_of_copy": None if moved * cells < cache else moved * cells / median / copy,
        "error": f"{error:.0e} from the stages",
    } | machine.provenance(problem.device, commit)  # fmt: skip
    return {key: made[key] for key in KEYS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--write", nargs="?", const=RESULTS, type=Path)
    parser.add_argument("--commit")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    device = select(arguments.device)
    copy = copy_bandwidth(device)
    for precision in ("single", "double"):
        for fields in (1, 3):
            for shape in SHAPES if device.kind == "cuda" else SHAPES[:4]:
                problem = Problem(device, precision, shape, fields)
                error = problem.difference() if np.prod(shape) <= 2**24 else float("nan")
                if error > DIFFERENCE[precision]:
                    raise SystemExit(f"{precision} {shape}: {error:.1e} from the stages")
                found = record(problem, problem.seconds(arguments.repeats), error, copy, arguments.commit)
                print(line(found), flush=True)
                if arguments.write:
                    keep(arguments.write, found)


if __name__ == "__main__":
    main()
