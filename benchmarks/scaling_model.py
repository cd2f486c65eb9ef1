"""Estimated strong and weak scaling to 1,024 GPUs, from measured steps of one GPU and counted messages.

From the root of the repository: ``python benchmarks/scaling_model.py`` prints the table of the performance page. The
time per step on P GPUs is

    work(n / P) + exchanges * latency + bytes / bandwidth + waits * log2(P) * hop + slab

work(n) = a + b n : time on one GPU, from two records of `benchmarks/results/processes.json`
exchanges : exchanges per step, counted in runs of two and three processes (`Pattern`)
bytes : that a GPU receives per step from its neighbours, in transposes and in gathers
waits : collective operations per step for which the host waits
slab : further time of a step on two GPUs of one process, measured in weak scaling, and taken as constant: rows that
    two GPUs compute, packing, and waiting for the slower GPU

GPUs of one host use NVLink; with more than `PER_HOST` GPUs the slowest GPU exchanges over the network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RECORDS = Path(__file__).resolve().parent / "results" / "processes.json"
PER_HOST = 8  # GPUs of a host
LOCAL_LATENCY, LOCAL_BANDWIDTH = 6e-6, 3e11  # s per exchange, bytes s-1: peer memory over NVLink
LATENCY, BANDWIDTH = 2e-5, 5e10  # s, bytes s-1: NCCL over one 400 Gb/s adapter per GPU
LOCAL_HOP, HOP = 2e-6, 5e-6  # s: one message of a broadcast between hosts' memories
GPUS = (2, 8, 64, 1024)
VALUE = 4  # bytes, single precision


class Pattern(NamedTuple):
    """Communication of a model per step.

    exchanges : number of exchanges
    rows : values per point of a row (or of a plane normal to y) that a GPU receives from each neighbour
    transposed : values per point that move to another GPU in transposes, if the number of GPUs is large
    from_all : bytes that every GPU receives from all others
    waits : collective operations for which the host waits
    min_rows : rows of a slab
    """

    exchanges: int
    rows: float
    transposed: float = 0.0
    from_all: float = 0.0
    waits: int = 0
    min_rows: int = 4


PATTERNS = {
    "shallow-water": Pattern(2, 12.1),
    "shallow-water-adi": Pattern(2, 17.0),
    "barotropic": Pattern(2, 4.0, min_rows=2),
    "potential-waves": Pattern(41, 91.0, from_all=11 * 2.0**23, waits=1, min_rows=24),
    "anelastic": Pattern(4, 36.0, transposed=2.0, waits=1, min_rows=4),
}


class Work(NamedTuple):
    """Time of a step on one GPU: fixed + per_point * points, s; slab : further time of a step on several, s."""

    fixed: float
    per_point: float
    slab: float = 0.0

    def __call__(self, points: float) -> float:
        return self.fixed + self.per_point * points


def work_of(records: Sequence[Mapping[str, Any]]) -> Work:
    """Return the line through the records of the smallest and of the largest grid of one GPU."""
    times = sorted((math.prod(one["shape"]), 1e-3 * one["ms_per_step"]) for one in records)
    (few, first), (many, last) = times[0], times[-1]
    slope = (last - first) / (many - few)
    return Work(max(0.0, first - slope * few), slope)


def with_slabs(work: Work, pattern: Pattern, records: Sequence[Mapping[str, Any]]) -> Work:
    """Return the work with the further time of the records of two GPUs of one process, in weak scaling."""
    pairs = [one for one in records if one["scaling"] == "weak" and one["transport"] == "one process"]
    excess = [1e-3 * one["ms_per_step"] - time_of_step(pattern, work, one["shape"], 2) for one in pairs]
    return work._replace(slab=max(0.0, *excess, 0.0))


def time_of_step(pattern: Pattern, work: Work, shape: Sequence[int], count: int) -> float:
    """Return the time per step, s, of a grid (ny, nx) or (nz, ny, nx) on a number of GPUs."""
    points = math.prod(shape)
    if count == 1:
        return work(points)
    row, remote = points / shape[-2], count > PER_HOST
    latency, bandwidth, hop = (LATENCY, BANDWIDTH, HOP) if remote else (LOCAL_LATENCY, LOCAL_BANDWIDTH, LOCAL_HOP)
    neighbours = 1 if remote else min(2, count - 1)  # one of two neighbours is on another host
    from_others = (count - PER_HOST) / count if remote else (count - 1) / count
    volume = VALUE * row * pattern.rows * neighbours
    volume += (VALUE * pattern.transposed * points / count + pattern.from_all) * from_others
    waits = pattern.waits * math.ceil(math.log2(count)) * hop
    return work(points / count) + work.slab + pattern.exchanges * latency + volume / bandwidth + waits


def efficiencies(pattern: Pattern, work: Work, shape: Sequence[int], scaling: str) -> dict[int, float | None]:
    """Return the parallel efficiency by number of GPUs; None: more GPUs than slabs of the least number of rows."""
    efficiency: dict[int, float | None] = {}
    for count in GPUS:
        rows = shape[-2] * (count if scaling == "weak" else 1)
        grid = (*shape[:-2], rows, shape[-1])
        ideal = work(math.prod(shape)) / (1 if scaling == "weak" else count)
        fits = rows / count >= pattern.min_rows
        efficiency[count] = ideal / time_of_step(pattern, work, grid, count) if fits else None
    return efficiency


def limit(pattern: Pattern, work: Work, shape: Sequence[int], minimum: float = 0.5) -> int:
    """Return the largest power of 2 of GPUs with at least this efficiency in strong scaling."""
    count = 1
    while count < GPUS[-1] and shape[-2] / (2 * count) >= pattern.min_rows:
        if work(math.prod(shape)) / (2 * count) < minimum * time_of_step(pattern, work, shape, 2 * count):
            break
        count *= 2
    return count


def table(records: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the cells of each row: model, scaling, grid, efficiencies, and the limit of strong scaling."""
    for name, pattern in PATTERNS.items():
        measured = [one for one in records if one["model"] == name and one["device"].startswith("NVIDIA")]
        alone = [one for one in measured if one["devices"] == 1]
        work = with_slabs(work_of(alone), pattern, [one for one in measured if one["devices"] == 2])
        for scaling in ("strong", "weak"):
            shape = max((one["shape"] for one in alone if one["scaling"] == scaling), key=math.prod)
            cells = [
                "-" if one is None else f"{one:.0%}" for one in efficiencies(pattern, work, shape, scaling).values()
            ]
            size = " x ".join(str(n) for n in reversed(shape))
            yield [f"`{name}`", scaling, size, *cells, str(limit(pattern, work, shape)) if scaling == "strong" else ""]


def markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the performance page."""
    heads = ["model", "scaling", "grid (weak: per GPU)", *(f"{count} GPUs" for count in GPUS), "GPUs at 50 %"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in table(records))])


if __name__ == "__main__":
    print(markdown(json.loads(RECORDS.read_text(encoding="utf-8"))))
