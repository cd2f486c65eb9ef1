"""Runs of a sweep: the command of each run, several processes at once, and signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from eagre.backend.cuda.driver import device_count
from eagre.backend.mpi.launch import communicator, local_rank
from eagre.checks import checked_count
from eagre.config.toml import literal
from eagre.errors import DeviceError, InputError
from eagre.io.records.output_paths import locked
from eagre.stepping.run import SIGNALS, interrupts
from eagre.sweeps.records import FAILED, FINISHED, INTERRUPTED, LOG, RECORD, RUNNING, WAITING, Record, write_table

POLL_SECONDS = 0.05  # wall time between checks of the processes
TABLE_INTERVAL_FACTOR = 20  # minimum time between updates of the table, in units of the time of one update
STOPPED = {code for number in SIGNALS for code in (128 + number, -number)}
"""Exit codes of a run that a signal has stopped."""


@dataclass(frozen=True)
class Member:
    """One run of a sweep. A call runs the member and returns its state; members can be pickled.

    Parameters
    ----------
    name : str
        Name of the folder: ``"000"``, ``"001"`` and so on.
    case_file : Path
        Absolute path of the case file.
    values : dict
        Changed values, by key of the case file.
    folder : Path
        Absolute path of the folder of the member.
    files : dict
        Names of the output files, by section of the case file.
    fingerprint : str
        Hash of the case file and the values.
    device : str
        Device, as for `eagre run`.
    """

    name: str
    case_file: Path
    values: Mapping[str, Any]
    folder: Path
    files: Mapping[str, str]
    fingerprint: str
    device: str

    def __call__(self) -> str:
        """Run the member unless it has finished, and return its state.

        A run that was stopped by a signal or killed continues from its restart file. Other runs start at the beginning.

        Returns
        -------
        state : str
            ``"finished"``, ``"failed"``, ``"interrupted"``, or ``"running"`` if another process runs the member.
        """
        run_sweep([self])
        return self.record.state

    @property
    def path(self) -> Path:
        """Path of the record."""
        return self.folder / RECORD

    @property
    def record(self) -> Record:
        """Record of the member, in the state "waiting" before the first run."""
        return Record.read(self.path) or Record(WAITING, self.fingerprint, self.values, self.files)

    @property
    def restart(self) -> Path:
        """Path of the restart file."""
        return self.folder / self.files.get("restart", f"{self.case_file.stem}_restart.nc")

    def write(self, state: str, exit_code: int = 0, seconds: float = 0.0, message: str = "") -> None:
        """Write the record of the member."""
        Record(state, self.fingerprint, self.values, self.files, exit_code, seconds, message).write(self.path)

    def command(self, record: Record) -> list[str]:
        """Return the command that runs the member after a run with this record."""
        arguments = [sys.executable, "-P", "-m", "eagre", "run", str(self.case_file)]
        redirected = {f"{section}.file": str(self.folder / name) for section, name in self.files.items()}
        for key, value in (dict(self.values) | redirected).items():
            arguments += ["--set", f"{key}={literal(value)}"]
        arguments += ["--device", self.device]
        if self.continues(record):
            arguments += ["--restart", str(self.restart)]
        return [*arguments, "--overwrite"]  # `sweep` has checked the folder

    def continues(self, record: Record) -> bool:
        """Return whether a run after this record continues from the restart file."""
        return record.state in (RUNNING, INTERRUPTED) and self.restart.is_file()

    def error(self) -> str:
        """Return the last error message in the log in one line; of several problems of the case file, the first."""
        text = "\n" + (self.folder / LOG).read_text(encoding="utf-8", errors="replace")
        _, label, message = text.rpartition("\nerror: ")
        first, *more = message.splitlines()[:3] if label else [""]
        return ": ".join(line.strip() for line in more) if re.search(r"\d+ problems$|one problem$", first) else first


Callback = Callable[[Member, str], object]


class Stopped(KeyboardInterrupt):
    """A signal stopped the sweep; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__("the sweep was stopped")
        self.number = number


