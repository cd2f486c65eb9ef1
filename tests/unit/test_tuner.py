"""The search for layouts: spaces, statistics, search, journals, sessions on a workload that only pretends."""

from __future__ import annotations

import itertools
import json
import math
import os
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import numpy as np
import pytest

from case_texts import still_water
from eagre.backend import layouts, tuned
from eagre.backend.compilation.origin import origin_of
from eagre.backend.select import select
from eagre.backend.tuned import file_of, shipped_values
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.grid import Grid
from eagre.laboratory.bench.benchmark import subject_of
from eagre.laboratory.bench.tuning import tuner
from eagre.laboratory.bench.tuning.compilers import Compilers, Job, shared_out
from eagre.laboratory.bench.tuning.tuner import (
    begin_compiling,
    content_of,
    forget,
    shape_of,
    sizes_of,
    target_at,
    tune_benchmark,
    tune_case,
)
from eagre.laboratory.bench.tuning.workload import StepsOfBenchmark, cells_of, difference, first_needed, job_of
from eagre.layouts import store
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.store import Origin, Use
from eagre.models.registry import KINDS, load_case
from eagre.tuning import session
from eagre.tuning.session import descend, search
from eagre.tuning.space import (
    FIRST,
    SPACES,
    Axis,
    DeviceInfo,
    Space,
    always,
    by_precision,
    describe,
    identity,
    registers,
    spaces_of,
)
from eagre.tuning.timings import Journal, Trial, typical, without_outliers
from kernels.recording import RecordingDevice

H200, SHIPPED = layouts.reference()
GPU = DeviceInfo("cuda", H200, 0)
ROWS = Axis("rows", ("shallow-water.march.longest", "shallow-water.march.shortest"), always(8, 16, 32, 128))
THREADS = Axis("threads", ("shallow-water.boundary.threads",), always(32, 128, 100, 2048))
SPACE = Space("a space", "shallow-water", "rk2", (ROWS, THREADS))
USE, ORIGIN = Use("shallow-water", "", "single", "memory"), Origin("a card", "1", "2", "3")


class Pretended:
    """A workload whose times follow a formula."""

    info, precision, shipped = GPU, "single", SHIPPED

    def __init__(self, seconds, wrong=(), broken=(), rng=None):
        self.seconds, self.wrong, self.broken, self.rng = seconds, wrong, broken, rng
        self.compiled, self.verified, self.timed = [], [], []

    def compile(self, variants):
        self.compiled += [identity(values) for values in variants]

    def verify(self, values):
        self.verified.append(identity(values))
        if values.get("shallow-water.boundary.threads") in self.wrong:
            raise EagreError("results are 3 from those of the shipped values")
        return "shallow-water.march.longest" not in values

    def clock(self, values):
        if values.get("shallow-water.boundary.threads") in self.broken:
            raise RuntimeError("too many resources requested")

        def run():
            self.timed.append(identity(values))
            noise = 1.0 if self.rng is None else 1.0 + 0.003 * self.rng.standard_normal()
            return self.seconds(values.get("shallow-water.march.longest", 64)) * noise

        return run


def journal(path=None, origin=ORIGIN):
    return Journal(path, SPACE.name, USE, origin, (64, 64))


# -- spaces -------------------------------------------------------------------------------------------


def test_every_model_declares_spaces_for_both_kinds_of_devices():
    for kind in KINDS:
        for device in ("cpu", "cuda"):
            assert any(spaces_of(kind, device, size) for size in store.SIZES), (kind, device)
    assert len({(space.name, space.model, space.scheme) for space in SPACES}) == len(SPACES)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: f"{space.name} {space.scheme}")
def test_choices_are_the_pruned_product_of_declared_parameters(space):
    """None is lost, none is tried twice, all are what the parameters and the card allow (F34)."""
    card = DeviceInfo(space.kinds[0], H200, 8)
    for precision in ("single", "double"):
        choices = space.choices(SHIPPED, card, precision)
        made = [space.values(choice, SHIPPED, precision) for choice in choices]
        assert choices[0] == {} and len({identity(values) for values in made}) == len(choices)
        for values in made:
            for key, value in values.items():
                assert PARAMETERS[key].kind.problem(value, key) is None and not PARAMETERS[key].fits(value, H200)
        assert len(choices) > 1 or space.excluded({}, card, precision), "nothing to choose"


