"""The run loop: what is due when, and the way out; with a model that only has a time."""

from __future__ import annotations

import signal

import pytest

from eagre.errors import BlowUpError, InputError
from eagre.grid import Grid
from eagre.stepping.run import Event, run
from eagre.time_varying.series import Series


class Clockwork:
    """A model whose steps take 0.7 s, but for the last one before each time it is told to land on."""

    grid = Grid(1, 1, 1.0, 1.0)
    levels = None
    time_step = 0.7

    def __init__(self, time=0.0):
        self.time, self.steps = time, 0

    def advance(self, until, max_steps):
        for _ in range(max_steps):
            if self.time < until:
                self.time = min(until, self.time + self.time_step)
                self.steps += 1

    def statistics(self):
        return {"dt_min": 0.0, "dt_max": self.time_step}

    def diagnostics(self):
        return {}


class Strides(Clockwork):
    """Fixed steps of 2 s, the last of them the first at or after a time, as those of the gyres."""

    time_step = 2.0

    def advance(self, until, max_steps):
        for _ in range(max_steps):
            if self.time < until:
                self.time += self.time_step
                self.steps += 1


def times_of(*events, until=10.0, start=0.0, kind=Clockwork):
    """Times at which each event was done; `events` are options of `Event`."""
    done = [[] for _ in events]

    def noting(found):
        return lambda model: found.append(model.time)

    made = [Event(**{"times": None, **event}, action=noting(done[k])) for k, event in enumerate(events)]
    summary = run(kind(start), until, made)
    assert summary.time == until and not summary.interrupted
    return done


def test_an_interval_that_does_not_divide_the_run_ends_with_the_run():
    assert times_of({"interval": 4.0}) == [[0.0, 4.0, 8.0, 10.0]]


def test_an_interval_longer_than_the_run_gives_its_two_ends():
    assert times_of({"interval": 25.0}, {"interval": None}) == [[0.0, 10.0], [0.0, 10.0]]


def test_ends_can_be_left_out():
    plain = {"at_start": False, "at_end": False}
    assert times_of({"interval": 4.0, **plain}, {"interval": 5.0, **plain}) == [[4.0, 8.0], [5.0, 10.0]]


def test_times_of_its_own():
    assert times_of({"interval": None, "times": [2.5, 3.0], "at_start": False}) == [[2.5, 3.0, 10.0]]


def test_a_continued_run_keeps_the_times_of_an_unbroken_one():
    """Multiples of the interval from time 0, not from the restart."""
    assert times_of({"interval": 4.0, "at_start": False}, start=5.0) == [[8.0, 10.0]]


def test_multiples_are_exact_and_none_comes_twice():
    """0.1 added a hundred times is not 10."""
    (found,) = times_of({"interval": 0.1})
    assert found == [k * 0.1 for k in range(100)] + [10.0]


def test_events_at_nearly_one_time_are_done_once_together():
    """Three times 0.3333333 s and 1 s are one instant of a run of 1000 s."""
    thirds, seconds = times_of({"interval": 0.3333333}, {"interval": 1.0}, until=1000.0)
    assert len(seconds) == 1001 and set(seconds[:9]) <= set(thirds)


def test_what_is_nearly_one_time_is_so_of_the_end_or_of_the_way_there():
    """1e-9 of the larger one: of a run from -1000 s to 0, and of one from 999 s to 1000 s."""
    for start, end, middle in ((-1000.0, 0.0, -500.0), (999.0, 1000.0, 999.5)):
        twice = {"interval": None, "times": [middle, middle + 5e-7], "at_start": False, "at_end": False}
        assert times_of(twice, until=end, start=start) == [[middle]]
        apart = {**twice, "times": [middle, middle + 2e-6]}
        assert times_of(apart, until=end, start=start) == [[middle, middle + 2e-6]]


@pytest.mark.parametrize("off", [-1e-13, 0.0, 1e-13])
def test_the_next_multiple_is_that_after_one_that_is_nearly_now(off):
    """Whatever the rounding of the time: 0.3 s is 3 times 0.1 s, and the next one is 4 times that."""
    event = Event(times=None, interval=0.1, action=print)
    for k in (0, 3, 7, 10_000_003):
        assert event.next_after(k * 0.1 * (1.0 + off), 1e-9 * max(1.0, k)) == (k + 1) * 0.1


def test_a_step_beyond_one_time_does_what_came_due_on_its_way():
    """Of 5 s and 6 s both are met by the step to 6 s, the only one that may do either."""
    fives, sixes = times_of({"interval": 5.0}, {"interval": 6.0}, until=30.0, kind=Strides)
    assert fives == [0.0, 6.0, 10.0, 16.0, 20.0, 26.0, 30.0]
    assert sixes == [0.0, 6.0, 12.0, 18.0, 24.0, 30.0]


def test_of_times_within_one_step_each_is_done_once():
    own, ends = times_of({"interval": None, "times": [2.5, 3.0, 3.5, 4.0]}, {"interval": 0.5}, kind=Strides)
    assert own == [0.0, 4.0, 10.0] and ends == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_an_end_that_is_not_ahead_is_refused():
    with pytest.raises(InputError, match="a time after 10 s"):
        run(Clockwork(10.0), 10.0)


