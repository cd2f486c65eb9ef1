"""Iterations that stop by themselves, on the CPU and with gated kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.backend.select import select
from eagre.errors import ConvergenceError
from until_problem import Jacobi

SHAPE, SCREENING = (11, 14), 400.0


class Gated(CpuDevice):
    """The CPU with rounds of many iterations, as graphs are on a GPU."""

    graphs = True

    def __init__(self):
        super().__init__()
        self.rounds = 0

    def repeated(self, launches, times):
        go = super().repeated(launches, times)

        def count():
            self.rounds += 1
            go()

        return count


def iterations_needed(problem, small):
    """How many iterations plain NumPy makes."""
    a, f, count = np.zeros((SHAPE[0] + 2, SHAPE[1] + 2)), problem.f, 0
    while True:
        lap = (a[1:-1, 2:] + a[1:-1, :-2] + a[2:, 1:-1] + a[:-2, 1:-1] - 4 * a[1:-1, 1:-1]) / 0.01
        r = f + SCREENING * a[1:-1, 1:-1] - lap
        if count % 2 == 0 and np.linalg.norm(r) <= small:
            return count // 2
        a[1:-1, 1:-1] -= r / (400.0 + SCREENING)
        count += 1


@pytest.mark.parametrize("make", [PlainDevice, CpuDevice, Gated])
def test_it_stops_where_the_norm_is_small(make):
    problem = Jacobi(make(), SHAPE, SCREENING)
    found = problem.until.run(1e-6, 200)
    assert found.iterations == iterations_needed(problem, 1e-6) > 5
    assert 1e-8 < found.norm <= 1e-6 and 1e-12 < problem.error < 1e-6


def test_many_iterations_between_two_looks_are_the_same():
    """Those that a graph has left over do nothing, to the last bit."""
    plain, gated = Jacobi(CpuDevice(), SHAPE, SCREENING), Jacobi(Gated(), SHAPE, SCREENING, look_every=7)
    found = [problem.until.run(1e-6, 200) for problem in (plain, gated)]
    assert found[0] == found[1] and found[0].iterations % 7 != 0
    assert gated.device.rounds == 1 + math.ceil(found[0].iterations / 7)  # the start is a graph too
    assert np.array_equal(plain.psi, gated.psi)


def test_a_second_run_goes_on_and_a_good_start_is_enough():
    problem = Jacobi(select("cpu"), SHAPE, SCREENING)
    first = problem.until.run(1e-3, 200)
    second = problem.until.run(1e-6, 200)
    assert first.iterations + second.iterations == iterations_needed(problem, 1e-6)
    assert problem.until.run(1e-6, 200).iterations == 0
    without = Jacobi(select("cpu"), SHAPE, SCREENING, with_start=False)
    assert without.until.run(1e9, 200).iterations == 1


@pytest.mark.parametrize("device", [CpuDevice, Gated])
def test_too_few_iterations_are_an_error(device):
    problem = Jacobi(device(), SHAPE, SCREENING)
    with pytest.raises(
        ConvergenceError,
        match=r"^The iteration did not converge: the norm is [\d.e-]+ after 3 iterations\.\nallowed: up to 1e-06",
    ) as caught:
        problem.until.run(1e-6, 3)
    assert caught.value.iterations == 3 and caught.value.norm > caught.value.wanted == 1e-6
    assert problem.until.run(1e-6, 200).norm <= 1e-6


def test_a_norm_that_is_not_finite_ends_it_at_the_next_look():
    problem = Jacobi(Gated(), SHAPE, SCREENING, look_every=5)
    problem.psi[3, 3] = np.nan
    with pytest.raises(ConvergenceError, match=r"^The iteration did not converge: the norm is nan after"):
        problem.until.run(1e-6, 10**9)
    assert problem.device.rounds == 1  # the start


@pytest.mark.simulator
@pytest.mark.parametrize("precision", ["single", "double"])
def test_simulated_cuda(precision):
    from eagre.backend.simulated import SimulatedDevice

    problem = Jacobi(SimulatedDevice(), (3, 4), SCREENING, precision)
    assert 2 < problem.until.run(1e-4, 50).iterations < 20 and problem.error < 1e-4
