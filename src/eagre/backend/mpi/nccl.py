# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false
"""Exchange between GPUs of several processes: NCCL sends and receives, which CUDA graphs can hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from eagre.backend.device import HostCall, Launch
from eagre.backend.exchange import message_size, region_views
from eagre.backend.peer_copies import Pair, copy_launches
from eagre.errors import DeviceError


class Nccl:
    """NCCL communicator of a group; one per process and MPI communicator."""

    def __init__(self, comm: Any) -> None:
        nccl = _library(comm)
        os.environ.setdefault("NCCL_GRAPH_MIXING_SUPPORT", "0")  # one stream: exchanges run sequentially
        self._nccl = nccl
        name = nccl.get_unique_id() if comm.rank == 0 else None
        self._comm = nccl.NcclCommunicator(comm.size, comm.bcast(name, root=0), comm.rank)

    def exchange(self, sent: Sequence[tuple[int, Any]], received: Sequence[tuple[int, Any]]) -> None:
        """Send and receive messages, contiguous arrays on the GPU, (rank, array), on the current stream."""
        nccl, stream = self._nccl, cupy.cuda.get_current_stream().ptr
        nccl.groupStart()
        for rank, message in sent:
            self._comm.send(message.data.ptr, message.nbytes, nccl.NCCL_UINT8, rank, stream)
        for rank, message in received:
            self._comm.recv(message.data.ptr, message.nbytes, nccl.NCCL_UINT8, rank, stream)
        nccl.groupEnd()


def _library(comm: Any) -> Any:
    """Return the NCCL module of CuPy.

    Raises
    ------
    DeviceError
        In all processes, if NCCL is missing in one of them.
    """
    problem, nccl = "", None
    try:
        from cupy.cuda import nccl

        if not hasattr(nccl, "NcclCommunicator"):  # CuPy's placeholder
            problem = "CuPy found no NCCL library"
    except ImportError as error:
        problem = str(error)
    problems = [one for one in comm.allgather(problem) if one]
    if problems:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        raise DeviceError(
            f"The GPUs of these processes exchange data by NCCL, which is missing: {problems[0]}.\n"
            "allowed: one process with several GPUs of one host, or NCCL\n"
            f"write:   pip install nvidia-nccl-cu{major}, with its folder nvidia/nccl/lib in LD_LIBRARY_PATH"
        )
    return nccl


_communicators: dict[int, Nccl] = {}


def communicator_of(comm: Any) -> Nccl:
    """Return the NCCL communicator of an MPI communicator."""
    key = comm.py2f()
    if key not in _communicators:
        _communicators[key] = Nccl(comm)
    return _communicators[key]


def identity_of(index: int) -> bytes:
    """Return the unique number of a GPU."""
    return bytes(cupy.cuda.runtime.getDeviceProperties(index)["uuid"])


def exchange_launches(
    group: Any, sent: dict[int, list[Any]], received: dict[int, list[Any]], copies: list[Pair]
) -> list[Launch | HostCall]:
    """Return launches that pack, exchange and unpack; parameters as for `eagre.backend.mpi.transport.HostExchange`."""
    local = group.local
    local.use()
    packed: list[Pair] = [*copies]
    unpacked: list[Pair] = []
    messages_out, messages_in = [], []
    for rank, regions in sent.items():
        message = _sent_directly(regions)
        if message is None:
            message = local.zeros((message_size(regions),), np.uint8)
            packed += zip(region_views(message, regions), regions, strict=True)
        messages_out.append((rank, message))
    for rank, regions in received.items():
        message = _sent_directly(regions)
        if message is None:
            message = local.zeros((message_size(regions),), np.uint8)
            unpacked += zip(regions, region_views(message, regions), strict=True)
        messages_in.append((rank, message))
    exchange = HostCall(communicator_of(group.comm).exchange, (messages_out, messages_in), captured=True)
    return [*_copies(local, packed), exchange, *_copies(local, unpacked)]


def _sent_directly(regions: Sequence[Any]) -> Any:
    """Return the only region of a message if it is contiguous and needs no padding, otherwise None.

    Several messages to one process take longer than one that is packed.
    """
    alone = len(regions) == 1 and regions[0].flags.c_contiguous and regions[0].nbytes == message_size(regions)
    return regions[0] if alone else None


def _copies(device: Any, pairs: Sequence[Pair]) -> list[Launch]:
    """Return copy kernels for arrays of several types and layouts."""
    kinds: dict[Any, list[Pair]] = {}
    for target, source in pairs:
        complex_rows = source.dtype.kind == "c" and all(_has_contiguous_rows(one) for one in (target, source))
        if complex_rows:
            target, source = (one.view(one.real.dtype) for one in (target, source))
        kinds.setdefault((source.dtype.kind == "c", source.itemsize), []).append((target, source))
    return [launch for some in kinds.values() for launch in copy_launches(device, some)]


def _has_contiguous_rows(array: Any) -> bool:
    return array.shape[-1] == 1 or array.strides[-1] == array.itemsize