def run_sweep(
    runs: Sequence[Member], workers: int = 1, *, on_change: Callback | None = None, first_device: int = 0
) -> list[str]:
    """Run members in separate processes, `workers` at a time, except the members that have finished.

    Several workers share the cores of this process equally, and members on ``cuda`` or ``auto`` use the GPUs in turn.
    The folder of the members gets a table ``members.csv``. A failed member does not stop the others.

    Parameters
    ----------
    runs : sequence of Member
        See `eagre.sweep`.
    workers : int
        Number of members that run at the same time.
    on_change : callable, optional
        Called with a member and its new state.
    first_device : int
        Index of the GPU of the first worker.

    Returns
    -------
    states : list of str
        State of each member, see `Member`.

    Raises
    ------
    KeyboardInterrupt
        After SIGINT, SIGTERM, SIGHUP or SIGUSR1, when the running members have written restart files and ended.
    """
    workers = checked_count("workers", workers, 1, 10_000)
    pool, queue, sent = Pool(workers, first_device, on_change or (lambda run, state: None)), deque(runs), 0
    with interrupts() as signals, pool:
        while pool.active or (queue and not signals.number):
            while queue and pool.free and not signals.number:
                pool.start(queue.popleft())
            if signals.number and not sent:
                sent = signals.number
                pool.send(sent)
            pool.collect()
            time.sleep(POLL_SECONDS if pool.active else 0.0)
    if signals.number:
        raise Stopped(signals.number)
    return [run.record.state for run in runs]


@dataclass
class Active:
    """Running process of a member."""

    run: Member
    process: subprocess.Popen[bytes]
    resources: ExitStack
    worker: int
    since: float


