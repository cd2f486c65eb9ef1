"""Items of Madsen (2010): outcomes of wrong results, items that need a GPU, and the longer items."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.errors import EagreError
from eagre.laboratory.cases.wave_tanks import LENGTH, periodic_waves, wave
from eagre.laboratory.papers import paper
from eagre.laboratory.reproduce import reproduce
from eagre.laboratory.reproduce.items import madsen2010, madsen2010_times
from eagre.laboratory.reproduce.registry import Run, items_of
from eagre.solvers.multigrid.analysis import Smoother

STORED = "needs a GPU; stored, NVIDIA H200"
PAPER = "madsen2010"
LONGER = [one.name for one in items_of(PAPER).values() if one.lines and one.seconds > 5.0 and "gpu" not in one.needs]
DEVICE = PlainDevice()


def run_of(item, **options):
    return Run(paper(PAPER), item, "cpu", **options)


def failed(lines):
    return {line.row for line in lines if line.failed}


def solution(rate, iterations, converged=True):
    return madsen2010.Solved(np.array([1e-3, 1e-9]), rate, iterations, converged, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("item", LONGER)
def test_longer_items_agree(item):
    lines = reproduce(PAPER, [item], device="cpu")
    assert failed(lines) == set() and any(line.computed is not None for line in lines)


def test_all_items_without_lines_have_a_reason_of_their_own():
    reasons = [item.reason for item in items_of(PAPER).values() if item.lines is None]
    assert len(reasons) == 5 and "not implemented yet" not in reasons


def test_the_wave_of_the_paper():
    exact = wave()
    assert exact.wave_number * (exact.depth - exact.mean_level) == pytest.approx(0.5, rel=1e-2)
    assert exact.height / exact.length == pytest.approx(0.0088)
    model = periodic_waves(8, 3, device=DEVICE, order=2)
    assert model.grid.shape == (1, 24) and model.grid.dx * 24 == pytest.approx(3 * LENGTH)
    eta = model.field("surface_elevation")[0]
    assert np.ptp(eta) == pytest.approx(exact.height, rel=1e-4)
    assert eta[:8] == pytest.approx(eta[16:], abs=1e-8)


def test_a_sweep_unlike_its_symbol_fails(monkeypatch):
    monkeypatch.setattr(Smoother, "measured_gain", lambda smoother, mode, points: 0.5)
    found = failed(madsen2010.chapter_2(run_of("chapter-2")))
    assert found == {"3-D jacobi", "3-D gauss-seidel", "3-D red-black"}


def test_slow_convergence_fails(monkeypatch):
    monkeypatch.setattr(madsen2010, "solved", lambda *given, **options: solution(0.9, 60, converged=False))
    rows = failed(madsen2010.figure_6_5(run_of("figure-6.5")))
    assert rows == {"V(1,1), N 385, to 1e-7", "V(5,5), N 385, to 1e-7", "V(1,1) converges for dx at least"}
    assert failed(madsen2010.figure_6_7(run_of("figure-6.7"))) == {"W(1,1)"}
    assert {"V(1,1), N 1537", "V(2,2), N 1537"} <= failed(madsen2010.figure_6_8(run_of("figure-6.8")))
    assert {"order 2", "order 4"} <= failed(madsen2010.figure_6_4(run_of("figure-6.4")))


def test_iterations_that_grow_with_the_flume_fail(monkeypatch):
    monkeypatch.setattr(madsen2010, "solved", lambda run, panel, label, n, waves, **options: solution(0.1, 9 + waves))
    assert failed(madsen2010.figure_6_10(run_of("figure-6.10"))) == {"4 waves", "8 waves", "16 waves"}


def test_a_missing_order_fails(monkeypatch):
    """Third-order errors: a lack of one at order 4 and of three at order 6, as printed or worse."""
    monkeypatch.setattr("eagre.laboratory.cases.wave_tanks.periodic_waves", lambda n, **options: n)
    monkeypatch.setattr("eagre.laboratory.cases.wave_tanks.surface_velocity_error", lambda n: n**-3.0)
    assert failed(madsen2010.figure_6_1(run_of("figure-6.1"))) == {"observed order", "order 2", "order 4", "order 6"}


def test_memory_is_compared_with_the_formula(monkeypatch):
    """51 and 101 million unknowns in 4 GiB are 84 and 43 bytes each."""
    monkeypatch.setattr(madsen2010_times, "bytes_per_unknown", lambda precision, layers: 60.0)
    lines = list(madsen2010_times.memory(run_of("figure-6.11")))
    assert {(line.row, line.column) for line in lines if line.failed} == {("largest, single, 4 GB", "Eagre")}
    formula = next(line.computed for line in lines if (line.row, line.column) == ("largest, double, 4 GB", "value"))
    assert formula == pytest.approx(2**32 / 8 / (8 * 17 + 42) * 17)


# -- times ---------------------------------------------------------------------------------------------------------


def work(value, count=1):
    return madsen2010_times.Work(lambda: None, lambda: np.array([1.0, value]), count)


def test_kernels_are_verified_before_they_are_timed(monkeypatch):
    monkeypatch.setattr("eagre.laboratory.reproduce.measure.times_of", lambda *given, **options: [6.0])
    found = madsen2010_times.timed_pair(DEVICE, "double", lambda plain: work(2.0, count=1 if plain else 2))
    assert found == {"plain": (6.0, 6.0), "kernel": (3.0, 3.0)}
    with pytest.raises(EagreError, match="differ"):
        madsen2010_times.timed_pair(DEVICE, "double", lambda plain: work(2.0 + 1e-6 * plain))


@pytest.mark.parametrize("make", [madsen2010_times.HIGH_ORDER, madsen2010_times.sweep_work])
def test_works_of_kernels(make, monkeypatch):
    """The work of a call is that of `count` repetitions; plain Python."""
    monkeypatch.setitem(madsen2010_times.GRIDS, "tiny", (5, 9, 7))
    made = make(DEVICE, "tiny", "double", plain=True)
    made.call()
    assert np.isfinite(made.result()).all() and made.result().any()


def test_sweeps_are_two(monkeypatch):
    """Red-black sweeps at a strong screening: relaxing the modes by hand gives the same values."""
    monkeypatch.setitem(madsen2010_times.GRIDS, "tiny", (1, 8, 2))
    made = madsen2010_times.sweep_work(DEVICE, "tiny", "double", plain=True)
    made.call()
    f = np.random.default_rng(1).random((1, 1, 8))[0, 0]
    u, over = np.zeros(8), madsen2010_times.SPACING**-2
    for _ in range(made.count):
        for colour in (0, 1):
            for i in range(colour, 8, 2):
                left, right = u[i - 1 if i else 1], u[i + 1 if i < 7 else 6]
                u[i] = ((left + right) * over - f[i]) / (2.0 * over + madsen2010_times.SCREENING)
    assert made.result()[0, 0] == pytest.approx(u, rel=1e-12)


def test_times_of_kernels_become_lines(monkeypatch):
    monkeypatch.setattr(madsen2010_times, "timed_pair", lambda *given: {
        "plain": madsen2010_times.Timing(4e-3, 4e-3), "kernel": madsen2010_times.Timing(1e-3, 1e-3),
    })  # fmt: skip
    monkeypatch.setattr("eagre.laboratory.reproduce.measure.copy_bandwidth", lambda device: 1e10)
    lines = list(madsen2010_times.kernel_table(run_of("table-5.12"), "single", madsen2010_times.HIGH_ORDER))
    found = {(line.row, line.column): line for line in lines}
    assert found["naive", "257x17x6"].quotient == pytest.approx(0.88 / 4.0)
    assert found["A", "257x17x6"].note == "plain kernels / fast kernels 4"
    assert found["A", "3073x257x17"].note.endswith("table-5.12 --most 600")
    assert (found["B total", "3073x257x17"].outcome, found["B total", "3073x257x17"].computed) == ("misprint", 137.0)
    assert not failed(lines)
    in_us = list(madsen2010_times.kernel_table(run_of("table-5.10"), "single", madsen2010_times.sweep_work))
    assert in_us[0].computed == pytest.approx(4000.0)
    gains = list(madsen2010_times.kernels_gain(run_of("figure-6.12")))
    assert [line.computed for line in gains] == [4.0, 4.0]


def test_speed_over_one_core(monkeypatch):
    def measurements(kind, device, sizes, precision, variants):
        for size in sizes:
            for threads in (1, 2) if device == "cpu" else (None,):
                ms = 10.0 * size / (threads or 4)
                yield {"shape": [17, size], "threads": threads, "ms_per_step": ms, "error": ""}

    monkeypatch.setattr("eagre.laboratory.bench.measurements", measurements)
    run = run_of("figure-6.16")
    here = list(madsen2010_times.core_times(run))
    assert [line.outcome for line in here] == ["compared", *["not run"] * 4]
    assert here[0].computed == 2570.0 and here[0].quotient == pytest.approx(278.0 / 2570.0)
    run.device = "cuda"
    monkeypatch.setattr(Run, "on_gpu", True)
    there = list(madsen2010_times.core_times(run))
    assert [line.computed for line in there] == [2570.0, 4.0, 4.0, 4.0, 4.0]


def test_spread_of_block_sizes(monkeypatch):
    calls = []

    def tuned(kind, device, precision, sizes, only):
        calls.append((precision, sizes, only))
        trials = [SimpleNamespace(seconds=one) for one in ([2.0, 2.0, 9.0], [], [3.0])]
        yield SimpleNamespace(outcome=SimpleNamespace(trials=trials, best={"registers": 64}))

    monkeypatch.setattr("eagre.laboratory.bench.tuning.tuner.tune_benchmark", tuned)
    lines = list(madsen2010_times.block_sizes(run_of("table-5.2"), *madsen2010_times.BLOCKS["table-5.2"][1:]))
    assert [line.printed for line in lines] == ["277.4", "499.2", "510.7"]
    assert [line.computed for line in lines] == [pytest.approx(50.0)] * 3
    assert calls == [("single", [nx], ["potential-waves.columns"]) for nx in (257, 1537, 3073)]
    assert reproduce(PAPER, ["table-5.2"], device="cpu")[0].note.startswith(STORED)
