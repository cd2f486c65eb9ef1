"""Items of `mike21`: derived numbers, run times, single precision, and the code of items for GPUs."""

from __future__ import annotations

import pytest

from eagre.backend.select import select
from eagre.errors import EagreError
from eagre.laboratory.bench.benchmark import KernelTime
from eagre.laboratory.papers import paper
from eagre.laboratory.reproduce import reproduce
from eagre.laboratory.reproduce.items import mike21, mike21_times
from eagre.laboratory.reproduce.measure import Timing
from eagre.laboratory.reproduce.registry import Run, items_of


def run_of(item):
    return Run(paper("mike21"), item, "cpu")


def test_every_item_has_lines_or_a_final_reason():
    reasons = {item.reason for item in items_of("mike21").values() if item.lines is None}
    assert not any("not implemented" in reason for reason in reasons) and len(reasons) == 2


def test_derived_numbers_of_the_versions():
    """Numbers by hand: 160 values of 8 bytes and 422 operations per cell and step, 1000 MiB per GB."""
    lines = {(one.row, one.column): one for one in reproduce("mike21", ["table-8.13", "table-8.22"], device="cpu")}
    assert lines["S14", "bandwidth"].computed == pytest.approx(100 * 2048**2 * 160 * 8 / 6.095 / (1000 * 2**20))
    assert lines["S14", "Gflops"].computed == pytest.approx(100 * 2048**2 * 422 / 6.095e9)
    assert lines["S14", "speedup"].computed == pytest.approx(398.191 / 6.095)
    assert {lines["S24", column].outcome for column in ("bandwidth", "Gflops")} == {"misprint"}
    assert lines["S24", "speedup"].outcome == "explained" and not any(line.failed for line in lines.values())


def test_wrong_words_per_cell_fail(monkeypatch):
    monkeypatch.setattr(mike21_times, "PAPER_WORDS", 159)
    lines = reproduce("mike21", ["table-8.13", "table-8.22"], device="cpu")
    assert [(line.row, line.column) for line in lines if line.failed] == [("S14", "bandwidth"), ("S24", "bandwidth")]


def test_times_of_steps_are_alternating_and_per_step(monkeypatch):
    counts = []

    def alternating(device, works, repeats):
        for work in works.values():
            work()
        counts.append(list(works))
        return {name: mike21_times.Timing(6.0, 3.0) for name in works}

    monkeypatch.setattr(mike21_times, "alternating", alternating)
    monkeypatch.setattr(mike21_times, "CELL_STEPS", 3 * 24**2)
    cases = [("double", 24), ("double", 48)]
    assert mike21_times.step_times(select("cpu"), cases) == {cases[0]: (2.0, 1.0), cases[1]: (3.0, 1.5)}
    assert counts == [["double 24", "double 48"]]
    monkeypatch.setattr("eagre.laboratory.bench.shallow_water_adi.LARGEST_VOLUME_ERROR", {"double": -1.0})
    with pytest.raises(EagreError, match="volume"):
        mike21_times.step_times(select("cpu"), cases)


def seconds_of(monkeypatch, order):
    """Replace run times by n**order."""

    def times(run, sizes):
        run.data["times"] = {"Eagre": dict.fromkeys(sizes, 1.0)}
        return {n: mike21_times.Timing(n**order, n**order) for n in sizes}, ""

    monkeypatch.setattr(mike21_times, "core_times", times)


@pytest.mark.parametrize(("order", "failed"), [(2.0, False), (1.2, True), (3.0, True)])
def test_the_growth_of_the_time_is_compared(monkeypatch, tmp_path, order, failed):
    seconds_of(monkeypatch, order)
    runs = run_of("table-6.1"), run_of("figure-9.5")
    table, figure = list(mike21_times.table_6_1(runs[0])), list(mike21_times.figure_9_5(runs[1]))
    assert [line.failed for line in table if line.outcome == "holds"] == [failed] * 2
    assert sum(line.outcome == "compared" for line in table) == 6
    assert (figure[0].computed, figure[0].failed) == (pytest.approx(order), failed)
    mike21_times.draw_times(tmp_path / "times.png", runs[0], table)
    assert (tmp_path / "times.png").stat().st_size > 1000


def test_bounds_of_the_speedup_by_hand():
    """A parallel fraction of 0.9 on 16 cores: 1 / (0.1 + 0.9 / 16) = 6.4, and 16 - 0.1 * 15 = 14.5."""
    assert mike21_times.amdahl(0.9, 16) == pytest.approx(6.4)
    assert mike21_times.gustafson(0.9, 16) == pytest.approx(14.5)


@pytest.mark.parametrize("microseconds", [950.0, 850.0, 1100.0])
def test_the_parallel_fraction_is_that_of_the_kernels(monkeypatch, microseconds):
    """A step takes 1 ms; two kernels take the rest but for the host."""
    kernels = [KernelTime("x", 1.0, microseconds - 300.0, 0.5), KernelTime("y", 1.0, 300.0, 0.5)]
    timing = Timing(1.1e-3, 1e-3)
    monkeypatch.setattr(mike21_times, "core_times", lambda run, sizes: (dict.fromkeys(sizes, timing), ""))
    monkeypatch.setattr(mike21_times, "kernel_times", lambda *arguments: kernels)
    lines = {(line.row, line.column): line for line in mike21_times.section_2(run_of("section-2"))}
    fraction = min(1.0, microseconds / 1000.0)
    assert lines["64 x 64 cells", "Amdahl's bound, 1024 cores"].computed == pytest.approx(
        1.0 / (1.0 - fraction + fraction / 1024)
    )
    assert lines["serial fraction of 20 %", "maximum speedup"].outcome == "exact"
    assert lines["rows and columns of a large grid", "parallel fraction"].computed == pytest.approx(fraction)


