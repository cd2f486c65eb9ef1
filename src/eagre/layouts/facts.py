"""What a GPU has, as far as layouts depend on it."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32  # threads
PARTS = 4  # of a multiprocessor, each with a quarter of its registers, dealt out warp by warp
MOST_THREADS = 1024  # of a block
MOST_WARPS = MOST_THREADS // WARP
MOST_REGISTERS = 255  # of a thread
STATIC_SHARED = 1024  # bytes of shared memory that a block may have beside what is asked for at a launch

# Blocks of a multiprocessor, 32 of all other compute capabilities: CUDA C++ Programming Guide, technical specifications
FEWER_BLOCKS = {(7, 5): 16, (8, 6): 16, (8, 7): 16, (8, 9): 24, (11, 0): 24, (12, 0): 24, (12, 1): 24}


@dataclass(frozen=True)
class Facts:
    """A GPU in numbers; those of a multiprocessor are what all blocks on it share."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    threads: int  # of a multiprocessor at the same time
    registers: int  # of a multiprocessor, 32 bits each
    shared: int  # bytes of shared memory of a multiprocessor
    shared_block: int  # bytes of shared memory of a block, at most
    l2: int  # bytes of the second-level cache
    bandwidth: float = 0.0  # of the memory, bytes s-1; 0 where it is not known

    @property
    def part(self) -> int:
        """Registers a thread of one warp that a part of a multiprocessor has."""
        return self.registers // (PARTS * WARP)

    @property
    def most_warps(self) -> int:
        """Warps of a multiprocessor at the same time."""
        return self.threads // WARP

    @property
    def most_blocks(self) -> int:
        """Blocks of a multiprocessor at the same time."""
        return FEWER_BLOCKS.get(self.compute_capability, 32)

    def registers_for(self, warps: int) -> int:
        """Registers a thread, a multiple of 8, with which so many warps fit a multiprocessor."""
        return self.part // -(-warps // PARTS) // 8 * 8

    def warps_for(self, registers: int) -> int:
        """Warps of a multiprocessor at the same time, at so many registers a thread."""
        return min(PARTS * (self.part // registers), self.most_warps)

    def fits(self, threads: int, registers: int, shared: int = 0) -> bool:
        """Whether a block of so many threads, registers a thread and bytes of shared memory can be launched."""
        enough = 0 < threads <= MOST_THREADS and 0 < registers <= MOST_REGISTERS
        return enough and registers <= self.registers_for(-(-threads // WARP)) and shared <= self.shared_block

    def blocks(self, threads: int, registers: int, shared: int = 0) -> int:
        """Blocks of a multiprocessor at the same time."""
        warps = -(-threads // WARP)
        by_shared = self.shared // (shared + STATIC_SHARED)
        return min(self.warps_for(registers) // warps, by_shared)
