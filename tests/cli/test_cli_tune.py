"""`eagre tune`: unattended, from one command to values that runs use."""

from __future__ import annotations

import json

import pytest

from case_texts import still_water
from eagre.backend.select import select
from eagre.backend.tuned import file_of
from eagre.bench import tuner_schemes, workload
from eagre.layouts import store
from eagre.tuning import session
from eagre.tuning.spaces import common

CASE = still_water("0.02 s", more="[friction]\nmanning = 0.03")


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Short runs, a store of its own, and no threads: others' tests share them."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path / "tuning"))
    monkeypatch.setitem(workload.LEAST_SECONDS, "cpu", 1e-3)
    monkeypatch.setattr(session, "RUNS", 2)
    monkeypatch.setattr(session, "FINAL_RUNS", 2)
    monkeypatch.setattr(common, "_threads", lambda card, precision: ())


def test_a_case_is_tuned_and_its_run_says_so(eagre, tmp_path):
    """One command, unattended: a table, a picture, all timings, the wall time (F44)."""
    path, picture, timings = tmp_path / "case.toml", tmp_path / "land.png", tmp_path / "all.json"
    path.write_text(CASE)
    done = eagre("tune", path, "--device", "cpu", "--plot", picture, "--dump", timings)
    assert done.code == 0, done.err
    assert "before, us" in done.out and "wall time" in done.out and "rows 16:" in done.out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    rows = json.loads(timings.read_text())
    good = [row for row in rows if not row["failed"]]
    assert len(good) >= 5 and all(len(row["seconds"]) == 2 for row in good)
    assert {"space", "model", "scheme", "precision", "size", "shape", "choice", "values", "same_bits"} <= rows[0].keys()
    (entry,) = store.read(file_of(select("cpu"))).entries
    assert entry.use.size == "small" and entry.found["shape"] == [64, 64] and entry.found["tried"] == len(rows)
    run = eagre("run", path)
    assert run.code == 0, run.err
    assert "tuning" in run.out and ("tuned for" in run.out or "nothing that was tried" in run.out)
    again = eagre("tune", path, "--device", "cpu")
    assert "rows 16:" in again.out  # from the journal


@pytest.mark.parametrize("arguments", [(), ("shallow-water", "--all")])
def test_what_to_tune_is_said_once(eagre, arguments):
    done = eagre("tune", "--device", "cpu", *arguments)
    assert done.code == 2 and "eagre tune shallow-water" in done.err


def test_an_unknown_space_is_told_with_those_that_there_are(eagre):
    done = eagre(
        "tune", "shallow-water", "--size", "64", "--precision", "single", "--space", "march", "--device", "cpu"
    )
    assert done.code == 2 and "shallow-water: cpu" in done.err


def test_a_forced_slow_scheme_is_not_chosen(monkeypatch):
    """Whole runs, their errors beside them; one that is less accurate does not count, however fast (F40)."""
    runs = {"rk2": (1.0, 1e-4), "slow": (1.2, 1e-4), "rough": (0.5, 1e-3), "fast": (0.7, 1.1e-4)}
    monkeypatch.setattr(tuner_schemes, "whole_run", lambda device, precision, scheme, size: runs[scheme][0])
    monkeypatch.setattr(tuner_schemes, "error_of", lambda device, precision, scheme: runs[scheme][1])
    lines = []
    cpu = select("cpu")

    def best(*schemes):
        (found,) = tuner_schemes.tune_schemes("shallow-water", cpu, "single", [64], schemes=schemes, tell=lines.append)
        return found.scheme

    assert best("rk2", "slow") == "rk2" and best("rk2", "rough") == "rk2" and best("rk2", "slow", "fast") == "fast"
    assert len(lines) == 7 and "error 1.00e-04" in lines[0]
    assert tuner_schemes.tune_schemes("barotropic", cpu, "single", [64], schemes=("rk2", "fast")) == []


@pytest.mark.slow
def test_schemes_of_second_order_have_errors_alike():
    cpu = select("cpu")
    assert tuner_schemes.whole_run(cpu, "single", "rk2", 64) > 0.0
    errors = [tuner_schemes.error_of(cpu, "single", name) for name in tuner_schemes.SCHEMES]
    assert 0.0 < max(errors) < tuner_schemes.ALIKE * min(errors) < 5e-3
