"""Fused MPDATA step with one corrective pass on a GPU: fields are read once and written once.

A block streams upwards through a tile of columns and rows. Most of its warps compute: a warp has WIDTH columns of ROWS
rows, a lane COLUMNS adjacent columns. Neighbours along x come from shuffles or the lane's own columns, along y from the
warps below and above by shared memory, and along z from registers. The other warps only copy from device memory to
shared memory, some planes ahead, so that no instruction waits for memory.

When plane t is loaded, the donor cell gives plane t, the corrective fluxes follow for the faces below t and those of
plane t - 1, and the limiter factors of plane t - 2; plane t - 3 is complete. There are two barriers per plane: limiter
factors of a plane are computed with a donor cell, fluxes along y are limited with corrective ones. Work that is
independent of other warps is done between arrival at a barrier and the wait.

The work is a sequence of planes of tiles, one tile after another, distributed evenly among the blocks: grids of few
tiles are split along z, and blocks do not wait for one another.

The source (`streaming_source`) is unrolled for a number of fields with one advector, rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.ghosts import Tables
from eagre.advection.plan import (
    DIVISION_FLOOR,
    NOWHERE,
    Advector,
    Options,
    StagedPlan,
    corrective_flux,
    donor_flux,
    face_velocity,
    flows,
    magnitude,
    share_of,
)
from eagre.advection.streaming.source import TEXT
from eagre.backend.compilation.cells import (
    Entry,
    acquire_registers,
    address_at,
    bytes_of,
    cell,
    copies_arrived,
    copies_arrived_but_last,
    copies_in_group,
    copy_16_bytes_async,
    copy_element_async,
    cuda,
    flat_load,
    flat_store,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait,
    real,
    release_registers,
    switch,
    word,
    written,
)
from eagre.backend.compilation.unrolled import unrolled
from eagre.backend.cuda.warp import from_lane, from_lane_above, from_lane_below
from eagre.backend.device import Device, Launch, Work, address_of
from eagre.errors import DeviceError
from eagre.kernels.roots import by_sign, extremes, larger, reciprocal, smaller

EDGE = 3  # ghost points
LANES = 32
OTHERS = 20  # registers of a copying thread, in addition to its addresses
GROUP = 4  # warps that release or acquire registers together
GRANULARITY, MIN_REGISTERS, MAX_REGISTERS = 8, 24, 256  # registers per thread; granularity: of a release
WIDTH = switch("WIDTH", LANES)  # columns per tile
SEVERAL = switch("SEVERAL", 1)  # values per copy
MAIN = switch("MAIN", LANES)  # copies per row
ASYNCHRONOUS = (8, 0)  # compute capability with asynchronous copies to shared memory
MAX_VALUES = 2**32  # maximum values per field, as indices are 32-bit unsigned


class OneField(NamedTuple):
    """Field before and after the step, and its ghost points along z, y and x (`Table`)."""

    x: Any
    out: Any
    along_k: Any
    along_j: Any
    along_i: Any


class Faces(NamedTuple):
    """Advector and h, and the values beyond their ends (`Tables` along z, y and x)."""

    v1: Any
    v2: Any
    v3: Any
    h: Any
    along_k: Tables
    along_j: Tables
    along_i: Tables


@cell
def source_of(row, begin, again, chunk, size):
    """Return the offset in a plane of a copied part of a row: MAIN parts from `begin`, then from `again`."""
    start, position = (begin, chunk) if chunk < np.uint32(MAIN) else (again, np.uint32(chunk - np.uint32(MAIN)))
    start = np.uint32((row + start) // np.uint32(SEVERAL) * np.uint32(SEVERAL) + position * np.uint32(SEVERAL))
    return np.uint32(min(start, np.uint32(size - np.uint32(SEVERAL))))


@cell
def copied_offset(row, begin, again, index):
    """Return the position of element `index` of a row in the copied data."""
    inside = index >= begin and index < np.uint32(begin + np.uint32(WIDTH))
    start, skipped = (begin, np.uint32(0)) if inside else (again, np.uint32(MAIN * SEVERAL))
    return np.uint32(row + index - (row + start) // np.uint32(SEVERAL) * np.uint32(SEVERAL) + skipped)


@cell
def meet(shared, n, warps):
    """Initialise a barrier of `warps` warps."""
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        mbarrier_init(shared, n, warps)


@cell
def warp_arrive(shared, n):
    """Arrive at a barrier."""
    cuda.syncwarp()
    if cuda.threadIdx.x == 0:
        mbarrier_arrive(shared, n)


@warp_arrive.variant("simulator")
def _no_arrival(shared, n):
    pass


@cell
def stand_aside():
    """Skip a barrier of the computing warps; in the simulator all threads wait."""


@stand_aside.variant("simulator")
def _meet():
    cuda.syncthreads()


SCOPE: dict[str, Any] = {
    "np": np, "cuda": cuda, "real": real, "word": word, "flat_load": flat_load, "flat_store": flat_store,
    "address_at": address_at, "bytes_of": bytes_of, "copy_element_async": copy_element_async,
    "copy_16_bytes_async": copy_16_bytes_async, "copies_arrived": copies_arrived, "copies_in_group": copies_in_group,
    "copies_arrived_but_last": copies_arrived_but_last, "source_of": source_of, "copied_offset": copied_offset,
    "from_lane": from_lane, "from_lane_above": from_lane_above,
    "from_lane_below": from_lane_below, "by_sign": by_sign, "face_velocity": face_velocity,
    "corrective_flux": corrective_flux, "donor_flux": donor_flux, "flows": flows, "magnitude": magnitude,
    "share_of": share_of, "meet": meet, "warp_arrive": warp_arrive, "mbarrier_wait": mbarrier_wait,
    "stand_aside": stand_aside,
    "release_registers": release_registers, "acquire_registers": acquire_registers,
    "larger": larger, "smaller": smaller, "extremes": extremes, "reciprocal": reciprocal,
}  # fmt: skip


class Copy(NamedTuple):
    """Copies to shared memory: number of copying warps, and values per copy."""

    warps: int
    values: int

    def per_row(self, width: int) -> tuple[int, int]:
        """Return the number of copies of a row of `width` values for any start, with four more from elsewhere."""
        main, more = (-(-(count + self.values - 1) // self.values) for count in (width, 4))
        return main, more


class Block(NamedTuple):
    """Block: fields, warps, rows and columns per thread, prefetch distance in planes, registers, resident blocks.

    turns : number of planes that are unrolled, so that fewer values move between registers. lending : groups of four
    copying warps that release registers to the computing warps (compute capability 9.0); 0: the minimum number of
    copying warps, and equal registers. held : values of the previous plane that stay in registers instead of being
    reloaded: 0 nothing, 1 h and the advector along x and y, 2 also the values published by the thread.
    """

    fields: int
    warps: int
    rows: int
    columns: int
    ahead: int
    registers: int
    blocks: int
    turns: int = 1
    lending: int = 0
    held: int = 0

    @property
    def width(self) -> int:
        """Number of columns per tile."""
        return LANES * self.columns

    @property
    def buffer_planes(self) -> int:
        """Number of planes in the shared-memory ring buffer."""
        return self.ahead + 2

    def height(self, copy: Copy) -> int:
        """Return the rows per tile: those of computing warps and one on each side."""
        return (self.warps - copy.warps) * self.rows + 2

    def copies(self, copy: Copy) -> int:
        """Return the number of copies per thread of the copying warps for a plane of an array."""
        return -(-self.height(copy) * sum(copy.per_row(self.width)) // (copy.warps * LANES))

    def needed(self, copy: Copy, arrays: int) -> int:
        """Return the registers of a copying thread."""
        return (2 * arrays + (copy.values > 1)) * self.copies(copy) + OTHERS

    def lent(self, copy: Copy, arrays: int) -> tuple[int, int]:
        """Return the registers of a copying and of a computing thread after the release."""
        copier_registers = max(MIN_REGISTERS, -(-self.needed(copy, arrays) // GRANULARITY) * GRANULARITY)
        left = self.registers // GRANULARITY * GRANULARITY * self.warps - copier_registers * copy.warps
        return copier_registers, min(MAX_REGISTERS, left // (self.warps - copy.warps) // GRANULARITY * GRANULARITY)

    def copied(self, values: int, arrays: int) -> Copy:
        """Return the minimum number of copying warps whose registers hold the addresses of their copies."""
        for warps in [GROUP * self.lending] if self.lending else range(1, self.warps):
            copy = Copy(warps, values)
            if self.height(copy) <= 2 * EDGE:
                break
            if self.needed(copy, arrays) <= self.registers:
                return copy
        raise DeviceError(f"{self} has too few warps or registers.\nallowed: 24 warps of 80 registers, or 16 of 128")


class Kind(NamedTuple):
    """Variant of a kernel: `Options`, whether h is an array, and whether boundaries are not periodic, or open."""

    gauge: bool
    limited: bool
    variable: bool
    mirrored: bool
    opened: bool


def _shared_offsets(block: Block, kind: Kind, copy: Copy) -> tuple[dict[str, int], int]:
    """Return the shared-memory offsets of published rows and copied data, and the total size."""
    once = ["P_FIRST", "A2", "SOUTH", "NORTH"] + ["P_LAST"] * (block.rows > 1)
    offsets = {name: n for n, name in enumerate(once)} | {"DX": len(once), "BX": len(once) + 2, "S1": 0, "S3": 2}
    rows_per_field = len(once) + 2 * (1 if kind.gauge else 2)
    if block.rows == 1:
        offsets["P_LAST"] = offsets["P_FIRST"]
    brought = {name: block.fields + n for n, name in enumerate(("V1", "V2", "V3", "H"))}
    main, more = copy.per_row(block.width)
    pitch, height = (main + more) * copy.values, block.height(copy)
    plane, raw = (block.warps - copy.warps + 2) * block.width, height * pitch
    published = (block.fields * rows_per_field + 2 * 2) * plane
    sizes = {
        "OWN": rows_per_field, "ARRAYS": block.fields + 3 + kind.variable, "PLANE": plane, "RAW": raw,
        "BEHIND": published, "PITCH": pitch, "HEIGHT": height,
        "MAIN": main, "MORE": more, "PARTS": main if copy.values > 1 else main + more, "COPIES": block.copies(copy),
        "WORKERS": block.warps - copy.warps, "COPIERS": copy.warps, "SEVERAL": copy.values,
    }  # fmt: skip
    copier_registers, worker_registers = block.lent(copy, sizes["ARRAYS"])
    sizes |= {"LENDING": block.lending, "KEPT": copier_registers, "TAKEN": worker_registers}
    size = published + block.buffer_planes * sizes["ARRAYS"] * raw
    return offsets | brought | sizes | {"MEETING": size}, size + 4


@cache
def entry_of(block: Block, kind: Kind, copy: Copy) -> tuple[Entry, dict[str, Any], int]:
    """Return the kernel, its switches, and the size of shared memory per block."""
    offsets, size = _shared_offsets(block, kind, copy)
    counts = {
        "FIELDS": block.fields, "ROWS": block.rows, "COLUMNS": block.columns, "AHEAD": block.ahead,
        "RING": block.buffer_planes, "TURNS": block.turns, "HELD": block.held,
        "WIDTH": block.width, "EDGE": EDGE, "LANES": LANES, "GAUGE": kind.gauge, "LIMITED": kind.limited,
        "VARIABLE_H": kind.variable, "MIRRORED": kind.mirrored, "OPEN": kind.opened,
    }  # fmt: skip
    text = unrolled(TEXT, counts | offsets)
    generated: Any = written(text, SCOPE)
    entry = Entry(generated.function)
    entry.source = text
    switches = {"SEVERAL": copy.values, "MAIN": copy.per_row(block.width)[0], "WIDTH": block.width, "GAUGE": kind.gauge}
    return entry, switches, size


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
