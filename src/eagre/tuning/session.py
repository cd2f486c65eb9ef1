"""Search of one space: variants are compiled in parallel, verified, and timed alternately with the shipped values.

Other processes use the machine at the same time, including the compilers of the search. Each choice is therefore rated
by its time relative to that of the shipped values, and the best candidates are timed again (`_Search.final`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

from eagre.errors import EagreError, MemoryNeededError
from eagre.tuning.space import Choice, DeviceInfo, Space, describe, identity
from eagre.tuning.timings import Journal, Trial, doubt, lower_bound, ratios, relative, surely, typical

RUNS = 5  # runs per trial, each of several steps, alternating with runs of the shipped values
MIN_RUNS = 2  # runs of a clearly slower choice
HOPELESS = 5.0  # standard deviations beyond which a choice is clearly slower
MIN_FREEDOM = 16  # degrees of freedom needed for an estimate of this deviation
FINAL_RUNS = 12  # runs of candidates that are timed again
MAX_FINAL_RUNS = 48  # maximum, if the uncertainty of the gain exceeds half of the minimum gain
MIN_GAIN = {"cuda": 0.01, "cpu": 0.03}  # minimum relative gain; below it the shipped values remain


Clock = Callable[[], float]


class Workload(Protocol):
    """Interface of a workload: steps of a model with given launch parameters."""

    info: DeviceInfo
    precision: str

    @property
    def shipped(self) -> Mapping[str, Any]:
        """Shipped launch parameters by key."""
        ...

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """Compile variants in parallel; failures are reported by `verify`."""
        ...

    def verify(self, values: Mapping[str, Any]) -> bool:
        """Return whether the results are bitwise identical to those of the shipped values.

        Raises
        ------
        EagreError
            If they differ by more than rounding.
        """
        ...

    def clock(self, values: Mapping[str, Any]) -> Clock:
        """Return a function that makes a new run and returns its seconds per step, after a warm-up."""
        ...


@dataclass(frozen=True)
class Outcome:
    """Result of a search.

    Attributes
    ----------
    space : Space
    best : dict
        Best choice; {} if the shipped values remain.
    values : dict
        Changed launch parameters, by key.
    same_bits : bool
    shipped_seconds, tuned_seconds : float
        Time per step with the shipped and with the best values, timed alternately; equal if the shipped values remain.
    trials : list of Trial
        All trials, including failures.
    pruned : int
        Number of choices excluded without a trial.
    apart : float
        Relative excess of the time of the best choice over another choice that was timed again: 0.01 for 1 %.
    """

    space: Space
    best: dict[str, Any]
    values: dict[str, Any]
    same_bits: bool
    shipped_seconds: float
    tuned_seconds: float
    trials: list[Trial]
    pruned: int
    apart: float = 0.0

    @property
    def gain(self) -> float:
        """Relative gain of speed: 0.1 for 1.1 times as fast."""
        return self.shipped_seconds / self.tuned_seconds - 1.0 if self.tuned_seconds > 0.0 else 0.0


def tune(space: Space, workload: Workload, journal: Journal, log: Callable[[str], None] = lambda text: None) -> Outcome:
    """Search a space.

    Parameters
    ----------
    space : Space
    workload : Workload
    journal : Journal
        Journal of this space, device, precision and size; recorded timings are not repeated.
    log : callable
        Called with a line of text for each step of the search.

    Raises
    ------
    EagreError
        If the shipped values cannot be timed.
    """
    searched = _Search(space, workload, journal, log)
    choices = space.choices(workload.shipped, workload.info, workload.precision)
    if space.covering is not None:
        searched.compile([one for one in choices if space.covering(one)])
    ranked = search(choices, searched.cost, searched.compile if space.covering is None else lambda coming: None)
    best = searched.final(ranked)
    shipped_seconds, ratio, apart = searched.summary(best)
    trials, pruned = list(journal.trials.values()), space.count(workload.info, workload.precision) - len(choices)
    same_bits = searched.trial(best).same_bits
    values, tuned_seconds = searched.values(best), ratio * shipped_seconds
    return Outcome(space, dict(best), values, same_bits, shipped_seconds, tuned_seconds, trials, pruned, apart)


@dataclass(frozen=True)
class _Search:
    """State of a search. Arguments as in `tune`."""

    space: Space
    workload: Workload
    journal: Journal
    log: Callable[[str], None]

    @property
    def kind(self) -> str:
        """Kind of the device."""
        return self.workload.info.kind

    def values(self, choice: Choice) -> dict[str, Any]:
        """Return the launch parameters that a choice changes."""
        return self.space.values(choice, self.workload.shipped, self.workload.precision)

    def compile(self, choices: Sequence[Choice]) -> None:
        """Compile choices that have not been timed."""
        new = [values for values in map(self.values, choices) if self.journal.find(values) is None]
        if new:
            if self.kind == "cuda":
                self.log(f"{self.space.name}: {len(new)} variants to compile")
            self.workload.compile(new)

    def cost(self, choice: Choice) -> float:
        """Return the time of a choice relative to the shipped values; verify and time it if necessary."""
        trial, ratio = self.trial(choice), self.relative(choice)
        took = "" if trial.failed else f"{1e6 * typical(trial.seconds, self.kind):.4g} us per step"
        if trial.beside and took:
            took += f", {ratio:.3f} of the time with the shipped values"
        self.log(f"{self.space.name}: {describe(choice)}: {trial.failed or took}")
        return ratio

    def relative(self, choice: Choice) -> float:
        """Return the time of a tried choice relative to the shipped values; infinite for a failure."""
        trial = self.trial(choice)
        return math.inf if trial.failed else relative(trial.seconds, trial.beside, self.kind)

    def trial(self, choice: Choice) -> Trial:
        """Return the trial of a choice, made if necessary; failures are recorded, except for the shipped values.

        Raises
        ------
        EagreError
            If the shipped values fail, initially or after a failed choice: a failed launch may invalidate the process,
            so later failures must not be recorded. The same command then continues after the failed choice.
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
        """Return the timers of given values, and of the shipped values if they differ."""
        return [self.workload.clock(one) for one in ([values, {}] if values else [{}])]

    def _note(self, trial: Trial, measure: Callable[[], None]) -> None:
        """Record a trial with its measurements, or the reason of its failure."""
        try:
            measure()
        except MemoryNeededError:  # applies to all choices
            raise
        except Exception as error:  # any failure of a compiler or launch: the variant is skipped and reported
            trial.failed = _short(error)
        if trial.failed and not trial.values:
            raise EagreError(f"The shipped values cannot be timed: {trial.failed}.")
        self.journal.add(trial)
        if trial.failed:
            self._check_shipped(trial.choice)

    def _check_shipped(self, failed: Choice) -> None:
        """Check that the shipped values still run after a failed choice."""
        try:
            self.workload.clock({})()
        except Exception as error:
            message = f"The shipped values fail, too, after a failure of {describe(failed)}: {_short(error)}."
            raise EagreError(message) from error

    def final(self, tried: Sequence[Choice]) -> Choice:
        """Return the best of the tried choices; candidates are timed again with more runs.

        A choice is a candidate while its lowest possible time (`lower_bound`) is below the best time so far. No choice
        is excluded because of a disturbance, and few of several similar choices are timed again.
        """
        best: Choice = {}
        bar = 1.0 / (1.0 + MIN_GAIN[self.kind])
        trials = {identity(one): self.trial(one) for one in tried}
        open_ = [one for one in trials.values() if one.values and not one.failed]
        for trial in sorted(open_, key=lambda one: lower_bound(one.seconds, one.beside)):
            if lower_bound(trial.seconds, trial.beside) > bar:
                break
            ratio = self._again(trial)
            if ratio < bar and 1.0 / ratio > 1.0 + self._noise(trial):
                best, bar = trial.choice, (1.0 - MIN_STEP_GAIN) * ratio
        return best

    def _noise(self, trial: Trial) -> float:
        """Return the gain required for significance: two standard errors of the gain."""
        return 2.0 * doubt(trial.again, trial.again_beside) if self.kind == "cuda" else 0.0

    def _again(self, trial: Trial) -> float:
        """Return the relative time of a choice, timed again if necessary; infinite for a failure."""

        def measure() -> None:
            clock, shipped_clock = self._clocks(trial.values)
            trial.again, trial.again_beside = [], []
            while len(trial.again) < MAX_FINAL_RUNS:
                trial.again_beside.append(shipped_clock())
                trial.again.append(clock())
                if len(trial.again) >= FINAL_RUNS and self._noise(trial) <= 0.5 * MIN_GAIN[self.kind]:
                    break

        if not trial.again:
            self._note(trial, measure)
        ratio = math.inf if trial.failed else surely(trial.again, trial.again_beside, self.kind)
        note = trial.failed or f"{ratio:.3f} of the time with the shipped values"
        self.log(f"{self.space.name}: repeated {describe(trial.choice)}: {note}")
        return ratio

    def summary(self, best: Choice) -> tuple[float, float, float]:
        """Return the shipped seconds per step, the relative time of the best choice, and its distance from the best.

        The seconds are from the least disturbed runs; the other values are from repeated timings only.
        """
        trials = [one for one in self.journal.trials.values() if not one.failed]
        again = {identity(one.values): surely(one.again, one.again_beside, self.kind) for one in trials if one.again}
        best_trial = self.trial(best)
        ratio = again.get(identity(best_trial.values), 1.0)
        shipped = [best_trial.again_beside] if best_trial.again else [one.beside or one.seconds for one in trials]
        max_runs = max(map(len, shipped))
        seconds = min(typical(one, self.kind) for one in shipped if len(one) == max_runs)
        return seconds, ratio, ratio / min([1.0, *again.values()]) - 1.0


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _timed(clocks: Sequence[Clock], kind: str, others: Sequence[Trial]) -> tuple[list[float], list[float]]:
    """Time a choice alternately with the shipped values; stop early if it is clearly slower than the best choice.

    The standard deviation of a run is pooled over all trials. For choices as fast as the best one, normal noise stops
    fewer than 1 in 1,000 (simulated: 0 to 5 in 100,000). A disturbance has this effect only if it hits every run of the
    choice and no run of the shipped values.
    """
    good = [trial for trial in others if trial.seconds]
    seconds: list[float] = []
    shipped: list[float] = []
    best = min((relative(one.seconds, one.beside, kind) for one in good), default=math.inf)
    hopeless = (1.0 + HOPELESS * spread([ratios(one.seconds, one.beside) for one in good if one.beside])) * best
    while len(seconds) < RUNS:
        shipped += [shipped_clock() for shipped_clock in clocks[1:]]
        seconds.append(clocks[0]())
        if shipped and len(seconds) >= MIN_RUNS and min(ratios(seconds, shipped)) > hopeless:
            break
    return seconds, shipped


