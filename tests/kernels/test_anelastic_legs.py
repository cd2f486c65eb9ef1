"""Steps of the anelastic model that nobody looks at, on a simulated GPU: the bits of steps one by one."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Smagorinsky, Surface
from eagre.errors import BlowUpError
from eagre.grid import Grid
from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.engine import Engine, StepBatches, StepRecord
from eagre.models.anelastic.model import AnelasticFlow
from eagre.stepping.averages import TimeStatistics
from eagre.time_varying.series import Series

pytestmark = pytest.mark.simulator


@pytest.fixture(autouse=True)
def short_advection(monkeypatch):
    """Advection in one loop: what moves is not looked at here."""
    monkeypatch.setattr("eagre.models.anelastic.stages.plan_of", lambda *_: Upstream(*_))


class Upstream:
    growth = 1.0

    def __init__(self, device, precision, *_):
        self.device = device

    def together(self, fields, _):
        from eagre.backend.device import HostCall

        def move(x, out):
            share = 0.1 * np.random.default_rng(1).random(x.shape)
            out[...] = self.growth * (x + share * (np.roll(x, 1, 2) - x))

        return [HostCall(move, (x, out)) for x, out, _ in fields]


def model(**options):
    from eagre.backend.simulated import SimulatedDevice

    options = {"time_step": 0.1, "precision": "double", "tolerance": 1e-9, **options}
    return decaying_turbulence(4, device=SimulatedDevice(), **options)


def one_by_one(monkeypatch):
    monkeypatch.setattr(Engine, "advance_many", lambda *_, **_options: None)


def by_courant():
    return model(time_step=None, courant_number=0.3)


def driven(**options):
    """Stratified air over ground that cools, with a closure: the host has something new for every step."""
    from eagre.backend.simulated import SimulatedDevice

    grid = Grid.from_points(3, 2, 100.0, 100.0, periodic=(True, True))
    falling = Series(np.array([0.0, 100.0]), np.array([10.0, 0.0]))
    return AnelasticFlow(
        grid, 3, top_height=100.0, device=SimulatedDevice(),
        atmosphere=Atmosphere.boussinesq(buoyancy_frequency=0.1, wind=(5.0, 1.0)),
        theta_perturbation=np.random.default_rng(2).standard_normal((3, 2, 3)), precision="double", tolerance=1e-9,
        **{"surface": Surface(falling), "closure": Smagorinsky(), "coriolis": 0.01}
        | (options or {"courant_number": 0.3}),
    )  # fmt: skip


def turning():
    """Equal steps, the first of which has other kinds of coefficients than the projection of the start."""
    return driven(time_step=0.5)


def averaging():
    """Legs end where a state counts."""
    return model(time_statistics=TimeStatistics(["u", "wind_speed"], ["w"], every=3))


@pytest.mark.parametrize("case", [model, by_courant, driven, turning, averaging])
def test_legs_make_the_bits_of_steps(case, monkeypatch):
    monkeypatch.setattr("eagre.models.anelastic.stepper.WINDOW", 3)
    runs, made, run = [], [], StepBatches.run

    def noted(legs, dt, times):
        made.append(times)
        return run(legs, dt, times)

    for alone in (False, True):
        with monkeypatch.context() as change:
            if alone:
                one_by_one(change)
            else:
                change.setattr(StepBatches, "run", noted)
            runs.append(case())
            runs[-1].advance(1e9, max_steps=7)
    assert max(map(len, made)) > 1  # there was a leg
    found, expected = (one.state() for one in runs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert (runs[0].statistics()["dt_max"] > runs[0].statistics()["dt_min"]) == (case in (by_courant, driven))


def test_steps_of_a_wind_that_grows_are_shortened_as_one_by_one(monkeypatch):
    """A leg in which one would go above the Courant number of the case is taken back."""
    monkeypatch.setattr(Upstream, "growth", 1.1)
    runs = []
    for change in (lambda: None, lambda: one_by_one(monkeypatch)):
        change()
        runs.append(by_courant())
        runs[-1].advance(1e9, max_steps=25)
    found, expected = (one.state() for one in runs)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert runs[0].engine.fastest == runs[1].engine.fastest and 0.29 < runs[0].engine.fastest <= 0.3


def test_every_step_counts_in_extremes():
    """As it does on a CPU, which makes no legs."""
    asked = TimeStatistics(["u"], maximum=["wind_speed"], every=2)
    ours, theirs = model(time_statistics=asked), decaying_turbulence(
        4, device="cpu", time_step=0.1, precision="double", tolerance=1e-9, time_statistics=asked
    )  # fmt: skip
    for one in (ours, theirs):
        one.advance(1e9, max_steps=3)
    expected = theirs.maps.sample()
    for name, values in ours.maps.sample().items():
        assert np.ptp(expected[name]) > 0.1
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-9, err_msg=name)


def test_a_run_that_is_taken_up_has_the_coefficients_of_its_steps(monkeypatch):
    """The first thing that it makes is a leg."""
    whole, cut, on = (driven(time_step=0.5, closure=None, surface=Surface(0.3), coriolis=0.0) for _ in range(3))
    whole.advance(1e9, max_steps=4)
    cut.advance(1e9, max_steps=2)
    on.restore(cut.state())
    monkeypatch.setattr(Engine, "advance", None)  # no step alone
    on.advance(1e9, max_steps=2)
    found = on.state()
    for name, values in whole.state().items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


def test_a_leg_whose_pressure_was_not_done_is_taken_back(monkeypatch):
    together = model(tolerance=1e-14)
    together.advance(1e9, max_steps=2)
    made = []
    finished = type(together.engine._batches).finished

    def noted(legs, book):
        made.append(finished(legs, book))
        return made[-1]

    monkeypatch.setattr(type(together.engine._batches), "finished", noted)
    together.engine.steps.projection._small[:] = 0.0  # no solution is that good
    together.advance(1e9, max_steps=4)
    assert made == [False]
    with monkeypatch.context() as change:
        one_by_one(change)
        alone = model(tolerance=1e-14)
        alone.advance(1e9, max_steps=6)
    for name, values in alone.state().items():
        np.testing.assert_array_equal(together.state()[name], values, err_msg=name)


def test_iterations_that_are_allowed_for():
    """Numbers that go up and down a little ask for no new graph."""
    legs = model().engine._batches
    legs.allow(64)
    assert legs.iterations == 68
    book = dict.fromkeys(StepRecord._fields, 0.0)
    for most, kept in ((68.0, 68), (66.0, 68), (52.0, 68), (50.0, 53), (0.0, 1)):
        assert legs.finished(StepRecord(**{**book, "max_iterations": most}))
        assert legs.iterations == kept
    assert not legs.finished(StepRecord(**{**book, "max_iterations": 1.0, "unfinished": 1.0}))
    assert legs.iterations == 1


def test_a_leg_that_is_too_fast_ends_before_its_first_bad_step(monkeypatch):
    monkeypatch.setattr(Upstream, "growth", 1.6)
    found = []
    for change in (lambda: None, lambda: one_by_one(monkeypatch)):
        change()
        run = model(time_step=0.3)
        with pytest.raises(BlowUpError, match=r"Courant number of .* in row k = ") as error:
            run.advance(1e9, max_steps=8)
        found.append((str(error.value), run.steps, run.field("u")))
    assert found[0][:2] == found[1][:2]
    assert 2 < found[0][1] < 12
    np.testing.assert_array_equal(found[0][2], found[1][2])


def test_a_leg_whose_closure_mixes_more_than_its_wind_bears_is_taken_back(monkeypatch):
    """By a diffusion number below 1, which air at rest would bear."""
    found = []
    for change in (lambda: None, lambda: one_by_one(monkeypatch)):
        change()
        with pytest.raises(BlowUpError, match=r"a diffusion number of 0.9\d*, above 0.88\d* in this wind") as error:
            model(time_step=0.4, closure=Smagorinsky(0.258)).advance(1e9, max_steps=3)
        found.append(str(error.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("case", [model, driven])
def test_the_way_back_of_a_small_state_is_on_the_device(case, monkeypatch):
    run = case()
    run.advance(1e9, max_steps=2)
    stepper, expected = run._stepper, run.state()
    with monkeypatch.context() as change:
        change.setattr(type(run.device), "host", None)  # no copy to the host
        kept = stepper.checkpoint_state()
    run.advance(1e9, max_steps=2)
    later = run.state()
    assert any((later[name] != values).any() for name, values in expected.items())
    with monkeypatch.context() as change:
        change.setattr(type(run.device), "fill", lambda device, array, values: None)  # nor from it
        stepper.restore(kept)
    for name, values in run.state().items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)
    run.advance(1e9, max_steps=2)
    for name, values in run.state().items():
        np.testing.assert_array_equal(values, later[name], err_msg=name)
    monkeypatch.setattr("eagre.models.anelastic.engine.MAX_CHECKPOINT_SIZE", 0)
    later = stepper.checkpoint_state()
    assert later.keys() == stepper.state().keys() and later["u"] is not kept["u"]
