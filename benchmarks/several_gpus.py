"""One run on 1, 2, 4 ... GPUs: the scaling table, strong and weak, each answer verified before it is timed.

From the root of the repository: ``python benchmarks/several_gpus.py [--model barotropic] [--devices cuda:0,cuda:1]
[--strong 2049 4097] [--weak 4097] [--precisions single double] [--out FILE.json --commit COMMIT]`` (Markdown; records
go into the file). Models: barotropic (the double gyre), shallow-water-adi (the pool of `eagre bench`), shallow-water
(its wet basin). Strong: points or cells a side, whatever the number of GPUs. Weak: that width, and as many rows a GPU.
`alone` is a step without exchanges and barriers: what the devices do by themselves. Each answer is compared with that
of one GPU.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import records

from eagre import BarotropicVorticity, Boundaries, Grid
from eagre.backend.device import Device
from eagre.backend.group import BARRIER, Group
from eagre.backend.select import select, select_devices
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.constants import GRAVITY
from eagre.laboratory.bench import machine
from eagre.laboratory.cases import mike21
from eagre.local_rows import LocalRows
from eagre.models.shallow_water import setup as explicit
from eagre.models.shallow_water.datum import Datum
from eagre.models.shallow_water.devices import multi_device
from eagre.models.shallow_water_adi.devices.multi_device import engine_for
from eagre.models.shallow_water_adi.memory_layout import padded
from eagre.models.shallow_water_adi.setup import Setup
from eagre.terms.collect import terms_of

ROUND = 1.6e9  # points times steps that are timed at once, about
HEADS = ("scaling", "precision", "GPUs", "points", "us a step", "best", "times one", "a GPU", "alone us", "difference")


class Gyre:
    """The double gyre in a box whose points are as far apart as those of nx a side."""

    name, case, field, steps = "barotropic", "double-gyre", "psi", 43

    def __init__(self, nx: int, ny: int, precision: str, device: Any) -> None:
        h = np.pi / (nx - 1)
        grid = Grid.from_points(nx, ny, np.pi, h * (ny - 1))
        curl = np.repeat(-1.36e5 * np.sin(2.0 * np.pi * grid.y / grid.y[-1])[:, None], nx, axis=1)
        self.model = BarotropicVorticity(
            grid, time_step=1e-7, beta=1.36e5, viscosity=1.0 / 20.83, wind_forcing=curl, device=device,
            precision=precision,
        )  # fmt: skip
        self.device, self.bytes = self.model.device, self.model.bytes_per_step

    @staticmethod
    def height(points: int, count: int) -> int:
        """Points along y, walls included, where each of `count` GPUs has as many as one has of `points`."""
        return (points - 2) * count + 2

    def answer(self) -> np.ndarray:
        """The streamfunction after some steps."""
        self.model.advance(self.steps * self.model.time_step)
        return self.model.field("streamfunction")

    def pair(self) -> list[Any]:
        """The launches, or the stages, of two steps."""
        engine = self.model._engine
        steps = engine._runtime.schedules([one.steps() for one in engine.subdomains])
        return [launch for step in steps for launch in step]


class Pool:
    """The pool of `eagre bench` with the model's defaults.

    Only the engine is made: what the model makes of its input on the host takes longer than all that is timed.
    """

    name, case, field, steps = "shallow-water-adi", "pool", "z", 64

    def __init__(self, nx: int, ny: int, precision: str, device: Any) -> None:
        grid = Grid(nx, ny, mike21.DX, mike21.DX)
        setup = Setup(
            grid=grid, rows=LocalRows.whole(grid),
            bed=np.broadcast_to(-mike21.STILL_DEPTH, grid.shape), segments=Boundaries().segments(grid),
            friction=np.broadcast_to(GRAVITY / mike21.STRICKLER**2, grid.shape), law="manning",
            terms=terms_of((), grid), gravity=GRAVITY, viscosity=0.0, dissipation="froude", momentum_advection="on",
            drying="on", start="half-step", dry_depth=1e-3, time_step=mike21.DT, deepest=mike21.STILL_DEPTH + 1.0,
        )  # fmt: skip
        self.device = select_devices(device)
        self.engine = engine_for(setup, self.device, precision)
        self.bytes = 14 * np.dtype(self.engine.real).itemsize
        for low, engine in ((one.low, one.engine) for one in self.engine.subdomains):
            grid, real = engine.setup.grid, engine.real
            hump = mike21.hump(ny)[low : low + grid.ny, None].astype(real) * mike21.hump(nx).astype(real)
            engine.device.fill(engine.z[0], padded(hump, grid, real, 0.0))

    @staticmethod
    def height(points: int, count: int) -> int:
        """Cells along y, as many a GPU."""
        return points * count

    def answer(self) -> np.ndarray:
        """The surface after some steps."""
        for _ in range(self.steps // 2):
            self.device.run(self.pair())
        assert self.engine.bad_cell() is None
        return self.engine.collected(lambda rows: rows.fields())["z"]

    def pair(self) -> list[Any]:
        """The launches, or the stages, of two steps."""
        return [*self.engine.launches(0, 0), *self.engine.launches(1, 2)]


class Basin:
    """The hump in a wet basin of `eagre bench`, with a fixed time step: only the engine, as of `Pool`."""

    name, case, field, steps = "shallow-water", "wet-basin", "w", 64

    def __init__(self, nx: int, ny: int, precision: str, device: Any) -> None:
        grid = Grid(nx, ny, 1.0, 1.0)
        bed = 0.1 * np.cos(5.0 * grid.y_corner / ny)[:, None] * np.sin(7.0 * grid.x_corner / nx)
        setup = explicit.Setup(
            grid=grid, rows=LocalRows.whole(grid),
            bed=bed, segments=Boundaries().segments(grid), manning=np.broadcast_to(0.03, grid.shape),
            terms=terms_of((), grid), scheme="rk2", wet_dry="hydrostatic", active_tiles="auto", minmod_theta=1.3,
            kappa=1e-4, gravity=GRAVITY, courant_number=0.25, time_step_control="predicted", longest_step=0.05,
            first_step=0.05, fixed=True, datum=Datum(0.0, precision == "single"),
        )  # fmt: skip
        self.device = select_devices(device)
        self.engine = multi_device.engine_for(setup, self.device, precision)
        self.bytes = 17 * np.dtype(self.engine.real).itemsize
        across, along = (np.exp(-(((at - n / 2) / (n / 4)) ** 2)) for at, n in ((grid.x, nx), (grid.y, ny)))
        still = np.broadcast_to(0.0, grid.shape)
        surface = 1.0 + 0.2 * along[:, None] * across
        self.engine.set_state(setup.datum.eta(setup.centre_bed, surface, surface - setup.centre_bed), still, still, 0.0)

    @staticmethod
    def height(points: int, count: int) -> int:
        """Cells along y, as many a GPU."""
        return points * count

    def answer(self) -> np.ndarray:
        """The surface after some steps."""
        self.engine.step_batch(1e9, self.steps)
        assert self.engine.bad_cell() is None
        return self.engine.state()["q"][0, 2:-2, 2:-2]

    def pair(self) -> list[Any]:
        """The launches, or the stages, of two steps, which the clock is ready for."""
        engine = self.engine
        if isinstance(engine, multi_device.MultiDeviceEngine):
            engine.arrange()  # anew: exchanges may be left out
        engine.send_request(1e9, 2**50)
        self.device.run(engine.begin)
        self.device.synchronize()
        return [*engine.launch_cycle] * (2 // engine.steps_per_cycle)


SUBJECTS = {subject.name: subject for subject in (Gyre, Pool, Basin)}


def pairs_of(points: int) -> int:
    """Pairs of steps that are timed at once."""
    return int(np.clip(ROUND / (2 * points), 4, 50))


def step_times(device: Any, pair: list[Any], points: int) -> list[float]:
    """Microseconds of a step, of several rounds, from the launches of two."""
    pairs = pairs_of(points)
    rounds = device.repeated(pair, pairs)
    return [1e6 * seconds / (2 * pairs) for seconds in times_of(device, rounds, repeats=9)]


def times_alone(subject: Any, points: int) -> list[float]:
    """Microseconds of a step without exchanges and barriers; the answer is of no more use."""
    group = subject.device
    group.copies = lambda member, pairs: []
    pair = [stage for stage in subject.pair() if stage is not BARRIER]
    del group.copies
    return step_times(group, pair, points)


def measured(kind: Any, nx: int, ny: int, precision: str, device: Any, expected: np.ndarray | None) -> dict[str, Any]:
    """Times of a step, and the answer beside `expected`."""
    subject = kind(nx, ny, precision, device)
    answer = subject.answer()
    assert np.isfinite(answer).all()
    error = "-" if expected is None else f"{float(np.abs(answer - expected).max() / np.abs(expected).max()):.1e}"
    found = {"times": step_times(subject.device, subject.pair(), nx * ny), "answer": answer, "error": error}
    several = isinstance(subject.device, Group)
    found |= {"bytes": subject.bytes, "alone": times_alone(subject, nx * ny) if several else found["times"]}
    return found


def record_of(
    kind: Any, cells: Sequence[str], found: dict[str, Any], device: Device, copy: float, commit: str
) -> dict[str, Any]:
    """A line of the table as a record of `benchmarks/results`."""
    name, precision, count, points = cells[:4]
    nx, ny = map(int, points.split(" x "))
    ms, chip = 1e-3 * statistics.median(found["times"]), machine.device_name(device)
    beside = "" if cells[9] == "-" else f"{kind.field} {cells[9]} from one GPU; "
    told = f"{beside}a GPU {cells[7]} of one alone; {cells[8]} us without exchanges"
    return {
        "model": kind.name, "case": kind.case, "variant": name, "precision": precision,
        "device": chip if count == "1" else f"{count} x {chip}", "threads": 0, "shape": [ny, nx],
        "steps": 2 * pairs_of(nx * ny) * len(found["times"]), "ms_per_step": ms, "ms_best": 1e-3 * min(found["times"]),
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
    kind: Any, devices: list[str], strong: list[int], weak: list[int], precisions: list[str]
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The table, line by line, and what was found."""
    counts, alone = [count for count in (1, 2, 4, 8) if count <= len(devices)], {}
    for name, points in [("strong", n) for n in strong] + [("weak", n) for n in weak]:
        for precision in precisions:
            one, expected = 0.0, None
            for count in counts:
                height = points if name == "strong" else kind.height(points, count)
                if count == 1:
                    if (points, precision) not in alone:
                        alone[points, precision] = measured(kind, points, height, precision, devices[0], None)
                    found = alone[points, precision]
                    one, expected = statistics.median(found["times"]), found["answer"] if name == "strong" else None
                else:
                    found = measured(kind, points, height, precision, devices[:count], expected)
                yield row(name, precision, count, (points, height), found, one), found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", choices=SUBJECTS, default=Gyre.name)
    parser.add_argument("--devices", default="cuda:0,cuda:1")
    parser.add_argument("--strong", type=int, nargs="*", default=[2049, 4097])
    parser.add_argument("--weak", type=int, nargs="*", default=[4097])
    parser.add_argument("--precisions", nargs="*", default=["single", "double"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--commit")
    given = parser.parse_args()
    kind, devices = SUBJECTS[given.model], given.devices.split(",")
    first = select(devices[0])
    copy = copy_bandwidth(first)
    print(f"{', '.join(str(select(name)) for name in devices)}; copy {copy / 1e9:.0f} GB/s\n")
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    for cells, found in rows(kind, devices, given.strong, given.weak, given.precisions):
        print(f"| {' | '.join(cells)} |", flush=True)
        if given.out is not None:
            records.keep(given.out, record_of(kind, cells, found, first, copy, given.commit))


if __name__ == "__main__":
    main()
