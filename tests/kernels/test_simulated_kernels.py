"""Simulated kernels: turns of threads, barriers, what memory holds at first, failures."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.simulated import Kernel, cuda

N = 70


def launched(function, *arguments, grid=1, block=N, shared=0):
    Kernel(function)[grid, block, 0, shared](*arguments)


def neighbours(values, found, barrier):
    """Each thread stores a number in shared memory and takes its neighbours' from there."""
    held = cuda.shared.array(N, np.float64)
    t = cuda.threadIdx.x
    held[t] = values[cuda.blockIdx.x, t]
    if barrier:
        cuda.syncthreads()
    found[cuda.blockIdx.x, t] = held[t - 1] + held[(t + 1) % N]


def test_a_barrier_orders_what_threads_exchange(rng):
    values, found = rng.random((3, N)), np.zeros((3, N))
    launched(neighbours, values, found, True, grid=3)
    np.testing.assert_array_equal(found, np.roll(values, 1, axis=1) + np.roll(values, -1, axis=1))


def test_a_missing_barrier_shows_in_every_block(rng):
    found = np.zeros((3, N))
    launched(neighbours, rng.random((3, N)), found, False, grid=3)
    assert np.isnan(found).any(axis=1).all()


def different_warps(found):
    """One warp exchanges numbers, another one does not; both meet at the block's barrier."""
    held = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    if t < 32:
        for turn in range(3):
            held[t] = t + turn
            cuda.syncwarp()
            found[t] = held[(t + 1) % 32]
            cuda.syncwarp()
    else:
        held[t] = t
    cuda.syncthreads()
    found[32 + t] = held[63 - t]


def test_a_warp_can_do_what_another_one_does_not():
    found = np.zeros(96)
    launched(different_warps, found, block=64)
    np.testing.assert_array_equal(found[:32], (np.arange(32) + 1) % 32 + 2)
    np.testing.assert_array_equal(found[32:], [*range(63, 31, -1), *range(33, 1, -1)])


def overtaken(found, second):
    """A number is stored, read by the next thread and replaced: two barriers are needed."""
    held = cuda.shared.array(N, np.int64)
    t = cuda.threadIdx.x
    held[t] = t
    cuda.syncthreads()
    found[t] = held[(t + found[N]) % N]
    if second:
        cuda.syncthreads()
    held[t] = -1
    cuda.syncthreads()


@pytest.mark.parametrize("distance", [1, N - 1])
def test_threads_take_turns_in_both_directions(distance):
    """What is read after a barrier must not be replaced before the next one, whichever thread is first."""
    good, bad = np.zeros(N + 1, np.int64), np.zeros(N + 1, np.int64)
    good[N] = bad[N] = distance
    launched(overtaken, good, True)
    launched(overtaken, bad, False)
    assert (good[:N] == (np.arange(N) + distance) % N).all()
    assert (bad[:N] == -1).any()


def test_threads_may_end_before_a_barrier():
    found = np.zeros(N)

    def kernel(found):
        if cuda.threadIdx.x >= 40:
            return
        cuda.syncthreads()
        found[cuda.threadIdx.x] = cuda.syncthreads_or(cuda.threadIdx.x == 7) + 10 * cuda.syncthreads_or(False)

    launched(kernel, found)
    assert (found[:40] == 1.0).all()
    assert (found[40:] == 0.0).all()


def test_memory_of_the_launch_is_that_of_a_block():
    found = np.zeros((2, 4))

    def kernel(found):
        own = cuda.local.array(2, np.float32)
        words, whole = cuda.shared.array(0, np.float32), cuda.shared.array(0, np.float64)
        found[cuda.blockIdx.x] = words.size, whole.size, np.isnan(words).all(), np.isnan(own).all()
        words[:] = own[:] = 0.0

    launched(kernel, found, grid=2, block=1, shared=44)
    np.testing.assert_array_equal(found, [[11, 5, 1, 1]] * 2)


def test_places_and_atomics():
    found, numbers = np.zeros((3, 4, 6), int), np.array([0, 0, 0, 99])

    def kernel(found, numbers):
        i, j, k = cuda.grid(3)
        found[k, j, i] += 1
        cuda.atomic.add(numbers, 0, 1)
        cuda.atomic.inc(numbers, 1, 10)
        cuda.atomic.max(numbers, 2, i + j)
        cuda.atomic.min(numbers, 3, i - j)

    launched(kernel, found, numbers, grid=(3, 2, 1), block=(2, 2, 3))
    assert (found == 1).all()
    assert numbers.tolist() == [72, 72 % 11, 8, -3]


def test_a_failure_ends_the_block_and_is_raised_once():
    def kernel(found):
        cuda.syncthreads()
        if cuda.threadIdx.x == 5:
            raise ZeroDivisionError("thread 5")
        cuda.syncthreads()
        found[cuda.threadIdx.x] = 1.0

    found = np.zeros(N)
    with pytest.raises(ZeroDivisionError, match="thread 5"):
        launched(kernel, found)
    assert not found.any()
    launched(neighbours, np.ones((1, N)), found := np.zeros((1, N)), True)
    assert (found == 2.0).all()
