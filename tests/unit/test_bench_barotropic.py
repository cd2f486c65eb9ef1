"""The table of speedups is made from the records."""

from __future__ import annotations

import pytest


@pytest.fixture
def speedup(script):
    return script("benchmarks/barotropic_speedup.py")


def record(points, precision, threads, ms, **other):
    known = {"model": "barotropic", "variant": "seed", "shape": [points, points], "ms_per_step": ms}
    return {**known, "precision": precision, "threads": threads, **other}


def test_table_of_the_document(speedup):
    """S of table B.2 from B.1; ours from records, and "-" where there is none."""
    printed = {33: 0.64, 65: 2.2, 129: 8.1, 257: 16.3, 513: 27.5, 1025: 39.2, 2049: 48.1, 4097: 47.7}
    records = [
        record(257, "single", 0, 0.01),
        record(257, "double", 0, 0.02),
        record(257, "double", 1, 0.5),
        record(257, "double", 2, 0.3),
        record(1025, "double", 1, 9.0, variant="default"),
    ]
    table = {int(row[0]): dict(zip(speedup.HEADS, row, strict=True)) for row in speedup.rows(records)}
    for points, expected in printed.items():
        assert float(table[points]["S"]) == pytest.approx(expected, rel=0.01)
    ours = table[257]
    assert (ours["S single"], ours["S double"], ours["document's GPU / single"]) == ("50", "25", "78.5")
    assert table[1025]["one core ms"] == "-" and table[1025]["S single"] == "-"
