"""Items of Rojek et al. (2015): synthetic fields, times and records that replace long runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from eagre.laboratory.bench.papers.laplacian_blocks import BlockSpeeds, Speed, blocks, planes_of
from eagre.laboratory.papers import paper
from eagre.laboratory.reproduce.items import rojek2015
from eagre.laboratory.reproduce.registry import Run

STORED = "needs a GPU; stored, NVIDIA H"


def run_of(item, **options):
    return Run(paper("rojek2015"), item, "cpu", **options)


def test_a_changed_coefficient_of_figure_3_fails(monkeypatch):
    """Half of the terms across the flow: two passes differ, one pass does not."""
    across = rojek2015._across
    monkeypatch.setattr(rojek2015, "_across", lambda *fields: 0.5 * across(*fields))
    assert [line.failed for line in rojek2015.figure_3(run_of("figure-3"))] == [False, True]


def test_operations_of_figure_3():
    """By hand: 8 of the term along the axis, 4 of the factor, 2 x 7 across, their sum, product and difference, 28."""
    assert rojek2015.operations_of_figure_3() == 8 + 4 + 2 * 7 + 1 + 1


@pytest.fixture
def flows(monkeypatch):
    """Two runs on 8 points per side that differ by `factor`; the same on two devices."""

    def of_factor(factor, split=1.0):
        def snapshots(device, precision, points):
            assert points == rojek2015.REDUCED
            wave = np.sin(np.arange(8) * np.pi / 4) + np.zeros((8, 8, 8))
            scale = {"single": factor}.get(precision, split if isinstance(device, tuple) else 1.0)
            one = rojek2015.Snapshot(scale * (0.88 + 0.7 * wave), scale * wave, 0.1665)
            return dict.fromkeys(rojek2015.COUNTS, one)

        monkeypatch.setattr(rojek2015, "snapshots", snapshots)

    return of_factor


def test_close_runs_agree(flows, tmp_path):
    flows(1.0 + 2e-6)
    lines = [
        line
        for item in rojek2015.TURBULENCE
        for line in item.lines(run_of(item.name))
    ]  # fmt: skip
    assert not any(line.failed for line in lines)
    relative = next(line for line in lines if line.column == "L1 over the mean")
    assert (relative.printed, relative.computed) == ("6.4e-05", pytest.approx(2e-6))
    assert next(line for line in lines if line.row == "200" and line.column == "L1").computed == pytest.approx(
        2e-6 * 0.88
    )
    for item in rojek2015.TURBULENCE[:2]:
        item.draw(tmp_path / f"{item.name}.png", run_of(item.name), [])
        assert (tmp_path / f"{item.name}.png").stat().st_size > 10_000


def test_runs_that_differ_fail(flows):
    """Vorticities that differ by 1e-3, and by 0.3; one field of two devices that differs."""
    flows(1.001)
    failed = [line.row for line in rojek2015.table_xi(run_of("table-XI")) if line.failed]
    assert failed == ["200", "400"]
    flows(1.3)
    assert all(line.failed for line in rojek2015.figure_13(run_of("figure-13")))
    assert all(line.failed for line in rojek2015.figure_14(run_of("figure-14")))
    flows(1.0, split=1.0 + 1e-15)
    assert [line.row for line in rojek2015.table_xi(run_of("table-XI")) if line.failed] == ["two devices against one"]


def test_times_of_mpdata(monkeypatch, tmp_path):
    """Times of one core, of all cores, and quotients of printed times; a printed 2.78 is 0.164 s / 0.059 s."""

    def suite(device, precision, *, cases):
        assert (device, precision, cases) == ("cpu", "double", ["mpdata"])
        for threads, ms in ((1, 0.52), (2, 0.3)):
            yield {"threads": threads, "shape": [16, 32, 32], "ms_per_step": ms, "error": "mass"}

    monkeypatch.setattr("eagre.laboratory.bench.suite.suite", suite)
    lines = {(line.row, line.column): line for line in rojek2015.table_vii(run_of("table-VII"))}
    rojek2015.draw_vii(tmp_path / "times.png", run_of("table-VII"), list(lines.values()))
    assert (tmp_path / "times.png").stat().st_size > 10_000
    assert len(lines) == len(paper("rojek2015").select("table-VII"))
    assert not any(line.failed for line in lines.values())
    assert lines["32x32x16", "T1"].computed == pytest.approx(0.052)
    assert lines["32x32x16", "T1"].quotient == pytest.approx(0.164 / 0.052)
    assert lines["32x32x16", "T2"].computed == pytest.approx(0.03)
    assert lines["32x32x16", "T1/T4"].computed == pytest.approx(0.164 / 0.059)
    assert lines["32x32x16", "T4"].note.startswith(STORED)


def test_fractions_of_the_roofline_of_gcr(monkeypatch):
    """1e6 points/s of 2443 bytes are 24.43 % of 10 GB/s."""

    def suite(device, precision, *, cases, most):
        for case in cases:
            yield {"case": case, "threads": 2, "cell_steps_per_s": 1e6, "copy_gb_per_s": 10.0}

    monkeypatch.setattr("eagre.laboratory.bench.suite.suite", suite)
    first, second, speedup = rojek2015.figure_12(run_of("figure-12"))
    assert (first.row, first.printed, first.computed) == ("test 1", "72", pytest.approx(24.43))
    assert second.row == "test 2" and "sphere" in second.note and speedup.note.startswith(STORED)


@pytest.mark.parametrize(
    ("both", "outcome", "on_gpu"), [(3.0, "compared", False), (3.0, "holds", True), (5.0, "holds", True)]
)
def test_hidden_copies(monkeypatch, both, outcome, on_gpu):
    times = [SimpleNamespace(seconds=seconds) for seconds in (2.0, 2.0, both)]
    monkeypatch.setattr("eagre.laboratory.bench.transfers.transfer_times", lambda *settings, steps, fields: times)
    monkeypatch.setattr(Run, "on_gpu", on_gpu)
    lines = list(rojek2015.table_ii(run_of("table-II")))
    assert (lines[-1].outcome, lines[-1].computed, lines[-1].failed) == (outcome, both / 4.0, both > 4.0)
    assert lines[0].note.startswith("misprint of 0.009") and not lines[0].failed


def test_speeds_of_blocks_on_a_gpu(monkeypatch):
    """1e9 points/s are 7 Gflop/s."""
    speeds = BlockSpeeds(Speed((8, 64, 16), 2e9), Speed((16, 64, 5), 1e9), Speed((2, 64, 8), 1.9e9))
    monkeypatch.setattr("eagre.laboratory.bench.papers.laplacian_blocks.block_speeds", lambda device, points: speeds)
    monkeypatch.setattr(Run, "on_gpu", True)
    best, chosen, rule = rojek2015.block_speeds(run_of("table-IX"), "64")
    assert (best.computed, chosen.computed, rule.computed) == (14.0, 7.0, pytest.approx(95.0))
    assert best.note == "block 64x8, 16 planes, 7 operations per point"


def test_blocks_of_a_cube():
    """Whole warps of at most 1024 threads; the planes fill the GPU: 64 tiles of 512 resident blocks are 8 deep."""
    shapes = list(blocks(64))
    assert (8, 64) in shapes and max(rows * columns for rows, columns in shapes) <= 1024
    assert all(rows * columns % 32 == 0 and columns < 96 for rows, columns in shapes)
    assert (planes_of(64, 8, 8, 512), planes_of(64, 64, 64, 1), planes_of(64, 8, 8, 6400)) == (8, 64, 1)


@pytest.mark.simulator
def test_simulated_laplacian():
    """Blocks of 3 planes that do not divide the cube; the outermost points keep their values."""
    from eagre.backend.device import Launch
    from eagre.backend.simulated import SimulatedDevice
    from eagre.laboratory.bench.papers.laplacian_blocks import laplacian

    device, a = SimulatedDevice(), np.random.default_rng(0).standard_normal((8, 6, 9))
    out = np.zeros_like(a)
    device.run([Launch(device.program(laplacian, "double"), (a, out, 3), (3, 2, 3), (4, 4, 1))])
    expected = sum(np.roll(a, steps, axis) for steps in (1, -1) for axis in range(3)) - 6.0 * a
    inside = (slice(1, -1),) * 3
    assert np.abs(out[inside] - expected[inside]).max() < 1e-13
    out[inside] = 0.0
    assert not out.any()
