"""The search of one space: variants are compiled side by side, verified, timed; the best ones once more, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from eagre.errors import EagreError, MemoryNeededError
from eagre.tuning.journal import Journal, Trial
from eagre.tuning.search import search
from eagre.tuning.space import Card, Choice, Space, words
from eagre.tuning.statistics import typical, uncertainty, without_outliers

RUNS = 5  # of a trial, each of several steps
LEAST_RUNS = 2  # of one that is hopeless
HOPELESS = 5.0  # standard deviations of a run
LEAST_FREEDOM = 16  # runs beyond the first of their trials, from which that deviation is known
FINALISTS = 3  # which are timed again, in turn with the untuned default
FINAL_RUNS = 12
LEAST_GAIN = {"cuda": 0.01, "cpu": 0.03}  # of the time; less is noise, and the shipped values stay


class Workload(Protocol):
    """What is timed: steps of a model whose kernels have other values of layouts."""

    card: Card
    precision: str

    @property
    def shipped(self) -> Mapping[str, Any]:
        """Values of layouts by key, before any is changed."""
        ...

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """Compile for these values, side by side; what fails does so again in `verify`."""
        ...

    def verify(self, values: Mapping[str, Any]) -> bool:
        """Whether results have the bits of the shipped values.

        Raises
        ------
        EagreError
            If they differ by more than rounding.
        """
        ...

    def clock(self, values: Mapping[str, Any]) -> Callable[[], float]:
        """A function that gives seconds a step, of a new run at each call; warmed up."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    space : Space
    best : dict
        The choice; {} where the shipped values stay.
    values : dict
        What of the table it changes.
    same_bits : bool
    before, after : float, s
        Of a step, with the shipped values and the best ones, timed in turn.
    trials : list of Trial
        All, with those that failed.
    pruned : int
        Choices that were not worth a trial.
    """

    space: Space
    best: dict[str, Any]
    values: dict[str, Any]
    same_bits: bool
    before: float
    after: float
    trials: list[Trial]
    pruned: int

    @property
    def gain(self) -> float:
        """By how much a step is faster: 0.1 for 1.1 times as fast."""
        return self.before / self.after - 1.0 if self.after > 0.0 else 0.0


def tune(
    space: Space, workload: Workload, journal: Journal, tell: Callable[[str], None] = lambda text: None
) -> Outcome:
    """Search a space.

    Parameters
    ----------
    space : Space
    workload : Workload
    journal : Journal
        Of this space, device, precision and size; what stands in it is not timed again.
    tell : callable
        Gets a line for each step of the search.

    Raises
    ------
    EagreError
        If not even the shipped values can be timed.
    """
    card, precision, shipped = workload.card, workload.precision, workload.shipped
    choices = space.choices(shipped, card, precision)

    def cost(choice: Choice) -> float:
        trial = _trial(space, workload, journal, choice)
        told = trial.failed or f"{1e6 * typical(trial.seconds, card.kind):.4g} us a step"
        tell(f"{space.name}: {words(choice)}: {told}")
        return math.inf if trial.failed else typical(trial.seconds, card.kind)

    if space.covering is not None:
        _compile(space, workload, journal, [one for one in choices if space.covering(one)], tell)

    def ahead(coming: Sequence[Choice]) -> None:
        if space.covering is None:
            _compile(space, workload, journal, coming, tell)

    ranked = search(choices, cost, ahead)
    shipped_trial = journal.find({})
    if shipped_trial is None or shipped_trial.failed:
        told = "" if shipped_trial is None else shipped_trial.failed
        raise EagreError(f"{space.name}: the shipped values cannot be timed: {told}")
    best, before, after = _final(space, workload, journal, _worth_a_final(space, workload, journal, ranked))
    values = space.values(best, shipped, precision)
    found = journal.find(values)
    pruned = space.count(card, precision) - len(choices)
    return Outcome(
        space, dict(best), values, found is None or found.same_bits, before, after, list(journal.trials.values()),
        pruned,
    )  # fmt: skip


def _compile(
    space: Space, workload: Workload, journal: Journal, choices: Sequence[Choice], tell: Callable[[str], None]
) -> None:
    """Compile what was not timed yet."""
    variants = [space.values(choice, workload.shipped, workload.precision) for choice in choices]
    new = [values for values in variants if journal.find(values) is None]
    if new:
        if workload.card.kind == "cuda":
            tell(f"{space.name}: {len(new)} variants to compile")
        workload.compile(new)


def _trial(space: Space, workload: Workload, journal: Journal, choice: Choice) -> Trial:
    """Verify and time a choice; what fails is noted."""
    values = space.values(choice, workload.shipped, workload.precision)
    known = journal.find(values)
    if known is not None:
        return known
    trial = Trial(dict(choice), values)
    try:
        trial.same_bits = workload.verify(values)
        trial.seconds = _timed(workload.clock(values), workload.card.kind, list(journal.trials.values()))
    except MemoryNeededError:  # so of all choices
        raise
    except Exception as error:  # a compiler or a launch may fail in any way: the variant is passed over, and told
        trial.failed = f"{type(error).__name__}: {str(error)[:200]}"
    journal.add(trial)
    return trial


def _timed(clock: Callable[[], float], kind: str, others: Sequence[Trial]) -> list[float]:
    """Runs of a choice: fewer where even its fastest one is far beyond the best choice so far.

    The deviation of a run is pooled over all trials. Of choices that are as fast as the best one, normal noise stops
    fewer than one in 1,000 (simulated: none to five in 100,000); something else that ran would have to meet every run.
    """
    good = [trial.seconds for trial in others if trial.seconds]
    seconds: list[float] = []
    best, noise = min((typical(one, kind) for one in good), default=math.inf), spread(good)
    while len(seconds) < RUNS:
        seconds.append(clock())
        if len(seconds) >= LEAST_RUNS and min(seconds) > (1.0 + HOPELESS * noise) * best:
            break
    return seconds


def spread(trials: Sequence[Sequence[float]]) -> float:
    """Standard deviation of a run, relative to the mean of its trial, of all trials; infinite where these are few."""
    kept = [without_outliers(one) for one in trials]
    freedom = sum(len(one) - 1 for one in kept)
    squares = sum(sum((run / fmean(one) - 1.0) ** 2 for run in one) for one in kept)
    return math.sqrt(squares / freedom) if freedom >= LEAST_FREEDOM else math.inf


def _worth_a_final(space: Space, workload: Workload, journal: Journal, ranked: Sequence[Choice]) -> list[Choice]:
    """The first choices that were faster in their trials than the shipped values: others gain nothing in turn."""
    kind = workload.card.kind

    def seconds(choice: Choice) -> float:
        trial = journal.find(space.values(choice, workload.shipped, workload.precision))
        return math.inf if trial is None or trial.failed else typical(trial.seconds, kind)

    return [one for one in ranked if one and seconds(one) < seconds({})][:FINALISTS]


def _final(
    space: Space, workload: Workload, journal: Journal, finalists: Sequence[Choice]
) -> tuple[Choice, float, float]:
    """The best of some choices, each timed in turn with the shipped values; the times of both."""
    kind, times = workload.card.kind, (math.nan, math.nan)
    best: Choice = {}
    for choice in finalists:
        values = space.values(choice, workload.shipped, workload.precision)
        trial = journal.find(values)
        if trial is None or trial.failed:
            continue
        clocks = workload.clock({}), workload.clock(values)
        runs = [tuple(clock() for clock in clocks) for _ in range(FINAL_RUNS)]
        before, after = ([run[n] for run in runs] for n in (0, 1))
        first, second = typical(before, kind), typical(after, kind)
        noise = 2.0 * math.hypot(uncertainty(before), uncertainty(after)) if kind == "cuda" else 0.0
        gain = first / second
        if times[0] != times[0]:
            times = (first, first)
        if gain - 1.0 > max(LEAST_GAIN[kind], noise) and gain > times[0] / times[1]:
            best, times = choice, (first, second)
    if times[0] != times[0]:
        shipped = journal.find({})
        assert shipped is not None
        times = (typical(shipped.seconds, kind),) * 2
    return best, times[0], times[1]
