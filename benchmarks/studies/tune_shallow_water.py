"""Times of the stages of the explicit model on a GPU by the registers of a thread: where those of the engine come from.

``PYTHONPATH=src python benchmarks/studies/tune_shallow_water.py 8192`` prints microseconds of each stage of RK2 and
its share of the copy bandwidth, by the bytes that it must move.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.bench.shallow_water import basin
from eagre.models.shallow_water import march_cuda, schedules
from eagre.stepping import clock as ck

TRIED = {"single": (64, 72, 80, 88, 96, 112), "double": (144, 168, 184, 200, 232)}
WORDS = (7, 10)  # that the first and the second stage read and write a cell


def use(registers: int, rows: int | None = None) -> None:
    """Put a table of layouts in use: registers of both stages, rows that a warp marches over."""
    both = {"first": registers, "second": registers}
    march: dict[str, Any] = {"registers": {"single": both, "double": both}}
    if rows is not None:
        march |= {"longest": rows, "shortest": rows}
    path = Path(tempfile.gettempdir()) / f"layouts-{os.getpid()}-{registers}-{rows}.json"
    path.write_text(json.dumps({"shallow-water": {"march": march}}))
    os.environ["EAGRE_LAYOUTS"] = str(path)


def stages_of(model: Any, registers: int, rows: int | None = None) -> list[Launch]:
    """The two stages of a step that starts from the first buffer, compiled for so many registers."""
    use(registers, rows)
    launches = schedules.March(model._engine).launches
    clock = model._engine.read_clock()
    clock[[ck.RUNNING, ck.ACCEPTED, ck.PARITY, ck.DT]] = 1.0, 1.0, 0.0, 1e-3
    model._engine.write_clock(clock)
    return [launches[0], launches[2]]


def prepare(job: tuple[str, int, int]) -> None:
    """Compile into the cache what a grid of n x n cells uses, on a small one."""
    precision, registers, n = job
    model = basin((320, 320), "cuda", precision, "rk2")
    *_, rows = march_cuda.shape_of(model.device, n, n)
    model.device.run(stages_of(model, registers, rows))
    model.device.synchronize()


def main() -> None:
    n = int(sys.argv[1])
    with ProcessPoolExecutor(12) as pool:
        list(pool.map(prepare, [(p, r, n) for p in TRIED for r in TRIED[p]]))
    copy = copy_bandwidth(select("cuda"))
    print(f"{n} x {n}, copy {copy / 1e9:.0f} GB/s")
    for precision, tried in TRIED.items():
        model = basin((n, n), "cuda", precision, "rk2")
        size = np.dtype(model._engine.real).itemsize
        for registers in tried:
            told = f"{precision} {registers:4} registers"
            for launch, words in zip(stages_of(model, registers), WORDS, strict=True):
                model.device.run([launch])
                model.device.synchronize()
                best = min(times_of(model.device, model.device.repeated([launch], 5), repeats=4, warm_up=1)) / 5
                told += f" {1e6 * best:10.1f} us {words * size * n * n / best / copy:4.0%}"
            print(told, flush=True)


if __name__ == "__main__":
    main()
