"""Tuning a model: its spaces are searched at a size, and what is found is stored for runs like that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import Any

from eagre.backend.device import Device
from eagre.backend.layouts import slug
from eagre.backend.origin import origin_of
from eagre.backend.tuned import file_of, shipped_values, use_of
from eagre.bench.benchmark import subject_of
from eagre.bench.compilers import Compilers
from eagre.bench.workload import StepsOfBenchmark, StepsOfModel, base_of, cells_of, first_needed, use_of_model
from eagre.contract import Model
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.layouts import store
from eagre.layouts.store import Entry, Scheme, Use
from eagre.tuning.journal import Journal
from eagre.tuning.session import Outcome, Workload, tune
from eagre.tuning.space import Space, words
from eagre.tuning.spaces import SPACES, spaces_of

Tell = Callable[[str], None]
Make = Callable[[Space], Workload]
SIZES = {
    "shallow-water": {"cuda": (512, 768, 1024, 2048), "cpu": (256, 1024)},
    "shallow-water-adi": {"cuda": (256, 768, 1024, 2048, 4096), "cpu": (256, 1024)},
    "barotropic": {"cuda": (257, 769, 1025, 2049, 4097), "cpu": (257, 1025)},
    "potential-waves": {"cuda": (1025, 3457), "cpu": (257,)},
    "anelastic": {"cuda": (64, 96, 256), "cpu": (64, 128)},
}
"""Cells or points a side on which a model is tuned; of a class of sizes the last (`sizes_of`). Few are "large": such a
search takes long, and the shipped values of the explicit model were chosen there."""


@dataclass(frozen=True)
class Found:
    """What came of a space at a size."""

    outcome: Outcome
    use: Use
    shape: tuple[int, ...]


def tune_benchmark(
    kind: str, device: Device, precision: str, sizes: Sequence[int] | None = None, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), fresh: bool = False, compilers: Compilers | None = None,
    tell: Tell = lambda text: None,
) -> Iterator[Found]:  # fmt: skip
    """Search the spaces of a model on its benchmark and store what is found, space by space.

    Parameters
    ----------
    kind : str
        Of the model.
    device : Device
    precision : {"single", "double"}
    sizes : sequence of int, optional
        Cells or points a side; else `sizes_of`. Each stands for its class: of one class the last counts.
    only : iterable of str
        Names of spaces; all unless given.
    schemes : iterable of str
        Whose spaces are searched, beside those of all schemes; every one's unless given.
    fresh : bool
        Time again what a search that was stopped, or an earlier one, has timed.
    compilers : Compilers, optional
        That others share (`begin_compiling`); else own ones.
    tell : callable
        Gets a line for each step.

    Raises
    ------
    InputError
        For a model without spaces, or a space that it does not have.
    """
    with nullcontext(compilers) if compilers else Compilers(device) as pool:
        begin_compiling(kind, device, [precision], sizes, pool, only=only, schemes=schemes, fresh=fresh, tell=tell)
        for size in sizes or sizes_of(kind, device, precision):
            shape, use = timed_at(kind, device, precision, size)
            if device.kind == "cuda" and prod(shape) < device.facts.multiprocessors * device.facts.threads:
                tell(f"{kind}: {size}: too few cells to fill the card: found is what suits grids of size {use.size}")

            def make(space: Space, size: int = size) -> Workload:
                return StepsOfBenchmark(space, device, precision, size, pool)

            spaces = _asked_for(kind, device, use.size, only, schemes)
            try:
                yield from _search(spaces, make, device, use, shape, fresh, tell)
            except MemoryNeededError as error:
                if sizes:
                    raise
                tell(f"{kind}: {size}: left out: {error}")


def _asked_for(kind: str, device: Device, size_class: str, only: Iterable[str], schemes: Iterable[str]) -> list[Space]:
    """Spaces of a class of sizes by their names, and of some schemes beside those of all."""
    wanted, asked, spaces = set(only), set(schemes), spaces_of(kind, device.kind, size_class)
    _check_names(wanted, spaces)
    ours = {"", *(asked or (space.scheme for space in spaces))}
    return [space for space in spaces if space.scheme in ours and (not wanted or space.name in wanted)]


def sizes_of(kind: str, device: Device, precision: str) -> list[int]:
    """Cells or points a side on which a model is tuned unless others are asked for: one of each class of sizes."""
    by_class = {timed_at(kind, device, precision, size)[1].size: size for size in SIZES[kind][device.kind]}
    return list(by_class.values())


def timed_at(kind: str, device: Device, precision: str, size: int) -> tuple[tuple[int, ...], Use]:
    """(nz,) ny, nx of what is timed of a model at a size, and the runs that it stands for, of all schemes."""
    variant = next(space.variant for space in SPACES if space.model == kind)  # of all of them the same shape
    shape = subject_of(kind).shape(size, variant)
    return shape, use_of(device, kind, "", precision, prod(shape))


def begin_compiling(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, compilers: Compilers, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), fresh: bool = False, tell: Tell = lambda text: None,
) -> None:  # fmt: skip
    """Begin to compile what the searches of all precisions and sizes are sure to need, but for what was timed before.

    A search waits for its own variants only. Others are compiled while it times: on processors that it does not need,
    and with a step on the card for each, which the finals, in turn, have on both sides alike.

    Parameters are those of `tune_benchmark`.
    """
    if device.kind != "cuda":
        return
    jobs = []
    for precision in precisions:
        for size in sizes or sizes_of(kind, device, precision):
            shape, use = timed_at(kind, device, precision, size)
            for space in _asked_for(kind, device, use.size, only, schemes):
                journal = _journal(device, space, use, shape, fresh)
                job, variants = first_needed(space, device, precision, size)
                base = base_of(space, device, precision, size)
                jobs.append((job, [{**base, **values} for values in variants if journal.find(values) is None]))
    if count := compilers.begin(jobs):
        tell(f"{kind}: compiling {count} variants")


def tune_case(
    case: Any, device: Device, precision: str | None = None, *, fresh: bool = False, tell: Tell = lambda text: None
) -> Iterator[Found]:
    """Search the spaces of a case's model on the case itself, from its start, and store what is found.

    Parameters
    ----------
    case : Case
    device, precision, fresh, tell
        As in `tune_benchmark`.
    """
    real: str = precision or case.run.precision

    def build(where: Device) -> Model:
        return case.build(device=where, precision=real)

    model, subject = build(device), subject_of(case.kind)
    scheme = str(model.settings().get("scheme", "")) if case.kind == "shallow-water" else ""
    shape, use = shape_of(model), use_of_model(model, device, "")
    del model
    tolerance, steps = subject.largest_difference[real], subject.steps_a_call[device.kind]

    def make(space: Space) -> Workload:
        base = shipped_values(device, use._replace(scheme=space.scheme))
        return StepsOfModel(device.with_layouts(base, device.table.source), real, build, build, tolerance, steps)

    spaces = [space for space in spaces_of(case.kind, device.kind, use.size) if space.scheme in ("", scheme)]
    yield from _search(spaces, make, device, use, shape, fresh, tell)


def _search(
    spaces: Sequence[Space], make: Make, device: Device, use: Use, shape: tuple[int, ...], fresh: bool, tell: Tell
) -> Iterator[Found]:
    path, origin = file_of(device), origin_of(device, use.model)
    for space in spaces:
        of_scheme = use._replace(scheme=space.scheme)
        try:
            outcome = tune(space, make(space), _journal(device, space, use, shape, fresh), tell)
        except MemoryNeededError:
            raise
        except EagreError as error:  # others can be searched
            tell(f"{space.name}: left out: {error}")
            continue
        found = {
            "best": f"{space.name}: {words(outcome.best)}",
            "shape": list(shape),
            "tried": len(outcome.trials),
            "failed": sum(bool(trial.failed) for trial in outcome.trials),
            "date": datetime.now(UTC).date().isoformat(),
        }
        seconds = {"before": outcome.before, "after": outcome.after}
        entry = Entry(space.name, of_scheme, outcome.values, outcome.same_bits, seconds, found, origin=origin)
        store.add(path, entry)
        yield Found(outcome, of_scheme, shape)


def choose_scheme(
    kind: str, device: Device, precision: str, times: dict[str, float], cells: int, least_gain: float = 0.02
) -> Scheme:
    """Store which scheme took the least time for a run, `times`, s; the first unless another gains enough."""
    usual = next(iter(times))
    best = min(times, key=lambda name: times[name])
    chosen = best if times[usual] > (1.0 + least_gain) * times[best] else usual
    scheme = Scheme(use_of(device, kind, "", precision, cells), origin_of(device, kind), chosen, times)
    store.add(file_of(device), scheme)
    return scheme


def _journal(device: Device, space: Space, use: Use, shape: tuple[int, ...], fresh: bool) -> Journal:
    """What was timed of a space before; fresh : nothing."""
    of_scheme = use._replace(scheme=space.scheme)
    path = journal_path(device, space, of_scheme, shape)
    if fresh:
        path.unlink(missing_ok=True)
    return Journal(path, space.name, of_scheme, origin_of(device, use.model), shape)


def journal_path(device: Device, space: Space, use: Use, shape: Sequence[int]) -> Path:
    """Where the timings of a search lie: beside the store."""
    size = "x".join(map(str, shape))
    name = slug(f"{space.name}-{space.model}-{use.scheme}-{use.precision}-{size}")
    return file_of(device).with_suffix("") / f"{name}.jsonl"


def shape_of(model: Model) -> tuple[int, ...]:
    """(nz,) ny, nx of a model."""
    assert cells_of(model) > 0
    return (*([] if model.levels is None else [model.levels.height.size]), *model.grid.shape)


def dump(found: Sequence[Found]) -> list[dict[str, Any]]:
    """All timings, for a file: a row for each trial with its runs."""
    return [
        {"space": one.outcome.space.name, **one.use._asdict(), "shape": list(one.shape), **asdict(trial)}
        for one in found
        for trial in one.outcome.trials
    ]


def _check_names(wanted: set[str], spaces: Sequence[Space]) -> None:
    unknown = wanted - {space.name for space in spaces}
    if unknown:
        allowed = ", ".join(dict.fromkeys(space.name for space in spaces))
        raise InputError(f"the space {sorted(unknown)[0]!r}", allowed=allowed)
