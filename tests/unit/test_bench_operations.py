"""Operations per cell are counted again; rates and shares of the roofline."""

from __future__ import annotations

import math

import pytest

from counting import operations_per_cell
from eagre.laboratory.bench.benchmark import OPERATIONS, operations_of_step, rate_text, subject_of
from eagre.tuning.roofline import Operations, count_of

SIZES = (6, 7, 8)  # one tile of the explicit model


@pytest.mark.parametrize("key", OPERATIONS, ids=lambda key: "-".join(key))
def test_operations_are_counted_again(key):
    """Every variant of a benchmark: the numbers do not depend on size or state, except at the edges of the grid."""
    kind, variant = key
    subject = subject_of(kind, (variant,))
    found = operations_per_cell(lambda n, device: subject.model(n, device, "double", variant), SIZES)
    assert found == OPERATIONS[key]


def test_every_variant_of_these_models_is_counted():
    for kind in {kind for kind, _ in OPERATIONS}:
        subject = subject_of(kind)
        assert {(kind, variant) for variant in (*subject.variants, *subject.also)} <= set(OPERATIONS)


def test_kinds_of_operations():
    """A limiter that returns its bound still counts what follows; integers and comparisons do not count."""

    def formula(a, b, n):
        return (a + b - 1.0) * 2.0 / max(a, b) + math.sqrt(abs(a)) ** 0.5 + n * -a

    count = count_of(formula, 2.0, 3.0, 4)
    assert Operations(*(count[name] for name in Operations._fields)) == Operations(4, 2, 1, 2)
    assert (count["comparisons"], count["magnitudes"]) == (1, 1) and math.sqrt(4.0) == 2.0


def record(**other):
    known = {"model": "shallow-water", "variant": "rk2", "shape": [512, 512], "bytes_per_cell": 100.0}
    return {**known, "cell_steps_per_s": 1e8, "fraction_of_copy": 0.5, "copy_gb_per_s": 20.0, **other}


def test_rates_and_shares_of_the_roofline():
    """458 operations per cell at 1e8 cells/s: half of those at 2e8 cells/s of 100 bytes each."""
    assert rate_text(record(), 1e12) == "; 45.8 Gflop/s, 50% of the roofline"
    assert rate_text(record(), 50e9) == "; 45.8 Gflop/s, 92% of the roofline"
    assert rate_text(record(fraction_of_copy=None), 458e9) == "; 45.8 Gflop/s, 10% of the roofline"
    assert rate_text(record(model="anelastic", variant="fft"), 1e12) == ""


def test_the_count_of_the_source_and_the_transforms():
    """422 per cell and step of the GPU port of MIKE 21; two transforms of rows of 1024 points are 2 x 5/2 x 10 each."""
    text = rate_text(record(model="shallow-water-adi", variant="mike21"), 1e12)
    assert text.endswith("; 42.2 Gflop/s as mike21 counts")
    assert operations_of_step(record(model="barotropic", variant="default", shape=[9, 1024])) == 62 + 50
