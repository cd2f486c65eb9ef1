"""How many blocks and warps a multiprocessor runs at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from eagre.layouts.facts import MOST_THREADS, STATIC_SHARED, WARP, Facts

KIB = 1024


@dataclass(frozen=True)
class Limits:
    """What all blocks of a multiprocessor share."""

    name: str
    threads: int  # at the same time
    blocks: int  # at the same time
    registers: int  # of 32 bits
    shared: int  # bytes of shared memory
    shared_block: int  # bytes of shared memory of a block, at most
    reserved: int = STATIC_SHARED  # bytes of shared memory that each block takes beside its own
    granule: int = 256  # registers are given to warps in so many

    @classmethod
    def of(cls, facts: Facts) -> Limits:
        """Those of a card that `eagre info` knows."""
        return cls(facts.name, facts.threads, facts.most_blocks, facts.registers, facts.shared, facts.shared_block)

    @property
    def warps(self) -> int:
        """Warps at the same time, whatever they are of."""
        return self.threads // WARP

    def blocks_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Blocks at the same time, 0 where a block cannot be launched.

        Parameters
        ----------
        threads : int
            Of a block.
        registers : int
            Of a thread.
        shared : int
            Bytes of a block.
        """
        if not 0 < threads <= MOST_THREADS or shared > self.shared_block:
            return 0
        warps = -(-threads // WARP)
        each = -(-registers * WARP // self.granule) * self.granule
        by_shared = self.shared // max(shared + self.reserved, 1)
        return min(self.blocks, self.warps // warps, self.registers // each // warps, by_shared)

    def warps_at_once(self, threads: int, registers: int = 32, shared: int = 0) -> int:
        """Warps of a kernel at the same time: those of `blocks_at_once`."""
        return self.blocks_at_once(threads, registers, shared) * -(-threads // WARP)

    def occupancy(self, threads: int, registers: int = 32, shared: int = 0) -> float:
        """Warps at the same time over the most that there may be."""
        return self.warps_at_once(threads, registers, shared) / self.warps


KEPLER = Limits("Tesla K40m", 2048, 16, 65536, 48 * KIB, 48 * KIB, reserved=0)
HOPPER = Limits("H100, H200", 2048, 32, 65536, 228 * KIB, 227 * KIB)
