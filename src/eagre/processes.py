"""One model in several processes: the first process runs the program, the others repeat its calls of the model.

The model is built in all processes (`eagre.backend.mpi`). The first process then continues with a `LeadingModel`, whose
methods run in all processes: the first alone reads the wall clock, receives signals, writes files and decides. The
others repeat its calls until it has finished.
"""

from __future__ import annotations

import inspect
import math
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Self

import numpy as np

from eagre.backend.group import Group
from eagre.backend.mpi.group import Shared, connected
from eagre.backend.mpi.launch import communicator, device_of_process
from eagre.backend.mpi.transport import wait
from eagre.contract import Model, Recording
from eagre.errors import EagreError

MEASURING = ("sample", "take")  # methods of the objects of a model that measure
HOMES = ("eagre.models", "eagre.stepping")  # packages of these objects
PAUSE = 2e-4  # time between looks for the next command, s
PATIENCE = 30.0  # time within which the first process calls again after an error that all processes have, s
LAST_OUTPUT = 0.5  # time for mpirun to print the message of a process before it ends all processes, s
FAILED, INTERRUPTED = 1, 130  # exit codes of a run that one process ended
IGNORED = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
"""Signals that the first process acts on; the others ignore them."""


def distributed(build: Callable[[Group], Model], device: str = "auto") -> Model:
    """Build a model in all processes that ``mpirun`` or ``srun`` has started for a script.

    The first process continues with the model. The others repeat its calls and end with it. Without ``mpirun`` the
    model has one process.

    Parameters
    ----------
    build : callable
        Returns the model for a device; it is called in all processes and must not depend on the process.
    device : {"auto", "cpu", "cuda"}
        Device of each process; the GPUs of a host are given to its processes in order.

    Raises
    ------
    DeviceError
        If the processes cannot exchange data, or a host has fewer GPUs than processes.
    """
    import atexit

    comm = communicator()
    if comm is None:
        return build(device)  # type: ignore[arg-type]

    def build_here() -> Model:
        return build(connected(device_of_process(comm, device), comm))

    if comm.rank > 0:
        repeat_calls(comm, build_here)
        sys.exit(0)
    leader = Leader(comm)
    atexit.register(leader.finish)
    return leader.build(build_here)


class Leader:
    """Calls of the first process that all processes make.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self._calls = comm, 0
        self._finished = False
        self._late: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.finish()

    def build(self, build: Callable[[], Model]) -> Model:
        """Build the model in all processes and return it as `LeadingModel`."""
        model = self._together(("build",), build)
        return LeadingModel(self, model, ())  # type: ignore[return-value]

    def finish(self) -> None:
        """Let the other processes end."""
        if not self._finished:
            self._finished = True
            self._send(None)

    def _send(self, command: Any) -> None:
        wait([self.comm.Ibcast(np.zeros(1, np.uint8), root=0)])
        self.comm.bcast(command, root=0)

    def attribute(self, target: Any, path: tuple[Any, ...], name: str) -> Any:
        """Return an attribute of an object of the model, evaluated in all processes."""
        return self._leading(self._together(("get", path, name), lambda: getattr(target, name)), (*path, name))

    def call(self, target: Any, path: tuple[Any, ...], name: str, arguments: tuple[Any, ...], options: Any) -> Any:
        """Return the result of a method of an object of the model, called in all processes."""
        local = [self._watched(one) if isinstance(one, Recording) else one for one in arguments]
        sent = [one._replace(sample_times=None, take=None) if isinstance(one, Recording) else one for one in arguments]
        number = self._calls = self._calls + 1
        command = ("call", path, name, sent, options, number)
        return self._leading(self._together(command, lambda: getattr(target, name)(*local, **options)), (number,))

    def _leading(self, value: Any, path: tuple[Any, ...]) -> Any:
        return LeadingModel(self, value, path) if _measures(value) else value

    def _together(self, command: Any, work: Callable[[], Any]) -> Any:
        """Do work in all processes; an error that the others do not share ends all processes."""
        if self._finished:
            raise EagreError("The other processes have ended: the model can be used no longer.")
        self._send(command)
        Shared.reading = True
        try:
            result = work()
        except EagreError:
            raise
        except BaseException as error:
            _end_all(self.comm, error)
        finally:
            Shared.reading = False
        late, self._late = self._late, None
        if late is not None:
            raise late
        return result

    def _watched(self, recording: Recording) -> Recording:
        """Return a recording whose times all processes use, and whose failures wait for the end of the call."""

        def sample_times(*interval: Any) -> list[float]:
            return self.comm.bcast(recording.sample_times(*interval), root=0)

        def take(*samples: Any) -> None:
            try:
                recording.take(*samples)
            except Exception as error:
                self._late = self._late or error

        return recording._replace(sample_times=sample_times, take=take)


class LeadingModel:
    """Model, or an object of it, whose attributes and methods are evaluated in all processes.

    leader : Leader
    target : the object in this process
    path : how other processes find the object: number of an earlier call, and names of attributes
    """

    def __init__(self, leader: Leader, target: Any, path: tuple[Any, ...]) -> None:
        self.__dict__.update(_leader=leader, _target=target, _path=path)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self._target)

    def __getattr__(self, name: str) -> Any:
        static = inspect.getattr_static(self._target, name, None)
        if name == "run" and inspect.isfunction(static):  # a run reads the clock and writes files
            return partial(static, self)
        if inspect.isfunction(static) or isinstance(static, classmethod | staticmethod):
            return lambda *arguments, **options: self._leader.call(self._target, self._path, name, arguments, options)
        return self._leader.attribute(self._target, self._path, name)


def repeat_calls(comm: Any, build: Callable[[], Model]) -> None:
    """Build the model and repeat the calls of the first process until it has finished."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    objects: dict[Any, Any] = {}
    failed: EagreError | None = None  # error of the last call, which the first process has too and reports
    while (command := _next_command(comm, failed)) is not None:
        failed = None
        try:
            _obey(comm, command, build, objects)
        except EagreError as error:
            failed = error
        except BaseException as error:
            _end_all(comm, error)


