"""Layouts of the explicit model on any card: they fill it, and can be launched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import eagre
from eagre.models.shallow_water import schedules
from eagre.models.shallow_water.stages import row_streaming_cuda, sweep_cuda
from eagre.models.shallow_water.stages.tile_cuda import WARPS_AROUND
from eagre.models.shallow_water.stages.tile_faces import PITCH, PLANES, WIDE
from kernels.recording import RecordingDevice
from unit.test_layouts import CARDS, H200

SIZES = (16, 75, 200, 430, 1024, 4096, 8192)
every_card = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


@every_card
@pytest.mark.parametrize("precision", ["single", "double"])
def test_marches_cover_the_grid_and_grow_with_it(card, precision):
    """Their rows are a power of two within a factor of sqrt(2) of what the root of the rows of strips asks for."""
    device = RecordingDevice(card)
    layout = device.parameters("shallow-water.march")
    for nx in SIZES:
        before = layout.shortest
        for ny in SIZES:
            (strips, runs), (lanes, _), rows = row_streaming_cuda.shape_of(device, precision, ny, nx)
            assert strips * row_streaming_cuda.STRIP >= nx and runs * rows >= ny and lanes == 32
            asked = layout.rows[precision] * (strips * ny / card.multiprocessors) ** 0.5
            assert rows / 1.415 <= asked <= rows * 1.415 or rows == (
                layout.shortest if asked < layout.shortest else layout.longest
            )
            assert rows >= before
            before = rows
    assert all(card.warps_for(registers) >= 12 for registers in layout.registers[precision].values())


@every_card
def test_sweeps_fill_the_card_or_are_as_short_as_they_get(card):
    device = RecordingDevice(card)
    layout = device.parameters("shallow-water.sweeps")
    full = card.multiprocessors * layout.full
    for across, width in ((1, sweep_cuda.STRIP), (2, sweep_cuda.WIDTH)):
        for ny in SIZES:
            for nx in SIZES:
                (strips, runs), (lanes, _), rows = sweep_cuda.shape_of(device, ny, nx, across)
                assert strips * width >= nx and runs * rows >= ny and lanes == 32
                assert strips * runs >= full or rows == layout.shortest
                assert rows == layout.longest or strips * -(-ny // (2 * rows)) < full


@every_card
def test_lists_have_the_tiles_of_all_work(card):
    """Marches of a list are as long as those without one, of any layout: others would round otherwise (F20)."""
    short = RecordingDevice(card).with_parameters({"shallow-water.march.longest": 16}, "")
    for device in (RecordingDevice(card), short):
        for ny in SIZES:
            (strips, marches), block, rows = row_streaming_cuda.shape_of(device, "single", ny, 4096)
            (blocks, one), listed_block, listed_rows = row_streaming_cuda.listed_shape_of(device, "single", ny, 4096)
            assert (listed_block, listed_rows, one) == (block, rows, 1) and 0 < blocks <= strips * marches


@pytest.mark.parametrize(
    ("precision", "best"),
    [
        ("single", {512: [4], 704: [8, 16], 1024: [8], 1408: [16], 2048: [16, 32], 4096: [16, 32, 64], 8192: [64]}),
        ("double", {512: [8], 768: [8, 16], 1536: [16, 32], 2048: [32], 3072: [32], 6144: [64]}),
    ],
)
def test_marches_on_an_h200_are_the_best_that_were_measured(precision, best):
    """Within 1 % of the fastest, wet basins of n x n cells (benchmarks/NOTES.md, "Rows of a march")."""
    device = RecordingDevice()
    for n, rows in best.items():
        assert row_streaming_cuda.shape_of(device, precision, n, n)[2] in rows, n


@every_card
@pytest.mark.parametrize("itemsize", [4, 8])
def test_tiles_fit_the_card(card, itemsize):
    device = RecordingDevice(card)
    layout, most = device.parameters("shallow-water.tiles"), schedules.tallest(device, itemsize)
    assert most >= 4
    for ny in SIZES[:4]:
        for nx in SIZES[:4]:
            tall = schedules.tallness(ny, nx, most, card.multiprocessors, layout.enough_warps)
            warps, shared = tall + WARPS_AROUND, PLANES * PITCH * (tall + 4) * itemsize
            registers = min(max(layout.registers.values()), card.registers_for(warps))
            assert card.fits(32 * warps, registers, shared + 1024), (nx, ny, tall)


def test_tiles_serve_grids_of_a_tile_a_multiprocessor():
    """More of them where a table says so, and none on a CPU."""
    device = RecordingDevice()

    def serves(tiles, card=H200):
        grid = type("Grid", (), {"shape": (27, WIDE * tiles)})
        setup = type("Setup", (), {"grid": grid, "scheme": "rk2", "time_statistics": None})
        return schedules.Tiles.serve(setup, RecordingDevice(card))

    assert serves(132) and not serves(133)
    assert not serves(132, replace(H200, multiprocessors=66)) and serves(66, replace(H200, multiprocessors=66))
    assert schedules.tallest(device, 8) == 27


def test_a_table_of_ones_own_changes_what_is_launched(own_layout):
    device = RecordingDevice()
    before = row_streaming_cuda.shape_of(device, "single", 8192, 8192)
    own_layout(**{"shallow-water": {"march": {"longest": 32, "shortest": 8}}})
    after = row_streaming_cuda.shape_of(device, "single", 8192, 8192)
    assert before[2] == 64 and after[2] == 32 and row_streaming_cuda.shape_of(device, "single", 16, 16)[2] == 8


@pytest.mark.parametrize(
    ("precision", "n", "live", "best"),
    [
        ("single", 2048, 0.05, [8]),
        ("single", 4096, 0.05, [16]),
        ("double", 2048, 0.05, [8]),
        ("double", 4096, 0.05, [8, 16]),
        ("double", 8192, 0.05, [32]),
        ("double", 4096, 0.34, [64]),
        ("double", 4096, 0.0, [8, 16]),
    ],
)
def test_marches_over_ground_that_is_dry_at_the_start_are_shorter(precision, n, live, best):
    """Within 11 % of the fastest, a pond on 5 % of a plain; a third of the cells and more count as all (F20)."""
    assert row_streaming_cuda.shape_of(RecordingDevice(), precision, n, n, live)[2] in best
    assert row_streaming_cuda.listed_shape_of(RecordingDevice(), precision, n, n, live)[2] in best


def test_the_part_that_is_live_counts_water_sides_and_rain():
    """A fifth of a closed plain holds water; then one side is open, rain falls, and dry cells have fluxes."""
    grid = eagre.Grid(10, 20, 1.0, 1.0)
    depth = np.zeros(grid.shape)
    depth[:4] = 1.0

    def live(**options):
        return eagre.ShallowWater(grid, 0.0, depth=depth, device="cpu", **options).setup.live

    assert live() == pytest.approx(0.2) and live(active_tiles="off") == pytest.approx(0.2)
    assert live(boundaries=eagre.Boundaries(north=eagre.Stage(0.5))) == pytest.approx(0.25)
    assert live(sources=[eagre.Rain(1e-5)]) == live(wet_dry="kurganov-petrova") == 1.0
