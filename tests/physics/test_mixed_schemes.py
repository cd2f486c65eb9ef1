"""Schemes that alternate with "rk2" on active tiles: "srk2" and "ds2", on a CPU in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from eagre.models.shallow_water import active_tiles
from eagre.models.shallow_water.stages import row_streaming_tiles
from eagre.stepping import clock as ck
from eagre.stepping.maps import Maps

TILES_OF = row_streaming_tiles.tiles_of
SHAPE = (14, 40)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Tiles of 8 columns and 4 rows, and a decision every 6 steps."""
    monkeypatch.setattr(row_streaming_tiles, "TILE_COLUMNS", 8)
    monkeypatch.setattr(row_streaming_tiles, "MIN_ROWS", 4)
    monkeypatch.setattr(row_streaming_tiles, "tiles_of", lambda ny, nx, most: TILES_OF(ny, nx, 4))
    monkeypatch.setattr(active_tiles, "DECISION_STEPS", 6)


def pond(scheme, way="auto", **options):
    """Water in a corner of a plain that falls to a line along y."""
    grid = eagre.Grid(*SHAPE[::-1], 1.0, 1.0)
    depth = np.zeros(SHAPE)
    depth[3:6, 7:12] = 1.0
    bed = 0.02 * np.abs(grid.mesh("corner")[0] - 5.3)
    given = {"depth": depth, "precision": "double", "device": PlainDevice(), "scheme": scheme, "active_tiles": way}
    return eagre.ShallowWater(grid, bed, **{**given, **options})


def scheme_row(model):
    return dict(model.summary_rows).get("schemes", "")


def assert_same(first, second):
    assert first.statistics() == second.statistics()
    ours, theirs = first.state(), second.state()
    assert set(ours) == set(theirs)
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def test_srk2_equals_rk2_on_the_list_and_off_it(monkeypatch):
    """A share of cells that is met after some steps: the answer stays that of "rk2" to rounding."""
    mixed, whole = pond("srk2"), pond("rk2", "off")
    mixed.advance(1e3, max_steps=6)
    assert mixed._engine.listed and scheme_row(mixed) == "rk2 6 steps, 6 of them on active tiles; srk2 0 steps"
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 0.0)
    mixed.advance(1e3, max_steps=6)
    assert not mixed._engine.listed
    whole.advance(1e3, max_steps=12)
    assert scheme_row(mixed) == "rk2 6 steps, 6 of them on active tiles; srk2 6 steps"
    for name in ("depth", "discharge_x", "discharge_y"):
        expected = whole.field(name)
        assert 0.0 < np.abs(expected).max()
        assert np.abs(mixed.field(name) - expected).max() <= 8 * np.finfo(float).eps * np.abs(expected).max()
    assert mixed.time == pytest.approx(whole.time, rel=1e-15)


@pytest.mark.parametrize("before", [3, 5])  # a first step of "rk2" and one or two double steps: both buffers
def test_ds2_goes_on_with_rk2_on_the_list(before, monkeypatch):
    """The same bits as "rk2" on all tiles from the state of "ds2", with steps of one length."""
    monkeypatch.setattr(active_tiles, "DECISION_STEPS", before)
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 0.0)
    mixed = pond("ds2", time_step=0.02)
    mixed.advance(1e3, max_steps=before)
    assert (mixed.steps, mixed._engine.current) == (before, (before - 1) // 2 % 2) and not mixed._engine.listed
    state = {name: values for name, values in mixed.state().items() if name != "schemes"}
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 1.0)
    whole = pond("rk2", "off", time_step=0.02)
    whole.restore(state)
    for model in (mixed, whole):
        model.advance(1e3, max_steps=3)
    assert mixed._engine.listed and mixed._engine.active_fraction() < 1.0
    assert scheme_row(mixed) == f"rk2 4 steps, 3 of them on active tiles; ds2 {before - 1} steps"
    assert mixed.steps == whole.steps == before + 3
    for name in ("depth", "discharge_x", "discharge_y"):
        np.testing.assert_array_equal(mixed.field(name), whole.field(name))


def test_ds2_goes_on_after_the_list(monkeypatch):
    """Volume and bits: "ds2" on all tiles from the state that "rk2" left."""
    mixed = pond("ds2", time_step=0.02)
    mixed.advance(1e3, max_steps=6)
    assert mixed._engine.listed_steps == 5
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 0.0)
    whole = pond("ds2", "off", time_step=0.02)
    whole.restore({name: values for name, values in mixed.state().items() if name != "schemes"})
    for model in (mixed, whole):
        model.advance(1e3, max_steps=4)
    np.testing.assert_array_equal(mixed.field("depth"), whole.field("depth"))
    assert abs(mixed.diagnostics()["volume_error"]) < 1e-14 and scheme_row(mixed).endswith("; ds2 4 steps")


