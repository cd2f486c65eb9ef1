"""Part of the members that a process runs: an option, a task of a SLURM array, or a rank of MPI."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from eagre.errors import InputError

T = TypeVar("T")
LAUNCHED = ("OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "SLURM_STEP_NUM_TASKS")
"""Beginnings of environment variables of a rank of MPI, which are removed for members: a member is one process."""
_RANK_OF = {
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
    "PMI_SIZE": "PMI_RANK",
    "SLURM_STEP_NUM_TASKS": "SLURM_PROCID",
}
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
        If the option is invalid, the tasks of the array are not consecutive, or mpi4py does not know the ranks of a
        launcher.
    """
    if option is not None:
        return _parsed(option)
    selection, ranks = _array_task(environment), _ranks(environment)
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


def _ranks(environment: Mapping[str, str]) -> Selection:
    """Return the part of a rank of MPI; the whole if the process was not started by a launcher."""
    name = next((name for name in _RANK_OF if int(environment.get(name) or 1) > 1), None)
    if name is None:
        return Selection()
    shell = f"sh -c 'eagre sweep ... --part $(({_RANK_OF[name]} + 1))/${name}'"
    try:
        from mpi4py import MPI
    except ImportError:
        raise InputError(
            f"{name} = {environment[name]} without mpi4py", allowed="mpi4py, or --part in each process",
            fix=f"pip install mpi4py\nor {shell}", problem="The ranks of an MPI launcher require mpi4py.",
        ) from None  # fmt: skip
    world = MPI.COMM_WORLD
    if world.size != int(environment[name]):
        raise InputError(
            f"{name} = {environment[name]}, and {world.size} in mpi4py", allowed="mpi4py of the same MPI library",
            fix=shell, problem="mpi4py uses another MPI library than the launcher.",
        )  # fmt: skip
    local = world.Split_type(MPI.COMM_TYPE_SHARED).rank
    return Selection(world.rank + 1, world.size, f"rank {world.rank} of {world.size}", local, world)