def _obey(comm: Any, command: tuple[Any, ...], build: Callable[[], Model], objects: dict[Any, Any]) -> None:
    """Make a call of the first process; `objects` : results of earlier calls by number, and the model."""
    kind, *details = command
    if kind == "build":
        objects["model"] = build()
        return
    path, name = details[:2]
    target = objects["model"] if not path or isinstance(path[0], str) else objects[path[0]]
    for attribute in path if not path or isinstance(path[0], str) else path[1:]:
        target = getattr(target, attribute)
    if kind == "get":
        getattr(target, name)
        return
    arguments, options, number = details[2:]
    local = [_followed(comm, one) if isinstance(one, Recording) else one for one in arguments]
    result = getattr(target, name)(*local, **options)
    if _measures(result):
        objects[number] = result


def _followed(comm: Any, recording: Recording) -> Recording:
    """Return a recording with the times of the first process, which discards its samples."""
    return recording._replace(sample_times=lambda *_: comm.bcast(None, root=0), take=lambda *_: None)


def _next_command(comm: Any, failed: EagreError | None) -> Any:
    """Return the next command of the first process, without keeping a core busy while it writes files.

    failed : error of the last call; without a command soon, the first process does not have it and waits for this one.
    """
    try:
        wait([comm.Ibcast(np.zeros(1, np.uint8), root=0)], PAUSE, math.inf if failed is None else PATIENCE)
    except Exception as error:
        _end_all(comm, failed or error)
    return comm.bcast(None, root=0)


def _measures(value: Any) -> bool:
    """Return whether a value is an object of a model that measures, which other calls refer to."""
    return type(value).__module__.startswith(HOMES) and any(hasattr(type(value), name) for name in MEASURING)


def _end_all(comm: Any, error: BaseException) -> NoReturn:
    """Report an error that other processes do not share, and end all processes."""
    stopped = isinstance(error, KeyboardInterrupt)
    if not stopped:
        traceback.print_exception(error)
    what = f"interrupted: {error}" if stopped else f"error: process {comm.rank + 1} of {comm.size} failed: {error!r}"
    print(what, file=sys.stderr, flush=True)
    time.sleep(LAST_OUTPUT)
    comm.Abort(INTERRUPTED if stopped else FAILED)
    raise SystemExit
