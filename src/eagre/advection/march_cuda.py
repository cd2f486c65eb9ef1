"""A step of MPDATA with one corrective pass on a GPU: memory is read once and written once.

A block has a tile of columns and rows and marches up. A warp has WIDTH columns of ROWS rows, a lane COLUMNS columns
beside each other. What a point needs of its neighbours along x comes by shuffles or is the lane's own, along y from the
warps below and above by shared memory, and along z from what the thread keeps. What memory brings is copied to shared
memory a plane ahead, so that no instruction waits for it.

When plane t comes, the donor cell gives plane t, the corrective fluxes follow for the faces below t and those of plane
t - 1, the limiter for t - 1, and plane t - 2 is done. Two barriers a plane: the limiter of a plane runs with the donor
cell of the next one, its fluxes with the next corrective ones.

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
    cell,
    copies_arrived,
    copies_arrived_but_last,
    copies_in_group,
    copy_ahead,
    cuda,
    flat_load,
    flat_store,
    real,
    whatever,
    word,
    written,
)
from eagre.backend.unrolled import unrolled
from eagre.backend.warp import from_lane_above, from_lane_below
from eagre.kernels.mpdata import (
    corrective_flux,
    cross_terms,
    crossed_velocity,
    donor_flux,
    flows,
    limiter,
    magnitude,
    share_of,
)
from eagre.kernels.roots import larger, quotient, reciprocal, smaller

EDGE = 3  # ghost points
LANES = 32


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
def over_mean(low, high):
    """One over the mean h of two points."""
    return quotient(real(2.0), low + high)


@cell
def needed(condition):
    """Whether a warp has work; in the simulator, whose shuffles are barriers of the block, always."""
    return condition


@needed.variant("simulator")
def _simulated_needed(condition):
    return True


SCOPE: dict[str, Any] = {
    "np": np, "cuda": cuda, "real": real, "word": word, "flat_load": flat_load, "flat_store": flat_store,
    "copy_ahead": copy_ahead, "copies_arrived": copies_arrived, "copies_arrived_but_last": copies_arrived_but_last,
    "copies_in_group": copies_in_group, "whatever": whatever, "over_mean": over_mean, "needed": needed,
    "from_lane_above": from_lane_above, "from_lane_below": from_lane_below, "corrective_flux": corrective_flux,
    "cross_terms": cross_terms, "donor_flux": donor_flux, "flows": flows, "limiter": limiter, "magnitude": magnitude,
    "crossed_velocity": crossed_velocity, "share_of": share_of, "larger": larger, "smaller": smaller,
    "reciprocal": reciprocal,
}  # fmt: skip
LAST = ("P_LAST", "UP_LAST", "DOWN_LAST")  # are the first rows where a thread has one
PLANES = ("P_FIRST", "DX", "DZ", "A2", "UP_FIRST", "DOWN_FIRST", *LAST, "BX", "BZ")
SHARED_PLANES = ("S1", "S3", "HS")


class Block(NamedTuple):
    """A block: fields, warps, rows and columns a thread, planes that copies are ahead, registers, blocks at once."""

    fields: int
    warps: int
    rows: int
    columns: int
    ahead: int
    registers: int
    blocks: int

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return LANES * self.columns

    @property
    def ring(self) -> int:
        """Planes that are on chip or on their way; as many are written out, so that each has its place."""
        return self.ahead + 1

    @property
    def height(self) -> int:
        """Rows of a tile."""
        return self.warps * self.rows


class Kind(NamedTuple):
    """What a kernel is for: `Options`, whether h is an array, and whether sides are other than rings, or open."""

    gauge: bool
    limited: bool
    variable: bool
    mirrored: bool
    opened: bool


def _places(block: Block, kind: Kind) -> tuple[dict[str, int], int]:
    """Rows that warps publish and what is brought: where they lie in shared memory; words of all."""
    without = (*(("BX", "BZ") if kind.gauge else ()), *(LAST if block.rows == 1 else ()))
    own = [name for name in PLANES if name not in without]
    places = {name: n for names in (own, SHARED_PLANES) for n, name in enumerate(names)}
    if block.rows == 1:
        places |= {name: places[name.replace("LAST", "FIRST")] for name in LAST}
    brought = {name: block.ring * (block.fields + n) for n, name in enumerate(("V1", "V2", "V3", "H"))}
    plane, raw = (block.warps + 2) * block.width, (block.height + 2) * block.width
    published = (block.fields * len(own) + len(SHARED_PLANES)) * plane
    sizes = {"OWN": len(own), "PLANE": plane, "RAW": raw, "BEHIND": published}
    return places | brought | sizes, published + block.ring * (block.fields + 3 + kind.variable) * raw


@cache
def entry_of(block: Block, kind: Kind) -> tuple[Entry, int]:
    """The kernel, and words of shared memory a block."""
    places, words = _places(block, kind)
    counts = {
        "FIELDS": block.fields, "ROWS": block.rows, "COLUMNS": block.columns, "AHEAD": block.ahead, "RING": block.ring,
        "WIDTH": block.width, "HEIGHT": block.height, "EDGE": EDGE, "LANES": LANES,
        "GAUGE": kind.gauge, "LIMITED": kind.limited, "VARIABLE_H": kind.variable, "MIRRORED": kind.mirrored,
        "OPEN": kind.opened,
    }  # fmt: skip
    text = unrolled(TEXT, counts | places)
    made: Any = written(text, SCOPE)
    entry = Entry(made.function)
    entry.source = text
    return entry, words
