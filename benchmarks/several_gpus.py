"""One barotropic run on 1, 2, 4 ... GPUs: the scaling table, strong and weak, each answer verified before it is timed.

From the root of the repository: ``python benchmarks/several_gpus.py [--devices cuda:0,cuda:1] [--strong 2049 4097]
[--weak 4097] [--precisions single double] [--out FILE.json --commit COMMIT]`` (Markdown; records go into the file).
Strong: points a side, whatever the number of GPUs. Weak: that width, and as many rows a GPU. `alone` is a step without
exchanges and meetings: what the devices do by themselves.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import records

from eagre import BarotropicVorticity, Grid
from eagre.backend.device import Device, select
from eagre.backend.group import MEET, Group
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.cases import machine

PAIRS = 50  # of steps in what is timed at once
HEADS = ("scaling", "precision", "GPUs", "points", "us a step", "best", "times one", "a GPU", "alone us", "difference")


def gyre(nx: int, ny: int, precision: str, device: Any) -> BarotropicVorticity:
    """The document's double gyre in a box whose points are as far apart as those of nx a side."""
    h = np.pi / (nx - 1)
    grid = Grid.of_points(nx, ny, np.pi, h * (ny - 1))
    curl = np.repeat(-1.36e5 * np.sin(2.0 * np.pi * grid.y / grid.y[-1])[:, None], nx, axis=1)
    return BarotropicVorticity(
        grid, time_step=1e-7, beta=1.36e5, viscosity=1.0 / 20.83, wind_curl=curl, device=device,
        precision=precision,
    )  # fmt: skip


def step_times(device: Any, pair: list[Any]) -> list[float]:
    """Microseconds of a step, of several rounds, from the launches of two."""
    rounds = device.repeated(pair, PAIRS)
    return [1e6 * seconds / (2 * PAIRS) for seconds in times_of(device, rounds, repeats=9)]


def times(model: BarotropicVorticity) -> list[float]:
    """Microseconds of a step."""
    even, odd = model._engine._alternate
    return step_times(model.device, [*even, *odd])


def times_alone(model: BarotropicVorticity) -> list[float]:
    """The same without exchanges and meetings; the model is of no more use."""
    group, engine = model.device, model._engine
    if not isinstance(group, Group):
        return times(model)
    group.exchange = lambda member, pairs: []  # type: ignore[method-assign]
    pair = [stage for at in (0, 1) for stage in engine._step(at) if stage is not MEET]
    del group.exchange
    return step_times(group, pair)


def measured(nx: int, ny: int, precision: str, device: Any, expected: np.ndarray | None) -> dict[str, Any]:
    """Times of a step, and the streamfunction after 43 steps beside `expected`."""
    model = gyre(nx, ny, precision, device)
    model.advance(43 * model.time_step)
    psi = model.field("streamfunction")
    assert np.isfinite(psi).all()
    error = "-" if expected is None else f"{float(np.abs(psi - expected).max() / np.abs(expected).max()):.1e}"
    found = {"times": times(model), "psi": psi, "error": error, "bytes": model.bytes_per_step}
    return found | {"alone": times_alone(model)}


def record_of(cells: Sequence[str], found: dict[str, Any], device: Device, copy: float, commit: str) -> dict[str, Any]:
    """A line of the table as a record of `benchmarks/results`."""
    name, precision, count, points = cells[:4]
    nx, ny = map(int, points.split(" x "))
    ms, chip = 1e-3 * statistics.median(found["times"]), machine.device_name(device)
    beside = "" if cells[9] == "-" else f"psi {cells[9]} from one GPU; "
    told = f"{beside}a GPU {cells[7]} of one alone; {cells[8]} us without exchanges"
    return {
        "model": "barotropic", "case": "double-gyre", "variant": name, "precision": precision,
        "device": chip if count == "1" else f"{count} x {chip}", "threads": 0, "shape": [ny, nx],
        "steps": 2 * PAIRS * len(found["times"]), "ms_per_step": ms, "ms_best": 1e-3 * min(found["times"]),
        "cell_steps_per_s": 1e3 * nx * ny / ms, "bytes_per_cell": found["bytes"],
        "fraction_of_copy": 1e3 * nx * ny * found["bytes"] / ms / (copy * int(count)), "copy_gb_per_s": 1e-9 * copy,
        "error": told, **machine.provenance(device, commit),
    }  # fmt: skip


def row(name: str, precision: str, count: int, shape: tuple[int, int], found: dict[str, Any], one: float) -> list[str]:
    """A line of the table; `one`: microseconds a step on one GPU, of as many points in all (weak: for each)."""
    median = statistics.median(found["times"])
    speedup = one / median * (count if name == "weak" else 1)
    return [
        name, precision, str(count), f"{shape[0]} x {shape[1]}", f"{median:.1f}", f"{min(found['times']):.1f}",
        f"{speedup:.2f}", f"{speedup / count:.0%}", f"{statistics.median(found['alone']):.1f}", found["error"],
    ]  # fmt: skip


def rows(
    devices: list[str], strong: list[int], weak: list[int], precisions: list[str]
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The table, line by line, and what was found."""
    counts, alone = [count for count in (1, 2, 4, 8) if count <= len(devices)], {}
    for name, points in [("strong", n) for n in strong] + [("weak", n) for n in weak]:
        for precision in precisions:
            one, expected = 0.0, None
            for count in counts:
                height = points if name == "strong" else (points - 2) * count + 2
                if count == 1:
                    if (points, precision) not in alone:
                        alone[points, precision] = measured(points, height, precision, devices[0], None)
                    found = alone[points, precision]
                    one, expected = statistics.median(found["times"]), found["psi"] if name == "strong" else None
                else:
                    found = measured(points, height, precision, devices[:count], expected)
                yield row(name, precision, count, (points, height), found, one), found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--strong", type=int, nargs="*", default=[2049, 4097])
    parser.add_argument("--weak", type=int, nargs="*", default=[4097])
    parser.add_argument("--precisions", nargs="*", default=["single", "double"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit")
    given = parser.parse_args()
    devices = given.devices.split(",")
    first = select(devices[0])
    copy = copy_bandwidth(first)
    print(f"{', '.join(str(select(name)) for name in devices)}; copy {copy / 1e9:.0f} GB/s\n")
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for cells, found in rows(devices, given.strong, given.weak, given.precisions):
        print(f"| {' | '.join(cells)} |", flush=True)
        if given.out is not None:
            records.keep(given.out, record_of(cells, found, first, copy, given.commit))


if __name__ == "__main__":
    main()
