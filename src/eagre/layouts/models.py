"""Parameters of the models."""

from __future__ import annotations

from typing import Any

from eagre.layouts.facts import MOST_THREADS, STATIC_SHARED, WARP, Facts
from eagre.layouts.kinds import PRECISIONS, by_precision, descending, flag, named, number, some, whole
from eagre.layouts.parameter import Parameter, by_multiprocessors
from eagre.layouts.solvers import ITEMSIZE, REGISTERS, THREADS, registers_of_warps, shared_of_columns

STEPS = whole(1, 10**6)
MOST_ROWS = 128  # of a block along y: as many padded rows lie behind the last one of a field


def warps_for_latency(card: Facts, value: int, on: Facts) -> int:
    """As many as measured, but no more than the card holds at once."""
    return min(value, card.most_warps)


EXPLICIT = (
    Parameter(
        "shallow-water.march.registers", by_precision(named(first=REGISTERS, second=REGISTERS)), "registers a thread",
        True, "Of the first and the second stage.",
    ),
    Parameter(
        "shallow-water.march.rows", by_precision(number(0.05, 50.0)), "rows", False,
        "Of a strip that a warp marches over, where a multiprocessor has one row of a strip; in proportion to the root "
        "of how many it has, to the nearest power of two.",
    ),
    Parameter("shallow-water.march.longest", whole(2, 4096, 2), "rows", False, "No march is longer."),
    Parameter("shallow-water.march.shortest", whole(2, 4096, 2), "rows", False, "None is shorter."),
    Parameter(
        "shallow-water.march.early_cells", whole(0, 2**40), "cells", True,
        "Up to here a stage may start before the last one has ended; on larger grids it would take others' place.",
        by_multiprocessors,
    ),
    Parameter(
        "shallow-water.march.listed", whole(1, 1024), "blocks a multiprocessor", True,
        "That take the tiles of a list in turn.",
    ),
    Parameter(
        "shallow-water.sweeps.registers", by_precision(named(x=REGISTERS, y=REGISTERS)), "registers a thread", True,
        "Of a stage along x and along y.",
    ),
    Parameter(
        "shallow-water.sweeps.longest", whole(2, 4096, 2), "rows", False,
        "Of a strip that a warp marches over in a stage along one axis, if there are warps enough.",
    ),
    Parameter("shallow-water.sweeps.shortest", whole(2, 4096, 2), "rows", False, "If there are not."),
    Parameter(
        "shallow-water.sweeps.full", whole(1, 64), "warps a multiprocessor", False,
        "So many keep a card busy: strips are halved until there are as many.", warps_for_latency,
    ),
    Parameter("shallow-water.tiles.registers", by_precision(REGISTERS), "registers a thread", True, "Of both stages."),
    Parameter(
        "shallow-water.tiles.most", whole(0, 64), "tiles a multiprocessor", False,
        "Grids of so many of the tallest tiles or fewer are stepped in tiles, larger ones march.",
    ),
    Parameter(
        "shallow-water.tiles.enough_warps", whole(1, 64), "warps a multiprocessor", True,
        "Tiles are not made smaller to leave the busiest multiprocessor fewer than these.",
    ),
    Parameter("shallow-water.boundary.threads", THREADS, "threads a block", True, "Of the pass over the boundary."),
    Parameter("shallow-water.balance.threads", THREADS, "threads a block", True, "Of what keeps the balance of water."),
    Parameter(
        "shallow-water.steps.launches", whole(1, 10**5), "launches", True, "Of a CUDA graph of many rounds, about.",
    ),
    Parameter(
        "shallow-water.steps.own_graph", whole(1, 1024), "rounds", True,
        "Up to here every number of rounds has a graph of its own.",
    ),
    Parameter("shallow-water.steps.look", STEPS, "steps", True, "Between two looks at the state."),
)  # fmt: skip

BAROTROPIC = (
    Parameter(
        "barotropic.steps.graphs", descending(whole(2, 10**4, 2), 2), "steps", True,
        "Of CUDA graphs that are replayed; shorter legs take the shorter ones.",
    ),
    Parameter("barotropic.steps.look", STEPS, "steps", True, "Between two looks at the state."),
)  # fmt: skip


