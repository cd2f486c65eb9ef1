"""Plain Python versions of loads, stores and barriers for simulated kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.simulated.kernels import cuda

_copies: dict[Any, list[list[tuple[Any, int, Any]]]] = {}  # pending copy groups of a thread


def load_early(array: Any, plane: int, j: int, i: int) -> Any:
    """Return array[plane, j, i]."""
    return array[plane, j, i]


def _indices(array: Any, k: Any, offset: Any) -> Any:
    """Return the indices of element ``k + offset`` of the array's memory."""
    position = int(k) + int(offset)
    indices = []
    for axis in range(len(array.shape) - 1, 0, -1):
        indices.append(position % array.shape[axis])
        position //= array.shape[axis]
    return (position, *reversed(indices)) if indices else position


def flat_load(array: Any, k: int, offset: int) -> Any:
    """Return element ``k + offset`` of the array's memory."""
    return array[_indices(array, k, offset)]


def flat_store(array: Any, k: int, offset: int, value: Any) -> None:
    """Set element ``k + offset`` of the array's memory."""
    array[_indices(array, k, offset)] = value


load_volatile = load_here = load_offset32 = flat_load
store_offset32 = flat_store


def two_in_word(low: Any, high: Any) -> np.uint32:
    """Pack two numbers as the upper halves of their single-precision values, rounded to nearest even."""
    bits = np.array([low, high], np.float32).view(np.uint32).astype(np.uint64)
    halves = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.uint32(halves[0] | halves[1] << 16)


def two_of_word(both: Any) -> Any:
    """Unpack the two numbers of `two_in_word`."""
    return tuple(np.array([both << 16, both & 0xFFFF0000], np.uint32).view(np.float32))


def prefetch_l2(array: Any, k: int, offset: int) -> None:
    """Do nothing: there are no caches."""


def load_four(array: Any, k: int, offset: int) -> Any:
    """Return four elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(4))


def store_four(array: Any, k: int, offset: int, values: Any) -> None:
    """Set four elements from ``k + offset`` on."""
    for n in range(4):
        flat_store(array, k, offset + n, values[n])


def load_two(array: Any, k: int, offset: int) -> Any:
    """Return two elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(2))


def store_two(array: Any, k: int, offset: int, values: Any) -> None:
    """Set two elements from ``k + offset`` on."""
    for n in range(2):
        flat_store(array, k, offset + n, values[n])


class Address(NamedTuple):
    """Address of an element."""

    array: Any
    k: int

    def __add__(self, more: Any) -> Any:
        """Return the address plus a number of bytes."""
        return Address(self.array, self.k + int(more) // self.array.itemsize)


def address_at(array: Any, k: int) -> Address:
    """Return the address of element k."""
    return Address(array, int(k))


def bytes_of(array: Any, count: int) -> int:
    """Return the size of `count` elements, bytes."""
    return int(count) * array.itemsize


def copy_element_async(shared: Any, n: int, address: Address) -> None:
    """Store NaN until the group of the copy has arrived."""
    shared[n] = math.nan
    _copies.setdefault(cuda.threadIdx, [[]])[-1].append((shared, int(n), flat_load(*address, 0)))


def copy_16_bytes_async(shared: Any, n: int, address: Address) -> None:
    """Copy 16 bytes, at multiples of 16 bytes."""
    count = 16 // shared.itemsize
    assert int(n) % count == 0 and address.k % count == 0
    for word in range(count):
        copy_element_async(shared, int(n) + word, address + bytes_of(shared, word))


def copies_in_group() -> None:
    """Commit the copies of this thread as a group."""
    _copies.setdefault(cuda.threadIdx, [[]]).append([])


def _arrive(groups: list[list[tuple[Any, int, Any]]]) -> None:
    for group in groups:
        for shared, n, value in group:
            shared[n] = value
        group.clear()


def copies_arrived() -> None:
    """Complete all copies of this thread."""
    _arrive(_copies.get(cuda.threadIdx, []))


def copies_arrived_but_last() -> None:
    """Complete all groups of this thread except the last one."""
    _arrive(_copies.get(cuda.threadIdx, [])[:-2])  # the last item is the open group


def named_barrier(barrier: int, threads: int) -> None:
    """Do nothing: the simulator has one barrier, for the whole block."""


def mbarrier_arrive(shared: Any, n: int) -> None:
    """Do nothing: see `mbarrier_wait`."""


def mbarrier_init(shared: Any, n: int, count: int) -> None:
    """Do nothing."""


def mbarrier_wait(shared: Any, n: int, phase: int) -> None:
    """Wait at the barrier of the block, which all threads must reach for every barrier object."""
    cuda.syncthreads()


def launch_dependents() -> None:
    """Do nothing: kernels run sequentially."""


grid_dependency_wait = launch_dependents


def release_registers(count: int) -> None:
    """Do nothing: there are no registers."""


acquire_registers = release_registers