def test_errors_of_single_precision_grow(tmp_path):
    errors = mike21.errors_of_single("cpu", 128, (10, 100))
    assert 1e-8 < errors[10] < errors[100] < 1e-5
    run = run_of("section-9.4")
    run.data["curves"] = {128: errors}
    mike21.draw_errors(tmp_path / "errors.png", run, [])
    assert (tmp_path / "errors.png").stat().st_size > 1000


def test_a_validation_is_drawn(tmp_path):
    mike21.items_of_validation("pool")["draw"](tmp_path / "pool.png", run_of("figure-6.6"), [])
    assert (tmp_path / "pool.png").stat().st_size > 1000


def test_a_wrong_solver_fails(monkeypatch):
    (line, *_) = mike21.solvers(run_of("table-8.23"))
    assert not line.failed and 0.0 < line.computed < 1e-14
    monkeypatch.setattr("eagre.solvers.tridiagonal.solve", lambda a, b, c, d, method: d / b)
    assert next(iter(mike21.solvers(run_of("table-8.23")))).failed


def test_rates_and_speedups_run_on_any_device(monkeypatch):
    """Items that need a GPU, on a CPU: the kernels are those of the models."""
    rates = {line.column: line.computed for line in mike21.table_7_2(run_of("table-7.2"))}
    assert rates["ratio"] == pytest.approx(rates["single"] / rates["double"])
    times = {"cuda": 2.0, "cpu": 80.0}
    monkeypatch.setattr(mike21, "select", lambda device: "cpu" if device == "cpu" else "cuda")
    monkeypatch.setattr(mike21, "step_times", lambda device, cases: dict.fromkeys(cases, timing(times[device])))
    (line,) = mike21.speedups(Run(paper("mike21"), "figure-9.9", "auto"))
    assert (line.printed, line.computed, line.outcome) == ("35", 40.0, "compared")
    (line,) = mike21.speedups(Run(paper("mike21"), "figure-9.4", "auto"))
    assert line.computed == pytest.approx(3008**2 / 2.0 * 160 * 8 / (1000 * 2**20))


def timing(seconds):
    return mike21_times.Timing(seconds, seconds)


def test_copies_are_compared(monkeypatch):
    from eagre.laboratory.bench.transfers import TransferTime

    seconds = {"in, pageable": 0.04, "out, pageable": 0.05, "in, pinned": 0.03, "out, pinned": 0.02}
    copies = [TransferTime(f"all arrays {name}", value, 10**9) for name, value in seconds.items()]
    monkeypatch.setattr(mike21, "transfer_times", lambda *given, **options: copies)
    lines = list(mike21.table_8_1(run_of("table-8.1")))
    assert {(one.row, one.column): one.computed for one in lines}["pinned", "DtoH"] == pytest.approx(20.0)
    assert (lines[-1].computed, lines[-1].failed) == (pytest.approx(0.4), False)
    copies[3] = copies[3]._replace(seconds=0.06)
    assert list(mike21.table_8_1(run_of("table-8.1")))[-1].failed


@pytest.mark.parametrize(("used", "failed"), [(1.0, False), (1.1, True)])
def test_the_memory_of_a_gpu_is_filled(monkeypatch, used, failed):
    """Seven values per cell without friction: 4 MB hold 267 x 267 cells, and the padding of the arrays."""
    free = [4e6, 4e6 - used * 7.0 / 8.0 * mike21.device_bytes(267, 267, 8, 0)]
    monkeypatch.setattr(mike21, "FILLED", 4_000_000)
    monkeypatch.setattr(type(select("cpu")), "free_memory", lambda device: free.pop(0))
    monkeypatch.setattr(Run, "on_gpu", property(lambda run: True))
    line = mike21.filled_memory(run_of("section-8.2.5"))
    assert line.computed == pytest.approx(used) and line.failed == failed and "267 x 267" in line.note


@pytest.mark.simulator
def test_the_versions_for_gpus_run_and_agree(monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    def once(device, works):
        for work in works.values():
            work()
        return {name: timing(2.0) for name in works}

    for module in (mike21_times, mike21):
        monkeypatch.setattr(module, "alternating", once)
        monkeypatch.setattr(module, "TIMED_STEPS", 1)
    seconds = mike21_times.gpu_durations(SimulatedDevice(), 3, run_of("table-8.4"))
    assert seconds == dict.fromkeys(["S1N", "S1N2", "S14", "on the fly", "S24", "Eagre"], 200.0)
    assert mike21.transpose_seconds(SimulatedDevice(), 40) == 2.0


def test_the_fraction_of_building_the_rows(monkeypatch):
    seconds, difference = mike21_times.sweep_times(24)
    assert 0.0 < seconds["rows"] and 0.0 < seconds["stored"] and difference < 1e-13
    times = {"x": 1.0, "y": 4.0, "rows": 2.0, "stored": 4.0}
    monkeypatch.setattr(mike21_times, "sweep_times", lambda: (times, 1e-10))
    lines = {(one.row, one.column): one for one in mike21_times.figure_6_4(run_of("figure-6.4"))}
    assert lines["building of the rows", "fraction"].computed == 50.0
    assert (lines["all", "time"].computed, lines["x sweep with children", "fraction"].computed) == (5000.0, 20.0)
    failed = {line.row for line in lines.values() if line.failed}
    assert failed == {"algorithm of the paper", "x sweep with children", "y sweep with children"}


@pytest.mark.slow
@pytest.mark.parametrize("item", [item.name for item in items_of("mike21").values() if item.lines and item.seconds > 5])
def test_longer_items_agree(item):
    assert [line for line in reproduce("mike21", [item], device="cpu") if line.failed] == []
