"""The table of estimated scaling on the performance page: recomputed from the records, and cases with known answers."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def model():
    path = ROOT / "benchmarks" / "scaling_model.py"
    spec = importlib.util.spec_from_file_location("scaling_model", path)
    module = sys.modules["scaling_model"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_the_performance_page_follows_from_the_records(model):
    page = (ROOT / "docs/performance/index.md").read_text(encoding="utf-8")
    records = json.loads(model.RECORDS.read_text(encoding="utf-8"))
    assert model.markdown(records) in page


def test_measured_times_of_the_performance_page_are_those_of_records(model):
    page = (ROOT / "docs/performance/index.md").read_text(encoding="utf-8").split("## Several processes")[1]
    records = json.loads(model.RECORDS.read_text(encoding="utf-8"))
    rows = re.findall(r"\| `([\w-]+)` \| (\w+) \| ([\d x]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", page)
    assert len(rows) == 2 * len(model.PATTERNS)
    for name, scaling, size, *cells in rows:
        shape = [int(n) for n in reversed(size.split(" x "))]
        wanted = [one for one in records if (one["model"], one["scaling"]) == (name, scaling)]
        two = {one["transport"]: one["ms_per_step"] for one in wanted if one["devices"] == 2 and one["shape"] == shape}
        one = max((one for one in wanted if one["devices"] == 1), key=lambda one: math.prod(one["shape"]))[
            "ms_per_step"
        ]
        times = [one, two["one process"], two["peer memory"]]
        assert cells == [*(f"{time:.3f}" for time in times), f"{times[1] / times[2]:.2f}"], name


def test_work_is_the_line_through_the_smallest_and_the_largest_grid(model):
    records = [{"shape": [10, 10], "ms_per_step": 2.0}, {"shape": [10, 30], "ms_per_step": 4.0}]
    assert model.work_of(records)(200) == pytest.approx(3e-3)


def test_a_model_without_messages_scales_perfectly_until_slabs_are_too_thin(model):
    pattern, work = model.Pattern(0, 0.0, min_rows=16), model.Work(0.0, 1e-9)
    assert model.efficiencies(pattern, work, (1024, 1024), "strong") == {
        count: pytest.approx(1.0) if count <= 64 else None for count in model.GPUS
    }
    assert model.limit(pattern, work, (1024, 1024)) == 64


def test_times_of_messages_by_hand(model):
    pattern, work = model.Pattern(3, 2.0, transposed=1.0, from_all=1e6, waits=2), model.Work(1e-6, 1e-10)
    host = 1e-6 + 1e-10 * 5000 + 3 * model.LOCAL_LATENCY + 2 * model.LOCAL_HOP
    host += (4 * 100 * 2 + (4 * 5000 + 1e6) / 2) / model.LOCAL_BANDWIDTH
    assert model.time_of_step(pattern, work, (100, 100), 2) == pytest.approx(host)
    hosts = 1e-6 + 1e-10 * 10000 / 16 + 3 * model.LATENCY + 2 * 4 * model.HOP
    hosts += (4 * 100 * 2 + (4 * 625 + 1e6) / 2) / model.BANDWIDTH
    assert model.time_of_step(pattern, work, (100, 100), 16) == pytest.approx(hosts)
