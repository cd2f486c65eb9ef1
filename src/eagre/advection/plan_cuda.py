"""Fused GPU step as a launch: tiles, blocks, shared memory, switches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

from eagre.advection.plan import DIVISION_FLOOR, NOWHERE, Advector, Options, StagedPlan
from eagre.advection.streaming.kernel import EDGE, LANES, Block, Copy, Faces, Kind, OneField, entry_of
from eagre.backend.arrays import address_of
from eagre.backend.device import Device, Launch, Work

ASYNCHRONOUS = (8, 0)  # compute capability with asynchronous copies to shared memory
MAX_VALUES = 2**32  # maximum values per field, as indices are 32-bit unsigned


def serves(device: Device, options: Options, shape: tuple[int, int, int]) -> bool:
    """Return whether the fused step supports these options, device and grid."""
    if device.kind != "cuda" or options.passes != 2 or options.third_order:
        return False
    is_indexable = prod(n + 1 for n in shape) < MAX_VALUES
    return is_indexable and device.properties.compute_capability >= ASYNCHRONOUS


class StreamingPlan(StagedPlan):
    """Fused steps with one corrective pass, in one kernel; several fields with one advector share its loads."""

    @cached_property
    def blocks(self) -> list[Block]:
        """Blocks for increasing numbers of fields."""
        rows = self.device.parameters("solver:mpdata.march").blocks[self.precision]
        return [Block(**row) for row in rows]

    def block_for(self, fields: int) -> Block:
        """Return the block for the largest number of at most `fields` fields."""
        return [block for block in self.blocks if block.fields <= fields][-1]

    def kind(self, variable: bool) -> Kind:
        """Return the kernel variant; variable : whether h is an array."""
        mirrored = any(side != "periodic" for side in self.sides) or 1 in self.shape
        opened = any(side not in ("periodic", "wall") for side in self.sides)
        return Kind(self.options.gauge, self.options.nonoscillatory, variable, mirrored, opened)

    def values_per_copy(self, arrays: Sequence[Any]) -> int:
        """Return the values in 16 bytes if rows and planes are aligned to 16 bytes, otherwise 1."""
        values = 16 // self.dtype().itemsize
        _, ny, nx = self.shape
        even = nx % values == 0 and ny * (nx + 1) % values == 0 and not any(address_of(a) % 16 for a in arrays)
        return values if even else 1

    def _program(self, block: Block, variable: bool, copy: Copy) -> tuple[Any, int]:
        """Return the kernel, and the shared memory per block, bytes."""
        if (block, variable, copy) not in self._programs:
            entry, switches, size = entry_of(block, self.kind(variable), copy)
            switches = {**switches, "MIN_DIVISOR": DIVISION_FLOOR[self.precision], "REGISTERS": block.registers}
            program = self.device.program(entry, self.precision, switches)
            self._programs[block, variable, copy] = program, size * self.dtype().itemsize
        return self._programs[block, variable, copy]

    @cached_property
    def _still(self) -> Advector:
        """Return zero fluxes: for axes of one point, whose factors are 0."""
        nz, ny, nx = self.shape
        shapes = ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx))
        ones = [n == 1 for n in reversed(self.shape)]
        zeros = self.device.zeros
        return Advector(
            *(zeros(shape, self.dtype) if still else None for shape, still in zip(shapes, ones, strict=True))
        )

    def together(self, transported: Sequence[tuple[Any, Any, tuple[bool, bool, bool]]], v: Advector) -> list[Work]:
        launches: list[Work] = []
        while transported:
            block = self.block_for(len(transported))
            launches.append(self._launch(block, transported[: block.fields], v))
            transported = transported[block.fields :]
        return launches

    def _launch(self, block: Block, transported: Sequence[tuple[Any, Any, Any]], v: Advector) -> Launch:
        nz, ny, nx = self.shape
        fields = tuple(OneField(x, out, *(axis.field for axis in self.tables(odd))) for x, out, odd in transported)
        v1, v2, v3 = (still if still is not None else a for still, a in zip(self._still[:3], v[:3], strict=True))
        arrays = [*(one[0] for one in transported), v1, v2, v3, *([] if v.h is None else [v.h])]
        copy = block.copied(self.values_per_copy(arrays), len(arrays))
        program, shared = self._program(block, v.h is not None, copy)
        faces = Faces(v1, v2, v3, transported[0][0] if v.h is None else v.h, *self.tables(NOWHERE))
        across = -(-nx // (block.width - 2 * EDGE))
        tiles = -(-ny // (block.height(copy) - 2 * EDGE)) * across
        grid_blocks = min(self.device.multiprocessors * block.blocks, tiles * nz)
        arguments = (fields, faces, self.shape, (tiles, across))
        return Launch(program, arguments, (grid_blocks,), (LANES, block.warps), shared)