def spread(trials: Sequence[Sequence[float]]) -> float:
    """Return the relative standard deviation of a run, pooled over all trials; infinite for few trials.

    Disturbances are included: with strong disturbances few choices count as clearly slower.
    """
    freedom = sum(len(one) - 1 for one in trials)
    squares = sum(sum((run / fmean(one) - 1.0) ** 2 for run in one) for one in trials)
    return math.sqrt(squares / freedom) if freedom >= MIN_FREEDOM else math.inf


SMALL_SPACE = 48  # maximum size of spaces that are searched exhaustively
MIN_STEP_GAIN = 0.003  # minimum relative gain of a change along an axis; smaller gains are noise
Cost = Callable[[Choice], float]
CompileNext = Callable[[Sequence[Choice]], None]


def search(choices: Sequence[Choice], cost: Cost, compile_next: CompileNext = lambda choices: None) -> list[Choice]:
    """Return the tried choices, the best first.

    Parameters
    ----------
    choices : sequence
        All allowed choices; a descent starts at the first.
    cost : callable
        Returns the seconds of a choice, infinite for a failure; called once per choice.
    compile_next : callable
        Called with the choices that are tried next.
    """
    costs: dict[str, float] = {}

    def known(choice: Choice) -> float:
        if identity(choice) not in costs:
            costs[identity(choice)] = cost(choice)
        return costs[identity(choice)]

    if len(choices) <= SMALL_SPACE:
        compile_next(choices)
        for choice in choices:
            known(choice)
    else:
        descend(choices[0], choices, known, compile_next)
    tried = [choice for choice in choices if identity(choice) in costs]
    return sorted(tried, key=known)


def descend(
    start: Choice, choices: Sequence[Choice], cost: Cost, compile_next: CompileNext = lambda choices: None
) -> Choice:
    """Return the best choice found by changing one axis at a time, in order, until no change helps."""
    best, axes = start, tuple(max(choices, key=len))
    while True:
        previous = best
        for axis in axes:
            others = _without(best, axis)
            variants = [choice for choice in choices if _without(choice, axis) == others]
            compile_next(variants)
            candidate = min((best, *variants), key=cost)
            best = candidate if cost(candidate) < (1.0 - MIN_STEP_GAIN) * cost(best) else best
        if best == previous:
            return best


def _without(choice: Choice, axis: str) -> dict[str, object]:
    return {name: value for name, value in choice.items() if name != axis}
