"""Several devices that work on one run: each has its part, its stream and its list of launches.

A schedule is a list of stages and barriers. A stage is a list of launches for every device, which runs
them on its own; at `BARRIER` every device waits until all have done what stands before it. So a stage may read
(`eagre.backend.exchange`) what another device wrote before the last barrier, and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostArrays, HostCall, Launch, select
from eagre.errors import InputError

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

    def run(self, schedule: Sequence[Stage]) -> None:
        """Run the stages of a schedule in order."""
        for stage in schedule:
            if stage is BARRIER:
                self.barrier()
            for member, launches in zip(self.members, stage, strict=False):
                member.run(launches)

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

    def free_memory(self) -> int:
        """Bytes free for arrays, of all devices."""
        return sum(member.free_memory() for member in set(self.members))

    def host(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array that was gathered on the host."""
        return np.array(array, copy=True)

    def __str__(self) -> str:
        return self.name


def select_devices(device: str | Device | Sequence[str | Device]) -> Device | Group:
    """One device, or a `Group` of several for one run.

    Parameters
    ----------
    device : str, Device, or a sequence of them
        As of `eagre.backend.device.select`; several as ``["cuda:0", "cuda:1"]`` or ``"cuda:0,cuda:1"``. A
        device that is named twice gets two parts.

    Raises
    ------
    InputError
        For "auto" among several, or devices of different kinds.
    DeviceError
        If one of them cannot be used.
    """
    named = device.split(",") if isinstance(device, str) else [device] if isinstance(device, Device) else list(device)
    wanted = [name.strip() if isinstance(name, str) else name for name in named]
    if len(wanted) == 1:
        return select(wanted[0])
    kinds = {name.partition(":")[0] if isinstance(name, str) else name.kind for name in wanted}
    if len(kinds) != 1 or "auto" in kinds:
        told = ",".join(map(str, wanted))
        raise InputError(
            f"device = {told!r}",
            allowed="several devices of one kind, each by its name",
            fix='device = "cuda:0,cuda:1"',
        )
    members = [select(name) for name in wanted]
    if isinstance(members[0], HostArrays):
        return Group(members)
    from eagre.backend.cuda_group import CudaGroup

    return CudaGroup(members)
