"""What a search verifies and times: steps of a model that only pretends, with the layouts of each choice in turn."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.tuning import workload
from eagre.tuning.space import SPACES
from kernels.recording import RecordingDevice

KEY, SHIPPED = "cpu.shallow-water.rows", 64
clock = {"now": 0.0}


class Steps:
    """A model whose steps take longer later, and are made faster by more rows; `wrong` : by how much, of some rows."""

    kind, steps, time, levels, grid = "a model", 0, 0.0, None, Grid(4, 4, 1.0, 1.0)
    variables = {"depth": SimpleNamespace(units="m")}  # noqa: RUF012 (it is not changed)
    wrong: dict[int, float] = {}  # noqa: RUF012 (tests put another one in its place)

    def __init__(self, device):
        self.device = device

    @property
    def rows(self):
        return self.device.parameters("cpu.shallow-water").rows

    def state(self):
        return {"steps": self.steps}

    def restore(self, state):
        self.steps = state["steps"]

    def __getstate__(self):
        return {"kept": {"device": self.device}, "state": self.state()}

    def __setstate__(self, given):
        self.device = given["kept"]["device"]

    def use_tuning(self, device):
        self.device = device

    def advance(self, until, max_steps):
        assert until > self.time + 1e3
        self.steps += max_steps

    def field(self, name):
        return np.full(self.grid.shape, 1.0 + self.steps + self.wrong.get(self.rows, 0.0))

    def steps_without_checks(self, count):
        def work():
            self.steps += count
            clock["now"] += count * (1.0 + 0.1 * self.steps) / self.rows

        return work


@pytest.fixture(autouse=True)
def pretended(monkeypatch):
    """The model's own clock; a run takes a second of it."""

    def timer(work):
        start = clock["now"]
        work()
        return clock["now"] - start

    monkeypatch.setattr(workload, "timer_of", lambda device: timer)
    monkeypatch.setitem(workload.LEAST_SECONDS, "cpu", 1.0)


def load_of(make=Steps, **options):
    return workload.StepsOfModel(select("cpu"), "single", 10**6, make, make, 1e-5, 1, **options)


def values_of(rows):
    return {} if rows == SHIPPED else {KEY: rows}


@pytest.mark.parametrize("anew", [True, False])
def test_all_choices_are_timed_over_the_same_steps(anew):
    """Iterations change while a run goes on: a choice that began elsewhere, or went further, looked better.

    Each choice has its own layouts, whichever came before.
    """
    times = {}
    for order in ((64, 256, 128), (128, 256, 64, 256)):
        load = load_of()
        for rows in order:
            run = load.clock(values_of(rows))
            times.setdefault(rows, []).append([run() for _ in range(3)])
    for rows in times:
        np.testing.assert_allclose(times[rows], times[rows][:1] * len(times[rows]))
    np.testing.assert_allclose(np.divide(times[64][0], times[256][0]), 4.0)
    np.testing.assert_allclose(np.divide(times[64][0], times[128][0]), 2.0)
    assert times[64][0][0] < times[64][0][2]


@pytest.mark.parametrize(("anew", "made"), [(True, 5), (False, 3)])
def test_the_clock_of_the_shipped_values_is_made_once_where_trials_follow_one_another(monkeypatch, anew, made):
    """It takes three runs to make; each choice has its own."""
    load, work = load_of(), []
    load.anew = anew
    monkeypatch.setattr(load, "_clock", lambda model, values: work.append(values) or (lambda: 1.0))
    load._rounds = 1
    for values in ({}, {KEY: 16}, {}, {KEY: 128}, {}):
        load.clock(values)
    assert len(work) == made


