"""Stages of a time step with the arrays that they read and write, and fusions: kernels that replace several stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from eagre.backend.device import Work
from eagre.errors import EagreError

ALL = 1 << 20
"""Number of rows for an array that has a slot for each rank: all slots are read."""


class Stage(NamedTuple):
    """Part of a time step on one rank (the rows of a device).

    Attributes
    ----------
    name : str
    make : callable
        Returns the launches. Called once for each schedule, unless a fusion replaces the stage.
    reads : sequence of (array, int)
        Arrays, and the number of neighbouring rows that the stencil reads, or `ALL`. A stage that writes only some
        points of an array reads it too.
    writes : sequence of arrays
    extent : int
        Number of halo rows that are computed in addition to the rows of the rank.
    """

    name: str
    make: Callable[[], Sequence[Work]]
    reads: Sequence[tuple[Any, int]] = ()
    writes: Sequence[Any] = ()
    extent: int = 0


def near(rows: int, *arrays: Any) -> list[tuple[Any, int]]:
    """Return entries of `Stage.reads` for arrays that are read with `rows` neighbouring rows."""
    return [(array, rows) for array in arrays]


def arrays_of(**owners: Any) -> dict[str, Any]:
    """Return the arrays that objects have as attributes, or in lists of attributes, as "owner.attribute[0][1]"."""
    arrays: dict[str, Any] = {}

    def collect(name: str, value: Any) -> None:
        if isinstance(value, list | tuple):
            for k, one in enumerate(value):
                collect(f"{name}[{k}]", one)
        elif hasattr(value, "strides") and not isinstance(value, type):
            arrays[name] = value

    for owner, one in owners.items():
        for name, value in vars(one).items():
            collect(f"{owner}.{name}", value)
    return arrays


class Fusion(NamedTuple):
    """Kernel that replaces consecutive stages.

    Attributes
    ----------
    stages : tuple of str
        Names of the stages.
    serves : callable
        ``serves(model)``: whether the kernel supports the configuration; `model` made the stages.
    make : callable
        ``make(model, phase)`` returns the launches of a step from buffers `phase`.
    """

    stages: tuple[str, ...]
    serves: Callable[[Any], bool]
    make: Callable[[Any, int], Sequence[Work]]


def fused(stages: Sequence[Stage], table: Sequence[Fusion], model: Any, phase: int) -> list[Stage]:
    """Return the stages of a step, with the first fusion of the table that matches at each position."""
    entries, names = [entry for entry in table if entry.serves(model)], tuple(stage.name for stage in stages)
    result: list[Stage] = []
    k = 0
    while k < len(stages):
        entry = next((one for one in entries if names[k : k + len(one.stages)] == one.stages), None)
        group = stages[k : k + (1 if entry is None else len(entry.stages))]
        result.append(group[0] if entry is None else joined(group, partial(entry.make, model, phase)))
        k += len(group)
    return result


def joined(group: Sequence[Stage], make: Callable[[], Sequence[Work]]) -> Stage:
    """Return a stage that declares what consecutive stages read from outside, and all that they write.

    Raises
    ------
    EagreError
        If a stage reads neighbouring rows of an array that a previous one writes: an exchange is needed in between.
    """
    reads: dict[int, tuple[Any, int]] = {}
    written: dict[int, Any] = {}
    for stage in group:
        for array, rows in stage.reads:
            if id(array) not in written:
                reads[id(array)] = array, max(rows, reads.get(id(array), (array, 0))[1])
            elif rows > 0:
                raise EagreError(f"{stage.name} needs an exchange and cannot be fused with the stage before it.")
        written |= {id(array): array for array in stage.writes}
    name = " + ".join(stage.name for stage in group)
    return Stage(name, make, list(reads.values()), list(written.values()), min(stage.extent for stage in group))
