"""Tuning of a model: its targets, and the search of its spaces at a size; results are stored for the device."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from eagre.backend.compilation.origin import hash_of, origin_of
from eagre.backend.device import Device
from eagre.backend.layouts import slug
from eagre.backend.tuned import file_of, shipped_values, use_of
from eagre.contract import Model
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.laboratory.bench.benchmark import subject_of
from eagre.laboratory.bench.tuning.compilers import Compilers
from eagre.laboratory.bench.tuning.workload import StepsOfBenchmark, StepsOfModel, base_of, first_needed, use_of_model
from eagre.layouts import store
from eagre.layouts.store import Entry, Scheme, Use
from eagre.tuning.session import Outcome, Workload, tune
from eagre.tuning.space import SPACES, Space, describe, spaces_of
from eagre.tuning.timings import Journal

SIZES = {
    "shallow-water": {"cuda": (512, 768, 1024, 2048), "cpu": (256, 1024)},
    "shallow-water-adi": {"cuda": (256, 768, 1024, 2048, 4096), "cpu": (256, 1024)},
    "barotropic": {"cuda": (257, 769, 1025, 2049, 4097), "cpu": (257, 1025)},
    "potential-waves": {"cuda": (1025, 3457), "cpu": (257,)},
    "anelastic": {"cuda": (64, 96, 256), "cpu": (64, 128)},
}
"""Cells or points per side for tuning; the last of each size class is used (`sizes_of`). Few sizes are "large": such
searches take long, and the shipped values of the explicit model were chosen there.
"""
WHOLE_RUNS = "whole runs of schemes"  # name of the journal of `eagre.laboratory.bench.tuning.schemes`
TIMED = ("config", "io", "laboratory/bench", "laboratory/cases", "tuning", "waves")
"""Folders of timed code: set-ups, cases, clocks, searches."""
Tell = Callable[[str], None]
Make = Callable[[Space], Workload]
LEAST_GAIN = 0.02  # minimum gain of a scheme relative to the best time


@dataclass(frozen=True)
class Target:
    """Target of a search.

    Attributes
    ----------
    device : Device
    use : Use
        Use class of the results, for all schemes.
    shape : tuple of int
        Shape (nz,) ny, nx of the timed model.
    case : str
        Name of the timed case; empty for the benchmark.
    content : str
        Hash of the case: timings of another case of the same name are ignored.
    """

    device: Device
    use: Use
    shape: tuple[int, ...]
    case: str = ""
    content: str = ""

    def use_of(self, space: Space) -> Use:
        """Return the use class of the results of a space, with its scheme if it has one."""
        return self.use._replace(scheme=space.scheme)

    def path(self, name: str, scheme: str = "") -> Path:
        """Return the path of the timings with a name, in a folder next to the store."""
        name_items = name, self.use.model, scheme, self.use.precision, "x".join(map(str, self.shape)), self.case
        return file_of(self.device).with_suffix("") / f"{slug('-'.join(name_items))}.jsonl"

    def journal(self, name: str, scheme: str = "") -> Journal:
        """Return the journal with a name: a space or `WHOLE_RUNS`."""
        use, origin = self.use._replace(scheme=scheme), origin_of(self.device, self.use.model)
        return Journal(self.path(name, scheme), name, use, origin, self.shape, self.content, timed_source())


@cache
def timed_source() -> str:
    """Return the hash of the timed source other than kernels, and of the timing method."""
    return hash_of(Path(__file__).resolve().parents[3], TIMED)


def sizes_of(kind: str, device: Device, precision: str) -> list[int]:
    """Return the default cells or points per side for tuning: one per size class."""
    by_class = {target_at(kind, device, precision, size).use.size: size for size in SIZES[kind][device.kind]}
    return list(by_class.values())


def target_at(kind: str, device: Device, precision: str, size: int) -> Target:
    """Return the target for a model's benchmark at a size."""
    variant = next(space.variant for space in SPACES if space.model == kind)  # all variants have the same shape
    shape = subject_of(kind).shape(size, variant)
    return Target(device, use_of(device, kind, "", precision, prod(shape)), shape)


def check_sizes(kind: str, sizes: Sequence[int]) -> None:
    """Raise `InputError` for sizes with too few points for the benchmark on which a model is tuned."""
    subject = subject_of(kind)
    for variant in {space.variant for space in SPACES if space.model == kind}:
        for size in sizes:
            subject.check_size(size, variant)


def target_of(case: Any, model: Model, device: Device) -> Target:
    """Return the target for a case whose model was built."""
    return Target(device, use_of_model(model, device, ""), shape_of(model), case.name, content_of(case))


