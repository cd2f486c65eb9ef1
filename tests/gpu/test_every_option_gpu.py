"""Every option of every model on a GPU: the fields of a CPU after a few steps."""

from __future__ import annotations

import numpy as np
import pytest

from option_setups import ALL, changing_fields, stepped

pytestmark = pytest.mark.gpu

TOLERANCE = {"single": 1e-3, "double": 1e-9}  # of the largest value of a field


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize(("kind", "name"), ALL)
def test_every_option_as_on_a_cpu(kind, name, precision):
    ours, theirs = (changing_fields(stepped(kind, name, device, precision)) for device in ("cuda", "cpu"))
    assert ours.keys() == theirs.keys()
    for field, expected in theirs.items():
        scale = np.nanmax(np.abs(expected)) or 1.0
        np.testing.assert_allclose(ours[field], expected, rtol=0.0, atol=TOLERANCE[precision] * scale, err_msg=field)
