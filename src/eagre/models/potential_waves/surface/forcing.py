"""Base of additional forcing terms of the surface equations, and values that the host sets for every stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.models.potential_waves.laplace.base import Laplace


class Forcing:
    """Additional term of d eta / dt and d phi~ / dt, by constant launches that `Steps` queues in every stage.

    Rates are arrays on the device, (2, ny, nx), m/s and m2/s2. When launches run, `fields` and `w` of the Laplace
    problem belong to the same stage.
    """

    _laplace: Laplace

    def launches(self, rates: Any) -> list[Any]:
        """Return the launches that add to the rates."""
        raise NotImplementedError

    def detection(self, rates: Any) -> list[Any]:
        """Return launches whose results `begin_stage` reads on the host in stage 0; none by default."""
        return []

    def begin_stage(self, time: float, dt: float, stage: int) -> bool:
        """Set host values of a stage; return whether `launches` must run in it.

        Parameters
        ----------
        time, dt : float
            Time of the stage and length of the step, s.
        stage : int
            0 to 3; in stage 0 the surface is unchanged since the start of the step.
        """
        return True

    def add(self, time: float, dt: float, stage: int, rates: Any) -> None:
        """Add to the rates at once; see `begin_stage`."""
        device = self._laplace.device
        if stage == 0:
            device.run(self.detection(rates))
        if self.begin_stage(time, dt, stage):
            device.run(self.launches(rates))


class StageValues:
    """Values on the device that the host sets for every stage.

    Parameters
    ----------
    device : Device
    shape : tuple of int
    staged : bool
        Whether values are set in pinned host memory and copied by `launches`. The caller must not set values before
        the previous ones have been copied.

    Attributes
    ----------
    array : float64 array on the device
    launches : list
        Launches that must run before `array` is read.
    """

    def __init__(self, device: Device, shape: Sequence[int], staged: bool) -> None:
        self._device, self.array = device, device.zeros(tuple(shape), np.float64)
        self._pinned = device.pinned(tuple(shape), np.float64) if staged else None
        self.launches: list[Any] = [] if self._pinned is None else [device.transfer(self.array, self._pinned)]

    def set(self, values: Any) -> None:
        """Set the values of the next stage."""
        if self._pinned is None:
            self._device.fill(self.array, np.ascontiguousarray(values))
        else:
            self._pinned[...] = values
