"""Coefficients of a step that depend on the current and previous time step.

On a GPU, kernels read them from device memory, so that one CUDA graph serves steps of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision

HALF = 0  # dt/2
SCALE = 1  # ratio of dt to the previous step: increments dt/2 R are proportional to the time step
PREVIOUS_WEIGHT = 2  # the same ratio, 0 in the first step: weight of the previous tendency
ALONG_Z, ALONG_Y, ALONG_X = 3, 5, 7  # weights of the current and past velocity in face fluxes
SIZE = 9


class StepCoefficients:
    """Coefficients of a step.

    Parameters
    ----------
    device : Device
    precision : str
    spacing : (dz, dy, dx), m

    Attributes
    ----------
    numbers : SIZE numbers
        On a GPU a device array, otherwise a tuple that `set` replaces.
    dt : float64 (1,), on the device
        Time step, s.
    """

    def __init__(self, device: Device, precision: str, spacing: Sequence[float]) -> None:
        self._device, self._real, self._spacing = device, check_precision(precision), tuple(spacing)
        self._known: tuple[float, float] | None = None
        self.dt = device.zeros((1,), np.float64)
        self.numbers: Any = device.zeros((SIZE,), self._real) if device.kind == "cuda" else (self._real(0.0),) * SIZE

    def set(self, dt: float, previous: float) -> None:
        """Set the next and the previous time step, s; 0 without a previous step."""
        if self._known == (dt, previous):
            return
        last = previous or dt
        ratio, coefficients = 0.5 * dt / last, [0.5 * dt, dt / last, dt / previous if previous else 0.0]
        for spacing in self._spacing:
            half_ratio = 0.5 * dt / spacing
            coefficients += [half_ratio * (1.0 + ratio), -half_ratio * ratio]
        numbers = np.array(coefficients).astype(self._real)
        if self._device.kind == "cuda":
            self._device.fill(self.numbers, numbers)
        else:
            self.numbers = tuple(numbers)
        self._device.fill(self.dt, np.array([dt]))
        self._known = (dt, previous)
