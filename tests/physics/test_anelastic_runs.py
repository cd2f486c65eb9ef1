"""Small runs of the anelastic model with everything that drives and mixes the air, on the CPU: bits and precisions."""

from __future__ import annotations

import pytest

from anelastic_runs import RUNS, STEPS, assert_close, fields_of
from restarts import assert_repeats_and_restarts, different_arrays

NAMES = ("open", "heated", "forced", "closed-flat", pytest.param("closed-hill", marks=pytest.mark.slow))


@pytest.mark.parametrize("name", NAMES)
def test_repeats_and_restarts_bit_for_bit(name):
    def make():
        return RUNS[name](device="cpu", precision="single")

    end = make().setup.time_step * STEPS
    assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=STEPS // 2), end)


def test_restarts_behind_steps_of_other_lengths_bit_for_bit():
    """Steps that grow to the Courant number of a wind over a hill: the pressure's guess knows the last of them."""

    def make(steps):
        model = RUNS["open"](device="cpu", precision="single", time_step=None, courant_number=0.3)
        model.advance(1e9, max_steps=steps)
        return model

    whole, cut, on = make(7), make(3), make(0)
    assert cut.statistics()["dt_min"] < 0.9 * cut.statistics()["dt_max"]
    on.restore(cut.state())
    on.advance(1e9, max_steps=4)
    assert different_arrays(whole, on) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_single_precision_is_near_double(name):
    ours, theirs = (
        RUNS[name](device="cpu", precision=precision, tolerance=tolerance)
        for precision, tolerance in (("single", 1e-6), ("double", 1e-11))
    )
    for model in (ours, theirs):
        model.advance(1e9, max_steps=STEPS)
    assert_close(fields_of(ours), fields_of(theirs), 1e-4)
