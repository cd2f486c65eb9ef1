"""Early exit: tiles without water and dry rows are passed over, and nothing else changes: no bit, and no time step."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from eagre.boundaries.internal import InternalLine
from eagre.laboratory.cases.amundsen2014 import circular_dam_big
from eagre.models.shallow_water import active_tiles
from eagre.models.shallow_water.stages import row_streaming_cpu, row_streaming_tiles
from explicit_runs import basin

TILES_OF = row_streaming_tiles.tiles_of
LATER = np.array([0.0, 0.4, 0.5, 1e9])  # s


def low(monkeypatch, rows=4):
    """Make tiles of so many rows."""
    monkeypatch.setattr(row_streaming_tiles, "MIN_ROWS", rows)
    monkeypatch.setattr(row_streaming_tiles, "tiles_of", lambda ny, nx, most: TILES_OF(ny, nx, rows))


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 8 columns and 4 rows."""
    monkeypatch.setattr(row_streaming_tiles, "TILE_COLUMNS", 8)
    low(monkeypatch)


def pond(shape, rows, columns):
    """Depth of 1 m in some cells, else none."""
    depth = np.zeros(shape)
    depth[rows, columns] = 1.0
    return depth


def corner_rain(shape):
    """A shower that begins late, in one corner."""
    return eagre.Rain(eagre.Series(LATER, np.array([0.0, 0.0, 1e-3, 1e-3])), pond(shape, 0, 0))


SHAPE, TALL = (14, 24), (33, 13)  # two rows in the last listed tile, and one
DRY = {"depth": 0.0, "max_time_step": 0.1}
DAM = {"depth": pond(TALL, slice(4, 6), slice(1, 4))}
POINT = eagre.Boundaries(internal=[InternalLine([(7.5, 7.5)], eagre.Discharge(2.0))])
RING = eagre.Boundaries(south=eagre.Periodic(), north=eagre.Periodic())
EAST = eagre.Boundaries(east=[eagre.BoundarySegment(21.0, 24.0, eagre.Discharge(6.0))])
PLAIN = {
    "corner to corner": {"depth": pond(SHAPE, slice(3, 4), slice(7, 8)), "scheme": "euler"},
    "rain on dry ground": {**DRY, "sources": [corner_rain(SHAPE)], "scheme": "euler"},
    "a source point": {**DRY, "boundaries": POINT, "precision": "double"},
}
WALLED = eagre.Boundaries(internal=[InternalLine([(0.0, 8.0), (9.0, 8.0), (9.0, 20.0)], eagre.Wall())])
COMPILED = {
    "dam": DAM,
    "dam behind a wall": {**DAM, "boundaries": WALLED},
    "euler": {**DAM, "scheme": "euler"},
    "exact steps": {**DAM, "time_step_control": "exact"},
    "periodic": {"depth": pond(TALL, slice(0, 2), slice(3, 6)), "boundaries": RING},
    "inflow": {**DRY, "boundaries": EAST},
    "stage beside one row of a tile": {**DRY, "boundaries": eagre.Boundaries(north=eagre.Stage(0.5))},
}


def model_of(active_tiles, device, shape=SHAPE, **options):
    """A plain that falls to a line along y."""
    grid = eagre.Grid(*shape[::-1], 1.0, 1.0)
    bed = 0.02 * np.abs(grid.mesh("corner")[0] - 5.3)
    options = {"precision": "single", **options}
    return eagre.ShallowWater(grid, bed, device=device, active_tiles=active_tiles, **options)


def assert_same(ours, full):
    """The states are the same to the last bit, ghosts included, and so are times and time steps."""
    assert ours.statistics() == full.statistics()
    first, second = ours.state(), full.state()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def assert_list_changes_no_bit(device, **options):
    """Six steps one by one; a field is asked for in between, which makes use of a buffer."""
    ours, full = (model_of(active_tiles, device, **options) for active_tiles in ("on", "off"))
    shares = []
    for step in range(6):
        for model in (ours, full):
            model.advance(1e3, max_steps=1)
        assert_same(ours, full)
        shares.append(ours._engine.active_fraction())
        if step == 3:
            ours.field("depth")
    assert shares[0] == shares[4] == 1.0
    assert max(shares[1:4]) < 1.0 and shares[5] < 1.0
    assert ours.diagnostics()["volume"] > 0.0


