"""The shallow-water model on a GPU: the CPU's answer, the same bits every time, restarts, blow-ups, memory.

Programs are compiled for each combination of scheme, treatment, kinds of boundary and friction:
the tests share two of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.models.shallow_water import schedules
from memory import resident_words

pytestmark = pytest.mark.gpu

PRECISIONS = ("single", "double")
TOLERANCE = {"single": 2e-5, "double": 1e-12}
SIZES = [(1, 1), (1, 37), (37, 1), (1021, 37), (29, 2), (200, 171)]


def basin(device, precision, nx=61, ny=43, **options):
    """Waves between walls on an uneven wet bed; the first combination unless `options` change it."""
    grid = eagre.Grid(nx, ny, 2.0, 3.0)
    x, y = grid.mesh()
    x_corner, y_corner = grid.mesh("corner")
    bed = 0.2 * np.sin(0.11 * x_corner) * np.cos(0.07 * y_corner) - 0.1 * np.cos(0.9 * x_corner + 0.6 * y_corner)
    bed[-1] = bed[0]  # some runs join the south to the north
    surface = 1.0 + 0.15 * np.sin(0.13 * x + 0.05 * y) + 0.02 * np.cos(0.8 * x - 0.7 * y)
    options = {"manning": 0.03, "surface_elevation": surface, "bed_elevation": bed} | options
    return eagre.ShallowWater(grid, device=device, precision=precision, **options)


def forced(device, precision, **options):
    """Periodic in y, every open condition in x, all sources and a Manning map; the second combination."""
    nx, ny = 61, 43
    x = np.linspace(0.0, 1.0, nx)
    y = np.linspace(0.0, 1.0, ny)[:, None]
    times = np.array([0.0, 2.0, 5.0, 100.0])
    stage = eagre.Stage(eagre.Series(times, np.array([1.0, 1.1, 0.95, 1.0])))
    wave = eagre.Absorbing(eagre.Series(times, np.array([0.0, 0.05, -0.05, 0.0])), level=1.0)
    river = eagre.Discharge(eagre.Series(times, np.array([0.0, 8.0, 4.0, 4.0])))
    conditions = eagre.Boundaries(
        west=[eagre.BoundarySegment(0.0, 60.0, stage), eagre.BoundarySegment(60.0, 129.0, wave)],
        east=[eagre.BoundarySegment(0.0, 60.0, eagre.Outflow()), eagre.BoundarySegment(75.0, 105.0, river)],
        south=eagre.Periodic(),
        north=eagre.Periodic(),
    )
    sources = (
        eagre.Rain(eagre.Series(times, np.array([0.0, 2e-4, 5e-4, 0.0])), pattern=x + y),
        eagre.Coriolis(latitude=40.0, beta=1e-6),
        eagre.WindStress(0.5, eagre.Series(times, np.array([0.0, 1.0, -1.0, 0.0])), pattern=1.0 + x * y),
        eagre.AtmosphericPressure(101325.0 + 500.0 * np.sin(3.0 * x + 2.0 * y), factor=0.8),
    )
    round_y = 2.0 * np.pi * np.arange(ny + 1)[:, None] / ny
    bed = 0.2 * np.cos(round_y) * np.sin(0.1 * np.arange(nx + 1))
    bed[-1] = bed[0]
    options = {"scheme": "euler", "wet_dry": "kurganov-petrova", "manning": 0.02 + 0.02 * x * y} | options
    return basin(device, precision, nx, ny, bed_elevation=bed, boundaries=conditions, sources=sources, **options)


def assert_agree(ours, theirs):
    """Both models hold the same water, relative to the depth and to the discharge of a long wave in it."""
    assert np.isclose(ours.time, theirs.time, rtol=1e-6)
    depth = float(theirs.field("depth").max())
    discharge = depth * (9.81 * depth) ** 0.5
    for name, scale in (("depth", depth), ("discharge_x", discharge), ("discharge_y", discharge)):
        difference = np.abs(ours.field(name).astype(float) - theirs.field(name)).max() / scale
        assert difference <= TOLERANCE[ours.precision], name


def assert_same_bits(ours, theirs):
    """Both models hold the same bits: ghosts, clock, series and all."""
    first, second = ours.state(), theirs.state()
    assert set(first) == set(second)
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name, strict=True)


def pair(make, precision, until, **options):
    """The same run on the GPU and on the CPU."""
    models = [make(device, precision, **options) for device in ("cuda", "cpu")]
    for model in models:
        model.advance(until)
    return models


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("time_step", ["predicted", "exact"])
@pytest.mark.parametrize("make", [basin, forced])
def test_gpu_equals_cpu(make, time_step, precision):
    ours, theirs = pair(make, precision, 6.0, time_step_control=time_step)
    assert ours.time == theirs.time == 6.0
    assert ours.steps == theirs.steps > 20
    assert theirs.field("speed").max() > 0.1
    assert_agree(ours, theirs)
    assert abs(ours.diagnostics()["volume_error"]) < {"single": 1e-5, "double": 1e-13}[precision]
    assert ours.inflow == pytest.approx(theirs.inflow, rel=1e-3 if precision == "single" else 1e-9)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("nx", "ny", "tiled"), [(*size, True) for size in SIZES] + [(*size, False) for size in SIZES[3:]]
)
def test_odd_sizes(nx, ny, tiled, precision, monkeypatch):
    if not tiled:  # small grids march as well
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = pair(basin, precision, 3.0, nx=nx, ny=ny)
    assert_agree(ours, theirs)
    assert abs(ours.diagnostics()["volume_error"]) < {"single": 1e-5, "double": 1e-12}[precision]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_samples_and_sums_equal_the_cpu(precision):
    ours, theirs = pair(basin, precision, 3.0)
    cells = [(0, 0), (42, 60), (20, 31)]
    for name, values in ours.sample(["depth", "velocity_x"], cells).items():
        expected = [ours.field(name)[cell] for cell in cells]
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    sums, expected = ours.diagnostics(), theirs.diagnostics()
    for name in ("volume", "kinetic_energy", "potential_energy", "max_depth", "min_depth", "wet_fraction"):
        assert sums[name] == pytest.approx(expected[name], rel=10 * TOLERANCE[precision])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("make", [basin, forced])
def test_two_runs_give_the_same_bits(make, precision):
    first, second = make("cuda", precision), make("cuda", precision)
    for model in (first, second):
        model.advance(6.0)
    assert_same_bits(first, second)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("make", [basin, forced])
@pytest.mark.parametrize("middle", [2.9, 3.3])
def test_restarted_run_equals_the_unbroken_one(make, middle, precision):
    unbroken, restarted = make("cuda", precision), make("cuda", precision)
    unbroken.advance(middle)
    kept = unbroken.state()
    unbroken.advance(6.0)
    restarted.restore(kept)
    assert restarted.time == middle
    restarted.advance(6.0)
    assert_same_bits(unbroken, restarted)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("before", "after"), [("cuda", "cpu"), ("cpu", "cuda")])
def test_a_run_goes_on_on_another_device(before, after, precision):
    """A state from tiles, which have no ghosts of their own, and one for them."""
    first, second, whole = basin(before, precision), basin(after, precision), basin("cpu", precision)
    for model in (first, whole):
        model.advance(3.0)
    second.restore(first.state())
    for model in (second, whole):
        model.advance(6.0)
    assert_agree(second, whole)
    assert abs(second.diagnostics()["volume_error"]) < {"single": 1e-5, "double": 1e-13}[precision]


def largest_flow_of_a_lake(precision, bed):
    """Largest discharge, m2 s-1, of still water on a partly dry bed after 300 steps."""
    model = basin("cuda", precision, bed_elevation=bed, surface_elevation=0.125)
    assert 0.3 < model.diagnostics()["wet_fraction"] < 1.0
    before = model.field("surface_elevation")
    model.advance(1e9, max_steps=300)
    assert model.steps == 300
    np.testing.assert_allclose(model.field("surface_elevation"), before, rtol=0, atol=1e-6)
    return max(np.abs(model.field(name)).max() for name in ("discharge_x", "discharge_y"))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_lake_at_rest_has_no_momentum_at_all(precision, rng):
    # Whole 64ths: the mean of four corners is exact in both precisions.
    assert largest_flow_of_a_lake(precision, rng.integers(-64, 40, (44, 62)) / 64.0) == 0.0


@pytest.mark.parametrize(("precision", "limit"), [("single", 1e-10), ("double", 1e-20)])
def test_lake_at_rest_on_a_bed_that_is_rounded(precision, limit, rng):
    """Dry cells may hold a film of one rounding of the bed, and it may move."""
    assert largest_flow_of_a_lake(precision, rng.uniform(-1.0, 0.6, (44, 62))) < limit


@pytest.mark.parametrize("precision", PRECISIONS)
def test_blow_up_is_found_and_named(precision):
    model = basin("cuda", precision)
    model.advance(2.0)
    state = model.state()
    j, i = 17, 40
    state["q"][0, j + 2, i + 2] = np.nan
    model._engine.restore(state)  # the model takes no such state
    model._stepper.checkpoint.forget()
    with pytest.raises(eagre.BlowUpError) as caught:
        model.advance(20.0)
    assert caught.value.time >= 2.0
    assert np.abs(np.subtract(caught.value.cell, (j, i))).max() <= 4  # as far as one step can see


def test_steps_are_one_captured_graph():
    model = basin("cuda", "single")
    assert model.device.graphs and not model._engine._graphs
    model.advance(1e9, max_steps=1)
    assert all(hasattr(go, "graph") for go in model._engine._graphs.values()) and model._engine._graphs
    assert model.steps == 1


def test_steps_are_counted_exactly():
    model = basin("cuda", "single")
    for count in (1, 2, 19, 21, 57):
        before = model.steps
        model.advance(1e9, max_steps=count)
        assert model.steps - before == count


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("scheme", ["rk2", "euler"])
def test_memory_per_cell(scheme, precision):
    assert resident_words(basin("cuda", precision, nx=1024, ny=1024, scheme=scheme)) <= 12.0


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_list_of_tiles_changes_no_bit(precision):
    """A pond that breaks over a dry plain, and water that comes in at a side: states, times and time steps."""
    grid = eagre.Grid(1021, 701, 1.0, 1.0)
    x, y = grid.mesh()
    depth = np.where(np.hypot(x - 300.0, y - 350.0) < 60.0, 2.0 + 0.1 * np.sin(0.3 * x), 0.0)
    bed = 0.3 * np.sin(grid.mesh("corner")[0] / 31.0) * np.cos(grid.mesh("corner")[1] / 47.0)
    sides = eagre.Boundaries(east=[eagre.BoundarySegment(100.0, 180.0, eagre.Discharge(200.0))])
    options = {"depth": depth, "boundaries": sides, "manning": 0.03, "device": "cuda", "precision": precision}
    ours, full = (eagre.ShallowWater(grid, bed, active_tiles=way, **options) for way in ("on", "auto"))
    full._engine.chooser.never()
    for steps in (1, 1, 5, 150):
        for model in (ours, full):
            model.advance(1e3, max_steps=steps)
        assert ours.statistics() == full.statistics()
        for name, values in ours.state().items():
            np.testing.assert_array_equal(values, full.state()[name], err_msg=name)
        np.testing.assert_array_equal(ours.field("speed"), full.field("speed"))
    ours.advance(1e3, max_steps=3)
    assert ours._engine.active_fraction() < 0.5
