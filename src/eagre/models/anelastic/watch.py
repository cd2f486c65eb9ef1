"""Whether fields on a device are finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.cells import cell
from eagre.backend.device import Device
from eagre.kernels.bits import is_bad


@cell
def mark_bad(k, j, i, x, flag):
    """flag[0] = 1 where x is not finite."""
    if is_bad(x[k, j, i]):
        flag[0] = 1.0


class Watch:
    """Whether fields on a device are finite."""

    def __init__(self, device: Device, precision: str, fields: list[Any]) -> None:
        self._device, self._flag = device, device.zeros((1,), np.float64)
        loop = device.loop(mark_bad, precision)
        self._marks = [device.over(loop, tuple(x.shape), (x, self._flag)) for x in fields]

    def are_finite(self) -> bool:
        """True if no number is infinite, none at all, or above 1e30."""
        self._device.fill(self._flag, np.zeros(1))
        self._device.run(self._marks)
        return float(self._device.host(self._flag)[0]) == 0.0