def test_what_is_not_allowed_is_left_out_and_nothing_else():
    found = {describe(choice) for choice in SPACE.choices(SHIPPED, GPU, "single")}
    rows = ("", "rows 8", "rows 16", "rows 32", "rows 128")
    threads = ("", "threads 32", "threads 128")  # neither 100, no whole warps, nor 2048
    assert found == {", ".join(filter(None, (a, b))) or "as shipped" for a in rows for b in threads}
    assert SPACE.count(GPU, "single") == 25


def test_a_choice_changes_its_places_only():
    values = SPACE.values({"rows": 8}, SHIPPED, "single")
    assert values == {"shallow-water.march.longest": 8, "shallow-water.march.shortest": 8}
    one = next(space for space in SPACES if space.name == "shallow-water.march").values(
        {"registers": 72}, SHIPPED, "single"
    )
    shipped = SHIPPED["shallow-water.march.registers"]
    assert one["shallow-water.march.registers"] == {**shipped, "single": {**shipped["single"], "first": 72}}
    assert SHIPPED["shallow-water.march.registers"]["single"]["first"] == 88


def test_an_axis_has_values_of_its_precision():
    axis = by_precision((1, 2, 4), (1, 2))
    assert (axis(GPU, "single"), axis(GPU, "double")) == ((1, 2, 4), (1, 2))


