"""Every physics test runs on the CPU, and on the GPU where there is one."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> str:
    """Device that the models of a test run on."""
    return request.param