def test_results_of_each_choice_are_held_against_the_shipped_ones(monkeypatch):
    """To the bit, to rounding, or not at all: relative to the largest value, 5 after four steps."""
    monkeypatch.setattr(Steps, "wrong", {16: 1e-6, 32: 1e-3, 128: np.nan})
    load = load_of()
    assert load.verify({}) is True and load.verify({KEY: 256}) is True and load.verify({KEY: 16}) is False
    with pytest.raises(EagreError, match=r"results differ from those of the shipped values by 0\.0002"):
        load.verify({KEY: 32})
    with pytest.raises(EagreError, match="differ from those of the shipped values by inf"):
        load.verify({KEY: 128})
    monkeypatch.setattr(Steps, "wrong", {SHIPPED: 1e-3})  # those are kept
    assert load.verify({KEY: 256}) is True


def test_a_model_with_which_something_went_wrong_is_not_used_again(monkeypatch):
    made = []
    monkeypatch.setattr(Steps, "__setstate__", lambda self, given: (made.append(1), vars(self).update(given["kept"])))
    monkeypatch.setattr(Steps, "wrong", {32: 1.0})
    load = load_of()
    assert load.verify({KEY: 16}) and load.verify({KEY: 128}) and len(made) == 1

    def fails(self, device):
        raise RuntimeError("too many resources requested")

    with monkeypatch.context() as patch:
        patch.setattr(Steps, "use_tuning", fails)
        with pytest.raises(RuntimeError):
            load.verify({KEY: 32})
    assert load.verify({KEY: 256}) and len(made) == 2


def test_a_model_that_is_laid_out_as_its_kernels_is_made_anew(monkeypatch):
    made = []
    monkeypatch.setattr(Steps, "kind", workload.KEPT_LAYOUTS[0])
    monkeypatch.setattr(Steps, "use_tuning", None)
    load = load_of(lambda device: (made.append(device.parameters("cpu.shallow-water").rows), Steps(device))[1])
    for rows in (64, 16, 32, 16):
        load.clock(values_of(rows))
    assert made == [64, 16, 32, 16]


def test_timed_steps_are_made_and_looked_at(monkeypatch):
    looked = []
    load_of(sound=lambda model: looked.append(model.steps)).clock({})
    assert len(looked) == 1 and looked[0] > 0

    def wrong(model):
        raise EagreError("mass is lost")

    with pytest.raises(EagreError, match="mass is lost"):
        load_of(sound=wrong).clock({})
    monkeypatch.setattr(Steps, "steps_without_checks", lambda self, count: lambda: clock.update(now=clock["now"] + 1.0))
    with pytest.raises(EagreError, match="The model made no step"):
        load_of().clock({})


def test_a_choice_has_its_threads_while_it_is_verified_and_timed(monkeypatch):
    now, verified, timed = [], [], []

    @contextmanager
    def threads_limited(device, count):
        now.append(count)
        yield
        now.pop()

    def steps_without_checks(self, count):
        def work():
            timed.append(list(now))
            self.steps += count
            clock["now"] += 1.0

        return work

    monkeypatch.setattr(machine, "threads_limited", threads_limited)
    monkeypatch.setattr(Steps, "advance", lambda self, until, max_steps: verified.append(list(now)))
    monkeypatch.setattr(Steps, "steps_without_checks", steps_without_checks)
    load = load_of()
    load.verify({"cpu.programs.threads": 3})
    load.clock({"cpu.programs.threads": 2})()
    assert verified == [[3], []] and timed[0] == [] and timed[-1] == [2] and not now


def test_threads_are_not_searched_where_every_launch_takes_one(monkeypatch):
    """By chance one would be the fastest, and far larger grids of the same class would have to take it."""
    cpu = select("cpu")
    monkeypatch.setattr(cpu, "threads", 8)
    spaces = [space for space in SPACES if space.kinds == ("cpu",)]
    for cells, expected in ((64 * 64, set()), (512 * 512, {4, 6})):
        card = workload.device_info_of(cpu, cells)
        for space in spaces:
            choices = space.choices(cpu.table.values, card, "single")
            assert {choice["threads"] for choice in choices if "threads" in choice} == expected
    assert [workload.device_info_of(cpu, cells).threads for cells in (8191, 8192)] == [
        1,
        8,
    ]  # 8 numbers of each: 65,536
    assert workload.device_info_of(RecordingDevice(), 16).threads == 0
