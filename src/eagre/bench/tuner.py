"""Tuning a model: its spaces are searched at a size, and what is found is stored for runs like that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import prod
from typing import Any

from eagre.backend.device import Device
from eagre.backend.origin import origin_of
from eagre.backend.tuned import file_of, shipped_values, use_of
from eagre.bench.benchmark import subject_of
from eagre.bench.compilers import Compilers
from eagre.bench.tuner_targets import WHOLE_RUNS, Target, sizes_of, target_at, target_of
from eagre.bench.workload import StepsOfBenchmark, StepsOfModel, base_of, first_needed
from eagre.contract import Model
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.layouts import store
from eagre.layouts.store import Entry, Scheme, Use
from eagre.tuning.session import Outcome, Workload, tune
from eagre.tuning.space import Space, words
from eagre.tuning.spaces import spaces_of

Tell = Callable[[str], None]
Make = Callable[[Space], Workload]


@dataclass(frozen=True)
class Found:
    """What came of a space at a size."""

    outcome: Outcome
    use: Use
    shape: tuple[int, ...]


def tune_benchmark(
    kind: str, device: Device, precision: str, sizes: Sequence[int] | None = None, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), compilers: Compilers | None = None,
    tell: Tell = lambda text: None,
) -> Iterator[Found]:  # fmt: skip
    """Search the spaces of a model on its benchmark and store what is found, space by space.

    Every timing is kept in a file: a search that was stopped goes on where it was, unless `forget` comes before.

    Parameters
    ----------
    kind : str
        Of the model.
    device : Device
    precision : {"single", "double"}
    sizes : sequence of int, optional
        Cells or points a side; else `sizes_of`. Each stands for its class (`eagre.layouts.store`).
    only : iterable of str
        Names of spaces; all unless given.
    schemes : iterable of str
        Whose spaces are searched, beside those of all schemes; every one's unless given.
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
        begin_compiling(kind, device, [precision], sizes, pool, only=only, schemes=schemes, tell=tell)
        for size in sizes or sizes_of(kind, device, precision):
            target = target_at(kind, device, precision, size)
            if device.kind == "cuda" and prod(target.shape) < device.facts.multiprocessors * device.facts.threads:
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
    """Spaces by their names, and of some schemes beside those of all."""
    spaces = spaces_of(target.use.model, target.device.kind, target.use.size)
    wanted, asked = set(only), set(schemes)
    _check_names(wanted, spaces)
    ours = {"", *(asked or (space.scheme for space in spaces))}
    return [space for space in spaces if space.scheme in ours and (not wanted or space.name in wanted)]


def forget(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, *, only: Iterable[str] = (),
    schemes: Iterable[str] = (),
) -> None:  # fmt: skip
    """Remove the timings of searches on a model's benchmark, which then begin anew; what was found stays in the store.

    Those of whole runs of schemes are removed as well, unless single spaces or schemes are asked for. Parameters are
    those of `tune_benchmark`.
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
    """Each search on a model's benchmark, with the cells or points a side."""
    for precision in precisions:
        for size in sizes or sizes_of(kind, device, precision):
            target = target_at(kind, device, precision, size)
            yield from ((target, space, size) for space in _asked_for(target, only, schemes))


def begin_compiling(
    kind: str, device: Device, precisions: Iterable[str], sizes: Sequence[int] | None, compilers: Compilers, *,
    only: Iterable[str] = (), schemes: Iterable[str] = (), tell: Tell = lambda text: None,
) -> None:  # fmt: skip
    """Begin to compile what the searches of all precisions and sizes are sure to need, but for what was timed before.

    A search waits for its own variants only. Others are compiled while it times: on processors that it does not need,
    and with a step on the card for each, which the finals, in turn, have on both sides alike.

    Parameters are those of `tune_benchmark`.
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
    """Search the spaces of a case's model on the case itself, from its start, and store what is found.

    Parameters
    ----------
    case : Case
    device, precision, tell
        As in `tune_benchmark`; the precision of the case unless given.
    fresh : bool
        Time again what was timed before, of this very case.
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
        where = device.with_layouts(base, device.table.source)
        return StepsOfModel(where, real, prod(target.shape), build, build, tolerance, steps)

    spaces = [one for one in spaces_of(case.kind, device.kind, target.use.size) if one.scheme in ("", scheme)]
    if fresh:
        _forget((target, space) for space in spaces)
    yield from _search(spaces, make, target, tell)


def _forget(searches: Iterable[tuple[Target, Space]]) -> None:
    for target, space in searches:
        target.path(space.name, space.scheme).unlink(missing_ok=True)


def _search(spaces: Sequence[Space], make: Make, target: Target, tell: Tell) -> Iterator[Found]:
    """Search one space after the other, and store what each gives before the next one begins."""
    path, origin = file_of(target.device), origin_of(target.device, target.use.model)
    for space in spaces:
        of_scheme, journal = target.use_of(space), target.journal(space.name, space.scheme)
        try:
            outcome = tune(space, make(space), journal, tell)
        except MemoryNeededError:
            raise
        except EagreError as error:  # others can be searched
            tell(f"{space.name}: left out: {error}")
            continue
        found = {
            "best": f"{space.name}: {words(outcome.best)}",
            "shape": list(target.shape),
            "tried": len(outcome.trials),
            "failed": sum(bool(trial.failed) for trial in outcome.trials),
            "date": datetime.now(UTC).date().isoformat(),
        }
        seconds = {"before": outcome.before, "after": outcome.after}
        entry = Entry(space.name, of_scheme, outcome.values, outcome.same_bits, seconds, found, origin=origin)
        store.add(path, entry)
        yield Found(outcome, of_scheme, target.shape)


def choose_scheme(
    kind: str, device: Device, precision: str, times: dict[str, float], cells: int, least_gain: float = 0.02
) -> Scheme:
    """Store which scheme took the least time for a run; the usual one unless another gains enough.

    Parameters
    ----------
    kind, device, precision
        As in `tune_benchmark`.
    times : dict of str to float, s
        Of a run, by scheme, the usual one first.
    cells : int
        Of its grid.
    least_gain : float
        Part of the time of the best by which the usual one has to be slower.
    """
    usual = next(iter(times))
    best = min(times, key=lambda name: times[name])
    chosen = best if times[usual] > (1.0 + least_gain) * times[best] else usual
    scheme = Scheme(use_of(device, kind, "", precision, cells), origin_of(device, kind), chosen, times)
    store.add(file_of(device), scheme)
    return scheme


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
        problem = "The search space does not exist."
        raise InputError(f"the space {sorted(unknown)[0]!r}", allowed=allowed, problem=problem)
