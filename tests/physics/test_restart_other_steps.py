"""Restarts with another time step or scheme: the time stays, and what is asked for holds."""

from __future__ import annotations

import numpy as np
import pytest

from adi_runs import pool
from anelastic_runs import flow_over_a_hill
from eagre import BarotropicVorticity, Grid, PotentialWaves, RelaxationZone
from eagre.waves import AiryWave

GYRE = Grid.from_points(17, 17, 1.0, 1.0)
DEVICES = pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "two"])


def gyre(time_step=2e-3, **options):
    x, y = (np.pi * a for a in GYRE.mesh())
    spin = np.sin(x) * np.sin(y)
    shape = {"beta": 3.0, "viscosity": 0.02, "wind_forcing": 5.0 * spin * np.cos(y), "relative_vorticity": 4.0 * spin}
    return BarotropicVorticity(
        GYRE, time_step=time_step, **{"device": "cpu", "precision": "double", **shape, **options}
    )


def flume(**options):
    wave = AiryWave(height=0.01, depth=0.3, period=1.0)
    zones = [RelaxationZone("west", 1.0, 1.0, wave, ramp=1.0), RelaxationZone("east", 1.0, 1.0)]
    grid = Grid.from_points(33, 1, 4.0, 1.0)
    return PotentialWaves(
        grid, 0.3, order=4, vertical_points=6, relaxation_zones=zones, device="cpu", precision="double", **options
    )


def hill(**options):
    return flow_over_a_hill(device="cpu", precision="double", **options)


def continued(make, state, **options):
    model = make(**options)
    model.restore(state)
    return model


@DEVICES
@pytest.mark.parametrize("options", [{"time_step": 1e-3}, {"time_step": 5e-4}, {"scheme": "ab2"}])
@pytest.mark.parametrize("landed", [False, True])
def test_gyres_go_on_at_the_same_time_with_other_steps(device, options, landed):
    whole, first = gyre(scheme="ab3"), gyre(scheme="ab3")
    whole.advance(0.06)
    first.advance(0.03) if landed else first.advance(1.0, max_steps=15)
    model = continued(gyre, first.state(), device=device, **options)
    assert model.time == pytest.approx(0.03) and model.time == first.time
    np.testing.assert_array_equal(model.field("relative_vorticity"), first.field("relative_vorticity"))
    model.advance(0.03 + model.time_step, max_steps=1)
    assert model.time == pytest.approx(0.03 + model.time_step)
    model.advance(0.06)
    ours, theirs = (one.field("relative_vorticity") for one in (model, whole))
    assert model.time == pytest.approx(0.06)
    assert np.abs(ours - theirs).max() < 2e-4 * np.abs(theirs - first.field("relative_vorticity")).max()


def test_gyres_of_another_order_and_with_rounding_kept():
    first = gyre(scheme="ab2", precision="single")
    first.advance(0.03)
    model = continued(gyre, first.state(), scheme="ab3", precision="single", compensated_summation=True)
    model.advance(0.04)
    whole = gyre(scheme="ab2", precision="single")
    whole.advance(0.04)
    assert np.abs(model.field("relative_vorticity") - whole.field("relative_vorticity")).max() < 1e-3


@pytest.mark.parametrize("time_step", [0.01, 0.03])
def test_waves_go_on_at_the_same_time_with_other_steps(time_step):
    first = flume(time_step=0.02)
    first.advance(0.15)
    first.advance(9.0, max_steps=7)
    model = continued(flume, first.state(), time_step=time_step)
    assert model.time == pytest.approx(0.29) and model.time == first.time
    model.advance(9.0, max_steps=2)
    assert model.time == pytest.approx(0.29 + 2 * time_step)


def test_air_goes_on_with_the_time_step_of_the_case():
    first = hill(time_step=20.0)
    first.advance(9e9, max_steps=3)
    for step in (10.0, 25.0):
        model = continued(hill, first.state(), time_step=step)
        model.advance(9e9, max_steps=2)
        assert model.time == pytest.approx(60.0 + 2 * step) and model.time_step == step
    model = continued(hill, first.state(), time_step=None, courant_number=0.05)
    model.advance(9e9, max_steps=3)
    assert model.time_step < 10.0


@DEVICES
@pytest.mark.parametrize("time_step", [1.5, 4.0, 7.0])
def test_implicit_steps_of_the_case_begin_at_once(device, time_step):
    """In the middle of a leg of 3 s steps to t = 90 s; the water is where it would be."""
    slope = {"surface_elevation": 0.2 * np.cos(np.pi * (np.arange(200.0)[:, None] + np.zeros(19)) / 50.0)}
    first, whole = pool("cpu", **slope), pool("cpu", **slope)
    first.advance(90.0, max_steps=10)
    model = pool(device, time_step=time_step, **slope)
    model.restore(first.state())
    assert model.time == 30.0
    model.advance(90.0, max_steps=1)
    count = np.ceil(60.0 / time_step)
    assert model.time == pytest.approx(30.0 + 60.0 / count)
    model.advance(90.0)
    assert model.steps == 10 + count and model.time == 90.0
    whole.advance(90.0)
    ours, theirs = (one.field("surface_elevation") for one in (model, whole))
    assert np.abs(ours - theirs).max() < 0.01 * np.ptp(theirs)


def test_an_implicit_leg_goes_on_where_the_steps_are_as_many():
    """3 s and 3.0001 s make the same 30 steps of 90 s: the bits are those of a run that was not cut."""
    first, whole = pool("cpu"), pool("cpu")
    first.advance(90.0, max_steps=10)
    model = pool("cpu", time_step=3.0001)
    model.restore(first.state())
    for one in (model, whole):
        one.advance(90.0)
    assert model.steps == whole.steps == 30
    np.testing.assert_array_equal(model.field("surface_elevation"), whole.field("surface_elevation"))
