"""Potential-flow waves on 1, 2, 4 ... GPUs: an iteration and a step, each answer beside that of one GPU.

From the root of the repository: ``python benchmarks/potential_waves_several.py [--devices cuda:0,cuda:1]
[--points 3073x2049x17 ...] [--precisions single double] [--order 6] [--warm]``. An iteration is a graph of some;
`alone` is one without exchanges and barriers: what devices do by themselves. With --warm kernels are compiled only.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np

from eagre import Grid, PotentialWaves
from eagre.backend.group import BARRIER
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.models.potential_waves.laplace.solver_subdomains import DistributedLaplace
from eagre.models.potential_waves.laplace.stencils import RELAXATION

AT_ONCE = 10  # iterations of a graph
STEPS = 3
HEADS = ("points", "precision", "GPUs", "ms an iteration", "best", "times one", "alone", "ms a step", "times one",
         "iterations", "apart", "grids in bands")  # fmt: skip


def made(points: tuple[int, int, int], precision: str, order: int, device: Any) -> PotentialWaves:
    """Crossing waves, 40 points long along x, over a wavy bed, half as deep as they are long."""
    nx, ny, layers = points
    grid = Grid.from_points(nx, ny, float(nx - 1), float(ny - 1))
    x, y = 2.0 * np.pi * grid.x / 40.0, 2.0 * np.pi * grid.y[:, None] / 64.0
    wave = np.cos(x) * np.cos(y) + 0.3 * np.cos(0.5 * y)
    depth = 20.0 + 2.0 * np.cos(0.1 * x) * np.cos(0.1 * y)
    return PotentialWaves(
        grid,
        depth,
        surface_elevation=0.4 * wave,
        order=order,
        vertical_points=layers,
        device=device,
        precision=precision,
    )


def iteration_times(laplace: Any, order: int, alone: bool = False) -> list[float]:
    """Seconds of an iteration; alone: without what crosses cuts, of which the answer is no more use."""
    launches = laplace.iteration(RELAXATION[order])
    if alone and isinstance(laplace, DistributedLaplace):
        crossing = [BARRIER, laplace._corrected, laplace.multigrid._together["f"]]
        launches = [stage for stage in launches if not any(stage is one for one in crossing)]
    laplace.go_on()
    again = laplace.device.repeated(launches, AT_ONCE)
    return [seconds / AT_ONCE for seconds in times_of(laplace.device, again, repeats=9)]


def measured(points: tuple[int, int, int], precision: str, order: int, device: Any) -> dict[str, Any]:
    """Seconds, and the surface after some steps."""
    model = made(points, precision, order, device)
    laplace, steps = model._engine.laplace, model.steps_without_checks(1)
    found: dict[str, Any] = {"steps": times_of(laplace.device, steps, repeats=STEPS, warm_up=2)}
    found["answer"], found["w"] = laplace.device.host(laplace.fields)[0], laplace.device.host(laplace.w)[0]
    found["count"] = model.statistics()["iterations_a_solve"]
    found["bands"] = laplace.multigrid.decomposition.first if isinstance(laplace, DistributedLaplace) else "-"
    found["iterations"] = iteration_times(laplace, order)
    found["alone"] = iteration_times(laplace, order, alone=True)
    return found


def rows(given: argparse.Namespace) -> Iterator[list[str]]:
    """The table, line by line."""
    devices = given.devices.split(",")
    for text in given.points:
        nx, ny, layers = map(int, text.split("x"))
        for precision in given.precisions:
            one: dict[str, Any] = {}
            for count in (count for count in (1, 2, 4, 8) if count <= len(devices)):
                found = measured((nx, ny, layers), precision, given.order, devices[:count] if count > 1 else devices[0])
                one = one or found
                apart = max(float(np.abs(found[k] - one[k]).max() / np.abs(one[k]).max()) for k in ("answer", "w"))
                median = {k: 1e3 * statistics.median(found[k]) for k in ("iterations", "alone", "steps")}
                once = {k: 1e3 * statistics.median(one[k]) for k in ("iterations", "steps")}
                yield [
                    text, precision, str(count), f"{median['iterations']:.3f}", f"{1e3 * min(found['iterations']):.3f}",
                    f"{once['iterations'] / median['iterations']:.2f}", f"{median['alone']:.3f}",
                    f"{median['steps']:.2f}", f"{once['steps'] / median['steps']:.2f}", f"{found['count']:.2f}",
                    f"{apart:.1e}", str(found["bands"]),
                ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--points", nargs="*", default=["3073x2049x17", "4097x3073x9"])
    parser.add_argument("--precisions", nargs="*", default=["single", "double"])
    parser.add_argument("--order", type=int, default=6)
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    if given.warm:
        for text in given.points:
            points = (257, 129, int(text.split("x")[2]))
            for precision in given.precisions:
                measured(points, precision, given.order, given.devices.split(","))
        return
    first = select(given.devices.split(",")[0])
    print(f"{first}; copy {copy_bandwidth(first) / 1e9:.0f} GB/s\n")
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for cells in rows(given):
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
