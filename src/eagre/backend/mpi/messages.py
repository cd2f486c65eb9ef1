"""Layout of a message that holds copies of regions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

ALIGNMENT = 16  # bytes: start of each region of a message


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
