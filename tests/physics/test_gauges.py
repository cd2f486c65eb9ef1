"""Values that a run takes on its way: those of a run that is stopped for each of them, bit for bit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import eagre
from adi_runs import pool
from eagre.contract import Recording
from eagre.models.shallow_water.step_batches import REQUESTS_BEFORE_CAPTURE, GraphContent
from eagre.stepping import recording
from eagre.stepping.run import Event, run
from physics.test_maps import dam_break, flood
from physics.test_reach import GRID, HUMP, STEP
from physics.test_weather import GRID as BASIN
from physics.test_weather import explicit, implicit, shower, storm

POINTS = [(0, 0), (3, 7), (7, 23), (4, 8)]
NAMES = ["surface_elevation", "depth", "velocity_x", "discharge_y", "speed", "bed"]
EVERY, BETWEEN, END = 0.07, 0.4, 1.0


class Gauges:
    """Records of a run at intervals, on its way or by stops."""

    def __init__(self, model, points=POINTS, every=EVERY):
        self.model, self.points, self.every, self.times, self.values = model, points, every, [], []

    def stop(self, model):
        if self.times[-1:] != [model.time]:
            self.times.append(model.time)
            self.values.append(np.stack([*model.sample(NAMES, self.points).values()]))

    def take(self, times, batch):
        found = batch()
        self.times += times.tolist()
        self.values += [np.stack([found[name][n] for name in NAMES]) for n in range(times.size)]

    def follow(self, model, instants):
        return model.start_sampling(None if instants is None else Recording(NAMES, self.points, instants, self.take))

    def run(self, on_its_way, end=END, start=True):
        """To the end, with another event that stops the run at every fifth record and one between."""
        follow = self.follow if on_its_way else None
        own = Event(self.every, None, self.stop, "gauges", at_start=start, start_sampling=follow)
        stops = Event(None, [5 * self.every, BETWEEN, 10 * self.every], lambda model: None, "other")
        run(self.model, end, [own, stops])


def assert_same(ours, theirs):
    assert ours.times == theirs.times
    assert ours.model.steps == theirs.model.steps
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.model.field("discharge_x"), theirs.model.field("discharge_x"))


def both(make=dam_break, points=POINTS, every=EVERY, end=END, **options):
    """A run that takes its values on its way, and one that stops for them."""
    made = [Gauges(make(maps=None, **options), points, every) for _ in range(2)]
    for one, on_its_way in zip(made, (True, False), strict=True):
        one.run(on_its_way, end)
    return made


@pytest.mark.parametrize(
    "options",
    [{"time_step_control": "exact"}, {"scheme": "ds2"}, {"precision": "single"}, {"device": ["cpu", "cpu"]}],
    ids=lambda options: next(iter(options)),
)
def test_values_taken_on_the_way_are_those_of_stops(options):
    ours, theirs = both(**options)
    assert_same(ours, theirs)
    assert ours.times == [k * EVERY for k in range(15)] + [END]
    if options.get("time_step_control") == "exact":
        assert ours.model.statistics()["redone_steps"] > 0
    changes = np.ptp(np.array(ours.values)[:, 0], axis=0)
    assert (changes > 0.0).tolist() == [True, True, False, True]  # one stays dry


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_implicit_model_takes_its_values_on_the_way(count):
    """Steps do not divide the interval; another event changes their length twice. Points beside the cuts."""
    points = [*POINTS, (61, 3), (62, 3), (41, 8), (123, 2)] if count < 3 else [(70, 3), (50, 5)]  # none in the first
    device = ["cpu"] * count if count > 1 else "cpu"
    ours, theirs = both(flood, points, every=7.0, end=60.0, device=device)
    assert_same(ours, theirs)
    assert len(ours.times) == 10 and np.ptp(np.array(ours.values)[:, 0, 1]) > 0.0


def test_values_after_slabs_overlap_further():
    """The water is higher than at the start. Values are those of one device, also from the arrays of new slabs."""
    made, start = [], pool("cpu", "single", time_step=20.0, ny=600).state()
    for device in (["cpu", "cpu"], "cpu"):
        model = pool(device, "single", time_step=20.0, ny=600)
        model.restore({**start, "z": start["z"] + np.float32(8.0)})
        made.append(Gauges(model, [(299, 3), (300, 7), (0, 0)]))
        made[-1].follow(model, lambda start, end, _: [40.0 * k for k in range(41) if start < 40.0 * k <= end])
        overlap = model._engine.overlap
        model.advance(1600.0)
        assert model._engine.overlap > overlap or device == "cpu"
    ours, theirs = made
    assert ours.times == theirs.times == [40.0 * k for k in range(1, 41)]
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0.0, atol=1e-5)
    assert np.ptp(np.array(ours.values)[20:, 0], axis=0).min() > 0.01


@pytest.mark.parametrize("make", [explicit, implicit])
def test_values_under_a_weather_that_changes_on_the_way_are_those_of_stops(make, light_device):
    """Records of the weather change in the middle of a leg, where no value is taken."""
    points, made = [(0, 0), (3, 2), (4, 6)], []
    for on_its_way in (True, False):
        model = make(BASIN, [eagre.WeatherRain(shower(BASIN)), *storm(BASIN)], device=light_device)
        made.append(Gauges(model, points, 7.0))
        made[-1].run(on_its_way, end=70.0)
    assert_same(*made)
    assert made[0].times == [7.0 * k for k in range(11)]
    still = Gauges(make(BASIN, [], device=light_device), points, 7.0)
    still.run(True, end=70.0)
    assert np.abs(np.array(made[0].values)[-1, 4] - np.array(still.values)[-1, 4]).min() > 0.0  # the storm is felt


def test_a_run_is_not_stopped_for_its_values(monkeypatch):
    advanced = []
    monkeypatch.setattr(eagre.ShallowWater, "advance", _noted(eagre.ShallowWater.advance, advanced))
    for on_its_way in (True, False):
        advanced.clear()
        Gauges(dam_break(maps=None)).run(on_its_way)
        every = [] if on_its_way else [k * EVERY for k in range(1, 15)]
        assert set(advanced) == {5 * EVERY, BETWEEN, 10 * EVERY, END, *every}


def _noted(advance, seen):
    def noting(self, until, max_steps=None):
        seen.append(until)
        advance(self, until, max_steps)

    return noting


def test_where_there_is_room_for_few_values_a_leg_is_shorter(monkeypatch):
    monkeypatch.setattr(recording, "MAX_SAMPLE_TIMES", 2)
    assert_same(*both())


@pytest.mark.parametrize("points", [POINTS, []])
def test_intervals_shorter_than_a_step_and_no_gauge(points):
    ours, theirs = both(points=points, every=0.004, end=0.1, scheme="euler")
    assert_same(ours, theirs)
    assert len(ours.times) == 26 <= ours.model.steps + 1


def test_a_run_that_goes_on_has_the_values_of_an_unbroken_one():
    whole, cut, on = (Gauges(dam_break(maps=None)) for _ in range(3))
    whole.run(True)
    cut.run(True, end=0.5)
    on.model.restore(cut.model.state())
    on.run(True, start=False)
    assert cut.times[-1] == 0.5 and [*cut.times[:-1], *on.times] == whole.times
    np.testing.assert_array_equal([*cut.values[:1], *on.values[-1:]], [whole.values[0], on.values[-1]])
    plain = Gauges(dam_break(maps=None))
    plain.run(False, end=0.5)
    plain.run(False)
    np.testing.assert_array_equal([*cut.values, *on.values], plain.values)


def test_what_was_taken_before_a_blow_up_is_kept():
    """A fixed step beyond what the waves allow: both runs stop before the first bad step."""
    found = []
    for on_its_way in (True, False):
        options = {"surface_elevation": HUMP, "time_step": 3.0, "precision": "double", "device": "cpu"}
        found.append(Gauges(eagre.ShallowWater(GRID, STEP, **options), every=1.6))
        with pytest.raises(eagre.BlowUpError):
            found[-1].run(on_its_way, end=1800.0)
    ours, theirs = found
    assert len(ours.times) >= 3 and ours.model.time == ours.times[-1]
    assert ours.times == theirs.times
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_graphs_that_are_seldom_asked_for_are_made_of_few():
    """Their pieces do the same; what is asked for often is captured itself."""
    engine = dam_break(maps=None)._engine
    engine.device = SimpleNamespace(graphs=True)
    for rounds in (1, 2, 7, 13, 56):
        asked = GraphContent(rounds, True, True, "all", 1, 0)
        found = engine._graph_contents(asked)
        assert sum(piece.cycles for piece in found) == rounds
        assert [piece.begins for piece in found] == [True] + [False] * (len(found) - 1)
        assert [piece.ends for piece in found] == [False] * (len(found) - 1) + [True]
        assert all(piece == asked or piece.cycles in (0, 1, 2, 4, 8) for piece in found)
        assert [engine._graph_contents(asked) for _ in range(REQUESTS_BEFORE_CAPTURE)][-1] == [asked]


def test_a_run_that_takes_the_same_values_again_keeps_its_rings():
    ours, theirs = Gauges(dam_break(maps=None)), Gauges(dam_break(maps=None))
    for on_its_way, one in ((True, ours), (False, theirs)):
        one.run(on_its_way, end=0.5)
        kept = one.model._engine._buffers
        one.run(on_its_way)
        assert one.model._engine._buffers is kept
    assert_same(ours, theirs)
    before, elsewhere = ours.model._engine._buffers, Gauges(ours.model, POINTS[1:])
    elsewhere.run(True, end=1.2)
    theirs.run(False, end=1.2)
    assert ours.model._engine._buffers is not before
    np.testing.assert_array_equal(elsewhere.values, np.array(theirs.values[-len(elsewhere.values) :])[:, :, 1:])
