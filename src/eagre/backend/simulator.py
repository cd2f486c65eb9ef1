"""Plain stand-ins for loads, stores and barriers that simulated kernels call by name."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.simulated_kernels import cuda

_copies: dict[Any, list[list[tuple[Any, int, Any]]]] = {}  # groups of a thread, on their way


def load_ahead(array: Any, plane: int, j: int, i: int) -> Any:
    """array[plane, j, i]."""
    return array[plane, j, i]


def _place(array: Any, k: Any, offset: Any) -> Any:
    """Indices of element ``k + offset`` of the array's memory."""
    at = int(k) + int(offset)
    found = []
    for axis in range(len(array.shape) - 1, 0, -1):
        found.append(at % array.shape[axis])
        at //= array.shape[axis]
    return (at, *reversed(found)) if found else at


def flat_load(array: Any, k: int, offset: int) -> Any:
    """Element ``k + offset`` of the array's memory."""
    return array[_place(array, k, offset)]


def flat_store(array: Any, k: int, offset: int, value: Any) -> None:
    """Set element ``k + offset`` of the array's memory."""
    array[_place(array, k, offset)] = value


load_volatile = load_here = load_beside = flat_load
store_beside = flat_store


def two_in_word(low: Any, high: Any) -> np.uint32:
    """Two numbers as the upper halves of their single precision, to the nearest, of two the even one."""
    bits = np.array([low, high], np.float32).view(np.uint32).astype(np.uint64)
    halves = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.uint32(halves[0] | halves[1] << 16)


def two_of_word(both: Any) -> Any:
    """The two numbers of `two_in_word`."""
    return tuple(np.array([both << 16, both & 0xFFFF0000], np.uint32).view(np.float32))


def prefetch_l2(array: Any, k: int, offset: int) -> None:
    """Nothing: there are no caches."""


def load_four(array: Any, k: int, offset: int) -> Any:
    """Four elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(4))


def store_four(array: Any, k: int, offset: int, values: Any) -> None:
    """Set four elements from ``k + offset`` on."""
    for n in range(4):
        flat_store(array, k, offset + n, values[n])


def load_two(array: Any, k: int, offset: int) -> Any:
    """Two elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(2))


def store_two(array: Any, k: int, offset: int, values: Any) -> None:
    """Set two elements from ``k + offset`` on."""
    for n in range(2):
        flat_store(array, k, offset + n, values[n])


class Address(NamedTuple):
    """Where an element lies."""

    array: Any
    k: int

    def __add__(self, more: Any) -> Any:
        """So many bytes further."""
        return Address(self.array, self.k + int(more) // self.array.itemsize)


def address_at(array: Any, k: int) -> Address:
    """Where element k lies."""
    return Address(array, int(k))


def bytes_of(array: Any, count: int) -> int:
    """How many bytes so many elements have."""
    return int(count) * array.itemsize


def copy_word_ahead(shared: Any, n: int, address: Address) -> None:
    """NaN until its group has arrived."""
    shared[n] = math.nan
    _copies.setdefault(cuda.threadIdx, [[]])[-1].append((shared, int(n), flat_load(*address, 0)))


def copy_sixteen_ahead(shared: Any, n: int, address: Address) -> None:
    """The same of as many as 16 bytes have, from multiples of 16 bytes on."""
    words = 16 // shared.itemsize
    assert int(n) % words == 0 and address.k % words == 0
    for word in range(words):
        copy_word_ahead(shared, int(n) + word, address + bytes_of(shared, word))


def copies_in_group() -> None:
    """What this thread has asked for is a group."""
    _copies.setdefault(cuda.threadIdx, [[]]).append([])


def _arrive(groups: list[list[tuple[Any, int, Any]]]) -> None:
    for group in groups:
        for shared, n, value in group:
            shared[n] = value
        group.clear()


def copies_arrived() -> None:
    """All copies of this thread are there."""
    _arrive(_copies.get(cuda.threadIdx, []))


def copies_arrived_but_last() -> None:
    """Those of all groups of this thread but the last one."""
    _arrive(_copies.get(cuda.threadIdx, [])[:-2])  # the last one of the list is not closed yet


def named_barrier(barrier: int, threads: int) -> None:
    """Nothing: the simulator has one barrier, of the whole block."""


def come(shared: Any, n: int) -> None:
    """Nothing: see `meeting_over`."""


def meeting_of(shared: Any, n: int, count: int) -> None:
    """Nothing either."""


def meeting_over(shared: Any, n: int, phase: int) -> None:
    """The barrier of the block, at which all threads have to wait for every meeting."""
    cuda.syncthreads()


def launch_dependents() -> None:
    """Nothing: one kernel runs after the other."""


grid_dependency_wait = launch_dependents


def lend_registers(count: int) -> None:
    """Nothing: registers are the compiler's."""


take_registers = lend_registers
