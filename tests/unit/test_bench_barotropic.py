"""The table of speedups is made from the records."""

from __future__ import annotations

import pytest

from kernels.recording import RecordingDevice


@pytest.fixture
def speedup(script):
    return script("benchmarks/studies/barotropic_speedup.py")


def test_shares_and_bandwidths_of_the_kernels(script, monkeypatch, capsys):
    """Rows F19 and F20: parts of the step, bytes by words, effective bandwidth and its share of the copy."""
    kernels = script("benchmarks/studies/barotropic_kernels.py")
    device = RecordingDevice()
    times = iter([6.0, 1.0, 2.0] * 4)
    monkeypatch.setattr(kernels, "select", lambda name: device)
    monkeypatch.setattr(kernels, "copy_bandwidth", lambda device: 4e12)
    monkeypatch.setattr(kernels, "microseconds", lambda device, launches: next(times))
    monkeypatch.setattr("sys.argv", ["barotropic_kernels.py", "65"])
    kernels.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "recording cuda, copy 4000 GB/s" and len(lines) == 1 + 4 * 4
    assert lines[1] == "65 single bleichrodt2011: update 67%, Poisson 33% (24, 76)"
    for line, name, words, us in zip(
        lines[2:5], ("update", "columns", "transform back"), (6, 2, 2), (6, 1, 2), strict=True
    ):
        moved = words * 4 * 65**2
        assert line.strip().startswith(name)
        assert f"{moved / 1e6:.2f} MB" in line and f"{1e-3 * moved / us:.0f} GB/s" in line
        assert line.endswith(f"{1e-3 * moved / us / 4000:6.0%}")
    assert "65 double default" in lines[13] and f"{7 * 8 * 65**2 / 1e6:.2f} MB" in lines[14]


def record(points, precision, threads, ms, **other):
    known = {"model": "barotropic", "variant": "bleichrodt2011", "shape": [points, points], "ms_per_step": ms}
    return {**known, "precision": precision, "threads": threads, **other}


def test_table_of_the_thesis(speedup):
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
    assert (ours["S single"], ours["S double"], ours["their GPU / single"]) == ("50", "25", "78.5")
    assert table[1025]["one core ms"] == "-" and table[1025]["S single"] == "-"