@pytest.mark.parametrize("name", PLAIN)
def test_a_list_of_tiles_changes_no_bit(name, small_tiles):
    assert_list_changes_no_bit(PlainDevice(), **PLAIN[name])


@pytest.mark.parametrize("name", COMPILED)
def test_a_list_of_rows_of_tiles_changes_no_bit(name, monkeypatch):
    low(monkeypatch)
    assert_list_changes_no_bit("cpu", shape=TALL, **COMPILED[name])


def test_wind_keeps_every_tile_awake(small_tiles):
    """It pushes dry cells too, which forget it in the next stage."""
    options = {**PLAIN["corner to corner"], "sources": [eagre.WindStress(0.3)]}
    ours, full = (model_of(active_tiles, PlainDevice(), **options) for active_tiles in ("on", "off"))
    for model in (ours, full):
        model.advance(1e3, max_steps=2)
    assert_same(ours, full)
    assert ours._engine.active_fraction() == 1.0


def test_a_restart_with_a_list_changes_no_bit(monkeypatch):
    low(monkeypatch)
    whole, again = (model_of("on", "cpu", TALL, **DAM) for _ in range(2))
    whole.advance(1e3, max_steps=4)
    again.advance(1e3, max_steps=1)
    again.restore(whole.state())
    for model in (whole, again):
        model.advance(1e3, max_steps=3)
    assert_same(whole, again)


def test_live_cells_make_tiles_near():
    """Within four cells of a tile, across its corners too."""
    for j, i in np.ndindex(24, 24):
        live = np.zeros((24, 24), bool)
        live[j, i] = True
        bits = active_tiles.bits_of(live, 8, 8)
        near = [[active_tiles.is_near(bits, 0 * bits, a, b) for b in range(3)] for a in range(3)]
        expected = [[8 * a - 4 <= j < 8 * a + 12 and 8 * b - 4 <= i < 8 * b + 12 for b in range(3)] for a in range(3)]
        assert near == expected, (j, i)


def test_where_water_may_come_from(small_tiles):
    def awake(shape=SHAPE, **options):
        setup = model_of("on", PlainDevice(), shape, **options).setup
        return active_tiles.always_live(setup.grid, setup.terms, setup.faced)

    assert not awake(TALL, **DAM).any()
    rained = np.zeros(SHAPE, bool)
    rained[0, 0] = True
    np.testing.assert_array_equal(awake(**PLAIN["rain on dry ground"]), rained)
    assert np.argwhere(awake(TALL, **COMPILED["inflow"])).tolist() == [[j, TALL[1] - 1] for j in (21, 22, 23)]
    assert np.argwhere(awake(**PLAIN["a source point"])).tolist() == [[7, 7]]
    around = awake(TALL, **COMPILED["periodic"])
    assert around[0].all() and around[-1].all() and not around[1:-1].any()
    for harmless in (eagre.Coriolis(f=1e-4), eagre.BodyForce(0.1, 0.1), eagre.AtmosphericPressure(np.zeros(SHAPE))):
        assert not awake(depth=1.0, sources=[harmless]).any()
    assert awake(depth=1.0, sources=[eagre.WindStress(0.1)]).all()


# -- compiled ---------------------------------------------------------------------------------------


def big_dry_dam(active_tiles, precision, **options):
    """Amundsen's case for early exit, on fewer cells."""
    return circular_dam_big(96).model(device="cpu", precision=precision, active_tiles=active_tiles, **options)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_early_exit_changes_no_bit(precision, monkeypatch):
    low(monkeypatch, 8)
    ours, auto, full = (big_dry_dam(active_tiles, precision) for active_tiles in ("on", "auto", "off"))
    for time in (0.25, 1.0):
        for model in (ours, auto, full):
            model.advance(time)
        assert_same(ours, full)
        assert_same(auto, full)
    assert 0.1 < ours.diagnostics()["wet_fraction"] < 0.9
    assert ours._engine.active_fraction() < 1.0


def flood(active_tiles, nx=300, ny=70):
    """A pond in a corner of two columns of tiles, over the seam of which it flows."""
    grid = eagre.Grid(nx, ny, 1.0, 1.0)
    depth = np.zeros(grid.shape)
    depth[3:9, 240:256] = 2.0
    return eagre.ShallowWater(grid, 0.0, depth=depth, device="cpu", precision="single", active_tiles=active_tiles)