def _fitted(block: dict[str, int], card: Facts, itemsize: int) -> dict[str, int]:
    """A block with as many rows a thread as measured, or as the card allows."""
    rows = block["rows"]
    while rows > 1 and _problem_of_block({**block, "rows": rows}, card, itemsize):
        rows -= 1
    return {**block, "rows": rows}


def block_that_fits(card: Facts, value: dict[str, int], on: Facts) -> dict[str, int]:
    """As measured, with as many rows a thread as a block's shared memory holds in double precision."""
    return _fitted(value, card, 8)


def heavy_that_fits(card: Facts, value: dict[str, Any], on: Facts) -> dict[str, Any]:
    """As measured, with as many rows a thread as a block's shared memory holds."""
    return {**value, "block": _fitted(value["block"], card, 8)}


def blocks_that_fit(card: Facts, value: dict[str, list[dict[str, int]]], on: Facts) -> dict[str, list[dict[str, int]]]:
    """As measured, with as many rows a thread as a block's shared memory holds."""
    return {name: [_fitted(block, card, ITEMSIZE[name]) for block in blocks] for name, blocks in value.items()}


def _problem_of_block(block: dict[str, int], card: Facts, itemsize: int = 8) -> str:
    """Of a block of columns that keeps three words a row."""
    if block["rows"] * block["threads"] > MOST_ROWS:
        return f"{block['rows']} rows x {block['threads']} threads, where a block has {MOST_ROWS} rows at most"
    shared = shared_of_columns(block["rows"], block["threads"], itemsize, WARP, 3)
    fits = shared + STATIC_SHARED <= card.shared_block
    return "" if fits else f"{block['rows']} rows x {block['threads']} threads: {shared} bytes of shared memory"


def _blocks_fit(value: dict[str, Any], card: Facts) -> str:
    problems = (_problem_of_block(block, card, ITEMSIZE[name]) for name in PRECISIONS for block in value[name])
    return next(filter(None, problems), "")


def words_that_fit(card: Facts, value: dict[str, int], on: Facts) -> dict[str, int]:
    """As measured; three where four words of the usual block do not fit a block's shared memory."""
    room = card.shared_block - STATIC_SHARED
    return {
        name: words if shared_of_columns(8, 16, ITEMSIZE[name], WARP, words) <= room else 3
        for name, words in value.items()
    }