def content_of(case: Any) -> str:
    """Return the hash of a case's text, and of the sizes and times of its input files."""
    read = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in case.inputs]
    return hashlib.sha256(repr((case.text, read)).encode()).hexdigest()[:12]


def shape_of(model: Model) -> tuple[int, ...]:
    """Return the shape (nz,) ny, nx of a model."""
    return (*([] if model.levels is None else [model.levels.height.size]), *model.grid.shape)


@dataclass(frozen=True)
class Found:
    """Result of a search space at a size."""

    outcome: Outcome
    use: Use
    shape: tuple[int, ...]


def tune_benchmark(
    kind: str, device: Device, precision: str, sizes: Sequence[int] | None = None, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), compilers: Compilers | None = None,
    tell: Tell = lambda text: None,
) -> Iterator[Found]:  # fmt: skip
    """Search the spaces of a model on its benchmark and store the results of each space.

    All timings are kept in a file: an interrupted search resumes, unless `forget` is called before.

    Parameters
    ----------
    kind : str
        Name of the model.
    device : Device
    precision : {"single", "double"}
    sizes : sequence of int, optional
        Cells or points per side; `sizes_of` by default. Each represents its size class (`eagre.layouts.store`).
    only : iterable of str
        Names of spaces; all by default.
    schemes : iterable of str
        Schemes whose spaces are searched in addition to the common ones; all by default.
    compilers : Compilers, optional
        Shared worker processes (`begin_compiling`); separate ones by default.
    tell : callable
        Called with a line of text for each step.

    Raises
    ------
    InputError
        For a model without spaces, or a space that it does not have.
    """
    with nullcontext(compilers) if compilers else Compilers(device) as pool:
        begin_compiling(kind, device, [precision], sizes, pool, only=only, schemes=schemes, tell=tell)
        for size in sizes or sizes_of(kind, device, precision):
            target = target_at(kind, device, precision, size)
            if (
                device.kind == "cuda"
                and prod(target.shape) < device.properties.multiprocessors * device.properties.threads
            ):
                suited = "the result is valid for grids of similar size"
                tell(f"{kind}: {size}: the grid has too few cells to fill the GPU; {suited}")

            def make(space: Space, size: int = size) -> Workload:
                return StepsOfBenchmark(space, device, precision, size, pool)

            spaces = _asked_for(target, only, schemes)
            try:
                yield from _search(spaces, make, target, tell)
            except MemoryNeededError as error:
                if sizes:
                    raise
                tell(f"{kind}: {size}: left out: {error}")


def _asked_for(target: Target, only: Iterable[str], schemes: Iterable[str]) -> list[Space]:
    """Return the spaces with the given names, and those of the given schemes in addition to the common ones."""
    spaces = spaces_of(target.use.model, target.device.kind, target.use.size)
    requested, requested_names = set(only), set(schemes)
    _check_names(requested, spaces)
    stored_schemes = {"", *(requested_names or (space.scheme for space in spaces))}
    return [space for space in spaces if space.scheme in stored_schemes and (not requested or space.name in requested)]


def forget(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, *, only: Iterable[str] = (),
    schemes: Iterable[str] = (),
) -> None:  # fmt: skip
    """Remove the timings of searches on a model's benchmark, so that they restart; stored results are kept.

    Timings of whole runs of schemes are also removed, unless spaces or schemes are given. Parameters as in
    `tune_benchmark`.
    """
    searches = list(_searches(kind, device, precisions, sizes, only, schemes))
    _forget((target, space) for target, space, _ in searches)
    if not (list(only) or list(schemes)):
        for target, _, _ in searches:
            target.path(WHOLE_RUNS).unlink(missing_ok=True)


def _searches(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, only: Iterable[str],
    schemes: Iterable[str],
) -> Iterator[tuple[Target, Space, int]]:  # fmt: skip
    """Yield each search on a model's benchmark, with the cells or points per side."""
    for precision in precisions:
        for size in sizes or sizes_of(kind, device, precision):
            target = target_at(kind, device, precision, size)
            yield from ((target, space, size) for space in _asked_for(target, only, schemes))


