"""What tests of runs over several GPUs share."""

from __future__ import annotations

import pytest

from eagre import DeviceError
from eagre.backend.select import select

DEVICES = {
    "two": "cuda:0,cuda:1",
    "four": "cuda:0,cuda:1,cuda:2,cuda:3",
    "four on two": "cuda:0,cuda:1,cuda:0,cuda:1",
    "three on one": "cuda:0,cuda:0,cuda:0",
}


@pytest.fixture(params=DEVICES)
def devices(request):
    """Names of devices that are all there."""
    named = DEVICES[request.param]
    try:
        for name in named.split(","):
            select(name)
    except DeviceError as error:
        pytest.skip(str(error).splitlines()[0])
    return named
