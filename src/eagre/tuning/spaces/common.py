"""Common axes of models: loops over cells, CPU threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eagre.tuning.space import Axis, DeviceInfo, Space


def _threads(device: DeviceInfo, precision: str) -> Sequence[int]:
    """Return all, three quarters and half of the threads: with shared memory bandwidth fewer threads may be faster."""
    return sorted({max(1, device.threads * quarters // 4) for quarters in (2, 3)} - {device.threads})


def _blocks_of_volumes(device: DeviceInfo, precision: str) -> Sequence[Any]:
    return [32, 2, 2], [32, 8, 1], [64, 2, 1], [64, 4, 1], [128, 1, 1]


VOLUMES = Axis("block", ("programs.loop.volume",), _blocks_of_volumes)
THREADS = Axis("threads", ("cpu.programs.threads",), _threads)


def loops(model: str, variant: str, axis: Axis) -> Space:
    """Return the blocks of loops over cells without a special kernel."""
    return Space(f"{model}: programs.loop", model, variant, (axis,))


def on_cpu(model: str, variant: str, *axes: Axis, scheme: str = "") -> Space:
    """Return the space of a CPU: threads, and axes of the model."""
    return Space(f"{model}: cpu", model, variant, (THREADS, *axes), scheme, kinds=("cpu",))
