"""Schedules of a step on one device or on the ranks of a group, from the stages of each rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eagre.backend.device import Device
from eagre.backend.group import BARRIER, Group, Message, without_gaps
from eagre.backend.group import Stage as Schedule
from eagre.decomposition import Decomposition
from eagre.runtime.exchanges import Access, planned
from eagre.runtime.stage import ALL, Stage


class Runtime:
    """Converter of stages to launches, exchanges and barriers.

    Parameters
    ----------
    device : Device or Group
    arrays : sequence of mappings
        Arrays of each rank by name, in the order in which they are exchanged; names are the same on all ranks.
        The first axis of a field is y. The first axis of an array with a slot for each rank has equal parts.
    rows : Decomposition, optional
        Decomposition of a group.
    """

    def __init__(
        self, device: Device | Group, arrays: Sequence[Mapping[str, Any]], rows: Decomposition | None = None
    ) -> None:
        self.arrays, self._rows = arrays, rows
        self._names = {id(array): name for name, array in arrays[0].items()}
        self._with_slots: set[str] = set()
        self._transport = device.transport() if isinstance(device, Group) else None

    def schedules(self, ranks: Sequence[Sequence[Sequence[Stage]]], repeats: bool = True) -> list[list[Any]]:
        """Return the schedule of each of consecutive steps: launches of a device, or stages and barriers of a group.

        ranks : for each rank the stages of each step; repeats : whether the first step follows the last one
        """
        if self._transport is None or self._rows is None:
            return [[launch for stage in step for launch in stage.make()] for step in ranks[0]]
        plan = planned([[self.access(stage) for stage in step] for step in ranks[0]], self._rows.halo[0], repeats)
        return [self._schedule(syncs, *steps) for syncs, *steps in zip(plan, *ranks, strict=True)]

    def access(self, stage: Stage) -> Access:
        """Return the declaration of a stage of the first rank with the names of its arrays."""
        reads: dict[str, int] = {}
        for array, rows in stage.reads:
            name = self._names[id(array)]
            reads[name] = max(rows, reads.get(name, 0))
            if rows == ALL:
                self._with_slots.add(name)
        return Access(stage.name, reads, tuple(self._names[id(array)] for array in stage.writes), stage.extent)

    def _schedule(self, syncs: Sequence[Sequence[Sequence[str]]], *steps: Sequence[Stage]) -> list[Schedule]:
        """Return the stages and barriers of a step; steps : its stages on each rank."""
        schedule: list[Schedule] = []
        for preceding, *stages in zip(syncs, *steps, strict=True):
            for names in preceding:
                schedule += [BARRIER, self._exchange(names)] if names else [BARRIER]
            schedule.append([list(stage.make()) for stage in stages])
        return without_gaps(schedule)

    def _exchange(self, names: Sequence[str]) -> Schedule:
        """Return the exchange of halo rows, and of the slots of arrays that have a slot for each rank."""
        assert self._transport is not None and self._rows is not None
        ordered = [name for name in self.arrays[0] if name in names]
        for rank, arrays in enumerate(self.arrays):
            for name in ordered:
                self._transport.publish(rank, name, arrays[name])
        messages = [one for name in ordered if name in self._with_slots for one in self._to_all(name)]
        fields = dict.fromkeys((name for name in ordered if name not in self._with_slots), "centre")
        return self._transport.exchange([*messages, *self._rows.messages(fields)])

    def _to_all(self, name: str) -> list[Message]:
        """Return the messages that send the slot of each rank to all other ranks."""
        ranks = range(len(self.arrays))
        size = self.arrays[0][name].shape[0] // len(ranks)
        slots = [(slice(rank * size, (rank + 1) * size),) for rank in ranks]
        return [Message(name, k, target, slots[k], slots[k]) for target in ranks for k in ranks if k != target]
