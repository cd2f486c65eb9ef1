"""Check of device fields for NaN, infinity and values above 1e30."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device
from eagre.kernels.bits import is_bad


@cell
def mark_bad(k, j, i, x, flag):
    """Set flag[0] to 1 if x is not finite."""
    if is_bad(x[k, j, i]):
        flag[0] = 1.0


class FiniteCheck:
    """Check of device fields for NaN, infinity and values above 1e30."""

    def __init__(self, device: Device, precision: str, fields: list[Any]) -> None:
        self._device, self._flag = device, device.zeros((1,), np.float64)
        loop = device.loop(mark_bad, precision)
        self._marks = [device.over(loop, tuple(x.shape), (x, self._flag)) for x in fields]

    def are_finite(self) -> bool:
        """Return True if no value is NaN, infinite or above 1e30."""
        self._device.fill(self._flag, np.zeros(1))
        self._device.run(self._marks)
        return float(self._device.host(self._flag)[0]) == 0.0
