"""Properties of an NVIDIA GPU from the CUDA runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eagre.layouts.gpu_properties import GpuProperties

MEMORY_CLOCK, MEMORY_WIDTH = 36, 37  # IDs of cudaDevAttrMemoryClockRate and cudaDevAttrGlobalMemoryBusWidth


def properties_from(properties: Mapping[str, Any], attribute: Callable[[int], int]) -> GpuProperties:
    """Return the properties of a GPU from CUDA properties and attributes."""
    clock, bits = attribute(MEMORY_CLOCK), attribute(MEMORY_WIDTH)  # kHz; two transfers per cycle
    return GpuProperties(
        name=properties["name"].decode(),
        compute_capability=(int(properties["major"]), int(properties["minor"])),
        multiprocessors=int(properties["multiProcessorCount"]),
        threads=int(properties["maxThreadsPerMultiProcessor"]),
        registers=int(properties["regsPerMultiprocessor"]),
        shared=int(properties["sharedMemPerMultiprocessor"]),
        shared_block=int(properties["sharedMemPerBlockOptin"]),
        l2=int(properties["l2CacheSize"]),
        bandwidth=2.0 * 1e3 * clock * bits / 8.0,
    )
