# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
"""Exchange between GPUs of several processes: NCCL sends and receives, or memory of GPUs of one host.

CUDA graphs can hold NCCL calls. GPUs of processes of one host read the memory of each other: CUDA IPC maps allocations
of another process. One kernel waits until every process has begun the exchange, copies, and waits until every process
has copied. Processes set flags in the memory of each other. Long exchanges use the copy kernels of several GPUs of one
process between two kernels that only wait. CUDA graphs can hold all of them.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np

from eagre.backend.cuda.driver import LIBRARY
from eagre.backend.device import HostCall, Launch
from eagre.backend.group import LocalTransport, Message, Stage, message_size, region_views
from eagre.backend.peer_copies import Pair, copy_launches
from eagre.errors import DeviceError

THREADS = 256  # per block
MAX_ELEMENTS = 512 * THREADS  # of the copies of one exchange kernel
WORDS = 16  # of a row of the table of copies
SIZES = (4, 8, 16)  # of an element that the kernel copies, bytes
KERNEL = r"""
typedef unsigned long long word;

__device__ void set(unsigned* flag, unsigned number) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(flag), "r"(number) : "memory");
}

__device__ void wait_for(const unsigned* flag, unsigned number) {
    unsigned reached;
    do {
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(reached) : "l"(flag) : "memory");
    } while ((int)(reached - number) < 0);
}

