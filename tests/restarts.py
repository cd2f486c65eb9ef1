"""A run that repeats, and goes on after a restart, with the same bits: for every model."""

from __future__ import annotations

import numpy as np


def different_arrays(ours, theirs, equal_nan=False):
    """Names of the arrays of two models' states that differ in any bit."""
    first, second = ours.state(), theirs.state()
    return [name for name, value in first.items() if not np.array_equal(value, second[name], equal_nan=equal_nan)]


def assert_repeats_and_restarts(make, cut_by, end, different=different_arrays):
    """A run, the same again, and one that `cut_by(model)` cuts and another model takes up end with the same bits."""
    whole, again, cut, on = (make() for _ in range(4))
    for model in (whole, again):
        model.advance(end)
    cut_by(cut)
    on.restore(cut.state())
    assert on.time == cut.time > 0.0
    on.advance(end)
    assert different(whole, again) == [] and different(whole, on) == []
