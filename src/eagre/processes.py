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
from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from eagre.backend.group import Group
from eagre.backend.mpi.group import Shared, connected, scattered
from eagre.backend.mpi.launch import communicator, device_of_process
from eagre.backend.mpi.transport import wait
from eagre.checks import is_finite
from eagre.contract import Model, Recording
from eagre.errors import EagreError
from eagre.grid import Grid

MEASURING = ("sample", "take")  # methods of the objects of a model that measure
HOMES = ("eagre.models", "eagre.stepping")  # packages of these objects
PAUSE = 2e-4  # time between looks for the next command, s
PATIENCE = 30.0  # time within which the first process calls again after an error that all processes have, s
LAST_OUTPUT = 0.5  # time for mpirun to print the message of a process before it ends all processes, s
FAILED, INTERRUPTED = 1, 130  # exit codes of a run that one process ended
MAX_GHOSTS = 8  # rows or columns that a field of a state has in addition to the grid
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
        local: list[Any] = [self._watched(one) if isinstance(one, Recording) else one for one in arguments]
        sent = [one._replace(sample_times=None, take=None) if isinstance(one, Recording) else one for one in arguments]
        number = self._calls = self._calls + 1
        fields: Mapping[str, np.ndarray] = {}
        if name == "restore" and arguments and not path:
            fields = fields_of_state(local[0], target.grid, self.attribute(target, path, "restart_references"))
            sent = [SentState.of(local[0], fields)]

        def work() -> Any:
            if fields:
                _send_rows(self.comm, fields, target.grid.ny)
            return getattr(target, name)(*local, **options)

        return self._leading(self._together(("call", path, name, sent, options, number), work), (number,))

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


class SentState(NamedTuple):
    """State to restore, without the rows of its fields, which each process receives for its part of the domain.

    entries : what all processes need in full. fields : shape, type, and the index of a value that is not finite
    or None, by name.
    """

    entries: dict[str, Any]
    fields: dict[str, tuple[tuple[int, ...], np.dtype, tuple[int, ...] | None]]

    @classmethod
    def of(cls, state: Mapping[str, Any], fields: Mapping[str, np.ndarray]) -> SentState:
        """Return what is sent first of a state with these fields."""
        entries = {name: value for name, value in state.items() if name not in fields}
        return cls(entries, {name: (one.shape, one.dtype, _not_finite(one)) for name, one in fields.items()})


def fields_of_state(state: Mapping[str, Any], grid: Grid, references: Container[str]) -> dict[str, np.ndarray]:
    """Return the entries of a state, (.., rows, columns), that have all rows and columns of a grid.

    A field may have up to `MAX_GHOSTS` rows and columns more than the grid. References, which a model compares as a
    whole, are not included.
    """
    rows, columns = grid.shape

    def is_field(value: Any) -> bool:
        if not (isinstance(value, np.ndarray) and value.ndim > 1):
            return False
        return 0 <= value.shape[-2] - rows <= MAX_GHOSTS and 0 <= value.shape[-1] - columns <= MAX_GHOSTS

    return {name: one for name, one in state.items() if is_field(one) and name not in references}


def _not_finite(field: np.ndarray) -> tuple[int, ...] | None:
    """Return the index of a value that is not finite, for which all processes raise the same error, or None."""
    if is_finite(field):
        return None
    return tuple(int(n) for n in np.unravel_index(np.argmin(np.isfinite(field)), field.shape))


def _rows_of(needed: tuple[int, int], count: int, rows: int) -> np.ndarray:
    """Return the indices of the rows of a field with `count` rows that a process needs.

    needed : rows of the grid, first and one past the last; across periodic sides they continue at the other side.
    rows : number of rows of the grid.
    """
    return np.unique(np.arange(needed[0], needed[1] + count - rows) % count)


def _send_rows(comm: Any, fields: Mapping[str, np.ndarray], rows: int) -> None:
    """Send to each other process the rows of fields that it needs; see `_received_state`."""
    needed = comm.gather((0, 0), root=0)
    for field in fields.values():
        scattered(comm, [field[..., _rows_of(one, field.shape[-2], rows), :] for one in needed])


def _received_state(comm: Any, sent: SentState, model: Any) -> dict[str, Any]:
    """Return a state whose fields have the shape of the domain and the values of the rows that this process needs.

    The other rows are 0. They are never written, so that the system assigns no memory to them.
    """
    needed = model.rows_of_process
    comm.gather(needed, root=0)
    fields = {}
    for name, (shape, dtype, bad) in sent.fields.items():
        fields[name] = np.zeros(shape, dtype)
        if bad is not None:
            fields[name][bad] = np.nan
        fields[name][..., _rows_of(needed, shape[-2], model.grid.ny), :] = scattered(comm, None)
    return {**sent.entries, **fields}


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
    local = [_received(comm, one, target) for one in arguments]
    result = getattr(target, name)(*local, **options)
    if _measures(result):
        objects[number] = result


def _received(comm: Any, argument: Any, target: Any) -> Any:
    """Return an argument of a call of the first process as this process uses it.

    A recording has the times of the first process and discards its samples.
    """
    if isinstance(argument, SentState):
        return _received_state(comm, argument, target) if argument.fields else argument.entries
    if isinstance(argument, Recording):
        return argument._replace(sample_times=lambda *_: comm.bcast(None, root=0), take=lambda *_: None)
    return argument


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
