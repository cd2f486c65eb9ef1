"""Timings of a search: their journal, written immediately so that a search can be resumed, and their statistics."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from eagre.errors import InputError
from eagre.layouts.store import Origin, Use
from eagre.temporary import temporary_path
from eagre.tuning.space import identity

KINDS = ("cpu", "cuda")
SPREAD = 3.0  # standard deviations beyond which a timing is an outlier


@dataclass
class Trial:
    """Trial of a choice.

    Attributes
    ----------
    choice, values : dict
        Values of the axes, and the launch parameters for them.
    seconds : list of float
        Seconds per step of each run.
    beside : list of float
        Seconds per step with the shipped values before each of these runs; empty for the shipped values themselves.
    again, again_beside : list of float
        The same for a repeated timing.
    same_bits : bool
    failed : str
        Reason of a failure, or "".
    """

    choice: dict[str, Any]
    values: dict[str, Any]
    seconds: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    again_beside: list[float] = field(default_factory=list)
    same_bits: bool = True
    failed: str = ""


_KEYS = {one.name for one in fields(Trial)}
_ALLOWED = "a file of timings of eagre tune; without it all timings are repeated"


def _is_trial(content: Any) -> bool:
    """Return whether a line holds a valid `Trial`: equal numbers of runs, and some runs unless it failed."""
    if not isinstance(content, dict) or content.keys() != _KEYS:
        return False
    runs = [content[name] for name in ("seconds", "beside", "again", "again_beside")]
    if not all(isinstance(one, list) and all(isinstance(s, float) and s > 0.0 for s in one) for one in runs):
        return False
    seconds, reference, again, again_reference = map(len, runs)
    good = reference in (0, seconds) and again == again_reference and bool(seconds or content["failed"])
    return good and isinstance(content["choice"], dict) and isinstance(content["values"], dict)


class Journal:
    """Trials of one space in a file of JSON lines, the first of which is the key; without a path in memory only.

    A file with another key is ignored, as are the lines after a truncated line.

    Parameters
    ----------
    path : Path, optional
    space : str
        Name of the space.
    use : Use
    origin : Origin
    shape : tuple of int
        Shape (nz,) ny, nx of the timed model.
    case : str
        Hash of the timed case; "" for the benchmark.
    source : str
        Hash of the source of the set-up and of the timing, in addition to the source of the kernels.

    Attributes
    ----------
    trials : dict of str to Trial
        Trials by the identity of their launch parameters.
    """

    def __init__(
        self, path: Path | None, space: str, use: Use, origin: Origin, shape: tuple[int, ...] = (), case: str = "",
        source: str = "",
    ) -> None:  # fmt: skip
        self.path = path
        key = {"space": space, "shape": list(shape), "case": case, "source": source}
        self.head = {**key, "use": use._asdict(), "origin": origin._asdict()}
        self.trials: dict[str, Trial] = {}
        self._begun = False
        if path is not None and path.exists():
            self._read(path.read_text(encoding="utf-8", errors="replace"))

    def _read(self, text: str) -> None:
        lines = text.splitlines()
        records: list[Any] = []
        with suppress(ValueError, RecursionError):
            for line in lines:
                records.append(json.loads(line))
        if not records or records[0] != self.head:
            return
        for number, one in enumerate(records[1:], 2):
            if not _is_trial(one):
                raise InputError(
                    f"{self.path}: line {number} is not a timing", allowed=_ALLOWED, fix=f"rm {self.path}",
                    problem="The file of timings is not valid.",
                )  # fmt: skip
            self.trials[identity(one["values"])] = Trial(**one)
        self._begun = len(records) == len(lines) and text.endswith("\n")

    def find(self, values: Mapping[str, Any]) -> Trial | None:
        """Return the trial of launch parameters, if any."""
        return self.trials.get(identity(values))

    def add(self, trial: Trial) -> None:
        """Record a trial."""
        if self.path is not None:
            if not self._begun:
                self._begin(self.path)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")
        self.trials[identity(trial.values)] = trial

    def _begin(self, path: Path) -> None:
        """Write the key and the trials that were read, atomically."""
        lines = [self.head, *(asdict(one) for one in self.trials.values())]
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_path(path) as temporary:
            temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            os.replace(temporary, path)
        self._begun = True


def without_outliers(times: Sequence[float]) -> list[float]:
    """Return timings within three standard deviations of the mean of the others (Amundsen 2014, section 4.4).

    A value among ten cannot deviate more than 2.85 standard deviations from a mean that includes it, so each is
    compared with the others only. If the others are equal, deviations of up to 1e-4 are accepted.
    """
    retained = sorted(times)
    while len(retained) > 2:
        others, last = retained[:-1], retained[-1]
        allowed = SPREAD * stdev(others) + 1e-4 * fmean(others)
        if last - fmean(others) <= allowed:
            break
        retained = others
    return retained


def typical(times: Sequence[float], kind: str) -> float:
    """Return the seconds per step: mean without outliers on a GPU, minimum on a CPU, which other processes also use."""
    return min(times) if kind == "cpu" else fmean(without_outliers(times))


def ratios(seconds: Sequence[float], reference: Sequence[float]) -> list[float]:
    """Return the ratios of runs to the alternating runs."""
    return [one / other for one, other in zip(seconds, reference, strict=True)]


def relative(seconds: Sequence[float], reference: Sequence[float], kind: str) -> float:
    """Return the time of runs relative to alternating runs; 1 without alternating runs.

    Disturbances of both cancel. On a GPU the result is the mean of the middle half of the ratios: a disturbance that
    starts or ends between two runs changes one ratio, up or down. On a CPU it is the ratio of the minima.
    """
    if not reference:
        return 1.0
    if kind == "cpu":
        return min(seconds) / min(reference)
    ordered = sorted(ratios(seconds, reference))
    left_out = len(ordered) // 4
    return fmean(ordered[left_out : len(ordered) - left_out])


def lower_bound(seconds: Sequence[float], reference: Sequence[float]) -> float:
    """Return the lowest value of `relative` that repeated runs could give, as some runs may have been disturbed."""
    return min(relative(seconds, reference, kind) for kind in KINDS)


def surely(seconds: Sequence[float], reference: Sequence[float], kind: str) -> float:
    """Return `relative`; on a CPU, where a minimum of few runs may be chance, at least that of the middle half."""
    return relative(seconds, reference, kind) if kind == "cuda" else max(relative(seconds, reference, k) for k in KINDS)


def doubt(seconds: Sequence[float], reference: Sequence[float]) -> float:
    """Return the relative standard error of `relative` on a GPU, of a midmean (Tukey & McLaughlin 1963).

    Outliers only count through the runs that they remove; infinite for fewer than four runs.
    """
    ordered = sorted(ratios(seconds, reference))
    left_out = len(ordered) // 4
    if left_out < 1:
        return math.inf
    central = ordered[left_out : len(ordered) - left_out]
    pulled_in = [*left_out * central[:1], *central, *left_out * central[-1:]]
    return stdev(pulled_in) * math.sqrt(len(ordered)) / len(central) / fmean(central)