class Pool:
    """Running processes of members. At the end of the context none is left, and the table is up to date."""

    def __init__(self, workers: int, first_device: int, on_change: Callback) -> None:
        self.workers, self.first_device, self.on_change = workers, first_device, on_change
        self.active: list[Active] = []
        self.free = list(range(workers))
        self.folder: Path | None = None
        self.next_table = 0.0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.send(signal.SIGINT)  # after an error or a second Ctrl-C
        for one in self.active:
            one.process.wait()
        self.collect()
        if self.folder is not None:
            write_table(self.folder)

    def start(self, run: Member) -> None:
        """Start a member, unless it has finished or another process runs it."""
        self.folder = run.folder.parent
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(run.path))
            except InputError:
                self.on_change(run, RUNNING + " in another process")
                return
            record = run.record
            if record.state == FINISHED:
                self.on_change(run, FINISHED)
                return
            log = stack.enter_context((run.folder / LOG).open("ab" if run.continues(record) else "wb"))
            run.write(RUNNING)
            worker = self.free[0]
            with self._cores(worker):
                process = subprocess.Popen(
                    run.command(record), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=self._environment(run, worker),
                )  # fmt: skip
            self.free.remove(worker)
            self.active.append(Active(run, process, stack.pop_all(), worker, monotonic()))
        self.on_change(run, RUNNING)

    def collect(self) -> None:
        """Record the members whose processes have ended."""
        for one in [one for one in self.active if one.process.poll() is not None]:
            code, run = one.process.returncode, one.run
            state = FINISHED if code == 0 else INTERRUPTED if code in STOPPED else FAILED
            run.write(state, code, round(monotonic() - one.since, 2), run.error() if state == FAILED else "")
            one.resources.close()
            self.active.remove(one)
            self.free.append(one.worker)
            self._update_table(run)
            self.on_change(run, state)

    def send(self, number: int) -> None:
        """Send a signal to all processes."""
        for one in self.active:
            with suppress(ProcessLookupError):
                one.process.send_signal(number)

    def _update_table(self, run: Member) -> None:
        """Write the table, unless this would take a large part of the time."""
        begin = monotonic()
        if begin >= self.next_table:
            write_table(run.folder.parent)
            self.next_table = monotonic() + TABLE_INTERVAL_FACTOR * (monotonic() - begin)

    @contextmanager
    def _cores(self, worker: int) -> Iterator[None]:
        """Let processes that start within the context use the cores of a worker only, where the system supports it."""
        if self.workers == 1 or not hasattr(os, "sched_setaffinity"):
            yield
            return
        every = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores_of(sorted(every), worker, self.workers))
        try:
            yield
        finally:
            os.sched_setaffinity(0, every)

    def _environment(self, run: Member, worker: int) -> dict[str, str]:
        """Return the environment of a process: its import path, number of threads and GPU."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHED)}
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
        if self.workers > 1:
            count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            environment.setdefault("NUMBA_NUM_THREADS", str(max(1, count // self.workers)))
        if (self.workers > 1 or self.first_device) and run.device in ("auto", "cuda"):
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            devices = visible.split(",") if visible else list(map(str, range(device_count())))
            if devices:
                environment["CUDA_VISIBLE_DEVICES"] = devices[(self.first_device + worker) % len(devices)]
        return environment


def cores_of(cores: Sequence[int], worker: int, workers: int) -> list[int]:
    """Return the cores of one worker: equal parts, or one core that several workers share."""
    count = len(cores) // workers
    return list(cores[worker * count : (worker + 1) * count]) if count else [cores[worker % len(cores)]]


T = TypeVar("T")
LAUNCHED = ("OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "SLURM_STEP_NUM_TASKS")
"""Beginnings of environment variables of a rank of MPI, which are removed for members: a member is one process."""
_POLL_SECONDS = 0.5


class Selection(NamedTuple):
    """Part `number`, from 1, of `count` parts.

    origin : source of the numbers, for messages.
    local_rank : index of this process among the ranks of its host.
    communicator : `mpi4py` communicator of all ranks, or None.
    """

    number: int = 1
    count: int = 1
    origin: str = ""
    local_rank: int = 0
    communicator: Any = None

    def of(self, runs: Sequence[T]) -> list[T]:
        """Return every `count`-th member."""
        return list(runs[self.number - 1 :: self.count])

    def greatest(self, number: int) -> int:
        """Return the greatest `number` of all ranks, after all of them have called; waiting ranks sleep."""
        if self.communicator is None:
            return number
        request = self.communicator.Ibarrier()
        while not request.Test():
            time.sleep(_POLL_SECONDS)
        return max(self.communicator.allgather(number))


def find_selection(option: str | None, environment: Mapping[str, str]) -> Selection:
    """Return the part of this process: ``"2/8"`` if given, else by SLURM array task and MPI rank.

    Raises
    ------
    InputError
        If the option is invalid, or the tasks of the array are not consecutive.
    DeviceError
        If processes that ``mpirun`` has started cannot find each other.
    """
    if option is not None:
        return _parsed(option)
    selection, ranks = _array_task(environment), _ranks()
    if ranks.count == 1:
        return selection
    origin = " and ".join(filter(None, (selection.origin, ranks.origin)))
    number, count = (selection.number - 1) * ranks.count + ranks.number, selection.count * ranks.count
    return ranks._replace(number=number, count=count, origin=origin)


def _parsed(option: str) -> Selection:
    match = re.fullmatch(r"(\d+)/(\d+)", option.strip())
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--part {option}", allowed="K/N with K from 1 to N", fix="--part 1/4",
                         problem="The option --part does not name a part.")  # fmt: skip
    return Selection(int(match[1]), int(match[2]), "--part")


def _array_task(environment: Mapping[str, str]) -> Selection:
    """Return the part of a task of a SLURM array; the whole if there is no array."""
    if "SLURM_ARRAY_TASK_ID" not in environment:
        return Selection()
    names = ("ID", "COUNT", "MIN", "STEP")
    values = {f"SLURM_ARRAY_TASK_{name}": environment.get(f"SLURM_ARRAY_TASK_{name}", "1") for name in names}
    for name, text in values.items():
        if not text.isdigit() or (name.endswith("STEP") and int(text) == 0):
            raise InputError(f"{name}={text}", allowed="a whole number", fix="#SBATCH --array=1-4",
                             problem=f"The environment variable {name} is not valid.")  # fmt: skip
    task, count, first, step = map(int, values.values())
    number = (task - first) // step + 1
    if not 1 <= number <= count or (task - first) % step:
        raise InputError(
            f"task {task} of {count} tasks from {first}", allowed="an array of consecutive tasks, or --part",
            fix=f"#SBATCH --array=1-{count}", problem="The tasks of the SLURM array are not consecutive.",
        )  # fmt: skip
    return Selection(number, count, f"task {task} of a SLURM array")


def _ranks() -> Selection:
    """Return the part of a process that ``mpirun`` or ``srun`` has started; the whole without them."""
    try:
        comm = communicator()
    except DeviceError as error:
        error.add_note("or:      eagre sweep ... --part K/N in process K of N")
        raise
    if comm is None:
        return Selection()
    return Selection(comm.rank + 1, comm.size, f"process {comm.rank + 1} of {comm.size}", local_rank(comm)[0], comm)
