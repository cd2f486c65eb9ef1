"""Runs end where their water leaves what the case can reach, and say where flow was held back."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import eagre
from eagre.stepping.plausibility import DEPTHS, SPEEDS

GRID = eagre.Grid(40, 30, 10.0, 10.0)
X, Y = GRID.mesh()
HUMP = np.exp(-((X - 200.0) ** 2 + (Y - 150.0) ** 2) / 50.0**2)
STEP = np.where(GRID.mesh("corner")[0] < 200.0, 0.0, -20.0)


def blown_up(model, until):
    with pytest.raises(eagre.BlowUpError) as caught:
        model.advance(until)
    return caught.value


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("bed", [STEP, 0.5 * STEP - 1.0, -2.0 + 0.0 * STEP], ids=["step", "lower", "flat"])
def test_an_implicit_run_ends_with_its_sense(bed, precision):
    """A step of 60 s on cells of 10 m: 1.5e12 m of water after half an hour, finite and its volume right to 7e-7."""
    model = eagre.ShallowWaterADI(GRID, bed, 60.0, surface_elevation=HUMP, device="cpu", precision=precision)
    error = blown_up(model, 1800.0)
    assert "highest head" in str(error) or "times the initial energy" in str(error)
    assert model.time == error.time < 1800.0 and "shorter time_step" in str(error)
    found, fall = model.diagnostics(), 2.0 - bed.min()  # the last good state
    assert found["max_depth"] < DEPTHS * fall and found["max_speed"] < 2.0 * SPEEDS * math.sqrt(9.81 * fall)
    assert all(0 <= k < n for k, n in zip(error.cell, GRID.shape, strict=True))


@pytest.mark.parametrize("precision", ["single", "double"])
def test_an_explicit_run_with_a_fixed_step_too(precision):
    options = {"surface_elevation": HUMP, "time_step": 3.0, "device": "cpu", "precision": precision}
    model = eagre.ShallowWater(GRID, STEP, **options)
    error = blown_up(model, 1800.0)
    assert "a shorter time_step" in str(error) and model.time == error.time
    assert model.diagnostics()["max_depth"] < DEPTHS * 22.0


def test_a_state_that_is_taken_up_sets_the_bounds():
    """A restart of higher water than the case begins with is no nonsense."""
    low, high = (
        eagre.ShallowWaterADI(GRID, -1.0, 1.0, surface_elevation=z, device="cpu", precision="double")
        for z in (0.0, 20.0 * HUMP)
    )
    low.restore(high.state())
    low.advance(20.0)
    assert low.diagnostics()["volume"] == pytest.approx(high.diagnostics()["volume"], rel=1e-12)


def channel(courant, drying="on"):
    """Uniform flow 1 m deep at 2 m/s, its slope that of friction; discharge in, its level out."""
    grid, speed, manning = eagre.Grid(30, 4, 10.0, 10.0), 2.0, 0.03
    slope = (manning * speed) ** 2
    sides = eagre.Boundaries(west=eagre.Discharge(speed * 40.0), east=eagre.Stage(1.0 - slope * 300.0))
    return eagre.ShallowWaterADI(
        grid, -slope * grid.mesh("corner")[0], courant * 10.0 / speed, depth=1.0, velocity_x=speed, manning=manning,
        boundaries=sides, drying=drying, device="cpu", precision="double",
    )  # fmt: skip


def test_fast_flow_that_is_held_back_is_said():
    model = channel(1.05)
    model.advance(900.0)
    assert model.field("depth")[1, 5] > 1.5  # held back it is
    rows = dict(model.summary_rows[-2:])
    assert re.search(r"maximum 1\.\d*, at t = .* in cell \(j, i\) = \(\d, \d+\), [\d.]+ m deep", rows["|u| dt / dx"])
    words = r"above 0.5 for (\S+) s of 900 s: the outflow limiter reduced the flow. Safe: time_step = (\S+)"
    advice = re.search(words, rows[""])
    assert advice is not None and float(advice[1]) > 800.0
    found = model.statistics()
    assert found["flow_courant_max"] == pytest.approx(1.05, rel=0.05) and found["braked_seconds"] > 800.0
    better = channel(float(advice[2]) * 2.0 / 10.0)
    better.advance(900.0)
    assert abs(better.field("depth")[1, 5] - 1.0) < 1e-3
    assert better.summary_rows[-1][1].startswith("maximum 0.4") and better.statistics()["braked_seconds"] == 0.0


def test_slow_flow_says_its_number():
    model = channel(0.3)
    model.advance(100.0)
    assert model.summary_rows[-1] == ("|u| dt / dx", "maximum 0.3")


def test_steps_with_which_currents_over_rough_beds_may_grow_are_told():
    """Between a third and a half of a cell a step; what is advised is below, and a viscosity is an answer too."""
    model = channel(0.45)
    model.advance(100.0)
    words = r"maximum 0.45. Above 0.33 .* can become unstable. Safe: time_step = (\S+)"
    told = re.fullmatch(words, model.summary_rows[-1][1])
    assert told is not None and float(told[1]) * 2.0 / 10.0 == pytest.approx(0.3, abs=0.01)
    assert model._stepper.courant_monitor.summary_rows(2.25, True, False) == [("|u| dt / dx", "maximum 0.45")]


def test_a_state_that_is_taken_up_brings_its_own_bounds():
    """2 m of water in a model that began with a centimetre."""
    low, high = (
        eagre.ShallowWater(
            eagre.Grid(9, 7, 10.0, 10.0), 0.0, depth=depth, time_step=0.05, device="cpu", precision="double"
        )
        for depth in (0.01, 2.0)
    )
    low.restore(high.state())
    low.advance(0.5)
    assert low.field("depth") == pytest.approx(2.0)