def begin_compiling(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, compilers: Compilers, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), tell: Tell = lambda text: None,
) -> None:  # fmt: skip
    """Start compiling variants that searches of all precisions and sizes certainly need, unless they were timed before.

    A search only waits for its own variants. Other variants are compiled during timings, on idle processors and with
    one step on the GPU for each; this affects both sides of the alternating timings equally.

    Parameters as in `tune_benchmark`.
    """
    if device.kind != "cuda":
        return
    jobs = []
    for target, space, size in _searches(kind, device, precisions, sizes, only, schemes):
        journal, precision = target.journal(space.name, space.scheme), target.use.precision
        job, variants = first_needed(space, device, precision, size)
        base = base_of(space, device, precision, size)
        jobs.append((job, [{**base, **values} for values in variants if journal.find(values) is None]))
    if count := compilers.begin(jobs):
        tell(f"{kind}: compiling {count} variants")


def tune_case(
    case: Any, device: Device, precision: str | None = None, *, fresh: bool = False, tell: Tell = lambda text: None
) -> Iterator[Found]:
    """Search the spaces of a case's model on the case itself, from its start, and store the results.

    Parameters
    ----------
    case : Case
    device, precision, tell
        As in `tune_benchmark`; the precision of the case by default.
    fresh : bool
        Repeat earlier timings of this case.
    """
    real: str = precision or case.run.precision

    def build(where: Device) -> Model:
        return case.build(device=where, precision=real)

    model, subject = build(device), subject_of(case.kind)
    scheme = str(model.settings().get("scheme", "")) if case.kind == "shallow-water" else ""
    target = target_of(case, model, device)
    del model
    tolerance, steps = subject.largest_difference[real], subject.steps_a_call[device.kind]

    def make(space: Space) -> Workload:
        base = shipped_values(device, target.use_of(space))
        where = device.with_parameters(base, device.table.source)
        return StepsOfModel(where, real, prod(target.shape), build, build, tolerance, steps)

    spaces = [one for one in spaces_of(case.kind, device.kind, target.use.size) if one.scheme in ("", scheme)]
    if fresh:
        _forget((target, space) for space in spaces)
    yield from _search(spaces, make, target, tell)


def _forget(searches: Iterable[tuple[Target, Space]]) -> None:
    for target, space in searches:
        target.path(space.name, space.scheme).unlink(missing_ok=True)


def _search(spaces: Sequence[Space], make: Make, target: Target, tell: Tell) -> Iterator[Found]:
    """Search spaces in sequence, and store the results of each before the next one starts."""
    path, origin = file_of(target.device), origin_of(target.device, target.use.model)
    for space in spaces:
        of_scheme, journal = target.use_of(space), target.journal(space.name, space.scheme)
        try:
            outcome = tune(space, make(space), journal, tell)
        except MemoryNeededError:
            raise
        except EagreError as error:  # continue with the other spaces
            tell(f"{space.name}: left out: {error}")
            continue
        results = {
            "best": f"{space.name}: {describe(outcome.best)}",
            "shape": list(target.shape),
            "tried": len(outcome.trials),
            "failed": sum(bool(trial.failed) for trial in outcome.trials),
            "date": datetime.now(UTC).date().isoformat(),
        }
        seconds = {"before": outcome.shipped_seconds, "after": outcome.tuned_seconds}
        entry = Entry(space.name, of_scheme, outcome.values, outcome.same_bits, seconds, results, origin=origin)
        store.add(path, entry)
        yield Found(outcome, of_scheme, target.shape)


def choose_scheme(kind: str, device: Device, precision: str, times: dict[str, float], cells: int) -> Scheme:
    """Store the scheme with the shortest run; the default scheme unless another gains at least `LEAST_GAIN`.

    Parameters
    ----------
    kind, device, precision
        As in `tune_benchmark`.
    times : dict of str to float, s
        Duration of a run by scheme, the default scheme first.
    cells : int
        Number of cells.
    """
    usual = next(iter(times))
    best = min(times, key=lambda name: times[name])
    chosen = best if times[usual] > (1.0 + LEAST_GAIN) * times[best] else usual
    scheme = Scheme(use_of(device, kind, "", precision, cells), origin_of(device, kind), chosen, times)
    store.add(file_of(device), scheme)
    return scheme


def dump(results: Sequence[Found]) -> list[dict[str, Any]]:
    """Return all timings for a file: a row with its runs for each trial."""
    return [
        {"space": one.outcome.space.name, **one.use._asdict(), "shape": list(one.shape), **asdict(trial)}
        for one in results
        for trial in one.outcome.trials
    ]


def _check_names(requested: set[str], spaces: Sequence[Space]) -> None:
    unknown = requested - {space.name for space in spaces}
    if unknown:
        allowed = ", ".join(dict.fromkeys(space.name for space in spaces))
        problem = "The search space does not exist."
        raise InputError(f"the space {sorted(unknown)[0]!r}", allowed=allowed, problem=problem)
