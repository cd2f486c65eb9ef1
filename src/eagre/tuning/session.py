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
    searched = _Search(space, workload, journal, tell)
    choices = space.choices(workload.shipped, workload.card, workload.precision)
    if space.covering is not None:
        searched.compile([one for one in choices if space.covering(one)])
    ranked = search(choices, searched.cost, searched.compile if space.covering is None else lambda coming: None)
    finalists = [one for one in ranked if searched.seconds(one) < searched.seconds({})][:FINALISTS]
    best, before, after = searched.final(finalists)
    trials, pruned = list(journal.trials.values()), space.count(workload.card, workload.precision) - len(choices)
    same_bits = searched.trial(best).same_bits
    return Outcome(space, dict(best), searched.values(best), same_bits, before, after, trials, pruned)


@dataclass(frozen=True)
class _Search:
    """A search of a space that goes on: what is known of choices, and how more gets known. Arguments as of `tune`."""

    space: Space
    workload: Workload
    journal: Journal
    tell: Callable[[str], None]

    @property
    def kind(self) -> str:
        """Kind of the device."""
        return self.workload.card.kind

    def values(self, choice: Choice) -> dict[str, Any]:
        """What a choice changes of the table of layouts."""
        return self.space.values(choice, self.workload.shipped, self.workload.precision)

    def compile(self, choices: Sequence[Choice]) -> None:
        """Compile what was not timed yet."""
        new = [values for values in map(self.values, choices) if self.journal.find(values) is None]
        if new:
            if self.kind == "cuda":
                self.tell(f"{self.space.name}: {len(new)} variants to compile")
            self.workload.compile(new)

    def cost(self, choice: Choice) -> float:
        """Seconds of a choice, which is verified and timed if it was not before; infinite where it failed."""
        trial, seconds = self.trial(choice), self.seconds(choice)
        self.tell(f"{self.space.name}: {words(choice)}: {trial.failed or f'{1e6 * seconds:.4g} us a step'}")
        return seconds

    def seconds(self, choice: Choice) -> float:
        """Seconds of a choice that was tried; infinite where it failed."""
        trial = self.trial(choice)
        return math.inf if trial.failed else typical(trial.seconds, self.kind)

    def trial(self, choice: Choice) -> Trial:
        """The trial of a choice, made if it was not before; what fails is noted, but for the shipped values.

        Raises
        ------
        EagreError
            If the shipped values fail, at first or after another choice did: a launch that fails may break a process
            for all that follow, which are not to be noted as failed. The same command goes on behind that choice.
        """
        values = self.values(choice)
        known = self.journal.find(values)
        if known is not None:
            return known
        trial = Trial(dict(choice), values)
        try:
            trial.same_bits = self.workload.verify(values)
            trial.seconds = _timed(self.workload.clock(values), self.kind, list(self.journal.trials.values()))
        except MemoryNeededError:  # so of all choices
            raise
        except Exception as error:  # a compiler or a launch may fail in any way: the variant is passed over, and told
            trial.failed = _short(error)
        if trial.failed and not values:
            raise EagreError(f"the shipped values cannot be timed: {trial.failed}")
        self.journal.add(trial)
        if trial.failed:
            self._check_shipped(choice)
        return trial

    def _check_shipped(self, failed: Choice) -> None:
        """After a choice failed, the shipped values still run."""
        try:
            self.workload.clock({})()
        except Exception as error:
            told = f"after {words(failed)} failed, not even the shipped values run: {_short(error)}"
            raise EagreError(told) from error

    def final(self, finalists: Sequence[Choice]) -> tuple[Choice, float, float]:
        """The best of some choices, each timed in turn with the shipped values; seconds of these and of the best.

        Where the shipped values stay, both are the time of their trial.
        """
        shipped = self.seconds({})
        best: Choice = {}
        times = (shipped, shipped)
        for choice in finalists:
            clocks = self.workload.clock({}), self.workload.clock(self.values(choice))
            runs = [tuple(clock() for clock in clocks) for _ in range(FINAL_RUNS)]
            before, after = ([run[n] for run in runs] for n in (0, 1))
            first, second = typical(before, self.kind), typical(after, self.kind)
            noise = 2.0 * math.hypot(uncertainty(before), uncertainty(after)) if self.kind == "cuda" else 0.0
            if first / second > max(1.0 + LEAST_GAIN[self.kind], 1.0 + noise, times[0] / times[1]):
                best, times = choice, (first, second)
        return best, times[0], times[1]


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


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
