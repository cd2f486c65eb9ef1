"""Validation of Rojek et al. (2015): the same decaying turbulence computed twice (section 7).

The paper compares a CPU with a GPU. Without a GPU, the runs differ in precision; a run on two devices is bitwise equal
to a run on one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.registry import Item, Run
from eagre.laboratory.reproduce.verdicts import Line, compared, explained, holds

COUNTS = (200, 400)
"""Numbers of steps after which the runs are compared."""
TIME_STEP = 0.01  # s; not printed
TOLERANCE = {"double": 1e-9, "single": 1e-6}
POINTS, REDUCED = 128, 64
"""Points along each axis of the paper, and of short items."""
LONG = 300.0
"""Time allowed for an item from which on the grid is that of the paper, s."""
LEVEL = 1.5  # 1/s, of the isosurface; not printed
INTERVALS = 14  # contour intervals of figure 13


@dataclass(frozen=True)
class Snapshot:
    """Magnitude of the vorticity, 1/s, and vertical velocity, m/s, (z, y, x), and mean kinetic energy, m2/s2."""

    vorticity: np.ndarray
    w: np.ndarray
    energy: float


@cache
def snapshots(device: Any, precision: str, points: int) -> dict[int, Snapshot]:
    """Return the flow after each of `COUNTS` steps."""
    from eagre.laboratory.cases.atmosphere import decaying_turbulence

    devices = list(device) if isinstance(device, tuple) else device
    model = decaying_turbulence(
        points, time_step=TIME_STEP, tolerance=TOLERANCE[precision], device=devices, precision=precision
    )
    flows = {}
    for count in COUNTS:
        model.advance(count * TIME_STEP)
        vorticity, w = (model.field(name).astype(np.float64) for name in ("vorticity", "w"))
        flows[count] = Snapshot(vorticity, w, model.diagnostics()["mean_kinetic_energy"])
    return flows


def points_of(run: Run) -> int:
    """Return the number of points along each axis that fits the allowed time."""
    return POINTS if run.on_gpu or run.max_seconds >= LONG else REDUCED


def both(run: Run) -> dict[str, dict[int, Snapshot]]:
    """Return the two runs that are compared, by name: the second is the reference."""
    second = (run.device, "double") if run.on_gpu else ("cpu", "single")
    named = {"GPU, double" if run.on_gpu else "CPU, single": second, "CPU, double": ("cpu", "double")}
    return {name: snapshots(*settings, points_of(run)) for name, settings in named.items()}


def table_xi(run: Run) -> Iterator[Line]:
    """Compare the norms of the difference of the vorticity, relative to its mean, with those of the paper."""
    from eagre.laboratory.validation.comparison.compare import difference

    (name, one), (_, other) = both(run).items()
    points, mean = points_of(run), run.paper.value("section-7", "200 steps", "mean vorticity")
    for count in COUNTS:
        apart = difference(one[count].vorticity, other[count].vorticity)
        printed = {norm: run.paper.value(run.item, str(count), norm) for norm in ("L1", "L2", "Linf")}
        relative = run.derived(str(count), "L1 over the mean", f"{printed['L1'] / mean:.2g}")
        note = f"{name} against CPU, double; {points}^3 points"
        yield holds(relative, apart.relative, maximum=printed["L1"] / mean, note=note)
        values = {"L1": apart.l1, "L2": apart.l2, "Linf": apart.largest_over_points}
        for norm, value in values.items():
            yield compared(run.number(count, norm), value, "for another mean vorticity")
        bound = run.derived(
            str(count), "Linf times points, over L1", f"{printed['Linf'] * POINTS**3 / printed['L1']:.2g}"
        )
        if apart.l1 > 0.0:
            note = "at least 1 for every field; the printed norms contradict each other"
            yield explained(bound, apart.largest / apart.l1, minimum=1.0, note=note)
    if not run.on_gpu:
        split = snapshots(("cpu", "cpu"), "double", REDUCED)
        differ = [
            not np.array_equal(split[n].vorticity, snapshots("cpu", "double", REDUCED)[n].vorticity) for n in COUNTS
        ]
        number = Number(run.item, "two devices against one", "fields that differ", "", "")
        yield holds(number, sum(differ), maximum=0, note=f"{REDUCED}^3 points, double precision, bitwise")


def section_7(run: Run) -> Iterator[Line]:
    """Compare the mean vorticity, and the energy with a previous run."""
    flows = both(run)["CPU, double"]
    (mean,) = run.numbers()
    note = "a flow whose velocities have an amplitude of 1 has no mean vorticity of the printed magnitude"
    yield explained(mean, float(flows[200].vorticity.mean()), 0.83, 0.93, note=note)
    for count in COUNTS:
        energy = Number(run.item, f"{count} steps", "mean kinetic energy", "", "m2/s2")
        note = "two thirds of the initial 1/4 m2/s2: the projection removes the divergence"
        yield holds(energy, flows[count].energy, 0.166, 0.167, note=note)


def figure_13(run: Run) -> Iterator[Line]:
    """Compare the vertical velocity of both runs in the bottom plane."""
    (name, one), (_, other) = both(run).items()
    for count in COUNTS:
        first, second = one[count].w[0], other[count].w[0]
        apart = float(np.abs(first - second).max() / (np.ptp(second) / INTERVALS))
        number = Number(run.item, f"w at z = -pi, {count} steps", "largest difference", "", "contour intervals")
        yield holds(number, apart, maximum=0.01, note=f"{name} against CPU, double: the contours coincide")


def draw_13(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the contours of the vertical velocity of both runs after the last step."""
    import xarray as xr

    from eagre.plots import FieldFile, plot_contours

    files = []
    for name, flows in both(run).items():
        w = flows[COUNTS[-1]].w[:1]
        along = np.arange(w.shape[-1]) * 2.0 * math.pi / w.shape[-1]
        attributes = {"units": "m s-1", "long_name": "vertical velocity"}
        data = xr.Dataset(
            {"w": (("time", "y", "x"), w, attributes)}, {"time": [COUNTS[-1] * TIME_STEP], "y": along, "x": along}
        )
        files.append(FieldFile(Path(name), data, place="z = -pi"))
    plot_contours(files, path, name="w")


