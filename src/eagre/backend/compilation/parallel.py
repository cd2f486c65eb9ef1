"""Parallel compilation of programs at a first start.

Numba compiles one program at a time, even in threads. Worker processes compile some programs of a run into the program
cache, from which this process loads them; this process compiles the others. Programs that a worker fails to compile are
compiled here. Only commands use workers (`compile_workers`): elsewhere ``sys.executable`` may be another program that
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

from eagre.backend.compilation.code_cache import users_folder

MAX_WORKERS = 7  # maximum number of workers; a model has few large programs
WORKER_MODULE = "eagre.backend.compilation.worker"


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


class CompileWorkers:
    """Worker processes of a command, their unfinished jobs, and the jobs of this process."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.pending: dict[str, subprocess.Popen[bytes]] = {}
        self.local_jobs: list[tuple[Any, tuple[Any, ...]]] = []

    def start(self, count: int) -> None:
        """Start processes until there are `count`, at most `MAX_WORKERS`; stop if the system starts no more."""
        with suppress(OSError):
            while len(self.processes) < min(count, MAX_WORKERS):
                self.processes.append(started())

    def distribute(self, dispatchers: dict[Job, Any], cores: int) -> None:
        """Distribute jobs, longest first, to the process with the least work; `dispatchers` are the Numba programs."""
        jobs = sorted((job for job in dispatchers if job.module not in self.pending), key=lambda job: -job.work)
        self.start(min(cores, len(jobs)) - 1)
        processes = self.processes[: max(cores - 1, 0)]
        if len(jobs) < 2 or not processes:
            return
        batches: list[list[Job]] = [[] for _ in range(len(processes) + 1)]
        for job in jobs:
            min(batches, key=lambda batch: sum(one.work for one in batch)).append(job)
        *remote, local = batches  # the longest goes to a worker: this process has additional jobs
        for process, batch in zip(processes, remote, strict=True):
            if batch and sent(process, batch):
                self.pending.update((job.module, process) for job in batch)
        self.local_jobs += [(dispatchers[job], job.types) for job in local]

    def wait(self, module: str) -> None:
        """Wait until the program of this name is compiled, if a worker has it."""
        if module not in self.pending:
            return
        while self.local_jobs:
            program, types = self.local_jobs.pop(0)
            program.compile(types)
        process = self.pending[module]
        assert process.stdout is not None
        while module in self.pending:
            if line := process.stdout.readline():
                self.pending.pop(line.decode().strip(), None)
            else:  # the worker has ended
                self.pending = {name: one for name, one in self.pending.items() if one is not process}

    def end(self) -> None:
        """Stop the workers."""
        for process in self.processes:
            process.kill()
            with suppress(OSError), process:  # waits, and closes the pipes, which may hold unsent jobs
                pass


_workers: CompileWorkers | None = None


@contextmanager
def compile_workers(cores: int = 1) -> Iterator[None]:
    """Enable worker processes for a first start within the context; for commands.

    cores : number of processes, this one included, to start at once if the program cache is empty: their imports take
        as long as the construction of a model
    """
    global _workers
    previous, _workers = _workers, CompileWorkers()
    if not any(users_folder().glob("__pycache__/*.nbc")):
        _workers.start(cores - 1)
    try:
        yield
    finally:
        _workers.end()
        _workers = previous


def prepare(
    calls: Iterable[tuple[Callable[..., Any], Sequence[Any]]], cores: int, type_of: Callable[[Any, Any], Any]
) -> None:
    """Distribute uncompiled programs, each with the arguments of a call, to `cores` processes.

    type_of : function of a program and an argument that returns the type of the argument for the compiler
    """
    if _workers is None:
        return
    dispatchers: dict[Job, Any] = {}
    uncompiled: dict[int, bool] = {}  # by program: many launches share one, and each check searches the cache folder
    for program, arguments in calls:
        if id(program) not in uncompiled:
            uncompiled[id(program)] = hasattr(program, "overloads") and not is_kept(program)
        if uncompiled[id(program)]:
            module, name = sys.modules[program.__module__], program.__name__
            job = Job(module.__name__, str(module.__file__), name, tuple(type_of(program, one) for one in arguments))
            dispatchers.setdefault(job, program)
    _workers.distribute(dispatchers, cores)


def is_kept(program: Any) -> bool:
    """Return whether compiled code of a program is in memory or on disk."""
    folder = Path(program._cache.cache_path)
    return bool(program.overloads) or any(folder.glob(f"{program.__module__}.*.nbc"))


def wait(module: str) -> None:
    """Wait until no worker compiles this program."""
    if _workers is not None:
        _workers.wait(module)


def started() -> subprocess.Popen[bytes]:
    """Start a worker process."""
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", WORKER_MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    )


def sent(process: subprocess.Popen[bytes], jobs: list[Job]) -> bool:
    """Send jobs to a worker process; return False if it has ended."""
    assert process.stdin is not None
    try:
        pickle.dump(jobs, process.stdin)
        process.stdin.flush()
    except OSError:
        return False
    return True
