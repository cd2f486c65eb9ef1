"""Programs compiled side by side on a first start.

Numba compiles one program at a time, threads or not. Helpers are processes that compile some programs of a run into the
cache of programs, from which this process takes them when it needs them; meanwhile it compiles the others. What a
helper fails to compile is compiled here. Only commands have helpers (`side_by_side`): elsewhere ``sys.executable`` may
be any program that Python is a part of.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

MOST = 3  # helpers: a model has one or two programs that take long
HELPER = "eagre.backend.helper"


class Job(NamedTuple):
    """A program to compile: its module and file, its function and the types of the arguments."""

    module: str
    path: str
    function: str
    types: tuple[Any, ...]

    @property
    def work(self) -> int:
        """What it takes, about: the length of its text."""
        return os.path.getsize(self.path)


class Team:
    """The helpers of a command, what they were given and is not known to be done, and what is left for this process."""

    def __init__(self) -> None:
        self.helpers: list[subprocess.Popen[bytes]] = []
        self.given: dict[str, subprocess.Popen[bytes]] = {}
        self.own: list[tuple[Any, tuple[Any, ...]]] = []

    def share(self, programs: dict[Job, Any], cores: int) -> None:
        """Give the jobs out, the longest first and each to whom has the least; `programs` are Numba's of the jobs."""
        count = min(cores - 1, len(programs) - 1, MOST)
        if count < 1 or self.helpers:
            return
        shares: list[list[Job]] = [[] for _ in range(count + 1)]
        for job in sorted(programs, key=lambda job: -job.work):
            min(shares, key=lambda share: sum(one.work for one in share)).append(job)
        *theirs, own = shares  # the longest is for a helper: this process has others as well, not known here
        with suppress(OSError):  # no more processes here
            for share in theirs:
                helper = started(share)
                self.helpers.append(helper)
                self.given.update((job.module, helper) for job in share)
        self.own = [(programs[job], job.types) for job in own]

    def wait(self, module: str) -> None:
        """Until the program of this name is compiled, if a helper has it."""
        if module not in self.given:
            return
        while self.own:
            program, types = self.own.pop(0)
            program.compile(types)
        helper = self.given[module]
        assert helper.stdout is not None
        while module in self.given:
            if line := helper.stdout.readline():
                self.given.pop(line.decode().strip(), None)
            else:  # it has ended
                self.given = {name: one for name, one in self.given.items() if one is not helper}

    def end(self) -> None:
        """Send the helpers away."""
        for helper in self.helpers:
            with helper:  # waits, and closes what leads to it
                helper.kill()


_team: Team | None = None


@contextmanager
def side_by_side() -> Iterator[None]:
    """Inside, a first start has helpers; for commands."""
    global _team
    before, _team = _team, Team()
    try:
        yield
    finally:
        _team.end()
        _team = before


def prepare(calls: Iterable[tuple[Callable[..., Any], Sequence[Any]]], cores: int) -> None:
    """Share out what is not compiled yet of these programs, each with the arguments of a call, to so many cores."""
    if _team is None:
        return
    from numba import typeof

    programs: dict[Job, Any] = {}
    for program, arguments in calls:
        if hasattr(program, "overloads") and not is_kept(program):
            module, name = sys.modules[program.__module__], program.__name__
            job = Job(module.__name__, str(module.__file__), name, tuple(map(typeof, arguments)))
            programs.setdefault(job, program)
    _team.share(programs, cores)


def is_kept(program: Any) -> bool:
    """Whether code of a program is in the memory or on the disk."""
    folder = Path(program._cache.cache_path)
    return bool(program.overloads) or any(folder.glob(f"{program.__module__}.*.nbc"))


def wait(module: str) -> None:
    """Until no helper is at this program."""
    if _team is not None:
        _team.wait(module)


def started(share: list[Job]) -> subprocess.Popen[bytes]:
    """A helper at work."""
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", HELPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert helper.stdin is not None
    with suppress(OSError), helper.stdin:  # it may have ended
        pickle.dump(share, helper.stdin)
    return helper
