"""One step towards an end that is far away is a step, in every model."""

from __future__ import annotations

import numpy as np
import pytest

from small_models import small

KINDS = ("shallow-water", "shallow-water-adi", "barotropic", "potential-waves", "anelastic")


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_towards_a_late_end_is_that_towards_an_early_one(kind):
    early, late = small(kind), small(kind)
    early.advance(1e5, max_steps=2)
    for until in (1e15, 1e300):
        late.advance(until, max_steps=1)
    assert late.steps == early.steps == 2 and 0.0 < late.time == early.time
    held = late.state()
    for name, values in early.state().items():
        if name != "clock":
            assert np.array_equal(held[name], values, equal_nan=True), name
