"""Tables and figures of Rojek et al. (2015).

K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture, Concurrency Computat.:
Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.measure import alternating, draw_curves, gpu_only
from eagre.laboratory.reproduce.registry import (
    COUNTERS,
    Item,
    Line,
    Run,
    compared,
    exact,
    explained,
    holds,
    misprint,
    not_run,
)
from eagre.tuning.block_size import KEPLER, KIB, choose_block, tile, tiles
from eagre.tuning.roofline import Routine
from eagre.tuning.scenarios import MPDATA, cost, fused

COUNTS = (200, 400)
"""Numbers of steps after which the runs are compared."""
TIME_STEP = 0.01  # s; not printed
TOLERANCE = {"double": 1e-9, "single": 1e-6}
TURBULENCE_POINTS, REDUCED = 128, 64
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
    return TURBULENCE_POINTS if run.on_gpu or run.max_seconds >= LONG else REDUCED


def both(run: Run) -> dict[str, dict[int, Snapshot]]:
    """Return the two runs that are compared, by name: the second is the reference."""
    second = (run.device, "double") if run.on_gpu else ("cpu", "single")
    named = {"GPU, double" if run.on_gpu else "CPU, single": second, "CPU, double": ("cpu", "double")}
    return {name: snapshots(*settings, points_of(run)) for name, settings in named.items()}


def table_xi(run: Run) -> Iterator[Line]:
    """Compare the norms of the difference of the vorticity, relative to its mean, with those of the paper."""
    from eagre.laboratory.validation.compare import difference

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


TURBULENCE = (
    Item("figure-13", "Vertical velocity in the bottom plane", figure_13, seconds=30.0, draw=draw_13),
    Item("figure-14", "Isosurfaces of the vorticity", figure_14, seconds=30.0, draw=draw_14),
    Item("table-XI", "Differences of the vorticity between CPU and GPU", table_xi, seconds=45.0),
    Item("section-7", "Mean vorticity", section_7, seconds=30.0),
)


def shifted(values: np.ndarray, axis: int, steps: int) -> np.ndarray:
    """Return the values `steps` points further along an axis."""
    return np.roll(values, -steps, axis)


def donor_cell(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray) -> np.ndarray:
    """Return x after the donor cell (figure 2)."""
    net = 0.0
    for axis in range(3):
        right = np.maximum(0.0, shifted(v[axis], axis, 1)) * x + np.minimum(0.0, shifted(v[axis], axis, 1)) * shifted(
            x, axis, 1
        )
        left = np.maximum(0.0, v[axis]) * shifted(x, axis, -1) + np.minimum(0.0, v[axis]) * x
        net = net + right - left
    return x - net / h


def pseudo_velocity(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray, axis: int) -> np.ndarray:
    """Return the pseudo velocity along an axis (figure 3 for v1, the others by permutation of the axes)."""
    u, left, m, n = v[axis], shifted(x, axis, -1), (axis + 1) % 3, (axis + 2) % 3
    along = (0.5 * np.abs(u) - u * u / (shifted(h, axis, -1) + h)) * (x - left)
    return along - 0.0625 * u / (shifted(h, axis, -1) + h) * (
        _across(x, left, v, axis, m) + _across(x, left, v, axis, n)
    )


def _across(x: np.ndarray, left: np.ndarray, v: Sequence[np.ndarray], axis: int, other: int) -> np.ndarray:
    """Return the sum of four faces of another axis times the difference of four points along this axis."""
    previous = shifted(v[other], axis, -1)
    faces = previous + shifted(previous, other, 1) + shifted(v[other], other, 1) + v[other]
    return faces * (shifted(x, other, 1) + shifted(left, other, 1) - shifted(x, other, -1) - shifted(left, other, -1))


def step(x: np.ndarray, v: Sequence[np.ndarray], h: np.ndarray) -> np.ndarray:
    """Return x after the donor cell and the corrective pass, whose pseudo velocities are the fluxes."""
    xp = donor_cell(x, v, h)
    fluxes = [pseudo_velocity(xp, v, h, axis) for axis in range(3)]
    return xp - sum(shifted(fluxes[axis], axis, 1) - fluxes[axis] for axis in range(3)) / h


PLANE = (392, 256)
POINTS = math.prod(PLANE) * 64
"""Points of the grid of tables II and VI."""
SHAPE = (12, 10, 14)
"""Shape of the comparison with figures 2 and 3."""
STAGED = (32, 128, 128)
"""Shape of the comparison of fused and separate stages."""
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
            columns = ("blocks per tile", "transactions per block", "transactions per tile", "overhead")
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


def figure_3(run: Run) -> Iterator[Line]:
    """Compare steps of `Mpdata` with figures 2 and 3 in NumPy, for a random field, velocity and density."""
    from eagre.advection import Mpdata

    rng = np.random.default_rng(3)
    x, h = rng.random(SHAPE), 1.0 + rng.random(SHAPE)
    v = [rng.uniform(-0.15, 0.15, SHAPE) for _ in range(3)]
    faces = [np.concatenate([v[axis], np.take(v[axis], [0], axis)], axis) for axis in range(3)]
    cases = {"figure 2: one pass": donor_cell, "figures 2 and 3: two passes": step}
    for passes, (row, printed_step) in enumerate(cases.items(), start=1):
        advection = Mpdata(SHAPE, passes=passes, nonoscillatory=False, solenoidal=True)
        apart = float(np.abs(advection.step(x, faces, h) - printed_step(x, v, h)).max())
        yield holds(Number(run.item, row, "largest difference", "", ""), apart, maximum=1e-14, note="rounding")


def table_i(run: Run) -> Iterator[Line]:
    """Compare the bandwidth of a copy."""
    from eagre.tuning.roofline import bandwidths

    copy = bandwidths(select(run.device))["copy"] / 1e9
    for number in run.numbers():
        if number.column != "largest":
            fraction = float(number.value) / run.paper.value(run.item, number.row, "largest")
            yield compared(number, copy, f"in the paper {fraction:.0%} of the largest bandwidth of the GPU")


def table_ii(run: Run) -> Iterator[Line]:
    """Compare the times of copies and steps, and of both at the same time."""
    from eagre.laboratory.bench.transfers import hidden_fraction, transfer_times

    for number in run.numbers(column="ratio"):
        ratio = run.paper.value(run.item, number.row, "time") / run.paper.value(run.item, "all", "time")
        note = "quotient of the printed times"
        incoming = number.row == "host to device"
        yield misprint(number, ratio, "0.009", note) if incoming else exact(number, ratio, note)
    points, steps = (128, 100) if run.on_gpu else (64, 5)
    fields = ("u", "v", "w", "pressure")
    times = transfer_times("anelastic", run.device, "double", points, steps=steps, fields=fields)
    seconds = [POINTS * 100 / (points**3 * steps) * one.seconds for one in times[-3:]]
    note = (
        f"{points}^3 points and {steps} steps of the whole model, {len(fields)} fields copied, "
        "scaled to the grid and the steps of the paper"
    )
    for row, value in zip(("computation", "device to host", "all"), seconds, strict=True):
        yield compared(run.number(row, "time"), value, note)
    incoming = run.number("host to device", "time")
    yield not_run(incoming, "the time of one copy of the initial state, which is not part of a step")
    printed = sum(run.paper.value(run.item, row, "time") for row in ("device to host", "computation"))
    number = run.derived("all over the sum", "time", f"{run.paper.value(run.item, 'all', 'time') / printed:.2f}")
    ratio, hidden = seconds[2] / (seconds[0] + seconds[1]), f"{hidden_fraction(times):.0%} of the copies hidden"
    if run.on_gpu:
        yield holds(number, ratio, maximum=1.0, note=hidden)
    else:
        yield compared(number, ratio, f"{hidden}; a CPU computes and copies with the same cores")


def table_vi(run: Run) -> Iterator[Line]:
    """Compare separate stages of MPDATA with the fused kernel, and the printed rates with their quotients."""
    from eagre.laboratory.bench.suite import advection

    for number in run.numbers(column="Gflop/s"):
        rate = run.paper.value(run.item, number.row, "Mflop") / run.paper.value(run.item, number.row, "time")
        yield holds(number, rate, 0.995 * float(number.value), 1.005 * float(number.value), note="printed numbers")
    operations = 3 * operations_of_figure_3()
    note = f"{operations:g} operations per point for the three pseudo velocities of figure 3, without halos of tiles"
    yield compared(run.number("BC", "Mflop"), POINTS * operations / 1e6, note)
    device, shape = select(run.device), (64, PLANE[1], PLANE[0]) if run.on_gpu else STAGED
    works = {}
    for kernels in ("reference", "fast"):
        works[kernels], _, verified = advection(device, "double", shape, kernels)
        works[kernels]()
        verified()
    times = alternating(device, works)
    ratio = times["reference"].minimum / times["fast"].minimum
    note = f"all stages in one kernel against one kernel per stage, {'x'.join(map(str, shape))} points"
    yield holds(run.number("BC", "speedup"), ratio, 1.1, note=note)
    for number in run.numbers(column="time"):
        yield not_run(number, "Eagre has no kernels B and C: one kernel makes all stages")


def operations_of_figure_3() -> float:
    """Return the number of operations per point of figure 3, with its magnitude."""
    from eagre.tuning.roofline import operations_of

    arrays = np.ones((5, 3, 4, 5))
    return operations_of(lambda x, u, v, w, h: pseudo_velocity(x, (w, v, u), h, 2), *arrays) / arrays[0].size


def table_vii(run: Run) -> Iterator[Line]:
    """Compare the time of 100 steps of MPDATA, and the printed speedups with the quotients of the printed times."""
    from eagre.laboratory.bench.suite import suite

    seconds: dict[tuple[str, str], tuple[float, str]] = {}
    for record in suite(run.device, "double", cases=["mpdata"]):
        column = {0: "T4", 1: "T1"}.get(record["threads"], "T2")
        row = "x".join(map(str, reversed(record["shape"])))
        note = f"{record['threads'] or 'GPU'} threads; {record['error']}"
        seconds[row, column] = 0.1 * record["ms_per_step"], note
    for number in run.numbers():
        if number.column == "T3":
            yield not_run(number, "the naive GPU version of the paper")
        elif "/" in number.column:
            above, below = (run.paper.value(run.item, number.row, column) for column in number.column.split("/"))
            yield exact(number, above / below, "quotient of the printed times")
        elif (number.row, number.column) in seconds:
            yield compared(number, *seconds[number.row, number.column])
        elif number.column == "T4":
            yield gpu_only(run, number)
        else:
            yield not_run(number, "a CPU runs grids of at most 4 million points")


def draw_vii(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the time of 100 steps over the number of points."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if "/" not in line.column:
            points = math.prod(int(one) for one in line.row.split("x"))
            curves.setdefault(f"{line.column}, paper", []).append((points, float(line.printed)))
            if isinstance(line.computed, float):
                curves.setdefault(f"{line.column}, Eagre", []).append((points, line.computed))
    draw_curves(path, "100 steps of MPDATA: T1 one core, T2 all cores, T4 GPU", curves, "points", "time [s]")


def figure_12(run: Run) -> Iterator[Line]:
    """Compare the fraction of the roofline of one iteration of GCR, and the speedup on a GPU."""
    from eagre.laboratory.bench.suite import suite

    sizes = run.paper.value("table-X", "GCR, optimised", "bytes")
    tests = [f"gcr, {number.row}" for number in run.numbers(column="share of the roofline")]
    kinds = ["cpu", run.device] if run.on_gpu else [run.device]
    rates: dict[tuple[str, bool], float] = {}
    for device in kinds:
        for record in suite(device, "double", cases=tests, most=64**3 if len(kinds) == 1 else 128**3):
            rates[record["case"], record["threads"] == 0] = record["cell_steps_per_s"]
            last = record
        for test in tests:
            if (on_gpu := last["threads"] == 0) == run.on_gpu:
                percentage = 100.0 * rates[test, on_gpu] * sizes / (1e9 * last["copy_gb_per_s"])
                note = (
                    f"with the {sizes:g} bytes per point of table X; Eagre needs fewer, and a small cube fits the cache"
                )
                if test.endswith("2"):
                    note += "; a hill between walls instead of the sphere, whose metric Eagre does not have"
                yield compared(run.number(test.removeprefix("gcr, "), "share of the roofline"), percentage, note)
    (speedup,) = run.numbers(column="GPU over CPU of 16 cores")
    if run.on_gpu:
        yield compared(speedup, min(rates[test, True] / rates[test, False] for test in tests), "all cores of the CPU")
    else:
        yield gpu_only(run, speedup)


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
        ratio = 100.0 * run.paper.value(run.item, name, "speed dynamic") / run.paper.value(run.item, name, "speed")
        printed = run.derived(name, "dynamic over best speed", "90", "%", "the text: 90 % at least")
        yield holds(printed, ratio, 90.0, 100.0, note="quotient of printed speeds")
        yield from block_speeds(run, name)


def block_speeds(run: Run, cube: str) -> Iterator[Line]:
    """Compare the speeds of the fastest block and of the block of Algorithm 3 on a GPU."""
    best, dynamic = (run.number(cube, column) for column in ("speed", "speed dynamic"))
    if not run.on_gpu:
        yield from (gpu_only(run, number) for number in (best, dynamic))
        return
    from eagre.laboratory.bench.papers import laplacian_blocks as blocks

    speeds = blocks.block_speeds(select(run.device), int(cube))
    for number, measured in ((best, speeds.best), (dynamic, speeds.algorithm_3)):
        rows, columns, planes = measured.shape
        note = f"block {columns}x{rows}, {planes} planes, {blocks.OPERATIONS} operations per point"
        yield compared(number, blocks.OPERATIONS * measured.speed / 1e9, note)
    number = run.derived(cube, "rule of Eagre over best speed", "90", "%", "bound of the paper for Algorithm 3")
    yield compared(number, 100.0 * speeds.rule.speed / speeds.best.speed, "choose_march")


ITEMS = (
    Item("figure-3", "Donor cell and pseudo velocities of figures 2 and 3", figure_3, seconds=2.0),
    Item("table-I", "Memory bandwidth", table_i, seconds=6.0),
    Item("table-II", "Copies hidden behind the computation", table_ii, seconds=15.0),
    Item("table-III", "Tiles of kernels B and C", transactions(768)),
    Item("table-IV", "Tiles of the fused kernel BC", transactions(256)),
    Item("table-V", "Cost of kernels B and C, and of the fused kernel", table_v),
    Item("figure-4", "Profile of kernels B and C", figure_4),
    Item("table-VI", "Speed of kernels B and C, and of the fused kernel", table_vi, seconds=10.0),
    Item("table-VII", "Run times of MPDATA", table_vii, seconds=25.0, draw=draw_vii),
    Item("table-VIII", "Operations per byte of GCR before optimisation", intensities),
    Item("table-X", "Operations per byte of GCR", intensities),
    Item("table-IX", "Blocks of a Laplacian chosen at run time", table_ix, gpu_seconds=120.0),
    Item("figure-12", "Speed of GCR", figure_12, seconds=15.0),
    *TURBULENCE,
)
