"""Launches over few points take one thread of a CPU, others all of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import eagre
from eagre.backend.cpu import compiler
from eagre.backend.device import Launch
from eagre.backend.select import select


class Pair(NamedTuple):
    first: Any
    second: Any


FIELD = np.zeros((3, 200, 200))
SMALL = np.zeros((3, 20, 20))
SCRATCH = np.zeros((1, 10**6))  # of one thread


@pytest.mark.parametrize(
    ("arguments", "is_few"),
    [
        ((SMALL, 3, np.float32(1.0)), True),
        ((SMALL, FIELD), False),
        ((3, Pair(1.0, (SMALL, FIELD))), False),
        ((SMALL, SCRATCH), True),
        ((np.zeros(10**5),), False),
        ((np.zeros((300, 300)),), False),
    ],
)
def test_the_largest_array_decides(arguments, is_few):
    assert compiler.few(arguments) == is_few


@pytest.fixture
def asked(monkeypatch):
    """Numbers of threads that were asked for, where there are four."""
    found: list[int] = []
    monkeypatch.setattr(compiler, "without_locks", lambda: (lambda: 4, found.append))
    return found


def test_threads_change_where_sizes_do(asked):
    ran: list[str] = []
    launches = [Launch(lambda a: ran.append(str(len(asked))), (a,)) for a in (FIELD, SMALL, SMALL, FIELD, SMALL)]
    device = select("cpu")
    device.run(launches)
    assert asked == [1, 4, 1, 4] and ran == ["0", "1", "1", "2", "3"]
    del asked[:]
    device.repeated(launches[1:3], 2)()
    assert asked == [1, 4]


def test_little_work_on_large_arrays_takes_one_thread(asked):
    """As values at a few points do, whose launch has the whole state among its arguments."""
    device = select("cpu")
    device.run([Launch(lambda a: None, (FIELD,), alone=True), Launch(lambda a: None, (FIELD,))])
    assert asked == [1, 4]
    del asked[:]
    grid = eagre.Grid(250, 250, 1.0, 1.0)
    model = eagre.ShallowWater(grid, -1.0, surface_elevation=0.0, device="cpu")
    model._engine.sample_buffers(np.array([3]), np.array([4]))
    few = [alone for _, _, alone in device._bound(model._engine.extra.each)]
    assert few[0] and few[1]


def test_all_threads_are_there_after_an_error(asked):
    def fail(a):
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        select("cpu").run([Launch(fail, (SMALL,))])
    assert asked == [1, 4]


def test_threads_are_set_without_locks_where_numba_can(monkeypatch):
    """To the number that its public functions say; another Numba has only these."""
    get, put = compiler.without_locks()
    before = compiler.threads()
    try:
        put(1)
        assert get() == compiler.threads() == 1
    finally:
        put(before)
    assert get() == compiler.threads() == before
    assert (get, put) != (compiler.numba.get_num_threads, compiler.numba.set_num_threads)
    monkeypatch.setattr(compiler, "parallel", None)
    assert compiler.without_locks.__wrapped__() == (compiler.numba.get_num_threads, compiler.numba.set_num_threads)
