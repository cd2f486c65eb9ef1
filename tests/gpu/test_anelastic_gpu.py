"""The anelastic model on a real card: the CPU's fields, the same bits again, and after a restart."""

from __future__ import annotations

import pytest

from anelastic_runs import RUNS, STEPS, assert_close, fields_of
from eagre.backend.select import cuda_problem
from eagre.laboratory.cases.atmosphere import decaying_turbulence
from eagre.laboratory.validation.compare import difference
from restarts import assert_repeats_and_restarts

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]
TOLERANCE = {"single": 1e-6, "double": 1e-11}
SHARE = {"single": 1e-4, "double": 1e-9}


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", RUNS)
def test_as_the_cpu(name, precision):
    options = {"precision": precision, "tolerance": TOLERANCE[precision]}
    ours, theirs = (RUNS[name](device=device, **options) for device in ("cuda", "cpu"))
    for model in (ours, theirs):
        model.advance(1e9, max_steps=STEPS)
    assert_close(fields_of(ours), fields_of(theirs), SHARE[precision])


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("name", RUNS)
def test_repeats_and_restarts_bit_for_bit(name, precision):
    def make():
        return RUNS[name](device="cuda", precision=precision)

    end = make().setup.time_step * STEPS
    assert_repeats_and_restarts(make, lambda model: model.advance(end, max_steps=STEPS // 2), end)


def test_the_vorticity_of_decaying_turbulence_is_that_of_the_cpu():
    """At 32 points; the paper's two runs of 128 points are 6.4e-5 apart after 200 steps, over the mean."""
    fields = []
    for device in ("cuda", "cpu"):
        model = decaying_turbulence(32, time_step=0.02, tolerance=1e-9, device=device, precision="double")
        model.advance(2.0)
        fields.append(model.field("vorticity"))
    assert difference(*fields).relative < 1e-10
