"""Parallel compilation of programs at a first start.

Numba compiles one program at a time, even in threads. Worker processes compile some programs of a run into the program
cache, from which this process loads them; this process compiles the others. Programs that a worker fails to compile are
compiled here. Only commands use workers (`side_by_side`): elsewhere ``sys.executable`` may be another program that
embeds Python.
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

MOST = 3  # maximum number of workers; a model has one or two large programs
HELPER = "eagre.backend.helper"


class Job(NamedTuple):
    """Program to compile: module and file, function, and argument types."""

    module: str
    path: str
    function: str
    types: tuple[Any, ...]

    @property
    def work(self) -> int:
        """Approximate compilation cost: length of the source code."""
        return os.path.getsize(self.path)


class Team:
    """Worker processes of a command, their unfinished jobs, and the jobs of this process."""

    def __init__(self) -> None:
        self.helpers: list[subprocess.Popen[bytes]] = []
        self.given: dict[str, subprocess.Popen[bytes]] = {}
        self.own: list[tuple[Any, tuple[Any, ...]]] = []

    def share(self, programs: dict[Job, Any], cores: int) -> None:
        """Distribute jobs, longest first, to the worker with the least work; `programs` are the Numba programs."""
        count = min(cores - 1, len(programs) - 1, MOST)
        if count < 1 or self.helpers:
            return
        shares: list[list[Job]] = [[] for _ in range(count + 1)]
        for job in sorted(programs, key=lambda job: -job.work):
            min(shares, key=lambda share: sum(one.work for one in share)).append(job)
        *theirs, own = shares  # the longest goes to a worker: this process has additional jobs
        with suppress(OSError):  # no more processes can be started
            for share in theirs:
                helper = started(share)
                self.helpers.append(helper)
                self.given.update((job.module, helper) for job in share)
        self.own = [(programs[job], job.types) for job in own]

    def wait(self, module: str) -> None:
        """Wait until the program of this name is compiled, if a worker has it."""
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
            else:  # the worker has ended
                self.given = {name: one for name, one in self.given.items() if one is not helper}

    def end(self) -> None:
        """Stop the workers."""
        for helper in self.helpers:
            with helper:  # waits, and closes the pipes
                helper.kill()


_team: Team | None = None


@contextmanager
def side_by_side() -> Iterator[None]:
    """Enable worker processes for a first start within the context; for commands."""
    global _team
    before, _team = _team, Team()
    try:
        yield
    finally:
        _team.end()
        _team = before


def prepare(calls: Iterable[tuple[Callable[..., Any], Sequence[Any]]], cores: int) -> None:
    """Distribute uncompiled programs, each with the arguments of a call, to `cores` processes."""
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
    """Return whether compiled code of a program is in memory or on disk."""
    folder = Path(program._cache.cache_path)
    return bool(program.overloads) or any(folder.glob(f"{program.__module__}.*.nbc"))


def wait(module: str) -> None:
    """Wait until no worker compiles this program."""
    if _team is not None:
        _team.wait(module)


def started(share: list[Job]) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", HELPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert helper.stdin is not None
    with suppress(OSError), helper.stdin:  # the worker may have ended
        pickle.dump(share, helper.stdin)
    return helper
