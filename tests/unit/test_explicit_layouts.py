"""Layouts of the explicit model on any card: they fill it, and can be launched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eagre.models.shallow_water import march_cuda, schedules
from eagre.models.shallow_water.tile_cuda import WARPS_AROUND
from eagre.models.shallow_water.tile_faces import PITCH, PLANES, WIDE
from kernels.recording import RecordingDevice
from unit.test_layouts import CARDS, H200

SIZES = (16, 75, 200, 430, 1024, 4096, 8192)
every_card = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


@every_card
def test_marches_fill_the_card_or_are_as_short_as_they_get(card):
    device = RecordingDevice(card)
    layout = device.layout("shallow-water.march")
    for ny in SIZES:
        for nx in SIZES:
            (strips, runs), (lanes, _), rows = march_cuda.shape_of(device, ny, nx)
            assert strips * march_cuda.STRIP >= nx and runs * rows >= ny and lanes == 32
            assert strips * runs >= card.multiprocessors * layout.full or rows == layout.shortest
            assert rows == layout.longest or strips * -(-ny // (2 * rows)) < card.multiprocessors * layout.full
    for of_stage in layout.registers.values():
        assert all(card.warps_for(registers) >= 12 for registers in of_stage.values())


@every_card
def test_lists_have_the_tiles_of_all_work(card):
    """Marches of a list are as long as those without one, of any layout: others would round otherwise (F20)."""
    for device in (RecordingDevice(card), RecordingDevice(card).with_layouts({"shallow-water.march.longest": 16}, "")):
        for ny in SIZES:
            (strips, marches), block, rows = march_cuda.shape_of(device, ny, 4096)
            (blocks, one), listed_block, listed_rows = march_cuda.listed_shape_of(device, ny, 4096)
            assert (listed_block, listed_rows, one) == (block, rows, 1) and 0 < blocks <= strips * marches


def test_marches_on_an_h200_are_as_measured():
    device = RecordingDevice()
    rows = [march_cuda.shape_of(device, n, n)[2] for n in SIZES]
    assert rows == [4, 4, 4, 4, 16, 64, 64]


@every_card
@pytest.mark.parametrize("itemsize", [4, 8])
def test_tiles_fit_the_card(card, itemsize):
    device = RecordingDevice(card)
    layout, most = device.layout("shallow-water.tiles"), schedules.tallest(device, itemsize)
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
        setup = type("Setup", (), {"grid": grid, "scheme": "rk2", "averages": None})
        return schedules.Tiles.serve(setup, RecordingDevice(card))

    assert serves(132) and not serves(133)
    assert not serves(132, replace(H200, multiprocessors=66)) and serves(66, replace(H200, multiprocessors=66))
    assert schedules.tallest(device, 8) == 27


def test_a_table_of_ones_own_changes_what_is_launched(own_layout):
    device = RecordingDevice()
    before = march_cuda.shape_of(device, 8192, 8192)
    own_layout(**{"shallow-water": {"march": {"longest": 32, "shortest": 8}}})
    after = march_cuda.shape_of(device, 8192, 8192)
    assert before[2] == 64 and after[2] == 32 and march_cuda.shape_of(device, 16, 16)[2] == 8