def test_steps_on_the_list_have_the_courant_number_of_rk2(monkeypatch):
    """Half for "ds2", which is stable with twice that of "rk2": the largest of each kind of step."""
    mixed = pond("ds2", courant_number=0.5)
    mixed.advance(1e3, max_steps=1)
    clock = mixed._engine.read_clock()
    clock[ck.COURANT] = 0.0  # the first step is not on the list
    mixed._engine.write_clock(clock)
    mixed.advance(1e3, max_steps=5)
    assert mixed._engine.listed_steps == 5
    assert 0.2 < mixed.statistics()["courant_max"] <= 0.25 * 1.02 * (1.0 + 1e-9)
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 0.0)
    mixed.advance(1e3, max_steps=4)
    assert 0.4 < mixed.statistics()["courant_max"] <= 0.5 * (1.0 + 1e-9)


@pytest.mark.parametrize("scheme", ["srk2", "ds2"])
def test_decisions_do_not_depend_on_batches(scheme, monkeypatch):
    """Batches of other lengths, and fields that are read in between, change no bit of a run that switches."""
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 40 / (14 * 40))
    pieces, whole = (pond(scheme, maps=Maps(arrival_depths=[0.01])) for _ in range(2))
    whole.advance(0.6)
    for steps in (3, 5, 1):
        pieces.advance(0.6, max_steps=steps)
        pieces.field("depth")
    pieces.advance(0.6)
    assert 0 < whole._engine.listed_steps < whole.steps - 1
    assert_same(pieces, whole)


@pytest.mark.parametrize("scheme", ["srk2", "ds2"])
def test_a_restart_keeps_the_decision(scheme, monkeypatch):
    """A run that restarts between two decisions, where the share of wet cells has passed the limit."""
    monkeypatch.setattr(active_tiles, "MAX_WET_FRACTION", 16 / (14 * 40))  # 15 cells are wet at the start
    whole, again = pond(scheme), pond(scheme)
    whole.advance(1e3, max_steps=3)
    assert whole._engine.listed and whole._engine.wet_fraction() > active_tiles.MAX_WET_FRACTION
    again.restore(whole.state())
    for model in (whole, again):
        model.advance(1e3, max_steps=5)
    assert not again._engine.listed and scheme_row(again) == scheme_row(whole) != ""
    assert_same(whole, again)


def test_where_every_tile_is_awake_the_scheme_stays():
    """Wind pushes dry cells too: no list saves work, and another scheme would change the answer for nothing."""
    model = pond("ds2", sources=[eagre.WindStress(0.3)])
    model.advance(1e3, max_steps=4)
    assert not model._engine.listed and scheme_row(model) == ""
    assert not pond("ds1")._engine.listed and not pond("ds2", "off")._engine.listed


@pytest.mark.simulator
@pytest.mark.parametrize("scheme", ["srk2", "ds2"])
def test_a_simulated_gpu_makes_the_same_steps(scheme):
    """On the list, with maps that the stages of "rk2" gather on a GPU and launches of their own elsewhere."""
    from eagre.backend.simulated import SimulatedDevice

    options = {"time_step": 0.02, "maps": Maps(arrival_depths=[0.01], duration_depths=[0.01])}
    simulated, plain = pond(scheme, device=SimulatedDevice(), **options), pond(scheme, **options)
    for model in (simulated, plain):
        model.advance(1e3, max_steps=3)
        assert model._engine.listed_steps == (2 if scheme == "ds2" else 3)
    np.testing.assert_allclose(simulated.field("depth"), plain.field("depth"), rtol=0, atol=1e-13)
    ours, theirs = simulated.state(), plain.state()
    for name in set(ours) - {"q", "clock", "edges"}:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-13, err_msg=name)


def test_single_steps_reach_the_end_time():
    """A step of "rk2" in a run of "ds2" ends at the end time, although a step of "ds2" consists of two half steps."""
    mixed = pond("ds2", courant_number=0.5)
    for _ in range(3):
        mixed.advance(1e3, max_steps=1)
    end = mixed.time + 0.5 * mixed.time_step
    mixed.advance(end, max_steps=1)
    assert mixed.time == end and mixed._engine.listed_steps > 0
