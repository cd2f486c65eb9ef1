"""Items of Amundsen (2014): verdicts of given results, and tiny runs without a compiler."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.laboratory.bench.tuning.tuner import Found
from eagre.laboratory.papers import paper
from eagre.laboratory.reproduce import reproduce
from eagre.laboratory.reproduce.items import amundsen2014, amundsen2014_tuning
from eagre.laboratory.reproduce.items.amundsen2014_tuning import Flood, Search
from eagre.laboratory.reproduce.measure import Timing
from eagre.laboratory.reproduce.registry import Run, items_of
from eagre.laboratory.validation.shallow_water import FINE
from eagre.layouts.store import Use
from eagre.tuning.session import Outcome
from eagre.tuning.space import spaces_of
from eagre.tuning.timings import Trial

NAME = "amundsen2014"
ITEMS = items_of(NAME)


@pytest.fixture
def run(request):
    return Run(paper(NAME), request.param, PlainDevice(), "single")


def lines_of(run):
    return list(ITEMS[run.item].lines(run))


def test_items_that_need_a_gpu():
    assert [name for name, item in ITEMS.items() if item.needs] == [f"figure-4.{n}" for n in (1, 2, 3, 5, 6)]
    assert all(item.seconds <= 60.0 for item in ITEMS.values())


def fake_times(monkeypatch, ds2_steps):
    times = amundsen2014.StepTimes(
        {"rk2": Timing(0.02, 0.01), "srk2": Timing(0.03, 0.02), "ds2": Timing(0.04, 0.03)},
        dict.fromkeys(("rk2", "srk2", "ds2"), "volume 1e-7"),
    )
    requests = []
    monkeypatch.setattr(amundsen2014, "step_times", lambda *given: requests.append(given) or times)
    monkeypatch.setattr(amundsen2014, "steps_of", lambda scheme, *_: ds2_steps if scheme == "ds2" else 154)
    return requests


@pytest.mark.parametrize("run", ["table-4.2", "table-4.3", "table-4.4"], indirect=True)
@pytest.mark.parametrize("ds2_steps", [163, 162])
def test_sine_tables(monkeypatch, run, ds2_steps):
    """Steps must be 154, 154 and 163, for the printed 171 too; times are steps times the duration of a step."""
    requests = fake_times(monkeypatch, ds2_steps)
    lines = lines_of(run)
    assert requests[0][:2] == ("sine", 2048 if run.item == "table-4.4" else 1024)
    steps = [line for line in lines if line.column == "steps"]
    kind = "explained" if run.item == "table-4.3" else "exact"
    assert [line.outcome for line in steps] == ["exact", "exact", kind]
    assert [line.failed for line in lines if line.failed] == [True] * (ds2_steps != 163)
    by_position = {(line.row, line.column): line.computed for line in lines}
    assert by_position["ds2", "time"] == pytest.approx(0.04 * ds2_steps)
    assert by_position["rk2", "steps per second"] == pytest.approx(50.0)
    assert by_position["srk2", "time / time of rk2"] == pytest.approx(1.5)


@pytest.mark.parametrize("run", ["figure-3.4", "figure-3.5"], indirect=True)
@pytest.mark.parametrize(("apart", "failed"), [(0.01, False), (0.9, True)])
def test_schemes_of_one_order_must_agree(monkeypatch, run, apart, failed):
    """Differences as fractions of the difference of the orders, which is 1 here."""
    flat = np.zeros((8, 8))
    depths = {"rk2": flat + 1, "srk2": flat + 1, "ds2": flat + 1 + apart, "euler": flat + 2, "ds1": flat + 2 - apart,
              FINE: flat}  # fmt: skip
    monkeypatch.setattr(amundsen2014, "depths_of", lambda *given: depths)
    lines = lines_of(run)
    row = next(line for line in lines if line.column == "agreement")
    assert (row.computed, row.failed, row.outcome) == (pytest.approx(apart), failed, "holds")
    assert any(line.failed for line in lines) == failed
    errors = [line.computed for line in lines if "L1 error of" in line.row and "/" not in line.row]
    expected = [1.0, 1.0 + apart] if run.item == "figure-3.5" else [2.0, 2.0 - apart]
    assert errors == pytest.approx(expected)


@pytest.mark.parametrize("run", ["figure-3.2"], indirect=True)
def test_work_of_the_predicted_part(monkeypatch, run):
    """A rejected step counts twice; r = 0.95 must be within 2 % of the least work."""
    counts = {0.6: (1567, 1), 0.8: (1179, 1), 0.9: (1049, 1), 0.95: (999, 4), 0.97: (979, 5), 0.99: (973, 17)}

    class Dam:
        grid = type("Grid", (), {"nx": 500})
        end_time = 2.0
        rejected = 59

        def model(self, predicted_fraction, **options):
            steps, rejected = counts.get(predicted_fraction, (1005, self.rejected))
            statistics = {"steps": steps, "redone_steps": rejected}
            return type("Model", (), {"advance": lambda s, t: None, "statistics": lambda s: statistics})()

    monkeypatch.setattr("eagre.laboratory.cases.amundsen2014.circular_dam_dry", lambda n: Dam())
    lines = lines_of(run)
    best = next(line for line in lines if line.column == "r")
    assert (best.computed, best.failed) == (0.97, False)
    assert lines[0].computed == 1569 and lines[-1].computed == pytest.approx(100.0 * (1181 / 989 - 1.0))
    monkeypatch.setattr(Dam, "rejected", -30)  # 945 at r = 1
    assert [line.column for line in lines_of(run) if line.failed] == ["r"]


@pytest.mark.parametrize("run", ["figure-4.18", "section-4.4.2"], indirect=True)
def test_flood(monkeypatch, run):
    """Early exit with other bits, a clear loss of speed, and an early flood fail."""
    good = Flood(
        250,
        3.9,
        True,
        {"off": [1.0, 2.0, 2.0], "on": [0.5, 1.9, 2.0], "off, tuned": [0.8, 1.6, 1.0], "on, tuned": [0.5, 1.9, 1.0]},
    )
    wrong = Flood(250, 3.2, False, {"off": [1.0, 1.0, 1.0], "on": [2.0, 2.0, 1.0]})
    monkeypatch.setattr(amundsen2014_tuning, "search_of", lambda *given: searched())
    monkeypatch.setattr(amundsen2014_tuning, "flood_of", lambda *given: good)
    lines = lines_of(run)
    assert not [line for line in lines if line.failed]
    if run.item == "figure-4.18":
        assert [line.computed for line in lines[-2:]] == pytest.approx([25.0, 0.0])
    monkeypatch.setattr(amundsen2014_tuning, "flood_of", lambda *given: wrong)
    failed = [line.column for line in lines_of(run) if line.failed]
    assert failed == (["time"] if run.item == "section-4.4.2" else
                      ["depth and steps", "speed relative to no early exit"])  # fmt: skip


class Tank:
    """Model whose bed is wet from 0.7 s on; `other` water from 0.5 s on."""

    device, time = PlainDevice(), 0.0

    def __init__(self, other):
        self.other = other

    @property
    def steps(self):
        return round(100 * self.time)

    def state(self):
        return self.time

    def restore(self, state):
        self.time = state

    def advance(self, until):
        self.time = until

    def field(self, name):
        return np.array([0.0 if self.time < 0.65 else 1e-3, 1.0 + (1e-7 if self.other and self.time > 0.45 else 0.0)])


@pytest.mark.parametrize("other", [False, True])
def test_flood_finds_the_wet_bed_and_other_bits(monkeypatch, other):
    def case(n):
        def model(active_tiles, **options):
            return Tank(other and active_tiles == "on")

        return type("Case", (), {"end_time": 1.0, "model": staticmethod(model)})

    monkeypatch.setattr("eagre.laboratory.cases.amundsen2014.circular_dam_big", case)
    flood = amundsen2014_tuning.flood_of(9, PlainDevice(), "single", False)
    assert (flood.n, flood.wet_time, flood.same_bits) == (9, pytest.approx(0.7), not other)
    assert [len(seconds) for seconds in flood.seconds.values()] == [10, 10]
    assert flood.gain("off") == 0.0


def searched():
    space = spaces_of("shallow-water", "cpu", "small")[0]
    trials = [
        Trial({}, {}, [1.0, 1.0]),
        Trial({"rows": 64}, {"rows": 64}, [0.8, 0.8], [1.0, 1.0]),
        Trial({"rows": 32}, {"rows": 32}, [1.6, 1.6], [1.0, 1.0]),
        Trial({"rows": 16}, {"rows": 16}, failed="no memory"),
    ]
    outcome = Outcome(space, {"rows": 64}, {"rows": 64}, True, 1.0, 0.8, trials, 0)
    use = Use("shallow-water", "rk2", "single", "small")
    return Search(Found(outcome, use, (256, 256)), 90.0, PlainDevice())


@pytest.mark.parametrize("run", ["figure-4.1", "figure-4.14", "table-4.1", "chapter-5"], indirect=True)
def test_searches(monkeypatch, run, tmp_path):
    """The slowest choice takes twice the time of the fastest; a search takes 1.5 minutes."""
    monkeypatch.setattr(amundsen2014_tuning, "peak_gain", lambda scheme, *given: {"rk2": 25.0}[scheme])
    monkeypatch.setattr(
        amundsen2014_tuning, "search_of", lambda scheme, *given: searched() if scheme == "rk2" else None
    )
    lines = lines_of(run)
    compared = [line for line in lines if line.outcome == "compared"]
    expected = {"figure-4.1": "rows 64", "figure-4.14": "rk2 25.0", "table-4.1": 25.0, "chapter-5": 1.5}
    assert [line.computed for line in compared] == pytest.approx([expected[run.item]] * len(compared)) or (
        {line.computed for line in compared} == {expected[run.item]}
    )
    assert len(compared) == {"figure-4.1": 2, "table-4.1": 3}.get(run.item, 1)
    assert len(lines) - len(compared) == (7 if run.item == "table-4.1" else 0)
    if run.item == "figure-4.1":
        assert "3 choices, 256 x 256 cells; slowest 2.00 times the fastest" in compared[0].note
    ITEMS[run.item].draw(tmp_path / "a.png", run, lines)
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_a_search_is_not_stored(monkeypatch):
    """The search of the CPU kernels of rk2; the other schemes have none on a CPU."""
    searches = []

    outcome = Outcome(
        spaces_of("shallow-water", "cpu", "small")[0], {}, {"cpu.shallow-water.rows": 16}, True, 1.0, 0.8, [], 0
    )
    monkeypatch.setattr("eagre.tuning.session.tune", lambda *given: searches.append(given) or outcome)
    monkeypatch.setattr(amundsen2014_tuning, "steady_bandwidth", lambda device: nullcontext(NOTE))
    device = PlainDevice()
    search = amundsen2014_tuning.search_of("rk2", device, "single")
    assert amundsen2014_tuning.search_of("srk2", device, "single") is None
    ((space, workload, journal),) = searches
    assert (space.variant, workload.device.kind, journal.path) == ("rk2", "cpu", None)
    assert search.device.table.values["cpu.shallow-water.rows"] == 16 != device.table.values["cpu.shallow-water.rows"]
    assert search.result.shape == (256, 256) and search.warning == "disturbed"


def test_gain_in_a_run(monkeypatch):
    """The real model on a tiny grid; every duration with the best values is half of the other."""
    from eagre.laboratory.cases import amundsen2014 as cases

    values = {"cpu.shallow-water.rows": 16}
    outcome = replace(searched().result.outcome, values=values)
    search = searched()._replace(result=Found(outcome, searched().result.use, (8, 8)))
    clock = itertools.cycle([2.0, 1.0])
    monkeypatch.setattr(amundsen2014_tuning, "search_of", lambda *given: search)
    monkeypatch.setattr(amundsen2014_tuning, "times_of", lambda device, work, **options: [work() or next(clock)])
    monkeypatch.setattr(cases, "gaussian_peak", lambda peak=cases.gaussian_peak: peak(4, 0.5))
    assert amundsen2014_tuning.peak_gain("rk2", PlainDevice(), "single") == pytest.approx(100.0)
    search = search._replace(result=Found(replace(outcome, values={}), search.result.use, (8, 8)))
    assert amundsen2014_tuning.peak_gain("rk2", PlainDevice(), "single") == 0.0


def test_tiny_runs_without_a_compiler(monkeypatch, tmp_path):
    """The real models, on grids too small for the limits of figures 3.4 and 3.5."""
    monkeypatch.setattr(amundsen2014, "CELLS", 7)
    monkeypatch.setattr(amundsen2014_tuning, "CELLS", 7)
    monkeypatch.setattr(amundsen2014_tuning, "INTERVAL", 1.0)
    monkeypatch.setattr(amundsen2014, "FRACTIONS", (0.8,))
    monkeypatch.setattr(amundsen2014, "CELL_STEPS", {"cpu": 1})
    monkeypatch.setattr(amundsen2014, "steady_bandwidth", lambda device: nullcontext(NOTE))
    names = ["figure-3.2", "figure-3.4", "figure-3.5", "section-4.4.2"]
    lines = reproduce(NAME, names, tmp_path, device=PlainDevice())
    assert {line.item for line in lines} == set(names)
    assert all(isinstance(line.computed, float | int) and math.isfinite(line.computed) for line in lines)
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in names)
    times = amundsen2014.step_times("circular_dam_wet", 7, ("rk2", "ds2"), PlainDevice(), "single")
    assert all(0.0 < one.minimum <= one.median for one in times.seconds.values())
    assert "volume" in times.notes["ds2"] and "disturbed" in times.notes["ds2"]


NOTE = type("Bandwidth", (), {"note": "disturbed"})


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, item in ITEMS.items() if item.lines and not item.needs])
def test_items_agree(name):
    lines = reproduce(NAME, [name], device="cpu")
    assert lines and not [line for line in lines if line.failed]
