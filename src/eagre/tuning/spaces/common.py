"""Axes of what models share: loops over cells, threads of a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eagre.tuning.space import Axis, Card, Space


def _threads(card: Card, precision: str) -> Sequence[int]:
    """All, three quarters and half of the threads: cores that share memory may be faster alone."""
    return sorted({max(1, card.threads * part // 4) for part in (2, 3)} - {card.threads})


def _blocks_of_volumes(card: Card, precision: str) -> Sequence[Any]:
    return [32, 2, 2], [32, 8, 1], [64, 2, 1], [64, 4, 1], [128, 1, 1]


VOLUMES = Axis("block", ("programs.loop.volume",), _blocks_of_volumes)
THREADS = Axis("threads", ("cpu.programs.threads",), _threads)


def loops(model: str, variant: str, axis: Axis) -> Space:
    """Blocks of the loops over cells that have no hand-tiled kernel."""
    return Space(f"{model}: programs.loop", model, variant, (axis,))


def on_cpu(model: str, variant: str, *axes: Axis, scheme: str = "") -> Space:
    """What a CPU has: threads, and axes of a model's own."""
    return Space(f"{model}: cpu", model, variant, (THREADS, *axes), scheme, kinds=("cpu",))
