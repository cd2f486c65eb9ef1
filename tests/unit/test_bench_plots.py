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
    records += [record(65, variant="seed"), record(129) | {"shape": [129, 65]}]
    found = plots.curve(records, "barotropic", "default", "single")
    assert [(one["shape"][0], one["threads"]) for one in found] == [(257, 2), (513, 0)]


def test_the_stored_records_are_drawn(plots, root, tmp_path):
    records = json.loads((root / "benchmarks" / "results" / "nvidia-h200.json").read_text(encoding="utf-8"))
    for chosen in (plots.MODELS, plots.LINES):
        assert all(len(plots.curve(records, model, variant, "double")) > 2 for model, variant, _ in chosen)
        assert plots.draw(records, chosen, tmp_path / "a.png").stat().st_size > 10_000