_BLOCK = named(rows=whole(1, 64), threads=whole(2, 32))
IMPLICIT = (
    Parameter(
        "shallow-water-adi.x.registers", by_precision(REGISTERS), "registers a thread", True, "Of the sweep along x.",
    ),
    Parameter(
        "shallow-water-adi.x.ahead",
        named(warps=whole(1, MOST_THREADS // WARP), registers=REGISTERS, cost=number(0.1, 10.0)),
        "warps a block, registers a thread, relative time of a cell", False,
        "In double precision: blocks of so many warps load a row while the one before is joined.",
    ),
    Parameter(
        "shallow-water-adi.x.waiting", named(alone=number(0.0, 10.0), few=number(0.0, 2.0)), "relative time", False,
        "What a block loses at its barriers: over the number of blocks of a multiprocessor, and the power of the part "
        "of its warps that are there. With it the number of warps is chosen.",
    ),
    Parameter(
        "shallow-water-adi.run.usual", whole(1, 4096), "rows a block", True, "Of the sweep along x.",
    ),
    Parameter(
        "shallow-water-adi.run.longest", whole(1, 4096), "rows a block", True,
        "Where cells have much to compute: of long runs some end late.",
    ),
    Parameter(
        "shallow-water-adi.run.gain", number(0.0, 1.0), "part of the time", True,
        "What another number of rows than the usual must promise.",
    ),
    Parameter(
        "shallow-water-adi.run.start", number(0.0, 100.0), "rows", True, "So many take as long as a block to start.",
    ),
    Parameter(
        "shallow-water-adi.run.waves", whole(1, 64), "waves of blocks", True, "Up to so many whole waves are tried.",
    ),
    Parameter(
        "shallow-water-adi.y.blocks", by_precision(some(_BLOCK)), "rows a thread, threads a column", False,
        "Of the sweep along y: the first block that holds a whole column, or the rows that the coupling reaches over.",
        blocks_that_fit, _blocks_fit,
    ),
    Parameter(
        "shallow-water-adi.y.heavy", named(block=_BLOCK, registers=REGISTERS), "block, registers a thread", False,
        "Of the sweep along y in double precision where cells dry or dissipate, and so have much to compute.",
        heavy_that_fits, lambda value, card: _problem_of_block(value["block"], card),
    ),
    Parameter(
        "shallow-water-adi.y.exact", _BLOCK, "rows a thread, threads a column", False,
        "Where none does: blocks that are joined exactly, in two passes.", block_that_fits, _problem_of_block,
    ),
    Parameter(
        "shallow-water-adi.y.kept", by_precision(whole(3, 4)), "words a row", True,
        "Of a row of the system, in shared memory; of three, the fourth waits in the new surface.", words_that_fit,
    ),
    Parameter(
        "shallow-water-adi.y.registers", by_precision(REGISTERS), "registers a thread", True, "Of the sweep along y.",
    ),
    Parameter(
        "shallow-water-adi.y.prefetch", by_precision(flag()), "", True, "Whether a block asks for all its rows first.",
    ),
    Parameter(
        "shallow-water-adi.y.row_bytes", whole(128, 2**16), "bytes", True,
        "Of a row that blocks side by side read at the same time.",
    ),
    Parameter(
        "shallow-water-adi.small.cells", whole(0, 10**9), "cells", False,
        "Up to here launches and waiting cost more than memory, and blocks along y are smaller.", by_multiprocessors,
    ),
    Parameter(
        "shallow-water-adi.small.registers", by_precision(named(x=REGISTERS, y=REGISTERS)), "registers a thread", True,
        "Of the sweeps there.",
    ),
    Parameter(
        "shallow-water-adi.small.alone", named(faces=whole(0, 256), rows=whole(1, 8), columns=whole(1, 32)),
        "faces, rows a thread, columns a block", False,
        "There, in double precision, columns of up to so many faces lie whole in a block (the number of its columns "
        "changes no bits).",
    ),
    Parameter(
        "shallow-water-adi.small.joined", named(reach=whole(0, 128), rows=whole(1, 8), bytes=whole(8, 256, 8)),
        "rows, rows a thread, bytes of a row of a block", False,
        "There, where the coupling reaches over no more rows than this, blocks have few rows a thread (the number of "
        "bytes changes no bits).",
        fits=lambda value, card: "" if value["reach"] + 8 * value["rows"] <= MOST_ROWS else "blocks of too many rows",
    ),
    Parameter("shallow-water-adi.balance.threads", THREADS, "threads a block", True, "Of what books open sides."),
    Parameter(
        "shallow-water-adi.steps.graph", whole(2, 1024), "steps", True,
        "Steps of a CUDA graph, whose series are looked up at once.",
    ),
    Parameter(
        "shallow-water-adi.steps.look", STEPS, "steps", True,
        "Between two looks at the state (after which, where coupling was lost, lines are joined exactly).",
    ),
)  # fmt: skip

WAVES = (
    Parameter(
        "potential-waves.columns.registers", by_precision(REGISTERS), "registers a thread", True,
        "Of the residual: with more, fewer columns hide the latency of memory.", registers_of_warps,
    ),
)  # fmt: skip

CPU = (
    Parameter(
        "cpu.programs.threads", whole(0, 4096), "threads", True,
        "That `eagre run` takes where neither `--threads` nor NUMBA_NUM_THREADS says it; 0: all.",
    ),
    Parameter(
        "cpu.shallow-water.rows", whole(8, 4096), "rows", False,
        "Of a tile that a thread marches over, at most; a grid has a dozen tiles at least.",
    ),
    Parameter(
        "cpu.barotropic.pieces", whole(1, 4096), "pieces", True,
        "Of the rows of a field, at most, that threads take in turn in the update.",
    ),
)  # fmt: skip

MODELS = (*EXPLICIT, *BAROTROPIC, *IMPLICIT, *WAVES, *CPU)
