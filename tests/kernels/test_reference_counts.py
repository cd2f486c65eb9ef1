"""CPU programs count no references: Numba would increase and decrease a counter for each access to a tuple's array."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from eagre.backend.compilation.cells import cell
from eagre.backend.select import select


class Pair(NamedTuple):
    """Two arrays of cells."""

    first: np.ndarray
    second: np.ndarray


@cell
def larger_of(j, i, pair, switches, target):
    """Store the larger of two values, chosen from the arrays of a tuple."""
    if switches[0] > 0.0:
        array = pair.first if pair.first[j, i] > pair.second[j, i] else pair.second
        target[j, i] = array[j, i]


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_loop_over_arrays_of_a_tuple_counts_no_references(precision, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("EAGRE_CACHE", str(tmp_path))  # code from a cache has no text
    device = select("cpu")
    real = {"single": np.float32, "double": np.float64}[precision]
    first, second = np.random.default_rng(1).random((2, 30, 40)).astype(real)
    target = np.zeros((30, 40), real)
    program = device.loop(larger_of, precision)
    device.run([device.over(program, target.shape, (Pair(first, second), np.ones(1), target))])
    assert np.array_equal(target, np.maximum(first, second))
    [text] = program.inspect_llvm().values()
    assert "larger_of" in text and "NRT_" not in text
