"""Processes that ``mpirun`` or ``srun`` has started, and the device of each."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from eagre.errors import DeviceError, EagreError, InputError

if TYPE_CHECKING:
    from eagre.backend.device import Device

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""Environment variables with the number of processes that ``mpirun`` or ``srun`` has started."""
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
"""Environment variables with the rank of this process, in the order of `SIZES`."""
SLOW_LATENCY, SLOW_BANDWIDTH = 5e-5, 1e9  # s, bytes s-1: messages of a network without its fast transport
SIZES_OF_TRIALS, TRIALS = (1, 1 << 20), 20  # numbers of a message, and messages per measurement


def started_processes() -> int:
    """Return the number of processes that ``mpirun`` or ``srun`` has started for this program; 1 without them."""
    return max([1, *(int(value) for name in SIZES if (value := os.environ.get(name, "")).isdigit())])


def is_first_process() -> bool:
    """Return whether this is the first of the processes that ``mpirun`` or ``srun`` has started, without MPI."""
    ranks = [os.environ.get(rank, "") for size, rank in zip(SIZES, RANKS, strict=True) if os.environ.get(size, "")]
    return not any(rank.isdigit() and int(rank) > 0 for rank in ranks)


def communicator() -> Any:
    """Return the communicator of all processes of this program, or None for a single process.

    Raises
    ------
    DeviceError
        If several processes were started and cannot find each other.
    """
    count = started_processes()
    if count == 1:
        return None
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise DeviceError(
            f"{count} processes were started, but they cannot exchange data: {error}.\n"
            "allowed: one process, or the package mpi4py\n"
            "write:   pip install 'eagre[mpi]'"
        ) from None
    if MPI.COMM_WORLD.size != count:
        library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        raise DeviceError(
            f"{count} processes were started, but the MPI library of mpi4py finds {MPI.COMM_WORLD.size}.\n"
            f"got:     mpi4py with {library}\n"
            "allowed: the mpirun of this library\n"
            "write:   MPI4PY_MPIABI=openmpi mpirun ..., or MPI4PY_MPIABI=mpich mpiexec ..."
        )
    return MPI.COMM_WORLD


class MessageSpeed(NamedTuple):
    """Measured messages between the devices of two processes.

    transport : "MPI", "NCCL" or "peer memory".
    latency : time of a message of 8 bytes, s.
    bandwidth : of a long message, bytes s-1.
    """

    transport: str
    latency: float
    bandwidth: float

    @property
    def is_slow(self) -> bool:
        """True if a step of a model would mostly wait for messages."""
        return self.latency > SLOW_LATENCY or self.bandwidth < SLOW_BANDWIDTH

    def __str__(self) -> str:
        return f"{1e6 * self.latency:.1f} us, {1e-9 * self.bandwidth:.1f} GB/s by {self.transport}"


def message_speed(comm: Any, device: Device, rank: int) -> MessageSpeed:
    """Measure messages between the devices of process 0 and process `rank`, through the transport of runs.

    All processes call it.
    """
    import numpy as np

    from eagre.backend.group import Message
    from eagre.backend.mpi.group import connected

    group, seconds = connected(device, comm), []
    for size in SIZES_OF_TRIALS:
        transport = group.transport()
        for owner, one in enumerate(group.devices):
            transport.publish(owner, "sent", one.zeros((size,), np.float64))
            transport.publish(owner, "received", one.zeros((size,), np.float64))
        whole = (slice(None),)
        pair = [Message("sent", *ends, whole, whole, "received") for ends in ((0, rank), (rank, 0))]
        go = group.repeated([transport.exchange(pair)], TRIALS)
        for _ in range(2):  # the first connects
            comm.Barrier()
            start = time.perf_counter()
            go()
            group.local.synchronize()
            elapsed = (time.perf_counter() - start) / TRIALS
        seconds.append(comm.bcast(elapsed, root=0))
    short, long = seconds
    return MessageSpeed(group.transport_name, short, 8.0 * SIZES_OF_TRIALS[1] / max(long - short, 1e-9))


def local_rank(comm: Any) -> tuple[int, int]:
    """Return the index of this process on its host, and the number of processes of the host."""
    names = comm.allgather(socket.gethostname())
    return names[: comm.rank].count(names[comm.rank]), names.count(names[comm.rank])


def device_of_process(comm: Any, device: str) -> Device:
    """Return the device of this process: the CPU, or one GPU of the host for each of its processes.

    Raises
    ------
    InputError
        If `device` names several devices.
    DeviceError
        If a host has fewer GPUs than processes.
    """
    from eagre.backend.select import cuda_problem, select

    if not isinstance(device, str) or "," in device:
        raise InputError(
            f"device = {device!r} in {comm.size} processes",
            allowed='"cpu", "cuda" or "auto": each process has one device',
            fix='device = "cuda"',
        )
    rank, count = local_rank(comm)
    chosen = problem = None
    try:
        chosen = select(f"cuda:{_gpu_of(rank)}" if device in ("cuda", "auto") and cuda_problem() is None else device)
    except EagreError as error:
        problem = error
    problems = [one for one in comm.allgather(problem) if one is not None]
    if problems or chosen is None:  # in all processes
        raise problems[0]
    kinds = comm.allgather(chosen.kind)
    if len(set(kinds)) > 1:
        raise DeviceError(
            f'The processes have devices of different kinds: {", ".join(kinds)}.\nwrite:   device = "cpu"'
        )
    if chosen.kind == "cuda":
        _check_distinct(comm, chosen)
    else:
        _share_cores(count)
        chosen = type(chosen)()  # with the number of threads of this process
    return chosen


def _gpu_of(rank: int) -> int:
    """Return the GPU of a process of this host; schedulers that show each process its own GPU show one."""
    from eagre.backend.cuda.driver import device_count

    return rank % device_count()


def _check_distinct(comm: Any, device: Any) -> None:
    """Raise `DeviceError` if two processes have one GPU."""
    from eagre.backend.mpi.gpu_exchange import identity_of

    mine = identity_of(device.index)
    every = comm.allgather(mine)
    if len(set(every)) < len(every):
        raise DeviceError(
            f"{len(every)} processes have {len(set(every))} GPUs: {device} is used by {every.count(mine)} of them.\n"
            "allowed: one GPU for each process\n"
            f"write:   mpirun -n {len(set(every))} ..."
        )


def _share_cores(count: int) -> None:
    """Share the cores of a host among its processes, unless each was bound to separate cores."""
    from eagre.backend.cpu.compiler import set_threads, threads

    bound = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < (os.cpu_count() or 1)
    if not bound and "NUMBA_NUM_THREADS" not in os.environ:
        set_threads(max(1, threads() // count))
