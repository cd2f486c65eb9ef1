"""The model of GPU resources: tables of the paper as printed, limits of cards, fusions, rooflines."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.layouts.gpu_properties import GpuProperties
from eagre.tuning import (
    HOPPER,
    KEPLER,
    MPDATA,
    Limits,
    Routine,
    best_groups,
    choose_block,
    choose_march,
    fused,
    report,
    tiles,
)
from eagre.tuning import roofline as bandwidth_module
from eagre.tuning.block_size import elements, full_sizes, kept_in_l2, moved, sectors, tile, tile_bytes, transactions
from eagre.tuning.roofline import operations_of
from eagre.tuning.scenarios import cells_per_second, cost, grouped, words

PLANE = (392, 256)
TABLE_3 = [
    (6, 128, 132, 76, 10032, 159.95),
    (5, 128, 158, 66, 10428, 166.26),
    (12, 64, 132, 80, 10560, 168.37),
    (11, 64, 144, 74, 10656, 169.90),
    (10, 64, 160, 68, 10880, 173.47),
    (9, 64, 176, 62, 10912, 173.98),
    (4, 128, 196, 56, 10976, 175.00),
    (8, 64, 196, 56, 10976, 175.00),
]
TABLE_4 = [
    (4, 64, 392, 32, 12544, 200.00),
    (3, 64, 524, 26, 13624, 217.22),
    (2, 128, 392, 36, 14112, 225.00),
    (8, 32, 392, 36, 14112, 225.00),
    (7, 32, 448, 32, 14336, 228.57),
    (6, 32, 528, 28, 14784, 235.71),
    (5, 32, 632, 24, 15168, 241.84),
    (2, 64, 784, 20, 15680, 250.00),
]


@pytest.mark.parametrize(("threads", "table"), [(768, TABLE_3), (256, TABLE_4)])
def test_tables_of_transactions_as_printed(threads, table):
    found = [(t.rows, t.columns, t.blocks, t.each, t.total, round(100 * t.overhead, 2)) for t in tiles(PLANE, threads)]
    assert found[: len(table)] == table


def test_of_equal_tiles_the_wider_is_first():
    assert [(t.rows, t.columns, t.total) for t in tiles(PLANE, 256)[7:9]] == [(2, 64, 15680), (4, 32, 15680)]


def test_transactions_of_one_tile():
    assert elements(6, 128) == 6 * 128 + 2 * 128 + 2 * 6
    assert transactions(6, 128) == 6 * 8 + 2 * 8 + 2 * 6
    assert transactions(6, 128, word=4) == 6 * 4 + 2 * 4 + 2 * 6


def touched(first, count, word):
    """Sectors of elements, one by one."""
    return len({byte // 32 for n in range(first, first + count) for byte in range(n * word, (n + 1) * word)})


@pytest.mark.parametrize("word", [4, 8])
@pytest.mark.parametrize(("rows", "columns", "halo"), [(4, 32, 1), (5, 24, 3), (16, 64, 0)])
def test_sectors_against_a_count(rows, columns, halo, word):
    assert [sectors(a, n, word) for a in range(9) for n in range(20)] == [
        touched(a, n, word) for a in range(9) for n in range(20)
    ]
    ny, nx, read = 21, 70, 0
    for j in range(0, ny, rows):
        for i in range(0, nx, columns):
            low, high = max(0, i - halo), min(nx, i + columns + halo)
            lines = min(ny, j + rows + halo) - max(0, j - halo)
            read += lines * touched(low, high - low, word)
    found = moved(rows, columns, (ny, nx), halo=halo, word=word, kept=False)
    assert found.l2 == found.memory == pytest.approx(read / (ny * touched(0, nx, word)))
    assert moved(rows, columns, (ny, nx), halo=halo, word=word).memory == 1.0


def test_the_cache_keeps_planes_of_the_blocks_that_run():
    assert kept_in_l2(50 * 2**20, 132 * 4, 16, 64, 6, 1)  # 26.0 of 26.2 MB
    assert not kept_in_l2(50 * 2**20, 132 * 4, 16, 64, 6, 2)
    assert kept_in_l2(50 * 2**20, 132 * 4, 16, 64, 6, 2, word=4)


def test_cost_of_fusing_b_and_c_as_printed():
    _, b, c, *rest = MPDATA
    bc = fused([b, c], rest)
    assert (b.accesses + c.accesses, bc.accesses) == (15, 8)
    apart, together = cost(15, tile(6, 128, PLANE).overhead), cost(8, tile(4, 64, PLANE).overhead)
    assert (round(apart, 2), together) == (23.99, 16.0)
    assert round(apart / together, 2) == 1.50
    assert KEPLER.occupancy(768, 32, 47 * 1024) == 0.375
    assert KEPLER.occupancy(256, 32, 24 * 1024) == 0.25


def test_words_and_halos_of_fused_mpdata():
    assert [one.accesses for one in MPDATA] == [6, 7, 8, 8, 8, 6]
    assert {one.halo for one in MPDATA} == {1}
    assert words(MPDATA) == 43
    donor, others = grouped(MPDATA, [1])
    assert (donor.accesses, others.accesses) == (6, 7)
    whole = fused(MPDATA)
    assert (whole.accesses, whole.halo) == (6, 3)
    assert whole.reads["x"] == (3, 3)
    assert whole.reads["v1"] == (2, 3)
    assert whole.reads["v2"] == whole.reads["v3"] == (2, 2)
    assert [words(best_groups(MPDATA, count)) for count in range(1, 7)] == [6, 13, 21, 28, 36, 43]
    assert cells_per_second([whole], 4.3e12) == pytest.approx(89.6e9, rel=1e-3)
    assert cells_per_second([donor, others], 4.3e12, word=4) == pytest.approx(82.7e9, rel=1e-3)


def test_occupancy_by_each_limit():
    assert [KEPLER.blocks_at_once(n) for n in (32, 128, 256, 1024)] == [16, 16, 8, 2]
    assert [HOPPER.blocks_at_once(n) for n in (32, 128, 256, 1024)] == [32, 16, 8, 2]
    assert KEPLER.blocks_at_once(256, registers=64) == 4
    assert KEPLER.blocks_at_once(1024, registers=65) == 0  # 72 a thread are given
    assert KEPLER.blocks_at_once(256, registers=33) == 6  # 40 a thread; of 33 there would be 7
    assert KEPLER.blocks_at_once(64, 32, 16 * 1024) == 3
    assert HOPPER.blocks_at_once(64, 32, 57 * 1024) == 3  # with the kilobyte that a block has beside
    assert HOPPER.blocks_at_once(64, 32, 227 * 1024) == 1
    assert HOPPER.blocks_at_once(64, 32, 227 * 1024 + 1) == HOPPER.blocks_at_once(1056) == 0
    card = GpuProperties("NVIDIA GeForce RTX 4090", (8, 9), 128, 1536, 65536, 102400, 101376, 72 * 2**20)
    assert (Limits.of(card).blocks, Limits.of(card).warps) == (24, 48)


@pytest.mark.parametrize(
    ("points", "word", "expected"),
    [(64, 8, (8, 64, 2)), (128, 8, (8, 64, 16)), (128, 4, (8, 64, 16)), (192, 8, (2, 64, 8)), (512, 4, (2, 64, 8))],
)
def test_marches_of_an_h200(points, word, expected):
    """Of all blocks and marches these reach 93 to 100 % of the best (`bench.papers.laplacian_blocks`)."""
    card = GpuProperties("NVIDIA H200", (9, 0), 132, 2048, 65536, 228 * 1024, 227 * 1024, 60 * 2**20)
    assert choose_march(card, (points,) * 3, word=word) == expected


def test_marches_are_no_longer_than_the_grid():
    card = GpuProperties("NVIDIA H200", (9, 0), 132, 2048, 65536, 228 * 1024, 227 * 1024, 60 * 2**20)
    assert choose_march(card, (4, 4096, 4096)) == (2, 64, 4)
    assert choose_march(card, (3, 5, 7)) == (8, 64, 1)


def test_block_at_run_time_with_limits_of_kepler():
    assert full_sizes(KEPLER, 32, 0) == [1024, 512, 256, 128]
    assert full_sizes(HOPPER, 32, 0) == [1024, 512, 256, 128, 64]
    assert full_sizes(KEPLER, 64, 0) == [1024, 512, 256, 128, 64]
    assert full_sizes(KEPLER, 32, 64.0) == [768, 384, 256, 192, 128, 96, 64]  # 48 KB are 768 threads
    block = choose_block(KEPLER, (256, 256))
    assert (block.rows, block.columns, block.warps) == (8, 128, 64)
    full = [
        (r, t // r) for t in (1024, 512, 256, 128) for r in range(1, t // 32 + 1) if t % r == 0 and t // r % 32 == 0
    ]
    assert block.transactions == min(tile(*shape, (256, 256)).total for shape in full)
    block = choose_block(KEPLER, (256, 256), registers=40)  # 51 warps: 3 blocks of 17, no other size has more than 50
    assert (block.rows, block.columns, block.warps) == (17, 32, 51)
    with pytest.raises(ValueError, match="No block of Tesla K40m has 32 registers"):
        choose_block(KEPLER, (64, 64), shared=lambda rows, columns: 10**6)


@pytest.mark.parametrize(("n", "columns", "rows"), [(64, 64, 16), (128, 128, 8)])
def test_blocks_of_small_cubes_are_those_of_the_paper(n, columns, rows):
    assert tile_bytes(1, 8)(rows, columns) == 8 * (rows + 2) * (columns + 2)
    block = choose_block(KEPLER, (n, n), shared=tile_bytes(1, 8))
    assert (block.columns, block.rows) == (columns, rows)


ROUTINES = [  # operations, bytes, Q: before and after; gain in per cent
    ("precon", 18, 255, 0.07, 22, 167, 0.132, 187),
    ("prforc", 27, 289, 0.09, 27, 154, 0.175, 188),
    ("divrhs", 15, 170, 0.09, 17, 113, 0.150, 171),
    ("laplc", 33, 604, 0.05, 32, 242, 0.132, 242),
    ("GCR", 297, 4329, 0.07, 291, 2443, 0.119, 174),
]


@pytest.mark.parametrize("row", ROUTINES, ids=lambda row: row[0])
def test_intensities_as_printed(row):
    name, ops, size, q, ops_after, size_after, q_after, gain = row
    before, after = Routine(name, ops, size), Routine(name, ops_after, size_after)
    assert before.intensity == pytest.approx(q, abs=0.005)
    assert round(after.intensity, 3) == q_after
    assert round(100 * after.intensity / before.intensity) == gain


def test_fraction_of_the_roofline():
    routine = Routine("laplc", 32, 242)
    assert routine.attainable(288e9) == pytest.approx(38e9, rel=0.01)
    assert routine.attainable(288e9, peak=1e9) == 1e9
    found = routine.measured(cells=1e6, seconds=1e-3, bandwidth=484e9)
    assert (found.cells, found.operations, found.bytes) == (1e9, 32e9, 242e9)
    assert found.fraction == pytest.approx(0.5)
    assert report([found]).splitlines()[1].split() == "laplc 32 242 0.132 1.000 32.0 242.0 50%".split()


def donor(x, v1, v2, v3, h):
    """Figure 2 of the paper for the middle cell of three in each direction."""

    def flux(left, right, u):
        return max(0.0, u) * left + min(0.0, u) * right

    along = flux(x[1, 1, 1], x[1, 1, 2], v1[1]) - flux(x[1, 1, 0], x[1, 1, 1], v1[0])
    across = flux(x[1, 1, 1], x[1, 2, 1], v2[1]) - flux(x[1, 0, 1], x[1, 1, 1], v2[0])
    upwards = flux(x[1, 1, 1], x[2, 1, 1], v3[1]) - flux(x[0, 1, 1], x[1, 1, 1], v3[0])
    return x[1, 1, 1] - (along + across + upwards) / h


def test_operations_of_the_donor_cell_are_counted(rng):
    """37, as the paper says of its stencils: 6 fluxes of 5, 3 differences, 2 sums, 1 quotient, 1 difference."""
    assert operations_of(donor, rng.random((3, 3, 3)), *rng.standard_normal((3, 2)), 1.3) == 37


def test_operations_of_all_kinds_are_counted():
    assert operations_of(lambda n, a: 1.0 / (2.0 - a) + 3.0 * abs(a) + (a > 0.0) * n, 2, 0.5) == 7
    assert operations_of(lambda a, b: 1.0 + a if a < b else b, 0.5, 1.0) == 2


def test_bandwidths_count_what_is_read_and_written(monkeypatch):
    runs = []
    monkeypatch.setattr(bandwidth_module, "times_of", lambda device, work, repeats: [0.5, 0.25])
    monkeypatch.setattr(bandwidth_module, "copy_bandwidth", lambda device, size: runs.append(size) or 7.0)
    found = bandwidth_module.bandwidths(PlainDevice(), "double", megabytes=1)
    assert found == {"device copy": 7.0, "copy": 4 * 2 * 2.0**20, "sum": 4 * 3 * 2.0**20}
    assert runs == [1]
    device, arrays = PlainDevice(), [np.full((2, 3), value) for value in (1.0, 2.0, 0.0)]
    device.run([device.over(device.loop(bandwidth_module.added, "double"), (2, 3), tuple(arrays))])
    assert (arrays[2] == 3.0).all()
