"""Tables and figures of Aackermann and Dinesen Pedersen (2012).

P. E. Aackermann and P. J. Dinesen Pedersen, Development of a GPU-accelerated MIKE 21 solver for water wave dynamics,
MSc thesis, DTU (2012).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from eagre.papers import Number
from eagre.reproduce.registry import COUNTERS, PENDING, Item, Run, without_lines
from eagre.reproduce.verdicts import Line, compared, exact, explained, holds, not_run

UNKNOWNS, PARALLEL_FROM = 512, 256
MEMORY = 1536 * 2**20  # bytes of the GTX 590
WORD = {"single": 4, "double": 8}
WORDS = {"S1N": (19, 47, 20), "S14": (15, 43, 26)}
"""Values in memory for n cells per side by version, as coefficients of n^2, n and 1."""


class Divided(np.ndarray):
    """Array that counts its divisions."""

    divisions = 0

    def __truediv__(self, other: Any) -> Any:
        """Divide and count."""
        Divided.divisions += 1
        return super().__truediv__(other)


def formula_value(text: str, n: int, m: int) -> float:
    """Return the value of a printed formula such as ``17 (n - m) + 12 m log2(m)``."""
    product = re.sub(r"(?<=[\dnm])\s*(?=[nml(])(?<!log2)", "*", text)
    return float(eval(product, {"__builtins__": {}}, {"n": n, "m": m, "log2": math.log2}))


def table_5_1(run: Run) -> Iterator[Line]:
    """Count the operations and steps of the reduction methods for 512 unknowns, combined from 256 unknowns on."""
    rows = {"PCR": UNKNOWNS, "CR": 1, "CR-PCR": PARALLEL_FROM}
    for number in run.numbers():
        value = formula_value(number.text, UNKNOWNS, PARALLEL_FROM)
        printed = run.derived(number.row, f"{number.column}, n {UNKNOWNS}, m {PARALLEL_FROM}", f"{value:.0f}")
        if number.row not in rows:
            yield not_run(printed, "counts the rows of both sweeps of the Thomas algorithm: a definition")
        elif number.column == "operations":
            operations = counted_operations(rows[number.row])
            yield holds(printed, operations, 0.85 * value, 1.01 * value, note="fewer at the ends of the system")
        elif number.row == "PCR":
            yield exact(printed, counted_steps(rows[number.row]))
        else:
            note = "the paper solves the last two rows in one step, Eagre reduces to one row"
            yield explained(printed, counted_steps(rows[number.row]), value + 1, value + 1, note=note)


def counted_operations(parallel_from: int) -> int:
    """Return the number of floating-point operations of a solve by reduction, changes of sign not counted."""
    from eagre.solvers.tridiagonal.reduction import reduce_arrays
    from eagre.tuning.roofline import operations_of

    return operations_of(lambda a, b, c, d: reduce_arrays(a, b, c, d, parallel_from), *_system())


def counted_steps(parallel_from: int) -> int:
    """Return the number of steps of a solve by reduction.

    A step of the parallel reduction has two divisions of arrays, a level of the cyclic reduction two when it eliminates
    and one when it substitutes; one division completes the solve.
    """
    from eagre.solvers.tridiagonal.reduction import reduce_arrays

    def divisions(n: int, rows: int) -> int:
        Divided.divisions = 0
        a, b, c, d = (one.view(Divided) for one in _system(n))
        reduce_arrays(a, b, c, d, rows)
        return Divided.divisions - 1

    parallel = divisions(parallel_from, parallel_from)
    levels = (divisions(UNKNOWNS, parallel_from) - parallel) // 3
    return 2 * levels + parallel // 2


def _system(n: int = UNKNOWNS) -> tuple[np.ndarray, ...]:
    """Return the diagonals and the right-hand side of a diagonally dominant system, each (1, n, 1)."""
    a, b, c, d = (np.full((1, n, 1), value) for value in (-1.0, 4.0, -1.0, 1.0))
    a[:, 0] = c[:, -1] = 0.0
    return a, b, c, d


def section_8_2_5(run: Run) -> Iterator[Line]:
    """Compare the largest grids in 1536 MiB with the formulas of the paper, and with the arrays of Eagre."""
    from eagre.models.shallow_water_adi.layout import DEVICE_WORDS

    for number in run.numbers():
        *_, version, precision = number.row.split(" ")
        side, printed = max_side(WORDS[version], WORD[precision]), float(number.value)
        yield holds(number, side, printed, printed + 1, note="printed as approximate: at most one less than the root")
    for precision, width in WORD.items():
        number = Number(run.item, f"Eagre {precision}", "cells a side", "", "1")
        yield compared(number, max_side((DEVICE_WORDS, 0, 0), width), f"{DEVICE_WORDS} values in memory per cell")


def max_side(coefficients: tuple[int, int, int], width: int) -> int:
    """Return the largest number of cells per side that fit `MEMORY`, for values of `width` bytes."""
    a, b, c = coefficients
    start = math.isqrt(MEMORY // (width * a)) + 1
    return next(n for n in count(start, -1) if width * (a * n * n + b * n + c) <= MEMORY)


ITEMS = (
    Item("table-5.1", "Operations and steps of tridiagonal solvers", table_5_1, seconds=1.0),
    Item("section-8.2.5", "Largest grid in 1536 MiB", section_8_2_5),
    *without_lines(
        PENDING,
        {
            "table-6.1": "Run times of MIKE 21 HD and of the C implementation",
            "figure-6.3": "Fraction of time of building the rows, MIKE 21 HD",
            "figure-6.4": "Run times of the parts of the C implementation",
            "figure-6.5": "Order of accuracy",
            "table-7.2": "Rate of multiply-adds in single and double precision",
            "table-8.1": "Copies between host and GPU",
            "table-8.3": "Transpose",
            "table-8.4": "Speedup of S1N and S1N2",
            "table-8.8": "Speedup of S12",
            "table-8.11": "Speedup of S13",
            "table-8.13": "Speedup of S14",
            "table-8.16": "Speedup of S2N and S22",
            "table-8.18": "Speedup of S23",
            "table-8.22": "Speedup of S24",
            "table-8.23": "Parallel cyclic reduction: memory metrics",
            "table-8.24": "Combined reduction: memory metrics",
            "table-8.25": "Speedup of the solvers with shared memory",
            "figure-9.1": "Threads per block",
            "figure-9.3": "Speedup of S1, double precision",
            "figure-9.4": "Bandwidth of S1, double precision",
            "figure-9.5": "Run time by grid size",
            "figure-9.6": "Speedup of S2, double precision",
            "figure-9.7": "Bandwidth of S2, double precision",
            "figure-9.9": "Smallest speedup of the better method",
            "figure-9.10": "Speedup in single precision",
            "figure-9.11": "Bandwidth in single precision",
            "section-9.4": "Error of single precision",
        },
    ),
    *without_lines(
        COUNTERS,
        {
            "table-7.1": "Counters of S1N, single precision",
            "table-8.2": "Kernels of S1N",
            "table-8.5": "Kernels of S12",
            "table-8.6": "Kernels of S12 without L1 cache",
            "table-8.7": "Kernels of S12 with 48 kB of L1 cache",
            "table-8.9": "Kernels of S12 by the profiler",
            "table-8.10": "Kernels of S12 and S13",
            "table-8.12": "Local memory of S13",
            "table-8.14": "Kernels of S2N",
            "table-8.15": "Kernels of S22",
            "table-8.17": "Kernels of S23",
            "table-8.20": "Kernels of S24",
            "table-8.21": "Instructions of S23 and S24",
            "table-9.1": "Local memory of S24",
        },
    ),
    *without_lines(
        "current GPUs have no switch for 48 kB or none of the L1 cache", {"table-8.19": "S24 with other L1 caches"}
    ),
)
