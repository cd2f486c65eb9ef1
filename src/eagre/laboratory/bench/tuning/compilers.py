"""Worker processes that compile kernel variants in parallel, started once per search because a start takes seconds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.contract import Model
from eagre.laboratory.bench.benchmark import subject_of
from eagre.tuning.space import identity

WORKERS = 16
NICE = 5  # niceness of the workers: a search takes timings during compilation
PROCESS_MEMORY = 2**30  # device memory for each worker process, bytes
KEPT_LAYOUTS = ("shallow-water-adi",)  # models whose state depends on launch parameters
REGISTERS = ".registers"  # part of the keys of register limits, which affect only the assembler


class Job(NamedTuple):
    """Model whose programs are compiled."""

    model: str
    variant: str
    device: str
    precision: str
    size: int


Task = tuple[Job, Sequence[Mapping[str, Any]]]  # a model, and launch parameters with which it is compiled


class Compilers:
    """Pool of worker processes for one device; empty on a CPU, where programs do not depend on launch parameters.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device) -> None:
        max_processes = device.free_memory() // PROCESS_MEMORY
        self.count = min(WORKERS, os.cpu_count() or 1, max_processes) if device.kind == "cuda" else 0
        self._pool: Executor | None = None
        self._told: dict[tuple[Job, str], Future[list[str]]] = {}

    def __enter__(self) -> Compilers:
        return self

    def __exit__(self, *what: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def begin(self, jobs: Iterable[Task]) -> int:
        """Start compiling variants of jobs, each once and in order; return the number of new variants."""
        if self.count < 2:
            return 0
        values_by_job: dict[Job, dict[str, Mapping[str, Any]]] = {}
        for job, variants in jobs:
            new = {identity(values): values for values in variants if (job, identity(values)) not in self._told}
            if new:
                values_by_job.setdefault(job, {}).update(new)
        known = {job for job, _ in self._told}
        try:
            for task in round_robin({job: list(new.values()) for job, new in values_by_job.items()}, known, self.count):
                future = self._started().submit(compile_variants, task)
                self._told.update({(task[0], identity(values)): future for values in task[1]})
        except BrokenExecutor:  # a worker was killed: remaining variants are compiled when they are timed
            self.count = 0
        return sum(len(new) for new in values_by_job.values())

    def compile(self, jobs: Iterable[Task]) -> list[str]:
        """Wait until variants of jobs are compiled; return the errors of their tasks."""
        jobs = list(jobs)
        self.begin(jobs)
        keys = [(job, identity(values)) for job, variants in jobs for values in variants]
        futures = dict.fromkeys(self._told[key] for key in keys if key in self._told)
        with suppress(BrokenExecutor):
            return [said for future in futures for said in future.result() if said]
        return ["a process that compiles was killed"]

    def _started(self) -> Executor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, mp_context=context, initializer=os.nice, initargs=(NICE,))
        return self._pool


def round_robin(jobs: Mapping[Job, Sequence[Mapping[str, Any]]], known: Iterable[Job], count: int) -> list[Task]:
    """Return tasks of jobs: first one variant of each new job, which compiles the parts shared by all variants."""
    new = [job for job in jobs if job not in set(known)]
    tasks: list[Task] = [(job, jobs[job][:1]) for job in new]
    for job, variants in jobs.items():
        tasks += shared_out(job, variants[1:] if job in new else variants, count)
    return tasks


def shared_out(job: Job, variants: Sequence[Mapping[str, Any]], count: int) -> list[Task]:
    """Return tasks of variants: variants that differ in registers only go to one worker, or two if there are many."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for values in variants:
        kernel_identity = identity({key: value for key, value in values.items() if REGISTERS not in key})
        groups.setdefault(kernel_identity, []).append(values)
    group_count = max(1, count // max(1, len(groups)))
    size = {key: max(2, -(-len(group) // group_count)) for key, group in groups.items()}
    return [(job, group[k : k + size[key]]) for key, group in groups.items() for k in range(0, len(group), size[key])]


def compile_variants(task: Task) -> list[str]:
    """Compile the programs of a step into the cache."""
    job, variants = task
    return [_compiled(job, values) for values in variants]


def _compiled(job: Job, values: Mapping[str, Any]) -> str:
    try:
        where = select(job.device).with_parameters(values, "a trial")
        if job.model in KEPT_LAYOUTS:
            model = subject_of(job.model).model(job.size, where, job.precision, job.variant)
        else:
            model = _model(job)
            model.use_tuning(where)
        model.steps_without_checks(1)()
        where.synchronize()
    except Exception as error:  # `verify` raises and records the same error
        _model.cache_clear()
        return f"{type(error).__name__}: {error}"
    return ""


@lru_cache(maxsize=1)
def _model(job: Job) -> Model:
    return subject_of(job.model).model(job.size, select(job.device), job.precision, job.variant)
