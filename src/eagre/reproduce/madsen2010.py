"""Tables and figures of M. G. Madsen, Acceleration of a non-linear water wave model using a GPU, DTU (2010)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from eagre.reproduce.registry import PENDING, Item, Run, without_lines
from eagre.reproduce.verdicts import Line, exact, misprint

GHOSTS = (6, 6, 1)  # ghost points along x and y, and ghost layers
MISPRINTED = "3073x257x17"


def table_5_5(run: Run) -> Iterator[Line]:
    """Compare the numbers of points with products."""
    for number in run.numbers():
        points = [int(count) for count in number.row.split("x")]
        with_ghosts = [count + more for count, more in zip(points, GHOSTS, strict=True)]
        values = {"surface": prod(points[:2]), "domain": prod(points), "unknowns with ghosts": prod(with_ghosts)}
        if (number.row, number.column) == (MISPRINTED, "domain"):
            layers = number.value / values["surface"]  # type: ignore[operator]
            yield misprint(number, values["domain"], "13425937", f"the printed number has {layers:g} layers")
        else:
            yield exact(number, values[number.column])


ITEMS = (
    Item("table-5.5", "Numbers of points", table_5_5),
    *without_lines(
        PENDING,
        {
            "chapter-2": "Smoothing factors",
            "table-5.1": "Block sizes of the residual of high order, double precision",
            "table-5.2": "Block sizes of the residual of high order, single precision",
            "table-5.3": "Block sizes of the residual of low order",
            "table-5.4": "Block sizes of the line smoother",
            "figure-5.1": "Calls of the kernels",
            "table-5.6": "Residual of low order, double precision",
            "table-5.7": "Residual of low order, single precision",
            "table-5.8": "Point smoother, double precision",
            "table-5.9": "Point smoother, single precision",
            "table-5.10": "Line smoother, single precision",
            "table-5.11": "Line smoother, double precision",
            "table-5.12": "Residual of high order, single precision",
            "table-5.13": "Residual of high order, double precision",
            "figure-6.1": "Order of accuracy of the vertical velocity",
            "figure-6.2": "Shoal of Whalin: harmonics",
            "figure-6.4": "Convergence by order",
            "figure-6.5": "Convergence of V cycles",
            "figure-6.6": "Convergence of F cycles",
            "figure-6.7": "Convergence of W cycles",
            "figure-6.8": "Convergence by number of grids",
            "table-6.3": "Grids",
            "figure-6.11": "Memory",
            "figure-6.12": "Speedup of the optimised kernels",
            "figure-6.15": "Speedup of Fermi over Tesla",
            "figure-6.16": "Speedup over one core",
        },
    ),
)