def test_water_crosses_tiles(monkeypatch):
    low(monkeypatch, 8)
    ours, full = (flood(active_tiles) for active_tiles in ("on", "off"))
    shares = []
    for _ in range(6):
        for model in (ours, full):
            model.advance(1e3, max_steps=20)
        assert_same(ours, full)
        shares.append(ours._engine.active_fraction())
    assert shares == sorted(shares) and shares[0] < 0.4 < shares[-1] < 1.0


def test_a_list_over_a_rough_bed_changes_no_bit(monkeypatch):
    """Dry cells hold films of a rounding there; all tiles in the same program are the measure."""
    low(monkeypatch, 8)
    depth = np.zeros((45, 41))
    depth[20:26, 3:14] = 0.8
    ours, full = (basin("cpu", ny=45, surface_elevation=None, depth=depth, active_tiles=way) for way in ("on", "auto"))
    full._engine.chooser.never()
    for steps in (1, 1, 20):
        for model in (ours, full):
            model.advance(1e3, max_steps=steps)
        assert_same(ours, full)


def test_auto_lists_while_that_pays(monkeypatch):
    """From the wet part of the cells at the start; not once most tiles are listed; asked again after some looks."""
    low(monkeypatch, 8)
    monkeypatch.setattr(active_tiles, "CHECKS_PER_DECISION", 3)
    model = flood("auto")
    engine = model._engine
    model.advance(1e3, max_steps=5)
    assert engine.listed
    monkeypatch.setattr(active_tiles, "MAX_ACTIVE_FRACTION", 0.1)
    listed = []
    for _ in range(6):
        model.advance(1e3, max_steps=5)
        listed.append(engine.listed)
    assert listed == [False, False, False, True, False, False]
    full = flood("off")
    full.advance(1e3, max_steps=model.steps)
    assert_same(model, full)
    grid = eagre.Grid(20, 20, 1.0, 1.0)
    assert not eagre.ShallowWater(grid, 0.0, depth=1.0, device="cpu")._engine.listed


def test_early_exit_passes_over_dry_rows():
    bed = np.zeros((9, 9))
    scratch = np.zeros(row_streaming_cpu.SCRATCH)
    p = big_dry_dam("auto", "double")._engine.parameters
    assert (
        row_streaming_cpu.row_class(bed, scratch, 1, 0, 6, p) == row_streaming_cpu.SHORES
    )  # the switch is off by default
    look = row_streaming_cpu.row_class.function
    skipping = type(look)(look.__code__, {**look.__globals__, "SKIP_DRY": True})
    assert skipping(bed, scratch, 1, 0, 6, p) == row_streaming_cpu.DRY
    scratch[row_streaming_cpu.OVER1 + 3] = 2.0
    assert skipping(bed, scratch, 1, 0, 6, p) == row_streaming_cpu.SHORES
    scratch[row_streaming_cpu.W0 : row_streaming_cpu.W2 + row_streaming_cpu.WIDTH] = 1.0
    assert skipping(bed, scratch, 1, 0, 6, p) == row_streaming_cpu.COVERED


# -- choices ----------------------------------------------------------------------------------------


def test_the_documents_treatment_has_no_early_exit():
    assert big_dry_dam("auto", "double", wet_dry="kurganov-petrova").settings()["active_tiles"] == "off"
    with pytest.raises(eagre.InputError, match='active_tiles = "on"'):
        big_dry_dam("on", "double", wet_dry="kurganov-petrova")


def test_plain_cells_have_no_early_exit():
    assert big_dry_dam("auto", "double", kernels="reference").settings()["active_tiles"] == "off"
    with pytest.raises(eagre.InputError, match='kernels = "reference"'):
        big_dry_dam("on", "double", kernels="reference")


def test_early_exit_is_a_word_or_a_truth_value():
    assert big_dry_dam(True, "double").settings()["active_tiles"] == "on"
    assert big_dry_dam(False, "double").settings()["active_tiles"] == "off"
    with pytest.raises(eagre.InputError, match='"auto"'):
        big_dry_dam("sometimes", "double")
