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


MISSING = ["--missing", "--device", "cpu", "--largest", "32", "--split-size", "24", "--exit-size", "32"]
MISSING += ["--pick-size", "32", "--tune-sizes", "16", "--precisions", "single"]


def test_what_no_run_had_measured_is_measured_alone(evidence, monkeypatch, tmp_path, capsys):
    """What is worth most first, nothing new once the time is up, nothing twice; what does not fit is told and left."""
    measured, now, missing = [], [0.0], evidence.tuning_missing
    monkeypatch.setattr(evidence.time, "perf_counter", lambda: now[0])

    def takes(seconds, name, result):
        def measure(*given):
            now[0] += seconds
            measured.append((name, *(one for one in given if isinstance(one, (str, int)))))
            return result

        return measure

    found = {"pick": "rows 16", "best": "rows 32", "choices": 5, "tried": 4, "again": 2, "told": 0.0, "apart": 0.004}
    monkeypatch.setattr(missing, "pick", takes(80.0, "pick", found))
    monkeypatch.setattr(missing, "early", takes(10.0, "early", {"ms": 2.0, "listed": 0.1}))
    monkeypatch.setattr(missing, "made", lambda name, size: name)
    monkeypatch.setattr(evidence, "in_turn", takes(20.0, "case", {"general": 1e-3}))

    def tuned(kind, device, precision, sizes, compilers):
        for name in "ab":
            now[0] += 30.0
            outcome = evidence.argparse.Namespace(best={name: 1}, gain=0.0, apart=0.0)
            use = evidence.argparse.Namespace(scheme="rk2")
            yield evidence.argparse.Namespace(use=use, shape=(16, 16), outcome=outcome)

    monkeypatch.setattr(missing, "tune_benchmark", tuned)
    calls = 1
    while evidence.main([str(tmp_path), *MISSING, "--budget", "100"]) == 1:
        assert "the same command goes on" in capsys.readouterr().out
        calls += 1
    names = [one[0] for one in measured]
    assert names == ["pick"] * 2 + ["early"] * 10 + ["case"] * 15 + ["pick"] and len(set(measured)) == len(measured)
    first = [one[1:] for one in measured if one[0] == "case"][:2]
    assert first == [("single", scheme, 32, "wet sine") for scheme in ("rk2", "euler")]
    out = capsys.readouterr().out
    assert "| rk2 double 32 | rows 16 | rows 32 | 0.4% | 0.0% | 4, 2, 5 |" in out and "search of all spaces: " in out
    assert "| 32 double rows 16 | 2.000 | 2.000 | 10.0% | 1.0 |" in out
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert calls > 4 and rows["all spaces, s"] >= 60.0

    def full(*given):
        raise evidence.EagreError("needs 40 GiB")

    monkeypatch.setattr(evidence, "in_turn", full)
    rows = {name: row for name, row in rows.items() if "euler" not in name}
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert evidence.main([str(tmp_path), *MISSING]) == 1
    out = capsys.readouterr().out
    assert out.count("left out: needs 40 GiB") == 3 and json.loads((tmp_path / "rows.json").read_text()) == rows


@pytest.mark.slow
def test_what_was_missing_on_a_cpu(evidence, tmp_path, capsys):
    assert evidence.main([str(tmp_path), *MISSING]) == 0
    out = capsys.readouterr().out
    assert "| rk2 double 32 | " in out and "| 32 double rows 8 | " in out and "32 wet sine, euler, single" in out
    assert evidence.main([str(tmp_path), *MISSING, "--budget", "0"]) == 0


@pytest.mark.slow
def test_all_of_it_on_a_cpu(evidence, tmp_path, capsys):
    assert evidence.main([str(tmp_path), *SMALL]) == 0
    out = capsys.readouterr().out
    assert "shallow-water: cpu" in out and "dam, single, to an error" in out and "all is there" in out
    assert evidence.main([str(tmp_path), *SMALL, "--budget", "0"]) == 0
