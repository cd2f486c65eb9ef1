"""Every physics test runs on the CPU, and on the GPU where there is one."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request) -> str:
    """Device that the models of a test run on."""
    return request.param


@pytest.fixture(params=["plain", pytest.param("cuda", marks=pytest.mark.gpu)])
def light_device(request):
    """As `device` for a few cells and steps: plain Python in place of the CPU's programs, nothing is compiled."""
    from eagre.backend.device import PlainDevice

    return PlainDevice() if request.param == "plain" else request.param
