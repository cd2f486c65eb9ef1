"""Every option of every model on a GPU: the fields of a CPU after a few steps."""

from __future__ import annotations

import numpy as np
import pytest

from option_setups import ALL, changing_fields, stepped

pytestmark = pytest.mark.gpu

TOLERANCE = {"single": 1e-3, "double": 1e-9}  # of the largest value of a field
ITERATED = 1e-5  # the same of potential waves, whose Laplace problems are solved to a tolerance of 1e-5
SMALLEST_SCALE = 1e-6  # fields below this are 0 but for rounding errors


@pytest.mark.parametrize(("kind", "name", "precision"), ALL)
def test_every_option_as_on_a_cpu(kind, name, precision):
    ours, theirs = (changing_fields(stepped(kind, name, device, precision)) for device in ("cuda", "cpu"))
    assert ours.keys() == theirs.keys()
    tolerance = max(TOLERANCE[precision], ITERATED if kind == "PotentialWaves" else 0.0)
    for field, expected in theirs.items():
        scale = max(np.nanmax(np.abs(expected)), SMALLEST_SCALE)
        np.testing.assert_allclose(ours[field], expected, rtol=0.0, atol=tolerance * scale, err_msg=field)
