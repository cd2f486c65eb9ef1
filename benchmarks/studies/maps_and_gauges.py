"""What maps and gauges add to the explicit model, by the wall and by the card.

``PYTHONPATH=src python benchmarks/studies/maps_and_gauges.py cuda maps 4096`` prints the time of a step of SSP-RK2 in
single precision with sets of maps, beside that without: at the start of the case of the benchmark, where half of the
cells rise in every step, and later. ``.. cuda dam``: a dam break on 860 x 460 cells, with 29 gauges every 2 s, on the
way of the run and by stops, beside none. ``.. cuda averages 4096``: means and variances over time.
``.. cuda every 4096 10000``: so many gauges at every step.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np

import eagre
from eagre.backend.timing import times_of
from eagre.contract import Recording
from eagre.io.records.writer import BackgroundWriter
from eagre.laboratory.bench.shallow_water import initial
from eagre.stepping.run import Event, run

SETS: dict[str, dict[str, Any]] = {
    "none": {},
    "depth": {"variables": ["max_depth"]},
    "speed": {"variables": ["max_speed"]},
    "default": {},
    "arrival": {"variables": ["max_depth"], "arrival_depths": [0.3]},
    "duration": {"variables": ["max_depth"], "duration_depths": [1.0]},
    "all": {
        "variables": [
            "max_depth", "time_of_max_depth", "max_speed", "max_unit_discharge", "max_hazard_rating", "hazard_class",
        ],
        "arrival_depths": [0.3], "duration_depths": [1.0],
    },
}  # fmt: skip
STEPS = 40


def basin(n: int, device: str, maps: Any = None, **options: Any) -> Any:
    """The case of the benchmark."""
    grid, bed, surface = initial((n, n))
    return eagre.ShallowWater(
        grid, bed, surface_elevation=surface, manning=0.03, device=device, precision="single", maps=maps, **options
    )


def maps(device: str, n: int) -> None:
    """Of a step, the shortest of several times."""
    plain = {}
    for name, asked in SETS.items():
        model = basin(n, device, None if name == "none" else eagre.Maps(**asked))
        for when in ("start", "later"):
            make = model.steps_without_checks(STEPS)
            best = 1e6 * min(times_of(model._engine.device, make, repeats=4, warm_up=1)) / STEPS
            plain.setdefault(when, best)
            print(f"{n}, {name}, {when}: {best:.1f} us, {best / plain[when] - 1:+.1%}", flush=True)
            model.steps_without_checks(10 * STEPS)()


AVERAGES: dict[str, dict[str, Any]] = {
    "none": {},
    "mean and variance of the surface": {"mean": ["surface_elevation"], "variance": ["surface_elevation"]},
    "mean and variance of the velocity": {"mean": ["velocity"], "variance": ["velocity"]},
    "the same, every 10": {"mean": ["velocity"], "variance": ["velocity"], "every": 10},
    "mean surface": {"mean": ["surface_elevation"]},
    "with their covariance": {
        "mean": ["velocity"], "variance": ["velocity"], "covariance": [("velocity_x", "velocity_y")],
    },
}  # fmt: skip


def averages(device: str, n: int) -> None:
    """Of a step with averages of the explicit model, and of a gyre of half as many points a side: `maps`."""
    for kind in ("explicit", "gyre"):
        plain = 0.0
        for name, asked in AVERAGES.items():
            model = _averaged(kind, device, n, asked)
            make = model.steps_without_checks(STEPS)
            best = 1e6 * min(times_of(model._engine.device, make, repeats=4, warm_up=1)) / STEPS
            plain = plain or best
            print(f"averages, {kind}, {n}, {name}: {best:.1f} us, {best / plain - 1:+.1%}", flush=True)


def _averaged(kind: str, device: str, n: int, asked: dict[str, Any]) -> Any:
    if kind == "explicit":
        return basin(n, device, time_statistics=eagre.TimeStatistics(**asked) if asked else None)
    own = {key: ["streamfunction"] if names == ["surface_elevation"] else names for key, names in asked.items()}
    options = {"time_statistics": eagre.TimeStatistics(**own) if own else None, "device": device}
    return eagre.BarotropicVorticity.double_gyre(n // 2 + 1, time_step=1e-9, **options)


class Gauges:
    """Values kept in memory."""

    def __init__(self, model: Any, points: list[tuple[int, int]], names: list[str]) -> None:
        self.points, self.names, self.count, self.last = points, names, 0, None
        self.model, self.behind = model, BackgroundWriter()

    def stop(self, model: Any) -> None:
        """By a look."""
        self.last = model.sample(self.names, self.points)
        self.count += 1

    def take(self, times: np.ndarray, batch: Any) -> None:
        """On the way."""
        self.behind.do(self._take, times.size, batch)

    def _take(self, count: int, batch: Any) -> None:
        self.last = {name: values[-1] for name, values in batch().items()}
        self.count += count

    def follow(self, model: Any, instants: Any) -> bool:
        """See `eagre.stepping.run.Event`."""
        return model.start_sampling(
            None if instants is None else Recording(self.names, self.points, instants, self.take)
        )


def points_of(model: Any, count: int) -> list[tuple[int, int]]:
    """So many cells, the same every time."""
    ny, nx = model.grid.shape
    random = np.random.default_rng(1)
    return list(zip(random.integers(0, ny, count).tolist(), random.integers(0, nx, count).tolist(), strict=True))


def seconds(model: Any, end: float, way: str, interval: float, count: int) -> tuple[float, Gauges]:
    """Of the wall, from the present to an end."""
    gauges = Gauges(model, points_of(model, count), ["surface_elevation", "depth", "speed"])
    follow = gauges.start_sampling if way == "way" else None
    events = [] if way == "none" else [Event(interval, None, gauges.stop, start_sampling=follow)]
    began = perf_counter()
    run(model, end, events)
    gauges.behind.close()
    return perf_counter() - began, gauges


def dam(device: str) -> None:
    """Fresh runs, one after the other; the first of each kind loads its programs."""
    grid = eagre.Grid(860, 460, 5.0, 5.0)
    x, _ = grid.mesh()
    for way in ("none", "way", "stops", "none", "way", "none", "way", "stops"):
        depth = np.where(x < 2000.0, 10.0, 1.0)
        model = eagre.ShallowWater(grid, 0.0, depth=depth, manning=0.03, device=device, precision="single")
        took, gauges = seconds(model, 130.0, way, 2.0, 29)
        print(f"dam, {way}: {took:.4f} s, {model.steps} steps, {gauges.count} records", flush=True)
        again, _ = seconds(model, 260.0, way, 2.0, 29)
        print(f"dam, {way}, once more: {again:.4f} s, {model.steps} steps in all", flush=True)


def every(device: str, n: int, count: int, lengths: tuple[int, ...] = (400, 1600)) -> None:
    """Gauges at every step, the interval a little shorter than what the waves allow: a short run, then a longer one."""
    first = basin(n, device)
    first.advance(1e9, max_steps=20)
    interval = 0.9 * first.time_step
    for way in ("none", "way", "none", "way"):
        model = basin(n, device, **({"time_step": interval} if way == "none" else {}))
        end = 100
        seconds(model, end * interval, way, interval, count)
        for steps in lengths:
            before, end = model.steps, end + steps
            took, gauges = seconds(model, end * interval, way, interval, count)
            made = model.steps - before
            told = f"{1e6 * took / made:.1f} us a step, {made} steps, {gauges.count} records"
            print(f"every, {n}, {count} gauges, {way}: {told}", flush=True)


def main() -> None:
    device, what, *numbers = sys.argv[1:]
    {"maps": maps, "averages": averages, "dam": dam, "every": every}[what](device, *map(int, numbers))


if __name__ == "__main__":
    main()