class Signalled(Clockwork):
    """Signals that come within the first step; `wait` : between two of them, s."""

    def __init__(self, numbers, wait=0.0, monkeypatch=None):
        super().__init__()
        self.numbers, self.wait, self.clock = numbers, wait, 100.0
        if monkeypatch is not None:
            monkeypatch.setattr("eagre.stepping.run.monotonic", lambda: self.clock)

    def advance(self, until, max_steps):
        for number in self.numbers:
            signal.raise_signal(number)
            self.clock += self.wait
        super().advance(until, max_steps)


@pytest.fixture
def usual_signals():
    """The handlers of a fresh process, whatever the shell of the tests ignores."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
    usual = {number: signal.SIG_DFL for number in numbers} | {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, usual[number]) for number in numbers}
    yield numbers
    assert {number: signal.getsignal(number) for number in numbers} == usual
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_second_ctrl_c_within_a_step_stops_at_once(usual_signals, monkeypatch):
    """A step that never ends must not need `kill`."""
    model = Signalled([signal.SIGINT] * 2, wait=1.5, monkeypatch=monkeypatch)
    with pytest.raises(KeyboardInterrupt, match="no restart was written"):
        run(model, 1.0)


def test_a_second_ctrl_c_within_a_second_is_that_of_the_first(usual_signals, monkeypatch):
    """Terminals and launchers of parallel programs send the same Ctrl-C twice."""
    model = Signalled([signal.SIGINT] * 3, wait=0.3, monkeypatch=monkeypatch)
    summary = run(model, 100.0)
    assert summary.interrupted and summary.signal == signal.SIGINT and model.steps > 0


def test_each_signal_stops_a_run(usual_signals):
    for number in usual_signals:
        summary = run(Signalled([number]), 100.0)
        assert summary.interrupted and summary.signal == number


def test_no_other_signal_stops_within_a_step(usual_signals, monkeypatch):
    """A scheduler sends SIGUSR1 and later SIGTERM; the restart of the first one may still be to write."""
    for number in usual_signals[1:]:
        summary = run(Signalled([number, *usual_signals[1:]], wait=60.0, monkeypatch=monkeypatch), 100.0)
        assert summary.signal == number


def test_no_signal_stops_a_restart_that_is_being_written(usual_signals, monkeypatch, tmp_path):
    model = Signalled([signal.SIGUSR1], monkeypatch=monkeypatch)
    written = []

    def write(path, model, start_date):
        for number in (signal.SIGINT, *usual_signals, signal.SIGINT):
            model.clock += 10.0
            signal.raise_signal(number)
        written.append(path)

    monkeypatch.setattr("eagre.io.write_restart", write)
    summary = run(model, 100.0, checkpoint=tmp_path / "restart.nc")
    assert summary.signal == signal.SIGUSR1 and written == [tmp_path / "restart.nc"]


def test_an_ignored_hang_up_stays_ignored(usual_signals):
    """As under nohup."""
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("a signal of Unix")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert not run(Signalled([signal.SIGHUP]), 3.0).interrupted
    finally:
        assert signal.signal(signal.SIGHUP, signal.SIG_DFL) is signal.SIG_IGN


@pytest.mark.parametrize(("start", "end"), [(-0.5, 1.0), (0.5, 2.5), (3.0, 4.0)])
def test_a_series_covers_both_ends_of_a_run(start, end):
    series = Series([0.0, 2.0], [1.0, 3.0], "tide")
    series.covers(0.0, 2.0)
    with pytest.raises(InputError, match="tide from 0 s to 2 s"):
        series.covers(start, end)
    Series.constant(1.0).covers(start, end)


def test_a_series_of_several_rows_covers_what_its_last_one_reaches():
    series = Series([-1.0, 0.0, 0.5], [1.0, 2.0, 3.0], "tide")
    series.covers(-1.0, 0.5)
    with pytest.raises(InputError, match=r"tide from -1 s to 0.5 s"):
        series.covers(-1.0, 0.5 + 1e-9)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0.0, 3.0, 2.0, 4.0], "time 2 s in row 2 after 3 s"),
        ([0.0, 3.0, 3.0, 4.0], "time 3 s in row 2 after 3 s"),
        ([0.0, 0.5, 0.4, 0.6], "time 0.4 s in row 2 after 0.5 s"),
    ],
)
def test_a_time_that_goes_back_or_stands_is_named(times, words):
    with pytest.raises(InputError, match=words):
        Series(times, [1.0] * 4)


def test_the_summary_counts_cells_a_second():
    model = Clockwork()
    model.grid = Grid(3, 2, 1.0, 1.0)
    summary = run(model, 7.0)
    assert summary.steps == model.steps == 10
    assert summary.cell_steps_per_second * summary.wall_seconds == pytest.approx(60.0)
    assert run(model, 8.4).steps == 2 and model.steps == 12, "those of this run alone"


def test_a_time_that_is_nearly_there_is_done_with_the_event_before():
    """Up to half an interval ahead: two records of one moment are one."""
    event = Event(times=None, interval=2.0, action=print)
    assert event.next_after(0.9, 1.08) == 2.0 and event.next_after(1.1, 0.92) == 4.0
    assert event.next_after(0.9, 1.2) == 2.0 and event.next_after(1.0, 1.2) == 4.0


@pytest.mark.parametrize(
    ("cell", "words"), [((3, 4), r"\(j, i\) = \(3, 4\)"), ((2, 3, 4), r"\(k, j, i\) = \(2, 3, 4\)")]
)
def test_a_blow_up_names_its_cell(cell, words):
    with pytest.raises(BlowUpError, match=words):
        raise BlowUpError(1.0, cell, "values that are not finite")
