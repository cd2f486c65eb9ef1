"""Part of the members that a process runs: an option, a task of a SLURM array, or a rank of MPI."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from eagre.backend.mpi.launch import communicator, local_rank
from eagre.errors import DeviceError, InputError

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
    task, count, first, step = (int(environment.get(f"SLURM_ARRAY_TASK_{name}", 1)) for name in names)
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
