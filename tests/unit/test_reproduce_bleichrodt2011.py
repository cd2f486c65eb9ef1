"""Items of Bleichrodt (2011): times of records, kernels and models that replace long runs."""

from __future__ import annotations

import pytest

from eagre.laboratory.bench.benchmark import KernelTime
from eagre.laboratory.papers import paper
from eagre.laboratory.reproduce import measure
from eagre.laboratory.reproduce.items import bleichrodt2011
from eagre.laboratory.reproduce.registry import Line, Run


def run_of(item, **options):
    return Run(paper("bleichrodt2011"), item, "cpu", **options)


@pytest.fixture
def sizes(monkeypatch):
    """Sizes that the benchmark measures; a step takes 1 ms on one core and 0.5 ms on two."""
    measured = []

    def measurements(kind, device, *, precision, sizes, variants):
        assert (kind, precision, variants) == ("barotropic", "double", ["bleichrodt2011"])
        measured.extend(sizes)
        for size in sizes:
            for threads in (1, 2):
                times = {"ms_per_step": 1.0 / threads, "ms_best": 0.9 / threads}
                yield {"shape": [size, size], "threads": threads, "error": "psi", **times}

    monkeypatch.setattr("eagre.laboratory.bench.measurements", measurements)
    monkeypatch.setattr(measure, "copy_bandwidth", lambda device: 1e10)
    return measured


def slow_transform(minimum):
    """Times of `alternating`: the larger grid takes `minimum` times as long."""
    return lambda device, works, repeats: {
        name: measure.Timing(1.0, minimum if name in bleichrodt2011.SLOWER else 1.0) for name in works
    }


@pytest.mark.parametrize(("minimum", "failures"), [(2.1, []), (1.5, ["515 over 513"])])
def test_times_per_step_and_slow_transforms(sizes, monkeypatch, tmp_path, minimum, failures):
    monkeypatch.setattr(bleichrodt2011, "alternating", slow_transform(minimum))
    run = run_of("table-B.1")
    lines = list(bleichrodt2011.table_b1(run))
    assert sizes == [33, 65, 129, 257, 259, 513, 515, 769, 1025]
    core = [line for line in lines if line.outcome == "compared"]
    assert [line.column for line in core] == ["CPU"] * 9 and {line.computed for line in core} == {1.0}
    assert next(line for line in core if line.row == "515").quotient == 112.2
    assert [line.row for line in lines if line.failed] == failures
    assert [line.printed for line in lines if line.outcome == "holds"] == ["1.78", "2.08"]  # 22.85/12.81, 112.2/53.94
    assert sum(line.note.startswith("needs a GPU") for line in lines) == 11
    bleichrodt2011.draw_times(tmp_path / "times.png", run, lines)
    assert (tmp_path / "times.png").stat().st_size > 10_000


def test_large_grids_need_time(sizes, monkeypatch):
    monkeypatch.setattr(bleichrodt2011, "alternating", slow_transform(3.0))
    list(bleichrodt2011.table_b1(run_of("table-B.1", max_seconds=200.0)))
    assert sizes[-2:] == [2049, 4097]


@pytest.mark.parametrize(("update", "failed"), [(24.0, False), (33.0, False), (36.0, True), (13.0, True)])
def test_fractions_of_time(monkeypatch, update, failed):
    """The minimum of each kernel counts: the first profile has a disturbed transform."""
    quiet = [KernelTime("sine_transform", 2, 100.0 - update, 0.0), KernelTime("update_cpu", 1, update, 0.0)]
    disturbed = [quiet[0]._replace(microseconds=900.0), quiet[1]]
    profiles = iter([disturbed, quiet, quiet, quiet])
    monkeypatch.setattr("eagre.laboratory.bench.benchmark.kernel_times", lambda *settings: next(profiles))
    monkeypatch.setattr(bleichrodt2011, "resolution", lambda run: ())
    lines = list(bleichrodt2011.section_3(run_of("section-3")))
    assert [line.failed for line in lines] == [False, failed, failed]
    assert lines[2].computed == pytest.approx(update)
    assert lines[0].computed == pytest.approx(1.783e6 * 26.33e-3 / 3600)


def test_largest_streamfunction(monkeypatch):
    def validated(run, kind, names, *, pictures):
        assert (kind, names, pictures) == ("barotropic", ["figure-3.3"], True)
        for value in (3.79, 3.9867, 4.11):
            yield Line("figure-3.3", "figure-3.3: psi_max", "double", "", "", value, None, "holds", "257 points")

    monkeypatch.setattr(bleichrodt2011, "validated", validated)
    lines = list(bleichrodt2011.figure_3_3(run_of("figure-3.3")))
    assert [line.failed for line in lines] == [False, False, True, False, True]
    assert lines[1].computed == pytest.approx(356_600 * 0.2605 / 3600)  # hours on one core
    assert (lines[3].row, lines[3].printed) == ("largest psi", "4")


@pytest.mark.parametrize(("speed", "failed"), [(1e11, False), (3e11, True)])
def test_order_of_memory_accesses(monkeypatch, speed, failed):
    monkeypatch.setattr(Run, "on_gpu", True)
    speeds = dict.fromkeys(bleichrodt2011.PATTERNS, 2e11) | dict.fromkeys(bleichrodt2011.PATTERNS.values(), speed)
    monkeypatch.setattr("eagre.laboratory.bench.papers.memory_access.access_bandwidths", lambda device: speeds)
    _, *lines = bleichrodt2011.chapter_1(run_of("chapter-1"))
    assert [line.failed for line in lines] == [failed] * 3 and lines[0].computed == speed / 2e11
