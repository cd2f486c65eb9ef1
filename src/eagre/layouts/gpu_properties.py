"""Properties of a GPU that launch parameters depend on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

WARP = 32  # threads per warp
PARTS = 4  # partitions of a multiprocessor, each with a quarter of its registers, allocated per warp
MAX_THREADS = 1024  # maximum threads per block
MAX_BLOCKS = 65535  # maximum blocks of a grid along y, and along z
MAX_WARPS = MAX_THREADS // WARP
MAX_REGISTERS = 255  # maximum registers per thread
STATIC_SHARED = 1024  # reserved shared memory of a block, in addition to that of the launch, bytes

# Maximum blocks per multiprocessor; 32 for other compute capabilities (CUDA C++ Programming Guide, specifications)
FEWER_BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (11, 0): 24, (12, 0): 24, (12, 1): 24}


@dataclass(frozen=True)
class GpuProperties:
    """Properties of a GPU; values of a multiprocessor are shared by its resident blocks."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    threads: int  # maximum resident threads per multiprocessor
    registers: int  # 32-bit registers per multiprocessor
    shared: int  # shared memory per multiprocessor, bytes
    shared_block: int  # maximum shared memory per block, bytes
    l2: int  # L2 cache, bytes
    bandwidth: float = 0.0  # memory bandwidth, bytes s-1; 0 if unknown

    @property
    def registers_per_lane(self) -> int:
        """Registers per lane of a warp in a multiprocessor partition."""
        return self.registers // (PARTS * WARP)

    @property
    def max_warps(self) -> int:
        """Maximum resident warps per multiprocessor."""
        return self.threads // WARP

    @property
    def max_blocks(self) -> int:
        """Maximum resident blocks per multiprocessor."""
        return FEWER_BLOCKS.get(self.compute_capability, 32)

    def registers_for(self, warps: int) -> int:
        """Return the registers per thread, a multiple of 8, that allow `warps` resident warps per multiprocessor."""
        return self.registers_per_lane // -(-warps // PARTS) // 8 * 8

    def warps_for(self, registers: int) -> int:
        """Return the resident warps per multiprocessor for a number of registers per thread."""
        return min(PARTS * (self.registers_per_lane // registers), self.max_warps)

    def fits(self, threads: int, registers: int, shared: int = 0) -> bool:
        """Return whether a block with these threads, registers per thread and shared memory, bytes, can be launched."""
        enough = 0 < threads <= MAX_THREADS and 0 < registers <= MAX_REGISTERS
        return enough and registers <= self.registers_for(-(-threads // WARP)) and shared <= self.shared_block

    def blocks(self, threads: int, registers: int, shared: int = 0) -> int:
        """Return the resident blocks per multiprocessor."""
        warps = -(-threads // WARP)
        by_shared = self.shared // (shared + STATIC_SHARED)
        return min(self.warps_for(registers) // warps, by_shared)


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
