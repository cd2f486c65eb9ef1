"""Halo exchange between subdomains by name: (field, region, neighbour), independent of the neighbour's arrays.

A subdomain *publishes* arrays under names. A `Message` names a part of a published field, the rank that owns it and the
rank that receives it. The list of messages of an exchange is the same in every process, as it depends on the
decomposition only: a transport selects the messages that its ranks receive by `target`, and the messages
that they send by `source`.

`LocalTransport` serves the devices of one process: exchanges are copies by each device from the memory of others.
`eagre.backend.mpi` serves processes, each with one device: one packed message per neighbour, or peer memory of GPUs.
`Group.transport` returns the transport of a group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from eagre.backend.device import Work

Stage = Sequence[Sequence[Work]]
"""Launches of each device; see `eagre.backend.group`."""
Region = tuple[Any, ...]  # index into a published array


class Message(NamedTuple):
    """Part of a field that one subdomain receives from another."""

    field: str
    source: int  # rank
    target: int  # rank
    there: Region  # region of the source array
    here: Region  # region of the target array, of the same shape
    into: str = ""  # name of the target array, if different


class Transport(Protocol):
    """Interface of the communication between devices."""

    def publish(self, rank: int, field: str, array: Any) -> None:
        """Set the array that holds a field of a subdomain of this process."""
        ...

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """Return the launches, for every rank of this process, of these messages between published arrays.

        They must be run between two barriers (`eagre.backend.group.BARRIER`): the sources are written before the first
        and not overwritten before the second.
        """
        ...


class LocalTransport:
    """Transport between devices of one process."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self._published: dict[tuple[int, str], Any] = {}

    def publish(self, rank: int, field: str, array: Any) -> None:
        """See `Transport.publish`."""
        self._published[rank, field] = array

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """See `Transport.exchange`; the owner of the target copies."""
        pairs: list[list[tuple[Any, Any]]] = [[] for _ in self.group.devices]
        for message in messages:
            target = self._published[message.target, message.into or message.field][message.here]
            source = self._published[message.source, message.field][message.there]
            pairs[message.target].append((target, source))
        return [self.group.copies(device, some) for device, some in zip(self.group.devices, pairs, strict=True)]


ALIGNMENT = 16  # bytes: start of each region of a packed message


def message_size(regions: Sequence[Any]) -> int:
    """Return the size of a message with copies of arrays, bytes."""
    return sum(_size(region) for region in regions)


def region_views(message: Any, regions: Sequence[Any]) -> list[Any]:
    """Return views of a message, uint8 (n,), with the shapes and types of arrays."""
    views, start = [], 0
    for region in regions:
        stop = start + math.prod(region.shape) * region.dtype.itemsize
        views.append(message[start:stop].view(region.dtype).reshape(region.shape))
        start += _size(region)
    return views


def _size(region: Any) -> int:
    return -(-math.prod(region.shape) * region.dtype.itemsize // ALIGNMENT) * ALIGNMENT
