"""Records of `bench`: their keys and numbers, what is refused, how they are merged."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import EagreError, InputError
from eagre.laboratory.bench import bench, benchmark
from eagre.laboratory.bench.barotropic import DoubleGyre
from eagre.laboratory.bench.benchmark import KEYS, merged, subject_of
from eagre.laboratory.bench.shallow_water import WetBasin, basin, initial
from eagre.laboratory.bench.shallow_water_adi import Pool
from eagre.laboratory.bench.subject import paper_ms
from eagre.laboratory.cases.gyres import double_gyre
from eagre.laboratory.cases.mike21 import pool
from memory import resident_words


@pytest.fixture(scope="module")
def records():
    return bench("shallow-water", "cpu", "double", [48], variants=("rk2",), repeats=2, seconds=0.002, commit="abc")


def test_records_have_the_keys_of_the_schema_in_order(records):
    assert [tuple(record) for record in records] == [KEYS] * len(records)
    assert len({record["threads"] for record in records}) == len(records)
    assert records[0]["threads"] == 1


def test_numbers_of_a_record_agree(records):
    for record in records:
        assert record["model"] == "shallow-water" and record["shape"] == [48, 48] and record["commit"] == "abc"
        assert 0 < record["ms_best"] <= record["ms_per_step"]
        assert math.isclose(record["cell_steps_per_s"] * record["ms_per_step"], 48 * 48 * 1e3)
        assert record["bytes_per_cell"] == 17 * 8  # two stages of 4 words read and 3 written, and the start again
        assert record["fraction_of_copy"] is None  # it fits in the cache
        assert record["steps"] >= 2 and record["copy_gb_per_s"] > 0
        assert record["error"].startswith("volume ")


def test_speed_is_held_against_a_copy_where_a_grid_leaves_the_cache(monkeypatch):
    """Bytes a second of a step over those of the copy; a cache that holds all words of the grid says nothing."""
    touched = WetBasin.resident * 8 * 48 * 48
    for cache, counts in ((touched, True), (1.01 * touched, False)):
        monkeypatch.setattr("eagre.laboratory.bench.benchmark.cache_bytes", lambda device, cache=cache: cache)
        options = {"variants": ("rk2",), "repeats": 1, "seconds": 1e-4, "commit": "abc", "compare": False}
        for record in bench("shallow-water", "cpu", "double", [48], **options):
            moved = 17 * 8 * 48 * 48 / (1e-3 * record["ms_per_step"])
            expected = pytest.approx(moved / (1e9 * record["copy_gb_per_s"])) if counts else None
            assert record["fraction_of_copy"] == expected


def test_steps_before_a_timing_do_not_count(monkeypatch):
    """Of calls of 4 steps that take 0.5 s, behind a thousand others: 0.125 s a step, as many rounds as 2 s need."""

    def times(device, work, repeats, warm_up):
        for _ in range(warm_up):
            work()
        taken = []
        for _ in range(repeats):
            before = model.steps
            work()
            taken.append(0.125 * (model.steps - before))
        return taken

    model: Any = SimpleNamespace(steps=1000)
    model.steps_without_checks = lambda count: lambda: setattr(model, "steps", model.steps + count)
    monkeypatch.setattr(benchmark, "times_of", times)
    subject: Any = SimpleNamespace(steps_a_call={"cpu": 4})
    assert benchmark._time_steps(subject, model, select("cpu"), 3, 2.0) == (48, [0.125] * 3)


def test_records_of_the_implicit_model():
    """Both schemes; bytes, verification, and the thesis's own count of bytes: 160 words, and 1000 MiB a "GB"."""
    for precision, size in (("double", 8), ("single", 4)):
        options = {"repeats": 1, "seconds": 1e-4, "commit": "abc"}
        records = bench("shallow-water-adi", "cpu", precision, [16], variants=("mike21",), **options)
        assert [tuple(record) for record in records] == [KEYS] * len(records)
        for record in records:
            assert (record["model"], record["case"], record["shape"]) == ("shallow-water-adi", "pool", [16, 16])
            assert record["bytes_per_cell"] == 14 * size and record["steps"] >= 2
            assert math.isclose(record["cell_steps_per_s"] * record["ms_per_step"], 16 * 16 * 1e3)
            speed = record["cell_steps_per_s"]
            counted, source = f"{160 * size * speed / 1048.576e6:.3g}", f"{422e-9 * speed:.3g}"
            assert re.fullmatch(
                rf"volume [\d.e+-]+; {re.escape(counted)} GB/s as mike21 counts; [\d.e+-]+ Gflop/s, "
                rf"\d+% of the roofline; {re.escape(source)} Gflop/s as mike21 counts",
                record["error"],
            )


