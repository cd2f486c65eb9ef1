"""A step of MPDATA with one corrective pass on a GPU: memory is read once and written once.

A block has a tile of columns and rows and marches up. Most of its warps compute: a warp has WIDTH columns of ROWS rows,
a lane COLUMNS columns beside each other. What a point needs of its neighbours along x comes by shuffles or is the
lane's own, along y from the warps below and above by shared memory, and along z from what the thread keeps. The other
warps do nothing but copy what memory brings to shared memory, some planes ahead, so that no instruction waits for it.

When plane t comes, the donor cell gives plane t, the corrective fluxes follow for the faces below t and those of plane
t - 1, and what points of plane t - 2 stand; plane t - 3 is done. Two meetings of warps a plane: the shares of a
plane are found with a donor cell, its fluxes along y limited with corrective ones. What a warp needs of no other it
does between coming and waiting.

Work is a row of planes of tiles, one tile after the other, dealt evenly to the blocks: grids of few tiles are cut along
z, and no block waits for another.

The text (`march_text`) is written out for a number of fields with one advector, rows and columns.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.ghosts import Tables
from eagre.advection.march_text import TEXT
from eagre.backend.cells import (
    Entry,
    address_at,
    bytes_of,
    cell,
    come,
    copies_arrived,
    copies_arrived_but_last,
    copies_in_group,
    copy_sixteen_ahead,
    copy_word_ahead,
    cuda,
    flat_load,
    flat_store,
    lend_registers,
    meeting_of,
    meeting_over,
    real,
    switch,
    take_registers,
    word,
    written,
)
from eagre.backend.unrolled import unrolled
from eagre.backend.warp import from_lane, from_lane_above, from_lane_below
from eagre.errors import DeviceError
from eagre.kernels.mpdata import (
    corrective_flux,
    donor_flux,
    face_velocity,
    flows,
    magnitude,
    share_of,
)
from eagre.kernels.roots import by_sign, extremes, larger, reciprocal, smaller

EDGE = 3  # ghost points
LANES = 32
OTHERS = 20  # registers of a thread that copies, beside its addresses
GROUP = 4  # warps that lend or take registers together
AT_ONCE, LEAST, MOST = 8, 24, 256  # registers a thread that are lent, that it keeps, that it has
WIDTH = switch("WIDTH", LANES)  # columns of a tile
SEVERAL = switch("SEVERAL", 1)  # words that are copied at once
MAIN = switch("MAIN", LANES)  # copies of a row


class OneField(NamedTuple):
    """A field before and after the step, and its ghost points along z, y and x (`Table`)."""

    x: Any
    out: Any
    along_k: Any
    along_j: Any
    along_i: Any


class Faces(NamedTuple):
    """The advector and h, and what stands beyond their ends (`Tables` along z, y and x)."""

    v1: Any
    v2: Any
    v3: Any
    h: Any
    along_k: Tables
    along_j: Tables
    along_i: Tables


@cell
def source_of(row, begin, again, part, size):
    """Where in a plane the part of a row lies that is copied at once: of MAIN from `begin` on, then from `again` on."""
    start, further = (begin, part) if part < np.uint32(MAIN) else (again, np.uint32(part - np.uint32(MAIN)))
    start = np.uint32((row + start) // np.uint32(SEVERAL) * np.uint32(SEVERAL) + further * np.uint32(SEVERAL))
    return np.uint32(min(start, np.uint32(size - np.uint32(SEVERAL))))


@cell
def place_of(row, begin, again, index):
    """Where element `index` of a row lies in what was copied of it."""
    inside = index >= begin and index < np.uint32(begin + np.uint32(WIDTH))
    start, skipped = (begin, np.uint32(0)) if inside else (again, np.uint32(MAIN * SEVERAL))
    return np.uint32(row + index - (row + start) // np.uint32(SEVERAL) * np.uint32(SEVERAL) + skipped)


@cell
def meet(shared, n, warps):
    """Begin a meeting of so many warps."""
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        meeting_of(shared, n, warps)


@cell
def tell(shared, n):
    """The warp has come to a meeting."""
    cuda.syncwarp()
    if cuda.threadIdx.x == 0:
        come(shared, n)


@tell.variant("simulator")
def _tell_nobody(shared, n):
    pass


@cell
def stand_aside():
    """What warps that copy do at a meeting of the others: nothing, but in the simulator, where all threads wait."""


@stand_aside.variant("simulator")
def _meet():
    cuda.syncthreads()


SCOPE: dict[str, Any] = {
    "np": np, "cuda": cuda, "real": real, "word": word, "flat_load": flat_load, "flat_store": flat_store,
    "address_at": address_at, "bytes_of": bytes_of, "copy_word_ahead": copy_word_ahead,
    "copy_sixteen_ahead": copy_sixteen_ahead, "copies_arrived": copies_arrived, "copies_in_group": copies_in_group,
    "copies_arrived_but_last": copies_arrived_but_last, "source_of": source_of, "place_of": place_of,
    "from_lane": from_lane, "from_lane_above": from_lane_above,
    "from_lane_below": from_lane_below, "by_sign": by_sign, "face_velocity": face_velocity,
    "corrective_flux": corrective_flux, "donor_flux": donor_flux, "flows": flows, "magnitude": magnitude,
    "share_of": share_of, "meet": meet, "tell": tell, "meeting_over": meeting_over, "stand_aside": stand_aside,
    "lend_registers": lend_registers, "take_registers": take_registers,
    "larger": larger, "smaller": smaller, "extremes": extremes, "reciprocal": reciprocal,
}  # fmt: skip


class Copy(NamedTuple):
    """How memory is copied to shared memory: warps that do nothing else, and words at once."""

    warps: int
    words: int

    def parts(self, width: int) -> tuple[int, int]:
        """Copies of a row of `width` words wherever it begins, and with four more from elsewhere."""
        main, more = (-(-(most + self.words - 1) // self.words) for most in (width, 4))
        return main, more


class Block(NamedTuple):
    """A block: fields, warps, rows and columns a thread, planes that copies are ahead, registers, blocks at once.

    turns : planes that are written out, so that fewer numbers move from one register to another. lending : groups of
    four warps that copy and lend what registers they do not need to those that compute (compute capability 9.0); 0: as
    few warps copy as have registers for it, and all have the same number. held : what of the plane before stays in
    registers and is not loaded again: 0 nothing, 1 h and the advector along x and y, 2 also what the thread published.
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
        """Columns of a tile."""
        return LANES * self.columns

    @property
    def ring(self) -> int:
        """Planes that are on chip or on their way."""
        return self.ahead + 2

    def height(self, copy: Copy) -> int:
        """Rows of a tile: those of warps that compute and one on each side of them."""
        return (self.warps - copy.warps) * self.rows + 2

    def copies(self, copy: Copy) -> int:
        """How often a thread of the warps that copy asks for a plane of an array."""
        return -(-self.height(copy) * sum(copy.parts(self.width)) // (copy.warps * LANES))

    def needed(self, copy: Copy, arrays: int) -> int:
        """Registers of a thread that copies."""
        return (2 * arrays + (copy.words > 1)) * self.copies(copy) + OTHERS

    def lent(self, copy: Copy, arrays: int) -> tuple[int, int]:
        """Registers of a thread that copies and of one that computes, where the former lend."""
        kept = max(LEAST, -(-self.needed(copy, arrays) // AT_ONCE) * AT_ONCE)
        left = self.registers // AT_ONCE * AT_ONCE * self.warps - kept * copy.warps
        return kept, min(MOST, left // (self.warps - copy.warps) // AT_ONCE * AT_ONCE)

    def copied(self, words: int, arrays: int) -> Copy:
        """The fewest warps whose registers hold the addresses of what they copy."""
        for warps in [GROUP * self.lending] if self.lending else range(1, self.warps):
            copy = Copy(warps, words)
            if self.height(copy) <= 2 * EDGE:
                break
            if self.needed(copy, arrays) <= self.registers:
                return copy
        raise DeviceError(f"{self} has too few warps or registers.\nallowed: 24 warps of 80 registers, or 16 of 128")


class Kind(NamedTuple):
    """What a kernel is for: `Options`, whether h is an array, and whether sides are other than rings, or open."""

    gauge: bool
    limited: bool
    variable: bool
    mirrored: bool
    opened: bool


def _places(block: Block, kind: Kind, copy: Copy) -> tuple[dict[str, int], int]:
    """Rows that warps publish and what is brought: where they lie in shared memory; words of all."""
    once = ["P_FIRST", "A2", "SOUTH", "NORTH"] + ["P_LAST"] * (block.rows > 1)
    places = {name: n for n, name in enumerate(once)} | {"DX": len(once), "BX": len(once) + 2, "S1": 0, "S3": 2}
    own = len(once) + 2 * (1 if kind.gauge else 2)
    if block.rows == 1:
        places["P_LAST"] = places["P_FIRST"]
    brought = {name: block.fields + n for n, name in enumerate(("V1", "V2", "V3", "H"))}
    main, more = copy.parts(block.width)
    pitch, height = (main + more) * copy.words, block.height(copy)
    plane, raw = (block.warps - copy.warps + 2) * block.width, height * pitch
    published = (block.fields * own + 2 * 2) * plane
    sizes = {
        "OWN": own, "ARRAYS": block.fields + 3 + kind.variable, "PLANE": plane, "RAW": raw, "BEHIND": published,
        "PITCH": pitch, "HEIGHT": height,
        "MAIN": main, "MORE": more, "PARTS": main if copy.words > 1 else main + more, "COPIES": block.copies(copy),
        "WORKERS": block.warps - copy.warps, "COPIERS": copy.warps, "SEVERAL": copy.words,
    }  # fmt: skip
    kept, taken = block.lent(copy, sizes["ARRAYS"])
    sizes |= {"LENDING": block.lending, "KEPT": kept, "TAKEN": taken}
    words = published + block.ring * sizes["ARRAYS"] * raw
    return places | brought | sizes | {"MEETING": words}, words + 4


@cache
def entry_of(block: Block, kind: Kind, copy: Copy) -> tuple[Entry, dict[str, Any], int]:
    """The kernel, switches of its cells, and words of shared memory a block."""
    places, words = _places(block, kind, copy)
    counts = {
        "FIELDS": block.fields, "ROWS": block.rows, "COLUMNS": block.columns, "AHEAD": block.ahead, "RING": block.ring,
        "TURNS": block.turns, "HELD": block.held,
        "WIDTH": block.width, "EDGE": EDGE, "LANES": LANES, "GAUGE": kind.gauge, "LIMITED": kind.limited,
        "VARIABLE_H": kind.variable, "MIRRORED": kind.mirrored, "OPEN": kind.opened,
    }  # fmt: skip
    text = unrolled(TEXT, counts | places)
    made: Any = written(text, SCOPE)
    entry = Entry(made.function)
    entry.source = text
    switches = {"SEVERAL": copy.words, "MAIN": copy.parts(block.width)[0], "WIDTH": block.width, "GAUGE": kind.gauge}
    return entry, switches, words
