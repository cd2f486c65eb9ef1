"""Occupancy: blocks and warps that are resident on a multiprocessor."""

from __future__ import annotations

from dataclasses import dataclass

from eagre.layouts.gpu_properties import MAX_THREADS, STATIC_SHARED, WARP, GpuProperties

KIB = 1024


@dataclass(frozen=True)
class Limits:
    """Resource limits of a multiprocessor, shared by its resident blocks."""

    name: str
    threads: int  # maximum resident threads
    blocks: int  # maximum resident blocks
    registers: int  # 32-bit registers
    shared: int  # bytes of shared memory
    shared_block: int  # maximum shared memory per block, bytes
    reserved: int = STATIC_SHARED  # reserved shared memory per block, bytes
    granule: int = 256  # allocation granularity of registers

    @classmethod
    def of(cls, facts: GpuProperties) -> Limits:
        """Return the limits of a device from its properties."""
        return cls(facts.name, facts.threads, facts.max_blocks, facts.registers, facts.shared, facts.shared_block)

    @property
    def warps(self) -> int:
        """Maximum number of resident warps."""
        return self.threads // WARP

    def blocks_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Return the number of resident blocks; 0 if a block cannot be launched.

        Parameters
        ----------
        threads : int
            Threads per block.
        registers : int
            Registers per thread.
        shared : int
            Shared memory per block, bytes.
        """
        if not 0 < threads <= MAX_THREADS or shared > self.shared_block:
            return 0
        warps = -(-threads // WARP)
        each = -(-registers * WARP // self.granule) * self.granule
        by_shared = self.shared // max(shared + self.reserved, 1)
        return min(self.blocks, self.warps // warps, self.registers // each // warps, by_shared)

    def warps_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Return the number of resident warps of a kernel."""
        return self.blocks_at_once(threads, registers, shared) * -(-threads // WARP)

    def occupancy(self, threads: int, registers: int = 32, shared: int = 0) -> float:
        """Return the occupancy: resident warps divided by the maximum."""
        return self.warps_at_once(threads, registers, shared) / self.warps


KEPLER = Limits("Tesla K40m", 2048, 16, 65536, 48 * KIB, 48 * KIB, reserved=0)
HOPPER = Limits("H100, H200", 2048, 32, 65536, 228 * KIB, 227 * KIB)