def test_lost_water_of_the_implicit_model_fails_the_verification():
    model = pool((12, 10), "cpu", "double", "mike21")
    assert Pool().verified(model, None).startswith("volume ")
    state = model.state()
    model.restore(state | {"z": state["z"] + 1e-6})
    with pytest.raises(EagreError, match="change of the volume"):
        Pool().verified(model, None)


@pytest.mark.parametrize(("threads", "told"), [(0, "1.3 ms (GPU), 130.0x"), (1, "55.34 ms (core), 5534.0x")])
def test_the_times_of_the_thesis(threads, told):
    record = {"precision": "double", "shape": [256, 256], "threads": threads, "ms_per_step": 0.01}
    found = Pool().against_paper(record | {"cell_steps_per_s": 256**2 / 1e-5})
    assert found == f"; 8e+03 GB/s as mike21 counts; mike21 {told}"
    assert paper_ms("a2000", {257: (1.0, 2.0)}, record) == ""


def test_double_precision_on_a_cpu_is_compared_with_reference_kernels(monkeypatch):
    """Rounding apart from an independent path, never equal by construction; another answer is an error."""
    gyre, cpu = DoubleGyre(), select("cpu")
    assert 0.0 < gyre.compared((65, 65), cpu, "double", "default") < 1e-13
    made = []

    def other(points, device, precision, variant="default", **options):
        made.append((precision, options))
        return double_gyre(points, device, precision, variant if options else "bleichrodt2011", **options)

    monkeypatch.setattr("eagre.laboratory.bench.barotropic.double_gyre", other)
    with pytest.raises(EagreError, match="differs from its reference by"):
        gyre.compared((65, 65), cpu, "double", "default")
    assert made[1] == ("double", {"kernels": "reference"})


def test_variants_beside_the_usual_ones_are_measured_where_they_are_named():
    subject = subject_of("shallow-water", ("srk2", "ds1", "ds2"))
    assert "ds2" not in subject.variants
    with pytest.raises(InputError, match="ds2"):
        subject_of("shallow-water", ("ds3",))


def test_another_model_is_refused():
    with pytest.raises(InputError, match="spherical"):
        bench("spherical", "cpu")


def test_lost_water_fails_the_verification():
    model = basin((48, 48), "cpu", "double", "rk2")
    assert "volume " in WetBasin().verified(model, 0.0)
    state = model.state()
    state["q"] = state["q"] + 1e-6
    model.restore(state)
    with pytest.raises(EagreError, match="change of the volume"):
        WetBasin().verified(model, 0.0)


@pytest.mark.parametrize("apart", [1e-3, float("nan")])
def test_another_answer_is_not_timed(apart, monkeypatch):
    """A run that differs, or that blew up on one of two devices."""
    monkeypatch.setattr(WetBasin, "difference", lambda *arguments: apart)
    with pytest.raises(EagreError, match="differs from its reference by"):
        bench("shallow-water", "cpu", "double", [8], variants=("rk2",), repeats=1, seconds=1e-4)


def test_one_comparison_stands_for_all_sizes(monkeypatch):
    compared = []
    monkeypatch.setattr(WetBasin, "difference", lambda self, shape, *rest: compared.append(shape) or 0.0)
    bench("shallow-water", "cpu", "double", [8, 9], variants=("rk2",), repeats=1, seconds=1e-4)
    assert len(compared) == 1


def test_words_count_every_array_once():
    model = basin((48, 48), "cpu", "double", "rk2")
    engine = model._engine
    largest = [*engine.q, engine.q_stage, engine.bed, engine.schedule._scratch]
    least = sum(array.nbytes for array in largest) / 8 / 48**2
    assert least <= resident_words(model) < least + 1


def test_basin_is_wet():
    grid, bed, surface = initial((10, 20))
    assert grid.shape == surface.shape == (10, 20) and bed.shape == (11, 21)
    assert surface.min() - bed.max() > 0.8
    assert np.isclose(surface.max(), 1.2, atol=0.02)


def test_a_record_of_the_same_measurement_is_replaced():
    first = {"model": "a", "shape": [8, 8], "steps": 1}
    again = {"model": "a", "shape": (8, 8), "steps": 2}
    other = {"model": "a", "shape": [8, 9], "steps": 3}
    assert [record["steps"] for record in merged([first], [again, other])] == [2, 3]


