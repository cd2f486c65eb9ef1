"""`eagre tune`: unattended, from one command to values that runs use."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from case_texts import still_water
from eagre.backend.select import select
from eagre.backend.tuned import file_of
from eagre.errors import EagreError
from eagre.laboratory.bench.tuning import schemes as tuner_schemes
from eagre.laboratory.bench.tuning import tuner, workload
from eagre.layouts import store
from eagre.tuning import session, space
from eagre.tuning.timings import Trial

SOURCE = Path(tuner.__file__).parents[3]
CASE = still_water("0.02 s", more="[friction]\nmanning = 0.03")


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Short runs, a store of its own, and no threads: others' tests share them."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path / "tuning"))
    monkeypatch.setitem(workload.LEAST_SECONDS, "cpu", 1e-3)
    monkeypatch.setattr(session, "RUNS", 2)
    monkeypatch.setattr(session, "FINAL_RUNS", 2)
    monkeypatch.setattr(space, "_threads", lambda card, precision: ())


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
    assert "tuning" in run.out and ("tuned for" in run.out or "no faster values found" in run.out)
    again = eagre("tune", path, "--device", "cpu")
    assert "rows 16:" in again.out  # from the journal


def test_fresh_forgets_and_schemes_are_timed_behind_all_spaces(eagre, monkeypatch):
    """Whatever is asked for in sizes and precision; of one space alone nothing is said about schemes."""
    calls = []
    monkeypatch.setattr(tuner, "tune", lambda space, load, journal, tell: pytest.fail("timed"))
    monkeypatch.setattr(tuner, "begin_compiling", lambda *given, **options: None)
    monkeypatch.setattr(tuner, "forget", lambda *given, **options: calls.append(("forget", given[2], given[3])))
    monkeypatch.setattr(tuner, "tune_benchmark", lambda *given, **options: calls.append(given[2:]) or ())
    monkeypatch.setattr(tuner_schemes, "tune_schemes", lambda *given, **options: calls.append(("schemes", *given[2:])))
    monkeypatch.setattr("eagre.cli.tune._show_all", lambda *given: None)
    asked = ("tune", "shallow-water", "--size", "16", "--device", "cpu")
    assert eagre(*asked, "--precision", "double").code == 0
    assert calls == [("double", [16]), ("schemes", "double", [16])]
    calls.clear()
    assert eagre(*asked, "--fresh").code == 0
    assert calls[0] == ("forget", ("single", "double"), [16]) and len(calls) == 5
    calls.clear()
    assert eagre(*asked, "--space", "shallow-water: cpu").code == 0
    assert calls == [("single", [16]), ("double", [16])]


@pytest.mark.parametrize("arguments", [(), ("shallow-water", "--all")])
def test_what_to_tune_is_said_once(eagre, arguments):
    done = eagre("tune", "--device", "cpu", *arguments)
    assert done.code == 2 and "eagre tune shallow-water" in done.err


def test_an_unknown_space_is_told_with_those_that_there_are(eagre):
    done = eagre(
        "tune", "shallow-water", "--size", "64", "--precision", "single", "--space", "march", "--device", "cpu"
    )
    assert done.code == 2 and "shallow-water: cpu" in done.err


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("--precision", "half"), "--precision = 'half'", 2),
        (("--plot", "land.jpg"), "--plot land.png", 2),
        (("--plot", "none/land.png"), "none is not a writable folder", 6),
        (("--dump", "none/all.json"), "none is not a writable folder", 6),
    ],
)
def test_what_cannot_be_done_is_told_before_anything_is_timed(eagre, monkeypatch, arguments, words, code):
    monkeypatch.setattr(tuner, "tune", lambda *arguments: pytest.fail("timed"))
    done = eagre("tune", "shallow-water", "--size", "16", "--device", "cpu", *arguments)
    assert done.code == code and words in done.err


def test_a_store_that_cannot_be_used_is_told_before_anything_is_timed(eagre, monkeypatch, tmp_path):
    monkeypatch.setattr(tuner, "tune", lambda *arguments: pytest.fail("timed"))
    path = file_of(select("cpu"))
    path.parent.mkdir()
    path.write_text('{"format": 1,')
    done = eagre("tune", "shallow-water", "--size", "16", "--device", "cpu")
    assert done.code == 2 and "line 1, column 14" in done.err and f"rm {path}" in done.err.replace("\n", "")
    (tmp_path / "file").touch()
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path / "file" / "tuning"))
    done = eagre("tune", "shallow-water", "--size", "16", "--device", "cpu")
    assert done.code == 6 and "cannot write" in done.err and "EAGRE_TUNING=" in done.err


def test_a_search_that_is_stopped_says_what_it_found(eagre, monkeypatch):
    """With the table so far; the same command goes on."""
    found, count = tuner.tune, []

    def stops(*arguments):
        count.append(1)
        if len(count) > 1:
            raise KeyboardInterrupt
        return found(*arguments)

    monkeypatch.setattr(tuner, "tune", stops)
    asked = ("tune", "shallow-water", "--size", "16", "--size", "24", "--precision", "single", "--device", "cpu")
    done = eagre(*asked, "--fresh")
    assert done.code == 130 and "16 x 16" in done.out and "24 x 24" not in done.out
    assert "the same command without --fresh resumes the search" in done.err
    monkeypatch.setattr(tuner, "tune", found)
    done = eagre(*asked)
    assert done.code == 0 and done.out.count("as shipped:") == 2 and "24 x 24" in done.out


def test_a_forced_slow_scheme_is_not_chosen(monkeypatch):
    """Whole runs, their errors beside them; one that is less accurate does not count, however fast (F40)."""
    runs = {"rk2": (1.0, 1e-4), "slow": (1.2, 1e-4), "rough": (0.5, 1e-3), "fast": (0.7, 1.1e-4)}
    timed, wrong = [], []

    def whole_runs(device, precision, schemes, size):
        timed.append((*schemes, size))
        return {name: [runs[name][0]] * 5 for name in schemes}

    monkeypatch.setattr(tuner_schemes, "whole_runs", whole_runs)
    monkeypatch.setattr(tuner_schemes, "exact_peak", wrong.append)
    monkeypatch.setattr(tuner_schemes, "error_of", lambda device, precision, scheme, exact: runs[scheme][1])
    lines = []
    cpu = select("cpu")

    def best(*schemes):
        (found,) = tuner_schemes.tune_schemes("shallow-water", cpu, "single", [64], schemes=schemes, tell=lines.append)
        return found.scheme

    assert best("rk2", "slow") == "rk2" and best("rk2", "rough") == "rk2" and best("rk2", "slow", "fast") == "fast"
    assert len(lines) == 7 and "error 1.00e-04" in lines[0]
    found = tuner_schemes.tune_schemes("shallow-water", cpu, "single", schemes=("rk2", "slow"))
    assert [one.use.size for one in found] == ["small", "memory"]
    assert tuner_schemes.tune_schemes("barotropic", cpu, "single", [64], schemes=("rk2", "fast")) == []
    assert timed[:3] == [("rk2", "slow", 64), ("rk2", "slow", "fast", 64), ("rk2", "slow", 256)] and len(wrong) == 4


def test_whole_runs_are_kept_and_errors_beside_them(monkeypatch):
    """The same command times nothing again, but for runs with other layouts; what is forgotten is timed anew."""
    timed, cpu = [], select("cpu")

    def whole_runs(device, precision, schemes, size):
        timed.append(size)
        return {name: [2.0 if name == "rk2" else 1.0] * 5 for name in schemes}

    def error_of(device, precision, scheme, exact):
        timed.append(scheme)
        return 1e-4 if scheme != "ds2" else 1e-3

    def found(sizes=(16, 24)):
        timed.clear()
        return tuner_schemes.tune_schemes("shallow-water", cpu, "single", sizes)

    monkeypatch.setattr(tuner_schemes, "whole_runs", whole_runs)
    monkeypatch.setattr(tuner_schemes, "exact_peak", lambda device: None)
    monkeypatch.setattr(tuner_schemes, "error_of", error_of)
    assert [one.scheme for one in found((16,))] == ["srk2"] and timed == ["rk2", "srk2", "ds2", 16]
    assert [one.seconds for one in found((16,))] == [{"rk2": 2.0, "srk2": 1.0}] and timed == []
    assert len(found((512, 1024))) == 2 and timed == ["rk2", "srk2", "ds2", 512, 1024]  # other journals
    use = tuner_schemes.target_at("shallow-water", cpu, "single", 512).use._replace(scheme="srk2")
    origin = tuner_schemes.target_at("shallow-water", cpu, "single", 512).journal("any").head["origin"]
    entry = store.Entry("a space", use, {"cpu.shallow-water.rows": 16}, True, {}, origin=store.Origin(**origin))
    store.add(file_of(cpu), entry)
    assert found((512, 1024)) and timed == [512]  # errors are kept
    tuner.forget("shallow-water", cpu, ["single"], [512], only=["shallow-water: cpu"])
    assert found((512,)) and timed == []
    tuner.forget("shallow-water", cpu, ["single"], [512])
    assert found((512,)) and timed == ["rk2", "srk2", "ds2", 512]


def test_timings_count_for_the_source_of_what_was_timed(monkeypatch):
    """Another set-up of a benchmark, or another way to time it: all anew."""
    cpu = select("cpu")
    target = tuner.target_at("shallow-water", cpu, "single", 16)
    target.journal("one").add(Trial({}, {}, [1.0]))
    assert len(target.journal("one").trials) == 1
    monkeypatch.setattr(tuner, "timed_source", lambda: "another")
    assert not target.journal("one").trials
    asked = []
    monkeypatch.undo()
    monkeypatch.setattr(tuner, "hash_of", lambda root, folders: (asked.extend(folders), "0")[1])
    tuner.timed_source.__wrapped__()
    assert {"laboratory/bench", "laboratory/cases", "tuning"} <= set(asked) and all(
        (SOURCE / one).is_dir() for one in asked
    )


def test_a_scheme_is_timed_in_five_whole_runs_from_the_start(monkeypatch):
    """After one that compiles; on a CPU the least of them counts (F40)."""
    made, times = [], iter([9.0, 8.0, 5.0, 5.1, 4.0, 4.1, 3.0, 3.1, 6.0, 6.1, 7.0, 7.1, 1.0])
    model = SimpleNamespace(
        state=lambda: "start", restore=made.append, advance=lambda until: made.append(until == tuner_schemes.TIME)
    )
    monkeypatch.setattr(tuner_schemes, "timer_of", lambda device: lambda work: (work(), next(times))[1])
    asked = []
    monkeypatch.setattr(
        tuner_schemes,
        "chosen",
        lambda device, *given: (asked.append(given), SimpleNamespace(device="tuned", threads=0))[1],
    )
    monkeypatch.setattr(tuner_schemes, "started", lambda case, device, *given: (asked.append(device), model)[1])
    found = tuner_schemes.whole_runs(select("cpu"), "single", ["rk2", "ds2"], 16)
    assert found == {"rk2": [5.0, 4.0, 3.0, 6.0, 7.0], "ds2": [5.1, 4.1, 3.1, 6.1, 7.1]}  # in turn
    assert made == ["start", True] * 12
    assert asked[::2] == [("shallow-water", 256, "single", name) for name in ("rk2", "ds2")]
    assert asked[1::2] == ["tuned", "tuned"]  # with the layouts that were found for them


@pytest.mark.slow
def test_schemes_of_second_order_have_errors_alike():
    cpu = select("cpu")
    assert min(tuner_schemes.whole_runs(cpu, "single", ["rk2"], 64)["rk2"]) > 0.0
    exact = tuner_schemes.exact_peak(cpu)
    errors = [tuner_schemes.error_of(cpu, "single", name, exact) for name in tuner_schemes.SCHEMES]
    assert 0.0 < max(errors) < tuner_schemes.ALIKE * min(errors) < 5e-3


def test_what_could_not_be_searched_is_told_below_the_table_and_alone_is_an_error(eagre, monkeypatch):
    """In a quiet search too: no table is no success."""
    found, count = tuner.tune, []

    def fails(*arguments):
        count.append(1)
        if len(count) != 1:
            raise EagreError("no step was made")
        return found(*arguments)

    monkeypatch.setattr(tuner, "tune", fails)
    asked = (
        "tune",
        "barotropic",
        "--size",
        "17",
        "--size",
        "19",
        "--precision",
        "single",
        "--device",
        "cpu",
        "--quiet",
    )
    done = eagre(*asked)
    assert done.code == 0 and "17 x 17" in done.out and "barotropic: cpu: left out: no step was made" in done.out
    done = eagre(*asked)
    assert done.code != 0 and "no search was possible" in done.err and done.err.count("no step was made") == 2


def test_timings_that_were_edited_wrongly_end_a_search(eagre):
    asked = ("tune", "barotropic", "--size", "17", "--precision", "single", "--device", "cpu")
    assert eagre(*asked).code == 0
    (path,) = file_of(select("cpu")).with_suffix("").iterdir()
    path.write_text(path.read_text().replace('"seconds"', '"secnds"', 1))
    done = eagre(*asked)
    assert done.code == 2 and "line 2 is not a timing" in done.err and "rm " in done.err