// Row of `copies`: first thread, target, source, size of an element, shape (2nd and 3rd axis), strides of both.
// own: by process, the last exchange that it has begun, and that it has finished; last exchange of this process; blocks
extern "C" __global__ void exchange(const word* copies, int rows, int threads, bool finish, unsigned* own,
                                    unsigned* const* flags, int rank, int count) {
    const int me = threadIdx.x, i = blockIdx.x * blockDim.x + me;
    const bool other = me < count && me != rank;
    volatile unsigned* last = own + 2 * count;
    const unsigned number = last[0] + 1;
    __shared__ bool is_last;
    if (blockIdx.x == 0 && other) set(flags[me] + rank, number);
    char* to = 0;
    const char* from = 0;
    if (i < threads) {
        while (rows > 1 && i >= (int)copies[16]) { copies += 16; rows--; }
        const unsigned n = i - (unsigned)copies[0], ny = copies[4], nx = copies[5];
        const unsigned x = n % nx, y = n / nx % ny, z = n / nx / ny;
        to = (char*)copies[1] + z * copies[6] + y * copies[7] + x * copies[8];
        from = (const char*)copies[2] + z * copies[9] + y * copies[10] + x * copies[11];
    }
    if (other) wait_for(own + me, number);
    __syncthreads();
    if (i < threads) {
        if (copies[3] == 4) *(unsigned*)to = *(const volatile unsigned*)from;
        else if (copies[3] == 8) *(word*)to = *(const volatile word*)from;
        else { ((word*)to)[0] = ((const volatile word*)from)[0]; ((word*)to)[1] = ((const volatile word*)from)[1]; }
    }
    __syncthreads();
    if (me == 0) {
        __threadfence();
        is_last = atomicAdd(own + 2 * count + 1, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last) {
        if (other && finish) { set(flags[me] + count + rank, number); wait_for(own + count + me, number); }
        if (me == 0) { last[1] = 0; last[0] = number; }
    }
}
"""


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


class Exported(NamedTuple):
    """Array of a GPU that other processes of the host can map."""

    handle: bytes  # of the allocation
    offset: int  # bytes
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class Peers:
    """GPUs of the processes of one host; see `peers_of`."""

    def __init__(self, comm: Any, device: Any) -> None:
        self.comm, self._device = comm, device
        self._mapped: dict[tuple[int, bytes], int] = {}
        device.use()
        self._counters = device.zeros((2 * comm.size + 2,), np.uint32)
        device.synchronize()
        self._kernel = cupy.RawKernel(KERNEL, "exchange")

    def connect(self) -> bool:
        """Map the flags of all processes; return whether all have succeeded."""
        exports, flags = self.comm.allgather(self._export_counters()), []
        try:
            for rank, one in enumerate(exports):
                if one is not None:
                    flags.append(self._counters if rank == self.comm.rank else self.imported(rank, one))
        except cupy.cuda.runtime.CUDARuntimeError:
            flags = []
        if min(self.comm.allgather(len(flags))) < self.comm.size:
            return False
        self._flags = self._device.array(np.array([one.data.ptr for one in flags], np.uint64))
        self._device.run([self.exchange([], finish=False)])  # loads the kernel, which capture does not allow
        self._device.synchronize()
        return True

    def _export_counters(self) -> Exported | None:
        """Return the description of the counters, or None if other processes cannot map memory of this GPU."""
        try:
            return self.exported(self._counters)
        except (RuntimeError, OSError, AttributeError):  # CUDARuntimeError is a RuntimeError
            return None

    def exchange(self, pairs: Sequence[Pair], finish: bool = True) -> HostCall:
        """Return the launch that waits for all processes, copies, and waits until all have copied.

        pairs : up to `MAX_ELEMENTS` elements of one of the `SIZES`, up to three axes
        finish : wait until all processes have copied; equal in all processes
        """
        rows, threads = np.zeros((max(1, len(pairs)), WORDS), np.uint64), 0
        for row, (target, source) in zip(rows, pairs, strict=False):
            shape, to, there = (1, 1, *target.shape)[-2:], _strides(target), _strides(source)
            row[:12] = (threads, target.data.ptr, source.data.ptr, target.itemsize, *shape, *to, *there)
            threads += target.size
        table, blocks = self._device.array(rows), max(1, -(-threads // THREADS))
        numbers = (np.int32(len(pairs)), np.int32(threads), np.bool_(finish))
        processes = (np.int32(self.comm.rank), np.int32(self.comm.size))
        arguments = (table, *numbers, self._counters, self._flags, *processes)
        return HostCall(self._kernel, ((blocks,), (THREADS,), arguments), captured=True)

    def transport(self, group: Any) -> PeerTransport:
        """Return a new transport between the GPUs."""
        return PeerTransport(group)

    def exported(self, array: Any) -> Exported:
        """Return the description of an array of this process."""
        base, size = ctypes.c_uint64(0), ctypes.c_size_t(0)
        driver, pointer = ctypes.CDLL(LIBRARY), ctypes.c_uint64(array.data.ptr)
        if driver.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), pointer):
            raise RuntimeError(f"no allocation at {pointer.value:#x}")
        handle = cupy.cuda.runtime.ipcGetMemHandle(base.value)
        return Exported(handle, array.data.ptr - base.value, array.shape, array.strides, array.dtype.str)

    def imported(self, rank: int, one: Exported) -> Any:
        """Return an array of another process, mapped into the memory of this one."""
        key = rank, one.handle
        if key not in self._mapped:
            self._device.use()
            self._mapped[key] = cupy.cuda.runtime.ipcOpenMemHandle(one.handle)
        dtype, address = np.dtype(one.dtype), self._mapped[key] + one.offset
        extent = sum((n - 1) * stride for n, stride in zip(one.shape, one.strides, strict=True)) + dtype.itemsize
        memory = cupy.cuda.UnownedMemory(address, extent, self, self._device.index)
        return cupy.ndarray(one.shape, dtype, cupy.cuda.MemoryPointer(memory, 0), one.strides)


_peers: dict[int, Peers | None] = {}


def peers_of(comm: Any, device: Any) -> Peers | None:
    """Return the GPUs of a communicator, or None if a process cannot map the memory of another; all processes call it.

    The environment variable ``EAGRE_TRANSPORT=nccl`` selects NCCL instead.
    """
    key = comm.py2f()
    if key not in _peers:
        allowed = os.environ.get("EAGRE_TRANSPORT", "") != "nccl"
        alone = len(set(comm.allgather((socket.gethostname(), allowed)))) == 1 and allowed
        peers = Peers(comm, device) if alone else None
        _peers[key] = peers if peers is not None and peers.connect() else None
    return _peers[key]


class PeerTransport(LocalTransport):
    """Transport between GPUs of processes of one host; each copies from the memory of the others."""

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """See `Transport.exchange`; all processes call it. The launches wait for the other processes themselves."""
        group, rank, messages = self.group, self.group.rank, list(messages)
        exports = {
            number: group.peers.exported(region)
            for number, one in enumerate(messages)
            if one.source == rank != one.target and (region := self._published[rank, one.field][one.there]).size
        }
        every, pairs = group.comm.allgather(exports), []
        for number, one in enumerate(messages):
            if one.target != rank:
                continue
            target = self._published[rank, one.into or one.field][one.here]
            if one.source == rank:
                pairs.append((target, self._published[rank, one.field][one.there]))
            elif target.size:
                pairs.append((target, group.peers.imported(one.source, every[one.source][number])))
        launches = self._launches(pairs)
        return [launches if one == rank else [] for one in range(len(group.devices))]

    def _launches(self, pairs: Sequence[Pair]) -> list[Any]:
        """Return launches of the same kind in all processes."""
        group, known = self.group, all(one.itemsize in SIZES and one.ndim <= 3 for one, _ in pairs)
        sizes = group.comm.allgather(sum(one.size for one, _ in pairs) if known else MAX_ELEMENTS + 1)
        if not any(sizes):
            return []
        if max(sizes) <= MAX_ELEMENTS:
            return [group.peers.exchange(pairs)]
        barrier = group.peers.exchange([], finish=False)
        return [barrier, *group.copies(group.local, pairs), barrier]


def _strides(array: Any) -> tuple[int, ...]:
    return (0,) * (3 - array.ndim) + array.strides
