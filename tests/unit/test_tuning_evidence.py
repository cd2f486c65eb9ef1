"""The study that regenerates all evidence of the tuner: resumed, kept, printed; on a card it only has to be run."""

from __future__ import annotations

import json
import math

import pytest

SMALL = ["--device", "cpu", "--precisions", "single", "--sizes", "16", "--tune-sizes", "16", "--ranking", "16", "32"]


@pytest.fixture
def evidence(script, monkeypatch):
    """The script; its store is that of its folder only while a test runs."""
    monkeypatch.setenv("EAGRE_TUNING", "")
    return script("benchmarks/studies/tuning_evidence.py")


def searched(before, after, apart, best="rows 16", precision="single"):
    return {
        "space": "shallow-water.march", "scheme": "rk2", "precision": precision, "size": "memory",
        "shape": [2048, 2048], "before": before, "after": after, "best": best, "apart": apart, "again": 3, "tried": 20,
        "failed": 0, "same_bits": True,
    }  # fmt: skip


def test_tables_of_what_was_kept(evidence, tmp_path, capsys):
    """Gains by kernel and scheme, best choices, which scheme wins where, ranking at equal error, what was asked."""
    rank = {"steps": 100, "redone": 2}
    rows = {
        "device": "a card",
        "tune single": [searched(180e-6, 160e-6, 0.001), searched(60e-6, 60e-6, 0.02, "as shipped")],
        "wall": 171.0,
        "case 1024 wet sine, rk2, single": {"general": 2e-3, "class": 1.6e-3, "tuned": 1.9e-3},
        "case 1024 wet sine, ds2, single": {"general": 1.0e-3, "tuned": 1.03e-3},
    }
    for n, error, seconds in ((256, 4e-3, 0.01), (512, 1e-3, 0.08)):
        rows[f"rank dam rk2 0.25 {n} single"] = {**rank, "error": error, "seconds": seconds, "rate": 5e9}
        rows[f"rank dam ds2 0.5 {n} single"] = {**rank, "error": error, "seconds": seconds / 2.0, "rate": 3e9}
        rows[f"rank dam ds1 0.5 {n} single"] = {**rank, "error": 9e-3 + error / n, "seconds": 1e-3, "rate": 8e9}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert evidence.main([str(tmp_path), "--only-print"]) == 0
    out = capsys.readouterr().out
    assert "| 2048 x 2048 | 180.00 | 160.00 | +12.5% | rows 16 | 0.1% of 3, 20 tried |" in out
    assert "at most 2.0% from the best that was timed again" in out and "171 s (asked 180 s" in out
    assert "| 1024 wet sine, rk2, single | 2000.00 | +25.0% | +5.3% | 0.55 |" in out
    assert "1024 wet sine, single: most cell-steps: ds2 1.02, rk2 0.55" in out
    assert "worst: -2.9% (1024 wet sine, ds2, single: tuned;" in out
    lines = [line for line in out.splitlines() if line.startswith(("| rk2 | 0.25", "| ds2 | 0.5", "| ds1 | 0.5"))]
    assert [line.split("|")[3].strip() for line in lines] == ["40.000", "80.000", "not reached"]


def test_what_is_missing_is_measured_by_the_next_call(evidence, monkeypatch, tmp_path, capsys):
    """Nothing new once the time is up, and nothing twice."""
    measured, now = [], [0.0]
    monkeypatch.setattr(
        evidence, "searched", lambda device, asked, rows, time_is_up: rows.put("tune single", []) or True
    )
    monkeypatch.setattr(evidence.time, "perf_counter", lambda: now[0])

    def timed(case, exact, device, precision, scheme, cfl, repeats):
        now[0] += 10.0
        measured.append((case.name, case.grid.nx, scheme, cfl))
        return evidence.scheme_ranking.Run(7, 0, 1.0, 1.0 / case.grid.nx)

    def compared(case, devices, precision, scheme):
        now[0] += 10.0
        measured.append((case.name, case.grid.nx, scheme))
        return [1.0] * len(devices)

    monkeypatch.setattr(evidence.scheme_ranking, "timed", timed)
    monkeypatch.setattr(evidence.scheme_ranking, "depth_of", lambda model: __import__("numpy").ones((96, 96)))
    monkeypatch.setattr(evidence.tuning_tables, "compared", compared)
    calls = 0
    while evidence.main([str(tmp_path), *SMALL, "--schemes", "rk2", "--budget", "25"]) == 1:
        assert "the same command goes on" in capsys.readouterr().out
        calls += 1
    assert calls == 3 and len(measured) == len(set(measured)) == 2 * 2 * 2 + 3
    assert "all is there" in capsys.readouterr().out
    rows = json.loads((tmp_path / "rows.json").read_text())
    (tmp_path / "rows.json").write_text(json.dumps({**rows, "device": "another card"}))
    with pytest.raises(SystemExit, match="is of another card"):
        evidence.main([str(tmp_path), *SMALL])


def test_a_plan_has_all_rows_that_are_asked_for(evidence):
    """Three cases from 512 to 16384, both precisions but at the end, two schemes where starts take long."""
    asked = evidence.arguments(["folder"])
    names = [name for name, _ in evidence.plan(None, asked)]
    assert len(names) == len(set(names))
    found = {size: sum(name.startswith(f"case {size} ") for name in names) for size in asked.sizes}
    assert found == {**dict.fromkeys((512, 1024, 2048, 4096), 30), 8192: 12, 16384: 6}
    assert sum(name.startswith("rank ") for name in names) == 2 * 2 * 5 * 2 * 3
    assert all(" single" in name for name in names[: names.index("case 512 wet sine, rk2, single")])


def test_no_time_to_an_error_that_grows_with_cells(evidence):
    run = evidence.scheme_ranking.Run
    assert math.isnan(evidence.scheme_ranking.time_to(1e-3, [run(1, 0, 1.0, 2e-3), run(1, 0, 2.0, 3e-3)]))
    falling = [run(1, 0, 1.0, 4e-3), run(1, 0, 4.0, 1e-3)]
    assert evidence.scheme_ranking.time_to(2e-3, falling) == pytest.approx(2.0)


@pytest.mark.slow
def test_all_of_it_on_a_cpu(evidence, tmp_path, capsys):
    assert evidence.main([str(tmp_path), *SMALL]) == 0
    out = capsys.readouterr().out
    assert "shallow-water: cpu" in out and "dam, single, to an error" in out and "all is there" in out
    assert evidence.main([str(tmp_path), *SMALL, "--budget", "0"]) == 0
