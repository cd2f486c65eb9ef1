"""Tables and figures of Rojek et al. (2015).

K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture, Concurrency Computat.:
Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eagre.reproduce.registry import COUNTERS, PENDING, Item, Run, without_lines
from eagre.reproduce.verdicts import Line, exact, explained, holds, misprint, not_run
from eagre.tuning.block_size import choose_block
from eagre.tuning.occupancy import KEPLER, KIB
from eagre.tuning.roofline import Routine
from eagre.tuning.scenarios import MPDATA, cost, fused
from eagre.tuning.transactions import tile, tiles

PLANE = (392, 256)
KERNELS = {"B and C": ((6, 128), 768, 47 * KIB), "BC": ((4, 64), 256, 24 * KIB)}
"""Tile, threads per block, and bytes of shared memory with which as many blocks are resident as the paper states."""


def transactions(threads: int) -> Callable[[Run], Iterator[Line]]:
    """Return the function of a table of the cheapest tiles of at most `threads` threads."""

    def lines(run: Run) -> Iterator[Line]:
        names = list(dict.fromkeys(number.row for number in run.numbers()))
        for name, best in zip(names, tiles(PLANE, threads), strict=False):
            rank = run.derived(name, "tile", name)
            yield exact(rank, f"{best.rows}x{best.columns}", "same rank")
            values = (best.blocks, best.each, best.total, 100.0 * best.overhead)
            columns = ("blocks a tile", "transactions a block", "transactions a tile", "overhead")
            for column, value in zip(columns, values, strict=True):
                yield exact(run.number(name, column), value)

    return lines


def table_v(run: Run) -> Iterator[Line]:
    """Compare the cost of kernels B and C with the cost of the fused kernel."""
    _, b, c, *others = MPDATA
    arrays = {"B and C": b.accesses + c.accesses, "BC": fused([b, c], others).accesses}
    values: dict[str, list[float]] = {"occupancy": [], "overhead": [], "matrices": [], "total cost": []}
    for kernel, (shape, threads, shared) in KERNELS.items():
        overhead = tile(*shape, PLANE).overhead
        costs = (KEPLER.occupancy(threads, shared=shared), overhead, arrays[kernel], cost(arrays[kernel], overhead))
        for (row, known), value in zip(values.items(), costs, strict=True):
            known.append(value)
            yield exact(run.number(row, kernel), value)
    for row, (apart, together) in values.items():
        ratio = run.number(row, "ratio")
        yield misprint(ratio, apart / together, "1.875") if row == "matrices" else exact(ratio, apart / together)


def figure_4(run: Run) -> Iterator[Line]:
    """Compare the occupancy; stalls and fractions of time need a profiler."""
    printed = run.derived("kernels B and C", "occupancy", run.paper.number("table-V", "occupancy", "B and C").text)
    _, threads, shared = KERNELS["B and C"]
    yield exact(printed, KEPLER.occupancy(threads, shared=shared))
    for number in run.numbers():
        yield not_run(number, COUNTERS)


def intensities(run: Run) -> Iterator[Line]:
    """Compare operations per byte and their gains with the quotients of the printed operations and bytes."""
    computed: dict[str, Routine] = {}
    for number in run.numbers(column="Q"):
        operations, size = (run.paper.value(run.item, number.row, column) for column in ("operations", "bytes"))
        computed[number.row] = Routine(number.row, operations, size)
        yield exact(number, computed[number.row].intensity)
    for number in run.numbers(column="gain"):
        original = computed[number.row.replace("optimised", "unoptimised")]
        yield exact(number, 100.0 * computed[number.row].intensity / original.intensity)


def table_ix(run: Run) -> Iterator[Line]:
    """Compare the blocks of Algorithm 3; the speeds need a GPU."""
    equal = 0
    cubes = list(dict.fromkeys(number.row for number in run.numbers()))
    for name in cubes:
        printed = "x".join(run.number(name, f"{axis} dynamic").text for axis in "XY")
        chosen = choose_block(KEPLER, (int(name), int(name)))
        computed = f"{chosen.columns}x{chosen.rows}"
        equal += computed == printed
        note = "registers and shared memory per thread are not printed; 32 registers and none assumed"
        full = chosen.threads * (KEPLER.threads // chosen.threads) == KEPLER.threads
        yield explained(run.derived(name, "dynamic block", printed), computed, passed=full, note=note)
    note = f"{len(cubes)} blocks are printed"
    yield explained(run.derived("all cubes", "equal blocks", str(len(cubes))), equal, 2, 2, note=note)
    for name in cubes:
        best, dynamic = (run.number(name, column) for column in ("speed", "speed dynamic"))
        ratio = 100.0 * run.paper.value(run.item, name, "speed dynamic") / run.paper.value(run.item, name, "speed")
        printed = run.derived(name, "dynamic over best speed", "90", "%", "the text: 90 % at least")
        yield holds(printed, ratio, 90.0, 100.0, note="quotient of printed speeds")
        yield from (not_run(number, PENDING) for number in (best, dynamic))


ITEMS = (
    Item("table-III", "Tiles of kernels B and C", transactions(768)),
    Item("table-IV", "Tiles of the fused kernel BC", transactions(256)),
    Item("table-V", "Cost of kernels B and C, and of the fused kernel", table_v),
    Item("figure-4", "Profile of kernels B and C", figure_4),
    Item("table-VIII", "Operations per byte of GCR before optimisation", intensities),
    Item("table-X", "Operations per byte of GCR", intensities),
    Item("table-IX", "Blocks of a Laplacian chosen at run time", table_ix),
    *without_lines(
        PENDING,
        {
            "table-I": "Memory bandwidth",
            "table-II": "Copies hidden behind the computation",
            "table-VI": "Speed of kernels B and C, and of the fused kernel",
            "table-VII": "Run times of MPDATA",
            "figure-12": "Speed of GCR",
            "table-XI": "Differences of the vorticity between CPU and GPU",
            "section-7": "Mean vorticity",
        },
    ),
)