SPEEDS = {"shallow-water": "rk2", "shallow-water-adi": "mike21", "barotropic": "bleichrodt2011", "anelastic": "fft"}
RESULTS = {
    "nvidia-h200": ((8192, 8192), (1025, 1025), (512,) * 3, (256,) * 3),
    "amd-epyc": ((1024,) * 2, (1025,) * 2, (128,) * 3),
}


def test_speeds_of_the_readme_are_those_of_records():
    """Each pair of a row, single / double, is that of two records of the row's model and variant, as it is rounded."""
    root = Path(__file__).parents[2]
    lines = (root / "README.md").read_text(encoding="utf-8").split("## Speed")[1].splitlines()
    rows = [row for line in lines if (row := re.match(r"\| `([\w-]+)`.*?\|(.*)\|(.*)\|", line))]
    assert [row[1] for row in rows] == list(SPEEDS)
    for row in rows:
        for (file, shapes), cell in zip(RESULTS.items(), (row[2], row[3]), strict=True):
            records = json.loads((root / f"benchmarks/results/{file}.json").read_text(encoding="utf-8"))
            own = [one for one in records if (one["model"], one["variant"]) == (row[1], SPEEDS[row[1]])]
            pairs = re.findall(r"([\d.]+) / ([\d.]+) ([GM])", cell)
            assert pairs, cell
            for *numbers, unit in pairs:
                for number, precision in zip(numbers, ("single", "double"), strict=True):
                    found = [
                        one["cell_steps_per_s"] / {"G": 1e9, "M": 1e6}[unit]
                        for one in own
                        if one["precision"] == precision and tuple(one["shape"]) in shapes and one["threads"] < 2
                    ]
                    digits = len(number.partition(".")[2])
                    assert float(number) in [round(one, digits) for one in found], (row[1], number, precision, found)


def test_speeds_of_the_performance_page_are_those_of_records():
    """Rows below the name of the H100's file: G updates per second of the row's model, variant and sizes."""
    root = Path(__file__).parents[2]
    page = (root / "docs/performance/index.md").read_text(encoding="utf-8")
    records = json.loads((root / "benchmarks/results/nvidia-h100.json").read_text(encoding="utf-8"))
    variants = {"MIKE 21": "mike21", "default options": "default", "Bleichrodt": "bleichrodt2011", "spectral": "fft"}
    speeds, sizes = 0, []
    for line in page.split("nvidia-h100.json`):")[1].split("The model")[0].splitlines():
        _, head, *cells, _ = [cell.strip() for cell in line.split("|")] if "|" in line else ["", "", ""]
        if head == "model":
            sizes = cells
        if not (row := re.match(r"`([\w-]+)`", head)):
            continue
        variant = next((value for word, value in variants.items() if word in head), "rk2")
        for size, cell in zip(sizes, cells, strict=True):
            points, *cube = map(int, re.findall(r"\d+", size))
            shape = [points] * (3 if "^" in size else 1 + len(cube))
            for precision, number in zip(("single", "double"), cell.split(" / "), strict=True):
                [one] = [
                    one["cell_steps_per_s"]
                    for one in records
                    if (one["model"], one["variant"], one["precision"], one["shape"])
                    == (row[1], variant, precision, shape)
                ]
                assert float(number) == round(one / 1e9, 1)
                speeds += 1
    assert speeds == 38


def test_costs_of_options_on_the_performance_page_are_those_of_records():
    root = Path(__file__).parents[2]
    page = (root / "docs/performance/index.md").read_text(encoding="utf-8").split("## Cost of options")[1]
    records = json.loads((root / "benchmarks/results/options.json").read_text(encoding="utf-8"))
    ratios = {
        (one["model"], one["variant"], one["device"]): one["ratio"] for one in records if one["precision"] == "single"
    }
    rows = re.findall(r"\| `([\w-]+)` \| ([^|]+) \| ([\d.-]+) \| ([\d.-]+) \| ([\d.-]+) \|", page.split("## ")[0])
    options = {(model, option) for model, option, _ in ratios if option != "default"}
    assert {(model, option) for model, option, *_ in rows} == options and len(rows) == len(options)
    for model, option, *cells in rows:
        for device, cell in zip(("AMD EPYC", "NVIDIA H200", "NVIDIA H100 80GB HBM3"), cells, strict=True):
            ratio = ratios.get((model, option, device))
            assert cell == ("-" if ratio is None else f"{ratio:.2f}"), (model, option, device)
