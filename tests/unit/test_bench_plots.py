"""The pictures of the stored records."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def plots(script):
    return script("benchmarks/plots.py")


def record(n, threads=0, **other):
    known = {"model": "barotropic", "case": "double-gyre", "variant": "default", "precision": "single"}
    return {**known, "shape": [n, n], "threads": threads, **other}


def test_a_curve_goes_by_size(plots):
    """Most threads; no sizes that fall between the 32s, and none of another variant, precision or shape."""
    records = [record(513), record(257, 1), record(257, 2), record(259), record(1025, precision="double")]
    records += [record(65, variant="bleichrodt2011"), record(129) | {"shape": [129, 65]}]
    found = plots.curve(records, "barotropic", "default", "single")
    assert [(one["shape"][0], one["threads"]) for one in found] == [(257, 2), (513, 0)]


def test_the_stored_records_are_drawn(plots, root, tmp_path):
    records = json.loads((root / "benchmarks" / "results" / "nvidia-h200.json").read_text(encoding="utf-8"))
    for chosen in (plots.MODELS, plots.LINES):
        assert all(len(plots.curve(records, model, variant, "double")) > 2 for model, variant, _ in chosen)
        assert plots.draw(records, chosen, tmp_path / "a.png").stat().st_size > 10_000


def test_the_best_of_each_block_size(plots):
    known = {"sweep": "x", "precision": "double"}
    records = [{**known, "block": 64, "us": 3.0}, {**known, "block": 64, "us": 2.0}, {**known, "block": 32, "us": 5.0}]
    records += [{**records[0], "us": 1.0, "sweep": "y"}, {**records[0], "us": 1.0, "precision": "single"}]
    assert plots.best_by_block(records, "x", "double") == [(32, 5.0), (64, 2.0)]


def test_the_study_of_block_sizes_is_drawn(plots, root, tmp_path):
    path = root / "benchmarks" / "results" / "adi-layouts-nvidia-h200.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for sweep in "xy":
        assert len(plots.best_by_block(records, sweep, "double")) > 5
    assert plots.draw_block_sizes(records, tmp_path / "a.png").stat().st_size > 10_000
