"""Several devices that work on one run: each has its part, its stream and its list of launches.

A schedule is a list of stages and barriers. A stage is a list of launches for every device, which runs
them on its own; at `BARRIER` every device waits until all have done what stands before it. So a stage may read
(`eagre.backend.exchange`) what another device wrote before the last barrier, and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch

Stage = Sequence[Sequence[Launch | HostCall]]
BARRIER: Stage = ()
"""Between two stages of a schedule: every device waits for all."""


def in_turn(*stages: Stage) -> Stage:
    """One stage of several: for every device the launches of each in turn."""
    return [[launch for launches in own for launch in launches] for own in zip(*stages, strict=True)]


class Group:
    """Devices of one kind; here the host's, one after the other, in `eagre.backend.cuda_group` GPUs."""

    graphs = False

    def __init__(self, members: Sequence[Device]) -> None:
        self.members = tuple(members)
        self.kind = members[0].kind
        names = [str(member) for member in members]
        same = len(set(names)) == 1
        self.name = f"{len(names)} bands on {names[0]}" if same else ", ".join(names)

    def __reduce__(self) -> tuple[type[Group], tuple[tuple[Device, ...]]]:
        return type(self), (self.members,)

    def run(self, schedule: Sequence[Stage]) -> None:
        """Run the stages of a schedule in order."""
        for stage in schedule:
            if stage is BARRIER:
                self.barrier()
            for member, launches in zip(self.members, stage, strict=False):
                member.run(launches)

    def bound(self, schedule: Sequence[Stage]) -> list[Stage]:
        """See `Device.bound`: each graph prepares its own."""
        return list(schedule)

    def repeated(self, schedule: Sequence[Stage], times: int) -> Callable[[], None]:
        """A function that runs a schedule `times` times, with barriers only where the schedule has them."""

        def go() -> None:
            for _ in range(times):
                self.run(schedule)

        return go

    def barrier(self) -> None:
        """Let every device wait for all."""

    def copies(self, member: Device, pairs: Sequence[tuple[Any, Any]]) -> list[Launch | HostCall]:
        """Copies (target, source), of one shape each, by `member`, which owns the targets; sources may be others'."""
        return [HostCall(np.copyto, pair) for pair in pairs]

    def synchronize(self) -> None:
        """Wait until everything has run."""
        for member in self.members:
            member.synchronize()

    def layout(self, kernel: str) -> SimpleNamespace:
        """Parameters of what all members do together: the first one's."""
        return self.members[0].layout(kernel)

    def free_memory(self) -> int:
        """Bytes free for arrays, of all devices."""
        return sum(member.free_memory() for member in set(self.members))

    def host(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array that was gathered on the host."""
        return np.array(array, copy=True)

    def __str__(self) -> str:
        return self.name
