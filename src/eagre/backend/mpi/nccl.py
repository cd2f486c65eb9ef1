# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false
"""Exchange between GPUs of several processes: NCCL sends and receives, which CUDA graphs can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from eagre.backend.device import HostCall, Launch
from eagre.backend.mpi.transport import message_size, parts_of
from eagre.backend.peer_copies import Pair, copy_launches

if TYPE_CHECKING:
    from eagre.backend.mpi.group import MpiGroup


MAX_PIECES = 8  # messages to one process that are not packed into one


class Nccl:
    """NCCL communicator of a group; one per process and MPI communicator."""

    def __init__(self, comm: Any) -> None:
        from cupy.cuda import nccl

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


_communicators: dict[int, Nccl] = {}


def communicator_of(comm: Any) -> Nccl:
    """Return the NCCL communicator of an MPI communicator."""
    key = comm.py2f()
    if key not in _communicators:
        _communicators[key] = Nccl(comm)
    return _communicators[key]


def gpu_count() -> int:
    """Return the number of GPUs that this process sees."""
    return cupy.cuda.runtime.getDeviceCount()


def identity_of(index: int) -> bytes:
    """Return the unique number of a GPU."""
    return bytes(cupy.cuda.runtime.getDeviceProperties(index)["uuid"])


def exchange_launches(
    group: MpiGroup, sent: dict[int, list[Any]], received: dict[int, list[Any]], copies: list[Pair]
) -> list[Launch | HostCall]:
    """Return launches that pack, exchange and unpack; parameters as for `eagre.backend.mpi.transport.HostExchange`."""
    own = group.own
    own.use()
    packed: list[Pair] = [*copies]
    unpacked: list[Pair] = []
    messages: list[list[tuple[int, Any]]] = [[], []]
    for direction, parts_by_rank in enumerate((sent, received)):
        for rank, parts in parts_by_rank.items():
            pieces, is_one = pieces_of(parts)
            buffer = own.zeros((message_size(pieces),), np.uint8)
            slots = parts_of(buffer, pieces)
            direct = [not is_one and piece.flags.c_contiguous for piece in pieces]
            moved = [
                pair for pair, is_direct in zip(zip(slots, pieces, strict=True), direct, strict=True) if not is_direct
            ]
            if direction == 0:
                packed += moved
            else:
                unpacked += [(piece, slot) for slot, piece in moved]
            used = [piece if is_direct else slot for slot, piece, is_direct in zip(slots, pieces, direct, strict=True)]
            messages[direction] += [(rank, one) for one in ([buffer] if is_one else used)]
    exchange = HostCall(communicator_of(group.comm).exchange, tuple(messages), captured=True)
    return [*_copies(own, packed), exchange, *_copies(own, unpacked)]


def pieces_of(parts: Sequence[Any]) -> tuple[list[Any], bool]:
    """Return the pieces of parts, and whether they form one message instead of one each.

    Contiguous pieces are sent and received in place. The result depends on shapes only, so that both sides agree.
    """
    pieces = [piece for part in parts for piece in _planes(part)]
    return (pieces, False) if len(pieces) <= MAX_PIECES else ([*parts], True)


def _planes(part: Any) -> list[Any]:
    """Return the planes of an array of three dimensions or more, if they are few."""
    if part.ndim < 3:
        return [part]
    count = math.prod(part.shape[:-2])
    return [part[index] for index in np.ndindex(part.shape[:-2])] if count <= MAX_PIECES else [part]


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
