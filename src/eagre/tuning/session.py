"""The search of one space: variants are compiled side by side, verified, timed in turn with the shipped values.

Others use the machine meanwhile, compilers of the search itself among them. So a choice is known by its time relative
to that of the shipped values beside it, and what may still be the best is timed again (`_Search.final`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from eagre.errors import EagreError, MemoryNeededError
from eagre.tuning.journal import Journal, Trial
from eagre.tuning.search import LEAST_STEP, search
from eagre.tuning.space import Card, Choice, Space, identity, words
from eagre.tuning.statistics import doubt, least, ratios, relative, surely, typical

RUNS = 5  # of a trial, each of several steps, and as many of the shipped values
LEAST_RUNS = 2  # of one that is hopeless
HOPELESS = 5.0  # standard deviations of a run
LEAST_FREEDOM = 16  # runs beyond the first of their trials, from which that deviation is known
FINAL_RUNS = 12  # of what is timed again
MOST_FINAL_RUNS = 48  # where these are not enough to know a gain to half of the least one
LEAST_GAIN = {"cuda": 0.01, "cpu": 0.03}  # of the time; less is noise, and the shipped values stay


Clock = Callable[[], float]


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

    def clock(self, values: Mapping[str, Any]) -> Clock:
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
        Of a step, with the shipped values and the best ones, timed in turn; the same where the shipped ones stay.
    trials : list of Trial
        All, with those that failed.
    pruned : int
        Choices that were not worth a trial.
    apart : float
        By how much the best choice takes longer than another one that was timed again: 0.01 for 1 %.
    """

    space: Space
    best: dict[str, Any]
    values: dict[str, Any]
    same_bits: bool
    before: float
    after: float
    trials: list[Trial]
    pruned: int
    apart: float = 0.0

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
    best = searched.final(ranked)
    before, part, apart = searched.summary(best)
    trials, pruned = list(journal.trials.values()), space.count(workload.card, workload.precision) - len(choices)
    same_bits = searched.trial(best).same_bits
    return Outcome(space, dict(best), searched.values(best), same_bits, before, part * before, trials, pruned, apart)


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
        """Time of a choice over that of the shipped values; it is verified and timed if it was not before."""
        trial, part = self.trial(choice), self.relative(choice)
        took = "" if trial.failed else f"{1e6 * typical(trial.seconds, self.kind):.4g} us per step"
        if trial.beside and took:
            took += f", {part:.3f} of the time with the shipped values"
        self.tell(f"{self.space.name}: {words(choice)}: {trial.failed or took}")
        return part

    def relative(self, choice: Choice) -> float:
        """Time of a choice that was tried over that of the shipped values; infinite where it failed."""
        trial = self.trial(choice)
        return math.inf if trial.failed else relative(trial.seconds, trial.beside, self.kind)

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
        others = list(self.journal.trials.values())

        def measure() -> None:
            trial.same_bits = self.workload.verify(values)
            trial.seconds, trial.beside = _timed(self._clocks(values), self.kind, others)

        self._note(trial, measure)
        return trial

    def _clocks(self, values: Mapping[str, Any]) -> list[Clock]:
        """Of some values, and of the shipped ones beside them, if those are others."""
        return [self.workload.clock(one) for one in ([values, {}] if values else [{}])]

    def _note(self, trial: Trial, measure: Callable[[], None]) -> None:
        """Keep a trial with what is measured, or why that failed."""
        try:
            measure()
        except MemoryNeededError:  # so of all choices
            raise
        except Exception as error:  # a compiler or a launch may fail in any way: the variant is passed over, and told
            trial.failed = _short(error)
        if trial.failed and not trial.values:
            raise EagreError(f"The shipped values cannot be timed: {trial.failed}.")
        self.journal.add(trial)
        if trial.failed:
            self._check_shipped(trial.choice)

    def _check_shipped(self, failed: Choice) -> None:
        """After a choice failed, the shipped values still run."""
        try:
            self.workload.clock({})()
        except Exception as error:
            told = f"The shipped values fail, too, after a failure of {words(failed)}: {_short(error)}."
            raise EagreError(told) from error

    def final(self, tried: Sequence[Choice]) -> Choice:
        """The best of the choices that were tried: what may be it is timed again, in more runs.

        Others take their turn as long as the least time that their trial leaves possible (`least`) is below that of the
        best so far: no choice is passed over for what disturbed it, and of choices that are alike few are timed again.
        """
        best: Choice = {}
        bar = 1.0 / (1.0 + LEAST_GAIN[self.kind])
        trials = {identity(one): self.trial(one) for one in tried}
        open_ = [one for one in trials.values() if one.values and not one.failed]
        for trial in sorted(open_, key=lambda one: least(one.seconds, one.beside)):
            if least(trial.seconds, trial.beside) > bar:
                break
            found = self._again(trial)
            if found < bar and 1.0 / found > 1.0 + self._noise(trial):
                best, bar = trial.choice, (1.0 - LEAST_STEP) * found
        return best

    def _noise(self, trial: Trial) -> float:
        """By how much a choice has to be faster, that this is no chance: two standard errors of its gain."""
        return 2.0 * doubt(trial.again, trial.again_beside) if self.kind == "cuda" else 0.0

    def _again(self, trial: Trial) -> float:
        """Time of a choice over that of the shipped values, timed once more unless that was; infinite if it fails."""

        def measure() -> None:
            clock, beside = self._clocks(trial.values)
            trial.again, trial.again_beside = [], []
            while len(trial.again) < MOST_FINAL_RUNS:
                trial.again_beside.append(beside())
                trial.again.append(clock())
                if len(trial.again) >= FINAL_RUNS and self._noise(trial) <= 0.5 * LEAST_GAIN[self.kind]:
                    break

        if not trial.again:
            self._note(trial, measure)
        part = math.inf if trial.failed else surely(trial.again, trial.again_beside, self.kind)
        told = trial.failed or f"{part:.3f} of the time with the shipped values"
        self.tell(f"{self.space.name}: repeated {words(trial.choice)}: {told}")
        return part

    def summary(self, best: Choice) -> tuple[float, float, float]:
        """Seconds of a step as shipped, the part of it that the best choice takes, and how far that is from the best.

        The seconds are those of the quietest runs; the rest is of what was timed again only.
        """
        trials = [one for one in self.journal.trials.values() if not one.failed]
        again = {identity(one.values): surely(one.again, one.again_beside, self.kind) for one in trials if one.again}
        own = self.trial(best)
        part = again.get(identity(own.values), 1.0)
        shipped = [own.again_beside] if own.again else [one.beside or one.seconds for one in trials]
        most = max(map(len, shipped))
        before = min(typical(one, self.kind) for one in shipped if len(one) == most)
        return before, part, part / min([1.0, *again.values()]) - 1.0


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _timed(clocks: Sequence[Clock], kind: str, others: Sequence[Trial]) -> tuple[list[float], list[float]]:
    """Runs of a choice and those of the shipped values in turn: fewer where all are far beyond the best choice so far.

    The deviation of a run is pooled over all trials. Of choices that are as fast as the best one, normal noise stops
    fewer than one in 1,000 (simulated: none to five in 100,000); something else that ran would have to meet every run
    and none of those beside them.
    """
    good = [trial for trial in others if trial.seconds]
    seconds: list[float] = []
    shipped: list[float] = []
    best = min((relative(one.seconds, one.beside, kind) for one in good), default=math.inf)
    hopeless = (1.0 + HOPELESS * spread([ratios(one.seconds, one.beside) for one in good if one.beside])) * best
    while len(seconds) < RUNS:
        shipped += [beside() for beside in clocks[1:]]
        seconds.append(clocks[0]())
        if shipped and len(seconds) >= LEAST_RUNS and min(ratios(seconds, shipped)) > hopeless:
            break
    return seconds, shipped


def spread(trials: Sequence[Sequence[float]]) -> float:
    """Standard deviation of a value, relative to the mean of its trial, of all trials; infinite where these are few.

    With what disturbed them: where that is much, little is hopeless.
    """
    freedom = sum(len(one) - 1 for one in trials)
    squares = sum(sum((run / fmean(one) - 1.0) ** 2 for run in one) for one in trials)
    return math.sqrt(squares / freedom) if freedom >= LEAST_FREEDOM else math.inf