def figure_14(run: Run) -> Iterator[Line]:
    """Compare the parts of the volume inside the isosurfaces of the vorticity of both runs."""
    (name, one), (_, other) = both(run).items()
    for count in COUNTS:
        inside, reference = (100.0 * float((flows[count].vorticity > LEVEL).mean()) for flows in (one, other))
        number = Number(run.item, f"|omega| > {LEVEL:g} 1/s, {count} steps", "volume", "", "%")
        apart = abs(inside - reference)
        note = f"CPU, double: {reference:.5g} %; {name}: {apart:.1g} points of difference, 0.01 allowed"
        yield holds(number, inside, passed=apart <= 0.01 and reference > 0.0, note=note)


def draw_14(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the isosurfaces of the vorticity after 200 and 400 steps."""
    from eagre.plots.drawing.style import new_figure
    from eagre.plots.isosurface import draw_triangles, isosurface

    flows = both(run)["CPU, double"]
    figure = new_figure(12.0, 6.0)
    for column, count in enumerate(COUNTS, start=1):
        vorticity = flows[count].vorticity
        along = np.arange(vorticity.shape[0]) * 2.0 * math.pi / vorticity.shape[0]
        axes: Any = figure.add_subplot(1, 2, column, projection="3d")
        draw_triangles(axes, isosurface(vorticity, LEVEL, along, along, along), (along, along, along))
        axes.set_title(f"|omega| = {LEVEL:g} 1/s, {count} steps")
    figure.savefig(path, dpi=120)


ITEMS = (
    Item("figure-13", "Vertical velocity in the bottom plane", figure_13, seconds=30.0, draw=draw_13),
    Item("figure-14", "Isosurfaces of the vorticity", figure_14, seconds=30.0, draw=draw_14),
    Item("table-XI", "Differences of the vorticity between CPU and GPU", table_xi, seconds=45.0),
    Item("section-7", "Mean vorticity", section_7, seconds=30.0),
)
