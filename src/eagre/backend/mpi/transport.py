"""Exchange between processes: one packed message per neighbour, over MPI between CPUs and over NCCL between GPUs."""

from __future__ import annotations

import math
import os
import time
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from eagre.backend.device import HostCall, Launch
from eagre.backend.group import LocalTransport, Message, Stage, message_size, region_views

QUICK_TESTS = 1000  # tests of requests before pauses
LAUNCHER = os.getppid()  # process that started this one
yield_core = getattr(os, "sched_yield", partial(time.sleep, 0.0))  # on Linux 1 us; time.sleep(0) takes 60 us


class MpiTransport(LocalTransport):
    """Transport between the devices of the processes of an `MpiGroup`; arrays of remote devices are not used."""

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """See `Transport.exchange`; this process sends and receives, also for itself."""
        local, copies = self.group.rank, []
        sent: dict[int, list[Any]] = {}
        received: dict[int, list[Any]] = {}
        for message in messages:
            source = target = None
            if message.source == local:
                source = self._published[local, message.field][message.there]
            if message.target == local:
                target = self._published[local, message.into or message.field][message.here]
            if source is not None and target is not None:
                copies.append((target, source))
            elif source is not None:
                sent.setdefault(message.target, []).append(source)
            elif target is not None:
                received.setdefault(message.source, []).append(target)
        launches = self._launches(sent, received, copies)
        return [launches if rank == local else [] for rank in range(len(self.group.devices))]

    def _launches(
        self, sent: dict[int, list[Any]], received: dict[int, list[Any]], copies: list[tuple[Any, Any]]
    ) -> Sequence[Launch | HostCall]:
        group = self.group
        if not (sent or received):
            return group.copies(group.local, copies)
        if group.local.kind == "cuda":
            from eagre.backend.mpi.gpu_exchange import exchange_launches

            return exchange_launches(group, sent, received, copies)
        return [HostCall(HostExchange(group.comm, sent, received, copies), ())]


class HostExchange:
    """Exchange of host arrays by persistent requests; calling it returns when all regions have arrived.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    sent, received : dict of int to list of arrays
        Parts of arrays by the rank of the other process, in the order of the messages.
    copies : list of (target, source)
        Copies within this process.
    """

    def __init__(
        self, comm: Any, sent: dict[int, list[Any]], received: dict[int, list[Any]], copies: list[tuple[Any, Any]]
    ) -> None:
        from mpi4py import MPI

        self._start = MPI.Prequest.Startall
        self._sends, self._receives = [], []
        self._packed: list[tuple[Any, Any]] = []  # (region of a message, region of an array)
        self._unpacked: list[tuple[Any, Any]] = []
        self._copies = copies
        for target, regions in sent.items():
            message = np.zeros(message_size(regions), np.uint8)
            self._packed += zip(region_views(message, regions), regions, strict=True)
            self._sends.append(comm.Send_init(message, dest=target))
        for source, regions in received.items():
            message = np.zeros(message_size(regions), np.uint8)
            self._unpacked += zip(regions, region_views(message, regions), strict=True)
            self._receives.append(comm.Recv_init(message, source=source))
        weakref.finalize(self, _free, [*self._sends, *self._receives])

    def __call__(self) -> None:
        self._start(self._receives)
        for target, source in self._packed:
            np.copyto(target, source)
        self._start(self._sends)
        for target, source in self._copies:
            np.copyto(target, source)
        wait(self._receives)
        for target, source in self._unpacked:
            np.copyto(target, source)
        wait(self._sends)


def wait(requests: Sequence[Any], pause: float = 0.0, limit: float = math.inf) -> None:
    """Wait for requests and yield the core to other processes, which MPI libraries do not do.

    pause : time between tests after the first ones, s; 0 takes about 60 us on Linux
    limit : maximum time, s

    Raises
    ------
    TimeoutError
        After the maximum time.
    ConnectionError
        If the program that started the processes has ended.
    """
    from mpi4py import MPI

    tests, end = 0, time.monotonic() + limit
    while not MPI.Request.Testall(requests):
        tests += 1
        if tests % QUICK_TESTS == 0:
            if os.getppid() != LAUNCHER:
                raise ConnectionError("mpirun has ended")
            if time.monotonic() > end:
                raise TimeoutError(f"no message within {limit:g} s")
        if tests > QUICK_TESTS:
            time.sleep(pause)
        else:
            yield_core()


def _free(requests: Sequence[Any]) -> None:
    """Free persistent requests."""
    for request in requests:
        request.Free()
