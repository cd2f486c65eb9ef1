"""Steps land where they are told to, and a restarted run is the unbroken one, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.select import select
from eagre.laboratory.bench.machine import threads_limited
from eagre.stepping.clock import STEPS_LEFT


def forced(device, precision="single", scheme="rk2"):
    """A tide and growing rain on an uneven bed: everything that a restart has to remember."""
    grid = eagre.Grid(11, 7, 2.0, 3.0)
    rng = np.random.default_rng(7)
    times = np.linspace(0.0, 40.0, 15)
    tide = eagre.Series(times, 0.3 * np.sin(times), "tide")
    rain = eagre.Series(times, 1e-5 * times, "rain")
    return eagre.ShallowWater(
        grid, rng.uniform(-2.0, 0.5, grid.shape_of("corner")), surface_elevation=0.0, scheme=scheme,
        boundaries=eagre.Boundaries(west=eagre.Stage(tide)), sources=[eagre.Rain(rain)],
        device=device, precision=precision,
    )  # fmt: skip


def assert_same_bits(ours, theirs):
    first, second = ours.state(), theirs.state()
    assert set(first) == set(second)
    for name, values in first.items():
        if name == "clock":  # how many steps until the next look is not of the run
            values[STEPS_LEFT] = second[name][STEPS_LEFT] = 0.0
        np.testing.assert_array_equal(values, second[name], err_msg=name, strict=True)


@pytest.mark.parametrize(("scheme", "precision"), [("rk2", "single"), ("euler", "double")])
def test_restarted_run_equals_the_unbroken_one(scheme, precision, light_device, tmp_path):
    """Through a file; the break comes after any step, the series are in the middle of their rows."""
    from eagre.io import read_restart, write_restart

    whole, first, second = (forced(light_device, precision, scheme) for _ in range(3))
    whole.advance(12.0)
    first.advance(12.0, max_steps=41)
    assert 0.0 < first.time < 12.0
    write_restart(tmp_path / "state.nc", first)
    second.restore(read_restart(tmp_path / "state.nc", second))
    second.advance(12.0)
    assert_same_bits(second, whole)
    assert second.statistics() == whole.statistics() and second.diagnostics() == whole.diagnostics()


def test_a_side_that_changes_at_a_restart_has_the_level_of_that_time(light_device):
    """Ghosts are filled anew by another condition, with what its series says then and not at the start."""
    times, found = np.array([0.0, 10.0]), []
    walls = basin_with(eagre.Boundaries(), light_device)
    walls.advance(5.0)
    for level in (eagre.Series(times, np.array([-0.5, 1.0])), 0.25):
        model = basin_with(eagre.Boundaries(west=eagre.Stage(level)), light_device)
        model.restore(walls.state())
        found.append(model.state()["q"])
    np.testing.assert_array_equal(*found)
    assert not np.array_equal(found[0], walls.state()["q"])


def basin_with(boundaries, device):
    """Water 1 m deep on an uneven bed."""
    grid = eagre.Grid(9, 6, 2.0, 3.0)
    bed = -1.0 + 0.1 * np.random.default_rng(2).standard_normal(grid.shape_of("corner"))
    return eagre.ShallowWater(
        grid, bed, surface_elevation=0.0, boundaries=boundaries, device=device, precision="double"
    )


def test_stops_change_no_bit_of_the_state_when_they_land_between_steps(light_device):
    """Steps in small portions are the same steps."""
    whole, portions = forced(light_device), forced(light_device)
    whole.advance(5.0)
    while portions.time < 5.0:
        portions.advance(5.0, max_steps=3)
    assert_same_bits(portions, whole)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_runs_repeat_on_any_number_of_threads(precision, monkeypatch):
    """As the documentation promises: the same bits, sums included, on rows enough for every thread."""
    monkeypatch.setattr("eagre.backend.cpu.compiler.MAX_SERIAL_ELEMENTS", 0)  # small launches take all threads too
    found = []
    for threads in (1, 2, 2):
        with threads_limited(select("cpu"), threads):
            grid = eagre.Grid(37, 150, 2.0, 3.0)
            bed = np.random.default_rng(7).uniform(-2.0, 0.5, grid.shape_of("corner"))
            model = eagre.ShallowWater(grid, bed, surface_elevation=0.0, velocity_x=1.0, manning=0.03,
                                       sources=[eagre.Rain(1e-5)], device="cpu", precision=precision)  # fmt: skip
            model.advance(5.0)
            found.append(model)
    for other in found[1:]:
        assert_same_bits(found[0], other)
        assert other.diagnostics() == found[0].diagnostics()


def test_every_leg_lands_exactly(light_device):
    model = forced(light_device)
    for until in (0.1, 1.0 / 3.0, 1.0, 7.7):
        model.advance(until)
        assert model.time == until
    assert model.statistics()["dt_max"] <= 2.0 * 0.25 / np.sqrt(9.81 * 2.3) * 1.1


def river(rate, **options):
    """A basin that a river fills."""
    grid = eagre.Grid(12, 3, 1.0, 1.0)
    options = {"device": "cpu", "precision": "double", **options}
    return eagre.ShallowWater(
        grid, 0.0, depth=1.0, boundaries=eagre.Boundaries(west=eagre.boundaries.Discharge(rate)), **options
    )


def restarted_from(first, second):
    second.restore(first.state())
    return second


@pytest.mark.parametrize("rate", [5.0, eagre.Series([0.0, 9.0], [5.0, 5.0])], ids=["constant", "series"])
def test_a_run_goes_on_with_another_river(rate):
    """From the first stage on: the ghosts of the old river are not used."""
    first = river(1.0)
    first.advance(2.0)
    second = restarted_from(first, river(rate))
    second.advance(4.0)
    gained = second.diagnostics()["volume"] - first.diagnostics()["volume"]
    assert gained == pytest.approx(10.0, rel=1e-9)


def test_a_run_goes_on_with_other_parts_of_a_side():
    first = river(1.0)
    first.advance(1.0)
    parts = eagre.Boundaries(west=[eagre.boundaries.BoundarySegment(1.0, 2.0, eagre.boundaries.Discharge(3.0))])
    second = restarted_from(first, eagre.ShallowWater(first.grid, 0.0, depth=1.0, boundaries=parts, device="cpu",
                                                      precision="double"))  # fmt: skip
    second.advance(2.0)
    gained = second.diagnostics()["volume"] - first.diagnostics()["volume"]
    assert gained == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "longest"),
    [({"courant_number": 0.05}, None), ({"max_time_step": 1e-3}, 1e-3), ({"time_step": 2e-3}, 2e-3)],
)
def test_a_run_goes_on_with_shorter_steps(options, longest):
    """The way out of a blow-up: what the case file says now holds, not what it said before."""
    first = river(1.0)
    first.advance(2.0)
    second = restarted_from(first, river(1.0, **options))
    before = second.steps
    second.advance(2.5)
    steps = second.steps - before
    if longest is None:
        assert second.time_step < 0.25 * first.time_step
    else:
        assert steps == pytest.approx(0.5 / longest, abs=2)


def test_a_run_goes_on_with_another_scheme_and_from_two_buffers():
    """On a CPU Euler steps alternate between two buffers, as all steps do on a GPU."""
    first = river(1.0, scheme="euler")
    first.advance(2.0, max_steps=3)
    second = restarted_from(first, river(1.0))
    np.testing.assert_array_equal(second.field("depth"), first.field("depth"))
    second.advance(3.0)
    assert second.time == 3.0
