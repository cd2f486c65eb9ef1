"""Measurements for items of `eagre reproduce`: alternating timings, bandwidth, validations and benchmarks as lines."""

from __future__ import annotations

import pytest

from eagre.backend.device import PlainDevice
from eagre.laboratory.papers import Number, paper
from eagre.laboratory.reproduce import measure
from eagre.laboratory.reproduce.registry import Run, exact
from eagre.laboratory.validation.result import Result

RUN = Run(paper("bleichrodt2011"), "table-B.1", "cpu", "double")


def test_functions_are_timed_alternately(monkeypatch):
    calls = []
    clock = iter([5.0, 1.0, 4.0, 3.0, 9.0, 2.0])
    monkeypatch.setattr(measure, "times_of", lambda device, work, **options: [work() or next(clock)])
    works = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    timings = measure.alternating(PlainDevice(), works, repeats=3)
    assert "".join(calls) == "ab" + "ababab"
    assert timings == {"a": (5.0, 4.0), "b": (2.0, 1.0)}


@pytest.mark.parametrize(("speeds", "disturbed"), [((10e9, 8.1e9), False), ((10e9, 7.9e9), True), ((7e9, 9e9), True)])
def test_a_changed_copy_bandwidth_is_noted(monkeypatch, speeds, disturbed):
    values = iter(speeds)
    monkeypatch.setattr(measure, "copy_bandwidth", lambda device: next(values))
    with measure.steady_bandwidth(PlainDevice()) as bandwidth:
        pass
    assert ("disturbed" in bandwidth.note) == disturbed


def test_validations_become_lines(monkeypatch):
    results = [
        Result("gyre", "double", "psi", 3.98, 4.1, detail="257 points"),
        Result("gyre", "double", "order", 1.5, 1.9, at_least=True),
    ]
    requests = []
    monkeypatch.setattr(
        "eagre.laboratory.validation.validate", lambda *given, **options: requests.append(given) or results
    )
    printed = Number("figure-3.3", "largest psi", "value", "4")
    first, second = measure.validated(RUN, "barotropic", ["gyre"], lambda r: printed if r.quantity == "psi" else None)
    assert requests == [("barotropic", ["gyre"])]
    assert (first.row, first.printed, first.failed, first.note) == ("largest psi", "4", False, "<= 4.1, 257 points")
    assert (second.row, second.printed, second.failed) == ("gyre: order", "", True)


def test_benchmarks_become_lines(monkeypatch):
    records = [
        {"shape": [size, size], "threads": 1, "ms_per_step": 0.02, "ms_best": 0.01, "error": "energy"}
        for size in (33, 34)
    ]
    monkeypatch.setattr(measure, "copy_bandwidth", lambda device: 1e10)
    monkeypatch.setattr(measure, "select", lambda device: PlainDevice())
    monkeypatch.setattr("eagre.laboratory.bench.measurements", lambda kind, device, **options: iter(records))

    def number_of(record):
        return next(iter(RUN.numbers(record["shape"][0], "CPU")), None)

    (line,) = measure.benchmarked(RUN, "barotropic", number_of, scale=10.0)
    assert (line.row, line.printed, line.computed, line.outcome) == ("33", "0.2056", 0.2, "compared")
    assert line.quotient == pytest.approx(1.028) and line.note == "minimum 0.1; 1 threads; energy"


def test_a_number_that_needs_a_gpu_has_its_stored_result(monkeypatch):
    number = RUN.number(33, "GPU")
    monkeypatch.setattr(measure, "stored_lines", lambda name: ())
    assert measure.gpu_only(RUN, number).note == "needs a GPU"
    stored = exact(number, 0.01)
    monkeypatch.setattr(measure, "stored_lines", lambda name: (stored,))
    line = measure.gpu_only(RUN, number)
    assert line.note.startswith("needs a GPU; stored, ") and line.note.endswith("0.01 ms per step")
    assert (line.outcome, line.failed) == ("not run", False)
    assert measure.gpu_only(RUN, RUN.number(65, "GPU")).note == "needs a GPU"