def test_limits_of_registers_that_hold_no_more_warps_are_pruned():
    """512 registers a thread for a part: 8, 7, 6, 5, 4 warps at 64, 72, 80, 96, 128 (F35)."""
    assert list(registers({"single": 64, "double": 64}, 128)(GPU, "single")) == [64, 72, 80, 96, 128]
    for precision in ("single", "double"):
        tried = FIRST.values(GPU, precision)
        assert len({H200.registers_per_lane // r for r in tried}) == len(tried)


# -- what is timed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_tuned_once_a_class_of_sizes(kind, precision):
    """No class twice; every search is keyed by the size of what it times."""
    gpu = RecordingDevice()
    sizes = sizes_of(kind, gpu, precision)
    classes = [target_at(kind, gpu, precision, size).use.size for size in sizes]
    assert len(set(classes)) == len(classes) >= 2 and sizes == sorted(sizes)
    shapes = {subject_of(kind).shape(sizes[0], space.variant) for space in SPACES if space.model == kind}
    assert shapes == {target_at(kind, gpu, precision, sizes[0]).shape}


@pytest.mark.parametrize(("kind", "size"), [("shallow-water", 16), ("barotropic", 17), ("potential-waves", 65)])
def test_what_is_timed_has_the_shape_that_is_told(kind, size):
    subject = subject_of(kind)
    for variant in {space.variant for space in SPACES if space.model == kind}:
        assert shape_of(subject.model(size, select("cpu"), "single", variant)) == subject.shape(size, variant)


def test_variants_are_compiled_for_the_device_that_times_them():
    gpu = RecordingDevice()
    march = next(one for one in SPACES if one.name == "shallow-water.march")
    gpu.index = 1
    assert job_of(march, gpu, "single", 2048) == Job("shallow-water", "rk2", "cuda:1", "single", 512)
    assert job_of(march, select("cpu"), "double", 64) == Job("shallow-water", "rk2", "cpu", "double", 64)


def test_cells_of_all_levels_count():
    """A run finds its class of size by them, as its search did."""
    flat = SimpleNamespace(grid=Grid(4, 3, 1.0, 1.0), levels=None)
    tall = SimpleNamespace(grid=Grid(4, 3, 1.0, 1.0), levels=SimpleNamespace(height=np.zeros(5)))
    assert (cells_of(flat), shape_of(flat)) == (12, (3, 4)) and (cells_of(tall), shape_of(tall)) == (60, (5, 3, 4))


def test_choices_change_what_ships_for_the_class():
    """A trial of boundaries keeps the limit that ships for the class; the untuned choice has it, and compilers too."""
    gpu, march = RecordingDevice(), next(one for one in SPACES if one.name == "shallow-water.march")
    key = "shallow-water.march.registers"

    def first(values):
        return values[key]["single"]["first"]

    compiled = []
    compilers = SimpleNamespace(compile=lambda jobs: compiled.extend(jobs))
    load = StepsOfBenchmark(march, gpu, "single", 2048, compilers)
    assert first(load.shipped) == 80 and first(load.device.with_parameters({}, "").table.values) == 80
    load.compile([{}, {"shallow-water.boundary.threads": 32}])
    assert [first(values) for _, variants in compiled for values in variants] == [80, 80]
    needed = [values[key]["single"] for values in first_needed(march, gpu, "single", 2048)[1] if key in values]
    assert needed and load.shipped[key]["single"] not in needed
    assert first(StepsOfBenchmark(march, gpu, "single", 512, compilers).shipped) == 88


def test_a_grid_too_small_to_fill_the_card_is_told(monkeypatch):
    """An H200 holds 270,000 threads: 512 x 512 cells are fewer (F41)."""
    monkeypatch.setattr(tuner, "_search", lambda *arguments: iter(()))
    monkeypatch.setattr(tuner, "begin_compiling", lambda *arguments, **options: None)
    for size, told in ((512, True), (1024, False)):
        lines = []
        assert not list(tune_benchmark("shallow-water", RecordingDevice(), "single", [size], tell=lines.append))
        assert any("512: the grid has too few cells to fill the GPU" in line for line in lines) == told


# -- statistics ---------------------------------------------------------------------------------------


def test_spikes_are_removed(rng):
    """Three standard deviations (F38): what another program did to a timing."""
    quiet = list(1e-3 * (1.0 + 0.01 * rng.standard_normal(50)))
    assert without_outliers([*quiet, 2e-3, 9e-3]) == sorted(quiet)
    assert typical([*quiet, 9e-3], "cuda") == pytest.approx(1e-3, rel=5e-3)
    assert typical([*quiet, 9e-3], "cpu") == min(quiet)
    assert without_outliers([1.0, 1.0, 1.0, 1.00005]) == [1.0, 1.0, 1.0, 1.00005]
    assert without_outliers([5.0, 1.0]) == [1.0, 5.0]


# -- search -------------------------------------------------------------------------------------------


def test_a_small_space_is_searched_whole():
    choices = SPACE.choices(SHIPPED, GPU, "single")
    asked = []
    ranked = search(choices, lambda choice: (asked.append(describe(choice)), len(asked))[1])
    assert sorted(asked) == sorted(map(describe, choices)) and ranked[0] == choices[0]


def test_a_large_space_is_descended_axis_by_axis():
    choices = [{"a": a, "b": b, "c": c} for a in range(10) for b in range(10) for c in range(10)]
    asked, came = [], []

    def cost(choice):
        asked.append(describe(choice))
        return (choice["a"] - 3) ** 2 + (choice["b"] - 7) ** 2 + 0.5 * (choice["c"] - choice["a"]) ** 2 + 1.0

    best = search(choices, cost, came.extend)[0]
    assert best == {"a": 3, "b": 7, "c": 3}
    assert len(asked) == len(set(asked)) < 150 and set(asked) <= set(map(describe, came + choices[:1]))
    assert descend(choices[-1], choices, cost) == best


def test_a_descent_does_not_follow_noise():
    """A change that helps by less than 0.3 % is none: the choice that was there stays, and no axis is tried again."""
    choices = [{"a": a, "b": b} for a in range(5) for b in range(5)]
    asked = []

    def cost(choice):
        asked.append(describe(choice))
        return 1.0 - 0.0005 * (choice["a"] + choice["b"])

    assert descend(choices[0], choices, cost) == choices[0] and len(set(asked)) == 9


# -- journal ------------------------------------------------------------------------------------------


def test_a_journal_is_kept_line_by_line(tmp_path):
    path = tmp_path / "one.jsonl"
    kept = journal(path)
    kept.add(Trial({"rows": 8}, {"shallow-water.march.longest": 8}, [1.0, 2.0]))
    kept.add(Trial({"rows": 9}, {"shallow-water.march.longest": 9}, failed="odd"))
    assert journal(path).find({"shallow-water.march.longest": 8}).seconds == [1.0, 2.0]
    path.write_text(path.read_text()[:-9])  # the power failed
    again = journal(path)
    assert list(again.trials) == [identity({"shallow-water.march.longest": 8})]
    for rows in (10, 11):
        again.add(Trial({"rows": rows}, {"shallow-water.march.longest": rows}, [1.0]))
    assert [one.choice["rows"] for one in journal(path).trials.values()] == [8, 10, 11]
    assert journal(path, ORIGIN._replace(driver="2")).trials == {}
    rows = [json.loads(line) for line in path.read_text().splitlines()[:2]]
    assert rows[0]["use"]["size"] == "memory" and rows[1]["choice"] == {"rows": 8}


def test_a_journal_that_cannot_be_begun_anew_stays(tmp_path, monkeypatch):
    """Behind a line that was cut off what was read is written anew; a process that is killed then loses nothing."""
    path = tmp_path / "one.jsonl"
    journal(path).add(Trial({"rows": 8}, {"shallow-water.march.longest": 8}, [1.0]))
    with path.open("a") as file:
        file.write('{"choice": ')
    before = path.read_bytes()

    def killed(*paths):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("eagre.tuning.timings.os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            journal(path).add(Trial({"rows": 9}, {"shallow-water.march.longest": 9}, [1.0]))
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": ["fast"]}, {"seconds": []}, {"seconds": [-1.0, 1.0]}, {"seconds": [0.0, 1.0]}, {"beside": [1.0]},
        {"again": [1.0]}, {"choice": 3}, {"more": 1},
    ],
)  # fmt: skip
def test_a_line_that_is_no_trial_is_named(tmp_path, change):
    path = tmp_path / "one.jsonl"
    journal(path).add(Trial({"rows": 8}, {"shallow-water.march.longest": 8}, [1.0, 2.0], [1.0, 2.0]))
    head, line = path.read_text().splitlines()
    path.write_text(f"{head}\n{json.dumps({**json.loads(line), **change})}\n")
    with pytest.raises(InputError, match=r"one\.jsonl: line 2 is not a timing\n(?s:.*)rm "):
        journal(path)


def test_two_searches_may_write_one_file(tmp_path):
    """Neither loses what the other adds; what does not end with a line's end is begun anew."""
    path = tmp_path / "one.jsonl"
    journal(path).add(Trial({}, {}, [1.0]))
    searches = [journal(path), journal(path)]
    for rows, one in ((8, 0), (16, 1), (32, 0), (64, 1)):
        searches[one].add(Trial({"rows": rows}, {"shallow-water.march.longest": rows}, [1.0], [1.0]))
    assert [trial.choice.get("rows") for trial in journal(path).trials.values()] == [None, 8, 16, 32, 64]
    path.write_text(path.read_text().rstrip())
    journal(path).add(Trial({"rows": 128}, {"shallow-water.march.longest": 128}, [1.0], [1.0]))
    assert len(journal(path).trials) == 6


def recorded(monkeypatch, tmp_path):
    """The journals that searches ask for, which are not made."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path / "tuning"))
    found = []

    def tune(space, load, kept, tell):
        kept.known, kept.load, kept.of = len(kept.trials), load, space
        found.append(kept)
        kept.add(Trial({}, {}, [1.0]))
        raise EagreError("enough")

    monkeypatch.setattr(tuner, "tune", tune)
    return found


def still_case(path, more=""):
    path.write_text(still_water("1 s", more=more))
    return load_case(path)


def test_timings_of_a_case_are_those_of_that_case_only(monkeypatch, tmp_path):
    """Not of the benchmark of its size, of another case of its name and size, nor of other files that it reads."""
    found, cpu = recorded(monkeypatch, tmp_path), select("cpu")
    raster = tmp_path / "n.asc"
    raster.write_text("ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 32\n.03 .03\n.03 .03\n")
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    cases = [still_case(one), still_case(one, "[friction]\nmanning = 0.03"), still_case(two)]
    for case in cases:
        assert not list(tune_case(case, cpu, "single"))
    assert not list(tune_benchmark("shallow-water", cpu, "single", [64], schemes=["rk2"]))
    assert len(found) == len({json.dumps(kept.head) for kept in found}) == 4
    assert len({kept.path for kept in found}) == 3 and all(len(kept.trials) == 1 for kept in found)
    assert not list(tune_case(cases[2], cpu, "single")) and found[-1].path == found[2].path
    assert len(journal_again(found[2]).trials) == 1 and not journal_again(found[0]).trials
    with_file = still_case(one, '[friction]\nmanning = { file = "n.asc" }')
    before = content_of(with_file)
    os.utime(raster, ns=(0, 1))
    assert content_of(with_file) != before


def test_a_case_goes_on_or_begins_anew_in_its_own_precision(monkeypatch, tmp_path):
    found, cpu = recorded(monkeypatch, tmp_path), select("cpu")
    (tmp_path / "one.toml").write_text(still_water("1 s", 'precision = "double"'))
    case = load_case(tmp_path / "one.toml")
    for fresh in (False, False, True):
        assert not list(tune_case(case, cpu, fresh=fresh))
    assert not list(tune_case(case, cpu, "single"))
    assert [kept.known for kept in found] == [0, 1, 0, 0]
    assert [kept.head["use"]["precision"] for kept in found] == ["double"] * 3 + ["single"]
    assert [kept.load.precision for kept in found] == ["double"] * 3 + ["single"]


def test_spaces_of_a_case_are_those_of_its_scheme_over_what_ships_for_its_class(monkeypatch, tmp_path):
    found, gpu = recorded(monkeypatch, tmp_path), RecordingDevice()
    monkeypatch.setattr(store, "SMALL_CELLS_A_SIDE", 8)
    monkeypatch.setattr(tuned, "cache_bytes", lambda device: 40.0 * 64**2 / 2.0)
    assert not list(tune_case(still_case(tmp_path / "one.toml"), gpu, "single"))
    assert [kept.of.scheme for kept in found] == ["rk2"] and found[0].head["use"]["size"] == "memory"
    key, value = next(iter(shipped_values(gpu, Use("shallow-water", "rk2", "single", "memory")).items()))
    assert found[0].load.shipped[key] == value != SHIPPED[key]


def test_spaces_and_sizes_that_are_asked_for(monkeypatch, tmp_path):
    """A size that does not fit is left out, unless it was asked for."""
    found, gpu, lines = recorded(monkeypatch, tmp_path), RecordingDevice(), []
    monkeypatch.setattr(tuner, "begin_compiling", lambda *arguments, **options: None)
    options = {"only": ["shallow-water.sweeps"], "schemes": ["ds2"]}
    assert not list(tune_benchmark("shallow-water", gpu, "single", [64, 128], **options))
    assert [(kept.of.name, kept.of.scheme) for kept in found] == [("shallow-water.sweeps", "ds2")] * 2

    def full(*arguments):
        raise MemoryNeededError(2.0**40, 2.0**37, "a card")

    monkeypatch.setattr(tuner, "tune", full)
    assert not list(tune_benchmark("shallow-water", gpu, "single", tell=lines.append, **options))
    left = [line for line in lines if "left out:" in line]
    assert len(left) == len(sizes_of("shallow-water", gpu, "single")) and "shallow-water: 512: left out" in left[0]
    with pytest.raises(MemoryNeededError):
        list(tune_benchmark("shallow-water", gpu, "single", [64], **options))


def journal_again(kept):
    """What a later search reads."""
    head = kept.head
    use, origin = Use(**head["use"]), Origin(**head["origin"])
    return Journal(kept.path, head["space"], use, origin, tuple(head["shape"]), head["case"], head["source"])


def test_no_two_searches_share_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    gpu, cpu = RecordingDevice(), select("cpu")
    targets = [
        target_at(kind, device, precision, size)
        for kind in KINDS for device in (gpu, cpu) for precision in ("single", "double") for size in (64, 4096)
    ]  # fmt: skip
    paths = [
        target.path(space.name, space.scheme)
        for target in targets for space in SPACES
        if space.model == target.use.model and target.device.kind in space.kinds
    ]  # fmt: skip
    assert len(set(paths)) == len(paths) == 4 * len(SPACES)


def test_what_is_found_is_kept_for_runs_like_it_only(monkeypatch, tmp_path):
    """By the scheme of its space, precision and class of size; one search is kept before the next begins."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    cpu, values, kept = select("cpu"), {"cpu.shallow-water.rows": 16}, []
    rk2, every = (Space(f"space {one}", "shallow-water", "rk2", (ROWS,), one, kinds=("cpu",)) for one in ("rk2", ""))

    def tune(space, load, journal, tell):
        kept.append(len(store.read(file_of(cpu)).entries))
        return session.Outcome(space, {"rows": 16}, values, False, 2.0, 1.0, [Trial({}, {}, [1.0])], 0)

    monkeypatch.setattr(tuner, "tune", tune)
    monkeypatch.setattr(tuner, "spaces_of", lambda *key: [rk2, every])
    found = list(tune_benchmark("shallow-water", cpu, "double", [64]))
    assert kept == [0, 1] and [one.use.scheme for one in found] == ["rk2", ""]
    for entry, scheme in zip(store.read(file_of(cpu)).entries, ("rk2", ""), strict=True):
        assert entry.use == Use("shallow-water", scheme, "double", "small") and entry.values == values
        assert entry.origin == origin_of(cpu, "shallow-water") and not entry.same_bits
        assert entry.found["shape"] == [64, 64] and entry.seconds == {"before": 2.0, "after": 1.0}


def test_only_timings_that_are_asked_for_are_forgotten(monkeypatch, tmp_path):
    """So a new search of one precision begins while that of the other is kept."""
    found, cpu = recorded(monkeypatch, tmp_path), select("cpu")
    for precision in ("single", "double"):
        assert not list(tune_benchmark("shallow-water", cpu, precision, [16, 24], schemes=["rk2"]))
    forget("shallow-water", cpu, ["single"], [24])
    assert [kept.path.exists() for kept in found] == [True, False, True, True]


def test_a_run_takes_a_key_from_one_space_only():
    """Of two that change the same parameter for the same runs, the one that was stored last would count."""
    for kind, device, size in itertools.product(KINDS, ("cpu", "cuda"), store.SIZES):
        spaces = spaces_of(kind, device, size)
        for scheme in {space.scheme for space in spaces}:
            keys = [
                {place.partition("#")[0] for axis in space.axes for place in axis.paths}
                for space in spaces if space.scheme in ("", scheme)
            ]  # fmt: skip
            assert sum(map(len, keys)) == len(set().union(*keys)), (kind, device, size, scheme)


# -- sessions -----------------------------------------------------------------------------------------


def faster_at(best):
    return lambda rows: 1e-3 * (1.0 + 0.1 * abs(math.log2(rows / best)))


def test_the_best_is_found_stored_and_told(rng):
    lines = []
    load = Pretended(faster_at(16), rng=rng)
    found = session.tune(SPACE, load, journal(), lines.append)
    assert found.best["rows"] == 16 and found.values["shallow-water.march.shortest"] == 16
    assert found.gain == pytest.approx(0.2, abs=0.02) and not found.same_bits
    assert found.pruned == 10 and len(found.trials) == 15
    assert sorted(set(load.verified)) == sorted(load.verified) == sorted(load.compiled)  # each verified, once
    assert all(session.MIN_RUNS <= len(trial.seconds) <= session.RUNS for trial in found.trials)
    near = [trial for trial in found.trials if trial.values.get("shallow-water.march.longest") == 16]
    assert len(near) == 3 and all(len(trial.seconds) == session.RUNS for trial in near)  # runs x variants (F37)
    assert any("rows 16" in line and "us per step" in line for line in lines)


def test_what_is_hopeless_is_timed_less(rng):
    """Twice where even the faster run is far off, once the noise is known; none that is as fast as the best."""

    def runs_of(factor, noise, others=6):
        runs = 1e-3 * (1.0 + noise * rng.standard_normal((others, 2, 5)))
        known = [Trial({}, {}, list(one), list(other)) for one, other in runs]
        clocks = [lambda slow=slow: slow * 1e-3 * (1.0 + noise * rng.standard_normal()) for slow in (factor, 1.0)]
        return len(session._timed(clocks, "cuda", known)[0])

    assert runs_of(1.05, 0.003) == session.MIN_RUNS and runs_of(1.05, 0.003, others=2) == session.RUNS
    assert runs_of(1.05, 0.03) == runs_of(1.001, 0.003) == session.RUNS
    assert sum(runs_of(1.0, 0.003) < session.RUNS for _ in range(2000)) <= 2


def test_one_spike_does_not_stop_a_trial():
    times = iter([2e-3, 1e-3, 1e-3, 1e-3, 1e-3])
    known = [Trial({}, {}, [1e-3, 1.001e-3, 1e-3, 1.001e-3, 1e-3], [1e-3] * 5) for _ in range(6)]
    assert len(session._timed([lambda: next(times), lambda: 1e-3], "cuda", known)[0]) == session.RUNS


def test_what_was_slower_in_its_trial_is_not_timed_again():
    load = Pretended(faster_at(64))
    found = session.tune(SPACE, load, journal())
    assert found.values == {} and found.shipped_seconds == found.tuned_seconds > 0.0
    assert len(load.timed) == sum(len(trial.seconds) + len(trial.beside) for trial in found.trials)
    load = Pretended(faster_at(16))
    again = [trial for trial in session.tune(SPACE, load, journal()).trials if trial.again]
    assert [len(trial.again) for trial in again] == [session.FINAL_RUNS]  # two others are as fast: one is enough
    assert load.timed[-2:] == [identity({}), identity(again[0].values)]


def test_every_variant_is_verified_before_it_is_timed():
    load = Pretended(faster_at(16), wrong=(32,))
    found = session.tune(SPACE, load, journal())
    wrong = [trial for trial in found.trials if trial.values.get("shallow-water.boundary.threads") == 32]
    assert len(wrong) == 5 and all("results are 3" in trial.failed and not trial.seconds for trial in wrong)
    assert not any('"shallow-water.boundary.threads": 32' in one for one in load.timed)


def test_what_cannot_be_launched_is_noted_and_passed_over():
    found = session.tune(SPACE, Pretended(faster_at(16), broken=(128,)), journal())
    failed = [trial.failed for trial in found.trials if trial.failed]
    assert len(failed) == 5 and all("too many resources" in one for one in failed)
    assert found.best["rows"] == 16 and found.best.get("threads") != 128


def test_without_a_gain_beyond_the_noise_the_shipped_values_stay(rng):
    found = session.tune(SPACE, Pretended(lambda rows: 1e-3, rng=rng), journal())
    assert found.best == {} and found.values == {} and found.gain == 0.0
    found = session.tune(SPACE, Pretended(lambda rows: 0.995e-3 if rows == 8 else 1e-3), journal())
    assert found.values == {}


@pytest.mark.parametrize(("kind", "gain"), [("cpu", 0.03), ("cuda", 0.01)])
def test_a_gain_has_to_be_worth_it(kind, gain):
    """3 % on a CPU, 1 % on a card."""
    for factor, rows in ((0.97, None), (1.03, 8)):
        load = Pretended(lambda rows, factor=factor: 1e-3 / (1.0 + factor * gain) if rows == 8 else 1e-3)
        load.info = DeviceInfo(kind, H200, 8)
        assert session.tune(SPACE, load, journal()).best.get("rows") == rows


@pytest.mark.parametrize(("apart", "rows"), [(0.1, None), (0.01, 8)])
def test_a_gain_within_the_noise_of_the_final_is_none(apart, rows):
    """By 2 %, of runs that differ by 10 %: of 48 the mean is known to 6 %, by two standard errors."""
    load = Pretended(lambda rows: 0.98e-3 if rows == 8 else 1e-3)
    run = load.clock

    def clock(values):
        factors = itertools.cycle((1.0 - apart, 1.0 + apart) if values else (1.0,))
        return lambda: next(factors) * run(values)()

    load.clock = clock
    assert session.tune(SPACE, load, journal()).best.get("rows") == rows


def test_a_search_that_was_stopped_goes_on(tmp_path):
    path = tmp_path / "one.jsonl"
    first = Pretended(faster_at(16))
    count = 0

    def stop(line):
        nonlocal count
        count += 1
        if count == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.tune(SPACE, first, journal(path), stop)
    second = Pretended(faster_at(16))
    found = session.tune(SPACE, second, journal(path))
    assert found.best["rows"] == 16
    assert not set(first.verified) & set(second.verified) and len(first.verified) + len(second.verified) == 15


def test_shipped_values_that_cannot_be_timed_are_an_error_and_are_timed_again(tmp_path):
    """Nothing else is tried, and nothing noted: the card may have been full."""

    def broken(rows):
        raise EagreError("no step was made")

    path = tmp_path / "one.jsonl"
    load = Pretended(broken)
    with pytest.raises(EagreError, match="shipped values cannot be timed: EagreError: no step"):
        session.tune(SPACE, load, journal(path))
    assert load.verified == [identity({})] and not path.exists()
    assert session.tune(SPACE, Pretended(faster_at(16)), journal(path)).best["rows"] == 16


class Breaks(Pretended):
    """A launch of some values breaks the process: nothing runs after it."""

    dead = False

    def clock(self, values):
        self.dead = self.dead or values.get("shallow-water.march.longest") == 8
        if self.dead:
            raise RuntimeError("an illegal memory access was encountered")
        return super().clock(values)


def test_a_launch_that_breaks_the_process_is_noted_alone(tmp_path):
    """Not what would have been tried behind it: the same command goes on there."""
    path = tmp_path / "one.jsonl"
    words = "The shipped values fail, too, after a failure of rows 8: RuntimeError: an il"
    with pytest.raises(EagreError, match=words):
        session.tune(SPACE, Breaks(faster_at(16)), journal(path))
    kept = journal(path).trials.values()
    assert [trial.choice for trial in kept if trial.failed] == [{"rows": 8}]
    found = session.tune(SPACE, Pretended(faster_at(16)), journal(path))
    assert found.best["rows"] == 16 and sum(bool(trial.failed) for trial in found.trials) == 1


def test_programs_of_a_large_space_are_compiled_at_once(monkeypatch):
    monkeypatch.setattr(session, "SMALL_SPACE", 3)
    space = Space("a space", "shallow-water", "rk2", (ROWS, THREADS), covering=lambda choice: "threads" not in choice)
    load = Pretended(faster_at(16))
    assert session.tune(space, load, journal()).best["rows"] == 16
    assert len(load.compiled) == 5 and not any("boundary" in one for one in load.compiled)


def test_what_differs_in_registers_only_is_compiled_by_one_process():
    job, key = Job("shallow-water", "rk2", "cuda:0", "single", 512), "shallow-water.march.longest"
    variants = [{key: rows, "shallow-water.march.registers": limit} for rows in (8, 16, 32) for limit in range(5)]
    tasks = shared_out(job, variants, 4)
    assert [len(part) for _, part in tasks] == [5, 5, 5]
    assert all(len({values[key] for values in part}) == 1 for _, part in tasks)
    tasks = shared_out(job, variants, 6)  # more processes than groups: two each
    assert [len(part) for _, part in tasks] == [3, 2] * 3
    assert [values for _, part in tasks for values in part] == variants and shared_out(job, [], 4) == []


class Counted:
    """A pool that runs nothing before it is asked to."""

    def __init__(self):
        self.tasks, self.most = [], 99

    def submit(self, function, task):
        self.tasks.append(task)
        future = Future()
        if len(self.tasks) > self.most:
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result([f"{len(task[1])} of {task[0].variant}"])
        return future


def test_a_search_waits_for_its_own_variants_only(monkeypatch):
    """What all variants of a job share is compiled first, job by job; nothing is begun twice, whoever asks."""
    compilers = Compilers(RecordingDevice())
    compilers.count, pool = 4, Counted()
    monkeypatch.setattr(compilers, "_started", lambda: pool)
    rk2, euler = (Job("shallow-water", scheme, "cuda:0", "single", 512) for scheme in ("rk2", "euler"))
    variants = [{"rows": rows} for rows in (8, 16, 32)]
    assert compilers.begin([(rk2, variants), (euler, variants), (rk2, variants[:1])]) == 6
    assert [(task[0].variant, len(task[1])) for task in pool.tasks[:2]] == [("rk2", 1), ("euler", 1)]
    assert sum(len(task[1]) for task in pool.tasks) == 6
    count = len(pool.tasks)
    assert set(compilers.compile([(euler, variants[1:])])) == {"1 of euler"} and len(pool.tasks) == count
    assert compilers.compile([(euler, [{"rows": 64}])]) == ["1 of euler"] and len(pool.tasks) == count + 1
    pool.most = 0
    assert compilers.compile([(rk2, [{"rows": 64}])]) == ["a process that compiles was killed"]
    compilers.count = 0
    assert compilers.begin([(rk2, [{"rows": 128}])]) == 0 and compilers.compile([(rk2, [{"rows": 128}])]) == []


def test_compiling_begins_for_all_precisions_and_sizes(monkeypatch, tmp_path):
    """In one call, but for what was timed: sizes share programs, what ships for a class is among them."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path))
    begun, lines = [], []
    pool = SimpleNamespace(begin=lambda jobs: (begun.extend(jobs), len(jobs))[1])

    def begin(precisions, sizes):
        begun.clear()
        begin_compiling(
            "shallow-water", RecordingDevice(), precisions, sizes, pool, schemes=["euler"], tell=lines.append
        )
        return {(job, identity(values)) for job, variants in begun for values in variants}

    both = begin(["single", "double"], [512, 1024])
    assert both == begin(["single"], [512]) | begin(["double"], [512]) | begin(["single", "double"], [1024])
    assert begin(["double"], [1024]) <= begin(["double"], [512]) and "compiling" in lines[0]
    gpu, march = RecordingDevice(), next(one for one in SPACES if one.scheme == "euler")
    own = next(iter(shipped_values(gpu, Use("shallow-water", "euler", "single", "memory")).items()))
    of_class = {values for _, values in begin(["single"], [2048])}
    assert identity(dict([own])) in of_class and identity({}) not in of_class
    _, variants = first_needed(march, gpu, "single", 2048)
    target_at("shallow-water", gpu, "single", 2048).journal(march.name, march.scheme).add(
        Trial({}, variants[-1], [1.0])
    )
    assert len(begin(["single"], [2048])) == len(of_class) - 1


def test_differences_are_held_against_values_of_the_same_unit():
    units = {"u": "m s-1", "v": "m s-1", "h": "m"}
    ours, theirs = {"u": [2.0], "v": [1e-9], "h": [1.0]}, {"u": [2.0], "v": [0.0], "h": [1.0]}
    assert difference(ours, theirs, units) == pytest.approx(5e-10)
    assert difference({**ours, "u": [2.5]}, theirs, units) == pytest.approx(0.25)  # the largest, whichever comes last
    assert math.isinf(difference({"h": [np.nan]}, {"h": [1.0]}, units))
    assert difference({"h": [np.nan, 1.0]}, {"h": [np.nan, 1.0]}, units) == 0.0
