"""Discharge over levees: a broad-crested weir in a flume, implicit and explicit shallow-water model.

``PYTHONPATH=src python benchmarks/studies/weir.py`` prints, for crests of one, two and six cells, cells of 1, 5 and
10 m, and heads of 0.2 to 1 m over a crest 2 m high, the discharge over that of critical flow on the crest,
q = (2/3)^1.5 sqrt(g) H^1.5 with the energy head H upstream. ``... drowned`` does the same with a tailwater above the
crest, as a fraction of the head. A number in brackets is the spread over the last tenth of the run, where it is more
than 0.01. ``... quick`` takes cells of 5 m only.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from eagre import Boundaries, Grid, Outflow, ShallowWater, ShallowWaterADI, Stage

G = 9.81
CREST = 2.0  # m over the bed of the flume
BEFORE, BEHIND = 16, 24  # cells
SEEN = 20  # times over the last tenth of a run


class Weir(NamedTuple):
    """A crest `width` cells wide, the level upstream and the tailwater, m over the crest; cells of `dx`, m."""

    width: int
    dx: float
    head: float
    tail: float = 0.05 - CREST


def bed_of(one: Weir) -> np.ndarray:
    """Bed at corners, m."""
    bed = np.zeros((3, BEFORE + one.width + BEHIND + 1))
    bed[:, BEFORE : BEFORE + one.width + 1] = CREST
    return bed


def flume(kind: type, one: Weir, rate: float = 0.3, **options: Any) -> Any:
    """The model of a weir; rate : time step over dx / sqrt(g (crest + head)) of the implicit model."""
    cells = BEFORE + one.width + BEHIND
    grid = Grid(cells, 2, one.dx, one.dx)
    upstream = np.arange(cells) < BEFORE + one.width
    surface = np.where(upstream, CREST + one.head, CREST + one.tail) * np.ones((2, 1))
    drops = one.tail < 0.0
    east = Outflow() if drops and kind is ShallowWater else Stage(CREST + one.tail)
    if kind is ShallowWaterADI:
        options["time_step"] = rate * one.dx / float(np.sqrt(G * (CREST + one.head)))
    return kind(
        grid, bed_of(one), surface_elevation=surface, precision="double", device="cpu",
        boundaries=Boundaries(west=Stage(CREST + one.head), east=east), **options,
    )  # fmt: skip


def discharge(kind: type, one: Weir, **options: Any) -> tuple[float, float]:
    """Discharge over that of critical flow, and its spread, at the end of a run of 60 times the flume's length."""
    model = flume(kind, one, **options)
    end = 25.0 * (BEFORE + BEHIND) * one.dx / float(np.sqrt(G * one.head))
    found = []
    for time in end * np.linspace(0.9, 1.0, SEEN):
        model.advance(float(time))
        q, h, z = (model.field(name)[0, BEFORE // 2] for name in ("discharge_x", "depth", "surface_elevation"))
        energy = z - CREST + (q / h) ** 2 / (2.0 * G)
        found.append(float(q / ((2.0 / 3.0 * energy) ** 1.5 * G**0.5)))
    return float(np.mean(found)), float(np.ptp(found))


def row(kind: type, weirs: list[Weir], **options: Any) -> str:
    """One line of the table."""
    cells = []
    for one in weirs:
        ratio, spread = discharge(kind, one, **options)
        cells.append(f"{ratio:.2f}" + (f" ({spread:.2f})" if spread > 0.01 else ""))
    return " | ".join(cells)


def main(*words: str) -> None:
    """Print the table."""
    sizes = (5.0,) if "quick" in words else (1.0, 5.0, 10.0)
    models: dict[str, tuple[type, dict[str, Any]]] = {
        "implicit": (ShallowWaterADI, {}),
        "implicit, n = 0.03": (ShallowWaterADI, {"manning": 0.03}),
        "explicit": (ShallowWater, {}),
    }
    heads = (0.2, 0.5, 1.0)
    tails = (0.3, 0.67, 0.9) if "drowned" in words else (None,)
    columns = [(head, tail) for head in heads for tail in tails]
    titles = [f"{head:g} m" + ("" if tail is None else f", {tail:g}") for head, tail in columns]
    print("| model | crest | dx | " + " | ".join(titles) + " |")
    print("|---" * (3 + len(titles)) + "|")
    for name, (kind, options) in models.items():
        for width in (1, 2, 6):
            for dx in sizes:
                weirs = [Weir(width, dx, h, 0.05 - CREST if t is None else t * h) for h, t in columns]
                print(f"| {name} | {width} | {dx:g} m | {row(kind, weirs, **options)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
