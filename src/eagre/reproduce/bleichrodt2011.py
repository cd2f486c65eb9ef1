"""Tables and figures of Bleichrodt (2011).

F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU, MSc thesis, Utrecht
University (2011).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.papers import Number
from eagre.reproduce.registry import PENDING, Item, Run, without_lines
from eagre.reproduce.verdicts import Line, exact, holds, not_run

ROUNDED = Number("section-3.1", "1450.563 + 3.141593", "single precision", "1453.705")
BANDWIDTH = Number("chapter-1", "Tesla M1060", "theoretical bandwidth", "102.4", "GB/s", "equation 1.1")
TIME_STEP = 1e-7  # of the double gyre on the finest grids
CLOCK, BUS = 800e6, 512  # Hz, bits of a Tesla M1060


def chapter_1(run: Run) -> Iterator[Line]:
    """Compare the theoretical bandwidth of double data rate memory."""
    yield exact(BANDWIDTH, 2.0 * CLOCK * BUS / 8 / 1e9)


def table_b2(run: Run) -> Iterator[Line]:
    """Compare the speedups with the quotients of table B.1."""
    for number in run.numbers():
        gpu, cpu = (run.paper.value("table-B.1", number.row, column) for column in ("GPU", "CPU"))
        yield exact(number, cpu / gpu, "quotient of table B.1")


def table_3_1(run: Run) -> Iterator[Line]:
    """Compare the properties of single precision."""
    single = np.finfo(np.float32)
    digits = single.nmant + 1
    values = {
        "radix": float(single.eps) ** (-1.0 / single.nmant),
        "decimal digits": single.precision,
        "binary digits": digits,
        "smallest": float(single.tiny),
        "epsilon": float(single.eps),
    }
    for number in run.numbers():
        yield exact(number, values[number.row])


def section_3_1(run: Run) -> Iterator[Line]:
    """Compare the order of the truncation error, h^2, and a sum in single precision."""
    (order,) = run.numbers()
    error = (math.pi / 2048) ** 2
    yield holds(order, error, 0.5e-6, 5e-6, note="h^2 on [0, pi] with 2049 points")
    terms = (np.float32(term) for term in ROUNDED.row.split(" + "))
    yield exact(ROUNDED, float(sum(terms, np.float32(0.0))))


def run_times(run: Run) -> Iterator[Line]:
    """Compare the durations of the run with the number of steps times the time per step of table B.1."""
    steps = run.paper.value("figure-3.3", "time", "value") / run.paper.value("figure-3.3", "time step", "value")
    gpu, core = (run.paper.value("table-B.1", "1025", column) for column in ("GPU", "CPU"))
    note = f"{steps:.0f} steps of table B.1"
    for number in run.numbers():
        if number.row == "time of the run on the GPU":
            yield holds(number, steps * gpu / 60e3, 39.0, 41.0, note=note)
        elif number.row == "largest psi":
            yield not_run(number, PENDING)
    day = Number(run.item, "time of the run on one core", "value", "24", "h", "a day")
    yield holds(day, steps * core / 3600e3, 24.0, 27.0, note=note)


def section_3(run: Run) -> Iterator[Line]:
    """Compare the duration of the longest run."""
    for number in run.numbers():
        if number.row == "2049 points, ten years":
            steps = run.paper.value("figure-3.3", "time", "value") / TIME_STEP
            milliseconds = run.paper.value("table-B.1", "2049", "GPU")
            yield exact(number, steps * milliseconds / 3600e3, f"{steps:.4g} steps of table B.1")
        else:
            yield not_run(number, PENDING)


ITEMS = (
    Item("chapter-1", "Theoretical bandwidth", chapter_1),
    Item("table-B.2", "Speedup", table_b2),
    Item("table-3.1", "Properties of single precision", table_3_1),
    Item("section-3.1", "Errors of truncation and rounding", section_3_1),
    Item("figure-3.3", "Double gyre with 1025 points per side", run_times),
    Item("section-3", "Fractions of time, and duration of the longest run", section_3),
    *without_lines(PENDING, {"table-B.1": "Time per step"}),
)
