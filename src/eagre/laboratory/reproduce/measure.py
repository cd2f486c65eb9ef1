"""Measurements that items of several papers need: alternating timings, validations and benchmarks as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.registry import Line, Run, compared, holds, not_run
from eagre.laboratory.reproduce.run import stored_lines, stored_note

DISTURBED = 0.2  # relative change of the copy bandwidth


class Timing(NamedTuple):
    """Duration of a function, s."""

    median: float
    minimum: float


@dataclass
class Bandwidth:
    """Copy bandwidth before and after a measurement, bytes per second."""

    first: float
    last: float = 0.0

    @property
    def note(self) -> str:
        """Note for lines whose times were disturbed by other work on the machine; empty for a steady bandwidth."""
        if abs(self.last - self.first) <= DISTURBED * max(self.last, self.first):
            return ""
        return f"disturbed: copy bandwidth {self.first / 1e9:.3g} GB/s before, {self.last / 1e9:.3g} GB/s after"


def alternating(device: Device, works: Mapping[str, Callable[[], None]], repeats: int = 5) -> dict[str, Timing]:
    """Return the durations of functions that are called alternately, after one call of each for warm-up.

    Times that are compared with each other must be measured alternately: the first function of a sequence would
    otherwise run at another clock rate than the last.
    """
    for work in works.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            seconds[name] += times_of(device, work, repeats=1, warm_up=0)
    return {name: Timing(median(values), min(values)) for name, values in seconds.items()}


@contextmanager
def steady_bandwidth(device: Device) -> Iterator[Bandwidth]:
    """Measure the copy bandwidth before and after a block; `Bandwidth.note` is valid after the block."""
    bandwidth = Bandwidth(copy_bandwidth(device))
    yield bandwidth
    bandwidth.last = copy_bandwidth(device)


def gpu_only(run: Run, number: Number, reason: str = "needs a GPU") -> Line:
    """Return the line of a number that a CPU does not compute, with the stored result of a GPU."""
    stored = [
        stored_note(line)
        for line in stored_lines(run.paper.name)
        if (line.item, line.row, line.column) == (number.item, number.row, number.column)
    ]
    return not_run(number, "; ".join([reason, *stored]))


def validated(
    run: Run,
    kind: str,
    names: Sequence[str],
    number_of: Callable[[Any], Number | None] = lambda result: None,
    *,
    pictures: bool = False,
) -> Iterator[Line]:
    """Run cases of `eagre.laboratory.validation` and yield a line per value.

    Parameters
    ----------
    run : Run
    kind : str
        Model.
    names : sequence of str
        Cases.
    number_of : callable(result), optional
        Number of the paper for a result (`eagre.laboratory.validation.Result`); None for a result without one.
    pictures : bool
        Whether to keep the pictures of the validation for `draw_validation`.
    """
    from eagre.laboratory.validation import validate

    if pictures and find_spec("matplotlib") is not None:
        run.data["pictures"] = run.closing.enter_context(TemporaryDirectory())
    folder = run.data.get("pictures")
    for result in validate(kind, list(names), output_dir=folder, device=run.device, precision=run.precision):
        number = number_of(result) or Number(run.item, f"{result.case}: {result.quantity}", result.precision, "", "")
        note = ", ".join(filter(None, (result.limit_text, result.detail)))
        yield holds(number, result.value, passed=result.passed, note=note)


def benchmarked(
    run: Run, kind: str, number_of: Callable[[Mapping[str, Any]], Number | None], scale: float = 1.0, **options: Any
) -> Iterator[Line]:
    """Run a benchmark of `laboratory.bench`, which verifies its results, and yield a line per record with a number.

    Parameters
    ----------
    run : Run
    kind : str
        Model.
    number_of : callable(record)
        Number of the paper for a record with the keys `eagre.laboratory.bench.benchmark.KEYS`, or None.
    scale : float
        Unit of the number divided by ms per step: 0.1 for seconds per 100 steps.
    **options
        Arguments of `eagre.laboratory.bench.measurements`, such as `sizes` and `variants`.
    """
    from eagre.laboratory.bench import measurements

    device = select(run.device)
    with steady_bandwidth(device) as bandwidth:
        records = list(measurements(kind, device, **{"precision": run.precision, **options}))
    for record in records:
        if (number := number_of(record)) is not None:
            minimum = f"minimum {scale * record['ms_best']:.4g}"
            notes = (minimum, f"{record['threads'] or 'GPU'} threads", record["error"], bandwidth.note)
            yield compared(number, scale * record["ms_per_step"], "; ".join(filter(None, notes)))


def draw_validation(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Write the first picture of the validations that ran with ``validated(..., pictures=True)``."""
    picture = min(Path(run.data["pictures"]).glob("*.png"), default=None)
    if picture is not None:
        copyfile(picture, path)


def draw_curves(
    path: Path, title: str, curves: Mapping[str, Sequence[tuple[float, float]]], xlabel: str, ylabel: str
) -> None:
    """Draw curves by name, each a sequence of points (x, y), on logarithmic axes."""
    from eagre.plots.drawing.style import new_figure

    figure = new_figure(7.0, 5.0)
    axes = figure.subplots()
    for name, points in curves.items():
        axes.loglog(*zip(*sorted(points), strict=True), "o-", mfc="none" if "paper" in name else None, label=name)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    figure.savefig(path, dpi=120)
