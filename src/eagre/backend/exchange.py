"""Exchanges between the subdomains of a run, by name: (field, region, neighbour), never by a neighbour's array.

A subdomain *publishes* arrays under names. A `Message` names a part of a published field, the rank whose part it is
and the rank that takes it. The list of messages of an exchange is the same in every process, since it follows from
the decomposition alone: a transport finds what its ranks receive by `target` and what they must send by `source`.

`LocalTransport` serves devices of one process: its exchanges are copies that each device makes from the memory of
others. A transport over MPI or NCCL would pack the regions that its ranks send, and offer the same four members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from eagre.backend.group import Group, Stage

Region = tuple[Any, ...]  # an index into a published array


class Message(NamedTuple):
    """A part of a field that one subdomain takes from another."""

    field: str
    source: int  # rank
    target: int  # rank
    there: Region  # of the source's array
    here: Region  # of the target's array; of the same shape
    into: str = ""  # name of the target's array, if it is another field


class Transport(Protocol):
    """What the engine of a run over several devices needs of whatever joins them."""

    ranks: Sequence[int]
    """The subdomains of this process."""

    def publish(self, rank: int, field: str, array: Any) -> None:
        """Name the array that holds a field of a subdomain of this process, from now on."""
        ...

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """The launches, for every rank of this process, that make these messages between published arrays.

        They must be run between two points where all ranks wait for one another (`eagre.backend.group.BARRIER`): what
        is read was written before the first, and is not written again before the second.
        """
        ...

    def collect(self, values: Sequence[Any]) -> list[Any]:
        """Host values of this process's ranks in, those of all ranks out, in the order of the ranks."""
        ...


class LocalTransport:
    """Transport between the devices of one process."""

    def __init__(self, group: Group) -> None:
        self.group, self.ranks = group, range(len(group.members))
        self._published: dict[tuple[int, str], Any] = {}

    def publish(self, rank: int, field: str, array: Any) -> None:
        """See `Transport.publish`."""
        self._published[rank, field] = array

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """See `Transport.exchange`; the owner of the target copies."""
        pairs: list[list[tuple[Any, Any]]] = [[] for _ in self.ranks]
        for message in messages:
            target = self._published[message.target, message.into or message.field][message.here]
            source = self._published[message.source, message.field][message.there]
            pairs[message.target].append((target, source))
        return [self.group.copies(member, some) for member, some in zip(self.group.members, pairs, strict=True)]

    def collect(self, values: Sequence[Any]) -> list[Any]:
        """See `Transport.collect`."""
        return list(values)
