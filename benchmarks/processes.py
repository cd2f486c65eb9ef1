"""Scaling of one run over two devices: in one process, and in one process per device.

From the root of the repository, for any of the cases:

    python benchmarks/processes.py shallow-water --device cuda:0
    python benchmarks/processes.py shallow-water --device cuda:0,cuda:1
    mpirun -n 2 python benchmarks/processes.py shallow-water --device cuda

Each prints a line of JSON per size: the median time per step, and the number of devices. `strong`: the size is that of
one device; `weak`: it grows along y with the number of devices. Without `--size`, sizes are those of the performance
page. Steps have no state checks, checkpoints and output. With `--lock FILE`, programs that run at the same time build
their models together and measure sequentially. `--output FILE` adds the records to a file.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import options
import potential_waves_several
from several_gpus import SUBJECTS, pairs_of

from eagre import AnelasticFlow, Grid
from eagre.backend.mpi.group import connected
from eagre.backend.mpi.launch import communicator, device_of_process
from eagre.backend.timing import times_of
from eagre.laboratory.bench.machine import device_name

SIZES = {
    "shallow-water": {"strong": [8192], "weak": [8192]},
    "shallow-water-adi": {"strong": [8192], "weak": [8192]},
    "barotropic": {"strong": [4097], "weak": [4097]},
    "potential-waves": {"strong": [2049], "weak": [2049]},
    "anelastic": {"strong": [512], "weak": [256]},
}
"""Cells or points along x; the waves have 3/2 as many along x as along y, and 17 levels."""
STEPS = {"potential-waves": 2, "anelastic": 5}  # per turn
REPEATS = 7


def waves(size: int, count: int, precision: str, device: Any) -> tuple[Any, list[int]]:
    """Return a model of crossing waves and its shape."""
    points = (size * 3 // 2, (size - 1) * count + 1, 17)
    return potential_waves_several.made(points, precision, 6, device), [*points]


def anelastic(size: int, count: int, precision: str, device: Any) -> tuple[Any, list[int]]:
    """Return a periodic box of air and its shape."""
    default = dict(options.anelastic(8)["default"])
    default.pop("model")
    grid = Grid.from_points(size, size * count, 50.0 * size, 50.0 * size * count, periodic=(True, True))
    default |= {"grid": grid, "levels": size, "top_height": 50.0 * (size - 1)}
    return AnelasticFlow(**default, precision=precision, device=device), [size, size * count, size]


def steps_of(name: str, size: int, count: int, precision: str, device: Any) -> tuple[Any, Callable[[], None], int, Any]:
    """Return the device, a function that makes steps, their number, and the shape (x, y, z)."""
    if name in SUBJECTS:
        kind = SUBJECTS[name]
        rows = kind.height(size, count)
        subject, pairs = kind(size, rows, precision, device), pairs_of(size * rows)
        return subject.device, subject.device.repeated(subject.pair(), pairs), 2 * pairs, [size, rows]
    model, shape = (waves if name == "potential-waves" else anelastic)(size, count, precision, device)
    return model.device, model.steps_without_checks(STEPS[name]), STEPS[name], shape


@contextmanager
def locked(path: Path | None, comm: Any, alone: bool):
    """Hold a lock of this program, shared with others while they build."""
    if path is None:
        yield
        return
    with path.open("a") as file:
        if comm is None or comm.rank == 0:
            fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        if comm is not None:
            comm.Barrier()
        yield
        if comm is not None:
            comm.Barrier()


def measured(arguments: argparse.Namespace, name: str, scaling: str, size: int, comm: Any) -> dict[str, Any]:
    """Return the record of one size."""
    device = arguments.device if comm is None else connected(device_of_process(comm, arguments.device), comm)
    count = len(arguments.device.split(",")) if comm is None else comm.size
    with locked(arguments.lock, comm, alone=False):
        start = time.perf_counter()
        on, go, steps, shape = steps_of(name, size, count if scaling == "weak" else 1, arguments.precision, device)
        go()
        on.synchronize()
        seconds_of_setup = time.perf_counter() - start
    with locked(arguments.lock, comm, alone=True):
        seconds = [one / steps for one in times_of(on, go, repeats=REPEATS)]
    return {
        "model": name, "scaling": scaling, "shape": shape[::-1], "precision": arguments.precision,
        "device": device_name(getattr(on, "devices", [on])[0]), "devices": count,
        "transport": "one process" if comm is None else device.transport_name,
        "ms_per_step": round(1e3 * median(seconds), 4), "ms_best": round(1e3 * min(seconds), 4),
        "setup_s": round(seconds_of_setup, 1),
    }  # fmt: skip


def keep(path: Path, record: dict[str, Any]) -> None:
    """Replace the record of the same set-up in a file, or add it."""
    key = ("model", "scaling", "shape", "precision", "device", "devices", "transport")
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    records = [one for one in known if any(one.get(name) != record[name] for name in key)]
    path.write_text(json.dumps([*records, record], indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(SIZES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="single")
    parser.add_argument("--scaling", nargs="*", choices=("strong", "weak"), default=["strong", "weak"])
    parser.add_argument("--size", type=int)
    parser.add_argument("--lock", type=Path)
    parser.add_argument("--output", type=Path)
    arguments, comm = parser.parse_args(), communicator()
    for name in arguments.models:
        for scaling in arguments.scaling:
            sizes: Sequence[int] = [arguments.size] if arguments.size else SIZES[name][scaling]
            for size in sizes:
                record = measured(arguments, name, scaling, size, comm)
                if comm is None or comm.rank == 0:
                    print(json.dumps(record), flush=True)
                    if arguments.output is not None:
                        keep(arguments.output, record)


if __name__ == "__main__":
    main()
