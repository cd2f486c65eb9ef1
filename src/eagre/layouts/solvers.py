"""Parameters of programs in general and of the solvers."""

from __future__ import annotations

from math import prod

from eagre.layouts.facts import MOST_REGISTERS, MOST_THREADS, MOST_WARPS, STATIC_SHARED, Facts
from eagre.layouts.kinds import PRECISIONS, by_precision, listed, named, rising, some, whole
from eagre.layouts.parameter import Parameter, by_multiprocessors

THREADS = whole(32, MOST_THREADS, 32)
REGISTERS = whole(16, MOST_REGISTERS)
COLUMN_THREADS = 8  # of a column of strided systems, as measured: what `rows` must leave room for
ITEMSIZE = {"single": 4, "double": 8}
SECTOR = {"single": 8, "double": 4}  # values of 32 bytes, the least that memory moves


def registers_of_warps(card: Facts, value: dict[str, int], on: Facts) -> dict[str, int]:
    """So that as many warps fit a multiprocessor as on the measured card: that many hide the latency of memory."""
    return {name: min(card.registers_for(on.warps_for(registers)), 248) for name, registers in value.items()}


def few_systems(card: Facts, value: int, on: Facts) -> int:
    """As many as measured for each multiprocessor, a multiple of 32."""
    return max(32, by_multiprocessors(card, value, on) // 32 * 32)


def shared_of_block(card: Facts, value: int, on: Facts) -> int:
    """What a block of the card may have, a multiple of 16 KiB."""
    return card.shared_block // 16384 * 16384


def shared_of_columns(rows: int, threads: int, itemsize: int, width: int = 32, kinds: int = 4) -> int:
    """Shared memory of a block of columns in pieces (`eagre.solvers.tridiagonal.columns.shared_bytes`), bytes."""
    return ((kinds * rows + 3) * threads + 2) * width * itemsize


def rows_that_fit(card: Facts, value: int, on: Facts) -> int:
    """As measured, or as many as a block's shared memory holds in double precision."""
    room = card.shared_block - STATIC_SHARED
    return next(rows for rows in range(value, 0, -1) if shared_of_columns(rows, COLUMN_THREADS, 8) <= room)


def fields_beyond_cache(card: Facts, value: int, on: Facts) -> int:
    """The power of two from which six fields of double precision no longer fit the second-level cache."""
    return 1 << max(6, int((card.l2 / 48.0) ** 0.5).bit_length() - 1)


def threads_of_columns(cut: dict[str, int], precision: str, rows: int) -> int:
    """Threads of a block that holds `rows` rows of as many wavenumbers as a sector has."""
    return -(-(-(-rows // cut["own"]) * SECTOR[precision]) // 32) * 32


def cuts_that_fit(card: Facts, value: dict[str, list[dict[str, int]]], on: Facts) -> dict[str, list[dict[str, int]]]:
    """As measured where registers allow it; else with as many registers as there are."""
    found: dict[str, list[dict[str, int]]] = {}
    for precision, cuts in value.items():
        found[precision] = []
        for cut in cuts:
            if _problem_of_cut(cut, precision, card):
                warps = threads_of_columns(cut, precision, cut["up_to"] - 1) // 32
                cut = {**cut, "registers": min(128, card.registers_for(warps))}
            if not _problem_of_cut(cut, precision, card):
                found[precision].append(cut)
    return found


def _problem_of_cut(cut: dict[str, int], precision: str, card: Facts) -> str:
    threads = threads_of_columns(cut, precision, cut["up_to"] - 1)
    fits = card.fits(threads, cut["registers"], STATIC_SHARED)
    return "" if fits else f"blocks of {threads} threads and {cut['registers']} registers"


def _cuts_fit(value: dict[str, list[dict[str, int]]], card: Facts) -> str:
    problems = (_problem_of_cut(cut, precision, card) for precision in PRECISIONS for cut in value[precision])
    return next(filter(None, problems), "")


def _reduction_fits(value: int, card: Facts) -> str:
    return "" if value <= card.registers_for(MOST_THREADS // 32) else f"{value} registers in blocks of 1024 threads"


def _shared_fits(value: int, card: Facts) -> str:
    return "" if value <= card.shared_block else f"{value} bytes of shared memory a block"


PROGRAMS = (
    Parameter(
        "programs.registers", by_precision(REGISTERS), "registers a thread", True,
        "Of kernels that set no limit of their own.", registers_of_warps,
    ),
    *(
        Parameter(
            f"programs.loop.{name}", listed(*[whole(1, MOST_THREADS)] * sizes), f"threads along {axes}", True,
            f"A block of a loop over a {name} of points.",
            fits=lambda value, card: "" if prod(value) <= MOST_THREADS else f"{prod(value)} threads a block",
        )
        for name, sizes, axes in (("line", 1, "x"), ("plane", 2, "x, y"), ("volume", 3, "x, y, z"))
    ),
    Parameter(
        "programs.copies.long", whole(1, 2**31), "elements", True,
        "Copies between cards of so many elements or more are made by blocks of `threads` threads.",
    ),
    Parameter("programs.copies.threads", THREADS, "threads a block", True, "Of such copies."),
)  # fmt: skip

TRIDIAGONAL = (
    Parameter(
        "solver:tridiagonal.choice.few", whole(1, 10**6), "systems", False,
        "Up to here a reduction serves contiguous systems of up to `longest_of_few` rows.", few_systems,
    ),
    Parameter(
        "solver:tridiagonal.choice.some", whole(1, 10**6), "systems", False,
        "Up to here a reduction serves at all; more fill the card with pieces.", few_systems,
    ),
    Parameter(
        "solver:tridiagonal.choice.longest_of_few", whole(128, 2**20), "rows", False,
        "Of contiguous systems that a reduction solves where they are few.",
    ),
    Parameter(
        "solver:tridiagonal.choice.longest", whole(128, 2**20), "rows", False,
        "Of systems that a reduction solves where they are some; strided ones in double precision only.",
    ),
    Parameter(
        "solver:tridiagonal.choice.longest_padded", whole(64, 2**20), "rows", False,
        "Strided systems shorter than this, and no power of two, are reduced in both ways one after the other.",
    ),
    Parameter(
        "solver:tridiagonal.columns.rows", whole(1, 64), "rows a thread", False,
        "Of strided systems in pieces.", rows_that_fit,
        lambda value, card: _shared_fits(shared_of_columns(value, COLUMN_THREADS, 8), card),
    ),
    Parameter(
        "solver:tridiagonal.columns.threads", whole(1, 32), "threads a column in a block", False,
        "Of strided systems in pieces; a block has 32 columns.",
    ),
    Parameter(
        "solver:tridiagonal.columns.registers", by_precision(REGISTERS), "registers a thread", True,
        "Of strided systems in pieces.",
    ),
    Parameter(
        "solver:tridiagonal.lines.warps", whole(1, 32), "warps a block", False,
        "Of contiguous systems in pieces: a warp has 128 rows, a block this many of them at most.",
    ),
    Parameter(
        "solver:tridiagonal.lines.registers", by_precision(REGISTERS), "registers a thread", True,
        "Of contiguous systems in pieces.",
    ),
    Parameter(
        "solver:tridiagonal.exact.blocks", whole(1, 2**20), "blocks", True,
        "Among which the exact passes deal their work: few start quickly where nothing is to be done.",
        by_multiprocessors,
    ),
    Parameter(
        "solver:tridiagonal.seams.threads", THREADS, "threads a block", True, "Of the systems between pieces.",
    ),
    Parameter(
        "solver:tridiagonal.thomas.threads", THREADS, "threads a block", True, "Of elimination with a thread a system.",
    ),
    Parameter(
        "solver:tridiagonal.reduction.threads", whole(1, MOST_THREADS), "threads a block", True,
        "Of reductions, at most.",
    ),
    Parameter(
        "solver:tridiagonal.reduction.registers", REGISTERS, "registers a thread", True, "Of reductions.",
        fits=_reduction_fits,
    ),
    Parameter(
        "solver:tridiagonal.reduction.shared", whole(1024, 2**20), "bytes a block", False,
        "Shared memory of a block of reductions, at most: longer systems are solved otherwise.",
        shared_of_block, _shared_fits,
    ),
    Parameter(
        "solver:tridiagonal.reduction.side_by_side", whole(1, 16), "blocks a multiprocessor", True,
        "As long as so many fit, a block takes systems that lie side by side.",
    ),
)  # fmt: skip

_BY_LENGTH = rising(up_to=whole(2, 2**20), registers=REGISTERS)
POISSON = (
    Parameter(
        "solver:poisson.transform.registers", by_precision(_BY_LENGTH), "registers a thread, by length", True,
        "Of kernels that transform rows; with too few their values spill to memory.",
    ),
    Parameter(
        "solver:poisson.transform.registers_of_update", by_precision(_BY_LENGTH), "registers a thread, by length", True,
        "Of the kernel that updates rows and transforms them.",
    ),
    Parameter(
        "solver:poisson.transform.threads", some(named(length=whole(16, 2**20), threads=whole(8, MOST_THREADS, 8)), 0),
        "threads a block, by length", True,
        "Lengths whose blocks have fewer threads than transforms in a pass, so that more blocks fit a multiprocessor.",
    ),
    Parameter(
        "solver:poisson.transform.threads_of_update",
        by_precision(some(named(intervals=whole(16, 2**20), threads=THREADS), 0)),
        "threads a block, by intervals", True,
        "Rows whose update takes a turn less with more threads than its transform needs.",
    ),
    Parameter(
        "solver:poisson.transform.short_rows", whole(0, 2**20), "intervals", True,
        "Up to here the update has threads for a whole row at once.",
    ),
    Parameter(
        "solver:poisson.transform.short_threads", THREADS, "threads a block", True,
        "But no more than these.",
    ),
    Parameter(
        "solver:poisson.tiles.wide_from", whole(2, 2**20), "intervals", True,
        "Rows from which tiles of the spectrum are two sectors of memory wide.", fields_beyond_cache,
    ),
    Parameter(
        "solver:poisson.tiles.side_by_side", whole(1, 2), "pieces", True,
        "Pieces of columns whose rows lie side by side in such tiles.",
    ),
    Parameter(
        "solver:poisson.columns.cuts",
        by_precision(rising(up_to=whole(2, 2**20), own=whole(1, 128), registers=REGISTERS)),
        "by intervals along y", False,
        "How a column is cut: rows a thread owns, registers a thread (these change no bits).",
        cuts_that_fit, _cuts_fit,
    ),
    Parameter(
        "solver:poisson.overlap.release", whole(1, 2), "1: at the start, 2: before the last stores", True,
        "When a kernel lets the next one start, on cards that can (compute capability 9.0 and later).",
    ),
    Parameter(
        "solver:poisson.seams.threads", THREADS, "threads a block", True, "Of what bands of several devices add.",
    ),
)  # fmt: skip

MULTIGRID = (
    Parameter(
        "solver:multigrid.march.warps", whole(1, 32), "warps a block", True, "Layers that march side by side.",
    ),
    Parameter(
        "solver:multigrid.march.rows", some(whole(2, 4096, 2), 1), "rows", True,
        "Of a march over a fine grid, the longest first: the first that leaves warps enough, or the last.",
    ),
    Parameter(
        "solver:multigrid.march.busy", whole(1, 64), "warps a multiprocessor", True, "So many keep a card busy.",
    ),
    Parameter(
        "solver:multigrid.march.registers", by_precision(REGISTERS), "registers a thread", True, "Of marches.",
        registers_of_warps,
    ),
    Parameter(
        "solver:multigrid.march.registers_of_pairs", REGISTERS, "registers a thread", True,
        "Of marches over two layers that share words.",
    ),
    Parameter(
        "solver:multigrid.block.registers", REGISTERS, "registers a thread", True,
        "Of the cycle on grids that fit a multiprocessor.", fits=_reduction_fits,
    ),
    Parameter(
        "solver:gcr.levels", whole(1, 4096), "levels", True,
        "Of a tile of columns that marches upwards, at most: of residuals, of the two kernels, of Courant numbers.",
    ),
    Parameter(
        "solver:gcr.busy", whole(1, 64), "blocks a multiprocessor", True, "With fewer, tiles have fewer levels.",
    ),
    Parameter(
        "solver:gcr.points", by_precision(whole(1, 4)), "points a thread", True,
        "Beside each other along a periodic x of a multiple of so many: 1, 2 or 4, 16 bytes at most.",
    ),
    Parameter(
        "solver:gcr.registers", by_precision(REGISTERS), "registers a thread", True, "Of the two kernels.",
        registers_of_warps,
    ),
    Parameter(
        "solver:gcr.faces", by_precision(REGISTERS), "registers a thread", True,
        "Of the kernel that makes the advector of the anelastic model.", registers_of_warps,
    ),
)  # fmt: skip


def shared_of_march(block: dict[str, int], itemsize: int) -> int:
    """Shared memory of a block of MPDATA's march (`eagre.advection.march_cuda`), bytes at most."""
    width, fields, words = 32 * block["columns"], block["fields"], 16 // itemsize
    ring, own = block["ahead"] + 2, 4 if block["rows"] == 1 else 5
    published = (fields * (own + 2 * 2) + 2 * 2) * (block["warps"] + 1) * width
    line = sum(-(-(most + words - 1) // words) * words for most in (width, 4))
    brought = ring * (fields + 4) * ((block["warps"] - max(1, 4 * block["lending"])) * block["rows"] + 2) * line
    return (published + brought + 4) * itemsize


def _without_lending(block: dict[str, int], card: Facts) -> dict[str, int]:
    """As many warps as computed, of which some copy, with the registers that they can all have."""
    warps = block["warps"] - 4 * block["lending"]
    return {**block, "warps": warps, "registers": min(MOST_REGISTERS, card.registers_for(warps)), "lending": 0}


def _problem_of_march(block: dict[str, int], precision: str, card: Facts) -> str:
    shared = shared_of_march(block, ITEMSIZE[precision])
    if card.compute_capability < (8, 0):  # where nothing is copied asynchronously there is no march
        return ""
    if block["lending"] and (
        card.compute_capability < (9, 0) or block["warps"] % 4 or block["warps"] <= 4 * block["lending"]
    ):
        return f"{block['lending']} groups of four of {block['warps']} warps that lend registers"
    fits = card.fits(32 * block["warps"], block["registers"], shared) and block["warps"] * block["rows"] > 8
    return "" if fits else f"blocks of {block['warps']} warps, {block['registers']} registers and {shared} bytes"


def marches_that_fit(card: Facts, value: dict[str, list[dict[str, int]]], on: Facts) -> dict[str, list[dict[str, int]]]:
    """As measured; with fewer warps where a block of the card has less shared memory, and none that lend before 9.0."""
    found: dict[str, list[dict[str, int]]] = {}
    for precision, blocks in value.items():
        found[precision] = []
        for block in blocks:
            block = _without_lending(block, card) if block["lending"] and card.compute_capability < (9, 0) else block
            step = 4 if block["lending"] else 1
            fewer = ({**block, "warps": warps} for warps in range(block["warps"], 0, -step))
            fitting = next((one for one in fewer if not _problem_of_march(one, precision, card)), None)
            if fitting is not None:
                shared = shared_of_march(fitting, ITEMSIZE[precision])
                at_once = card.blocks(32 * fitting["warps"], fitting["registers"], shared)
                found[precision].append({**fitting, "blocks": max(1, min(fitting["blocks"], at_once))})
    return found


def _marches_fit(value: dict[str, list[dict[str, int]]], card: Facts) -> str:
    problems = (_problem_of_march(block, precision, card) for precision in PRECISIONS for block in value[precision])
    return next(filter(None, problems), "")


MPDATA = (
    Parameter(
        "solver:mpdata.march.blocks",
        by_precision(
            rising(
                fields=whole(1, 4), warps=whole(1, MOST_WARPS), rows=whole(1, 4), columns=whole(1, 2),
                ahead=whole(1, 2), registers=REGISTERS, blocks=whole(1, 8), turns=whole(1, 3),
                lending=whole(0, 2), held=whole(0, 2),
            )
        ),
        "by fields advected together", False,
        "Warps a block, of which as few copy as have registers for it; rows and columns a thread, planes that copies "
        "to shared memory are ahead, registers a thread, blocks a multiprocessor, planes in the loop's text, groups of "
        "four warps that copy and lend their registers to the others (compute capability 9.0), how much stays in "
        "registers from plane to plane and is not loaded again.",
        marches_that_fit, _marches_fit,
    ),
)  # fmt: skip

SOLVERS = (*PROGRAMS, *TRIDIAGONAL, *POISSON, *MULTIGRID, *MPDATA)
