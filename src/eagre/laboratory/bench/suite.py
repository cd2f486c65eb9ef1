"""Benchmark suite of the EULAG kernels of the paper: advection, pressure operator, and one solver iteration.

K. A. Rojek et al., Adaptation of fluid model EULAG to graphics processing unit architecture, Concurrency Computat.:
Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417: the ten grids of Table VII, the cubes of Table IX and both
tests of GCR, one iteration per call. Records are those of `eagre.laboratory.bench.benchmark`. If PyMPDATA is installed,
it is timed on the same advection.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector, Options
from eagre.backend.compilation.origin import cache_bytes
from eagre.backend.device import Device, check_precision
from eagre.backend.select import select
from eagre.backend.timing import times_of
from eagre.errors import ConvergenceError, EagreError, InputError
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.benchmark import KEYS
from eagre.laboratory.papers import paper
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.projection import Projection

Made = tuple[Callable[[], None], int, Callable[[], str]]
RING = ("periodic", "periodic", "periodic")
ROUNDING = {"single": 2e-5, "double": 2e-13}
COMPARED = (12, 10, 14)  # shape of the comparison with NumPy
NEVER = 1e-30  # tolerance that is never reached


def winds(shape: Shape, real: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random solenoidal fluxes through the faces normal to x, y and z."""
    rng, (nz, ny, nx) = np.random.default_rng(7), shape
    ones = np.ones
    return (
        (0.4 * rng.random((nz, ny, 1)) * ones(nx + 1) - 0.2).astype(real),
        (0.4 * rng.random((nz, 1, nx)) * ones((1, ny + 1, 1)) - 0.2).astype(real),
        (0.4 * rng.random((1, ny, nx)) * ones((nz + 1, 1, 1)) - 0.2).astype(real),
    )


def advection(device: Device, precision: str, shape: Shape, kernels: str = "fast") -> Made:
    """Return steps of MPDATA, gauge variant with limiter, of a random field in a solenoidal flow of random density.

    kernels : as in `eagre.advection.Mpdata`.
    """
    real = check_precision(precision)
    rng = np.random.default_rng(5)
    start, h = rng.random(shape).astype(real), (1.0 + 0.5 * rng.random(shape)).astype(real)
    v1, v2, v3 = (device.array(one) for one in winds(shape, real))
    advector = Advector(v1, v2, v3, device.array(h))
    first, second = device.array(start), device.zeros(shape, real)
    plan = plan_of(device, precision, shape, RING, Options(), kernels)
    work = device.repeated([*plan.launches(first, second, advector), *plan.launches(second, first, advector)], 1)
    mass = float(np.sum(start * h, dtype=np.float64))

    def verified() -> str:
        result = device.host(first)
        change = abs(float(np.sum(result * h, dtype=np.float64)) / mass - 1.0)
        inside = start.min() - 1e-5 <= result.min() and result.max() <= start.max() + 1e-5
        if not (change < 100.0 * ROUNDING[precision] and inside):
            raise EagreError(
                f"Mass changed by {change:.2g} on {device}; values range from {result.min():g} to {result.max():g}."
            )
        return f"mass {change:.1e}, in bounds"

    return work, 2, verified


def _operator(device: Device, precision: str, shape: Shape) -> PressureOperator:
    ones = np.ones((shape[0], 1, 1))
    return PressureOperator(device, precision, Metric(shape, (1.0, 1.0, 1.0), RING), ones, ones, 0.0 * ones, ones)


def laplacian(device: Device, precision: str, shape: Shape) -> Made:
    """Return the application of the pressure operator on a periodic cube, once per call."""
    real = check_precision(precision)
    q, out = device.array(np.random.default_rng(5).random(shape).astype(real)), device.zeros(shape, real)
    work = device.repeated(_operator(device, precision, shape).apply(q, out), 1)

    def verified() -> str:
        is_small = np.random.default_rng(6).random(COMPARED)
        there, result = device.array(is_small.astype(real)), device.zeros(COMPARED, real)
        device.run(_operator(device, precision, COMPARED).apply(there, result))
        wide = sum(np.roll(is_small, 2, axis) - 2.0 * is_small + np.roll(is_small, -2, axis) for axis in range(3))
        worst = float(np.abs(device.host(result) - 0.25 * wide).max())
        if not worst < ROUNDING[precision]:
            raise EagreError(f"The operator differs from plain sums by {worst:.2g} on {device}.")
        return f"{worst:.1e} from plain sums"

    return work, 1, verified


def one_iteration(*, hill: bool) -> Callable[[Device, str, Shape], Made]:
    """Return one iteration of GCR per call, without the initial residual and the final velocity.

    Without a hill: first test of the paper, a periodic cube. With a hill: replacement of its second test, on a sphere,
    with walls below and above and a direct solver for columns.
    """

    def make(device: Device, precision: str, shape: Shape) -> Made:
        projection = _projection(device, precision, shape, hill, max_iterations=1)

        def work() -> None:
            try:
                projection.solve(1.0)
            except ConvergenceError:
                return

        def verified() -> str:
            is_small = _projection(device, precision, (16, 16, 16), hill, max_iterations=400, tolerance=1e-3)
            return f"{is_small.solve(1.0).iterations} iterations to 1e-3 at 16^3"

        return work, 1, verified

    return make


def _projection(
    device: Device, precision: str, shape: Shape, hill: bool, *, max_iterations: int, tolerance: float = NEVER
) -> Projection:
    """Return a projection of random winds, m/s, with spacings of 1 m."""
    real, (nz, ny, nx) = check_precision(precision), shape
    ground, sides = None, RING
    if hill:
        x, y = (np.arange(n) - n // 2 for n in (nx, ny))
        ground = 0.1 * nz * np.exp(-(x**2 + y[:, None] ** 2) / (0.15 * nx) ** 2)
        sides = ("wall", "periodic", "periodic")
    metric = Metric(shape, (1.0, 1.0, 1.0), sides, hill=ground)
    projection = Projection(
        device, precision, metric, tolerance=tolerance, method="gcr", guess="zero", max_iterations=max_iterations,
        num_directions=1, preconditioner="line-jacobi" if hill else "none",
    )  # fmt: skip
    rng = np.random.default_rng(9)
    for array in (projection.u, projection.v, projection.w):
        device.fill(array, (rng.random(shape) - 0.5).astype(real))
    return projection


def peer(device: Device, precision: str, shape: Shape) -> Made:
    """Return the steps of `advection` by PyMPDATA."""
    from importlib import import_module

    peer_values, periodic = import_module("PyMPDATA"), import_module("PyMPDATA.boundary_conditions").Periodic
    real = check_precision(precision)
    rng = np.random.default_rng(5)
    start, h = rng.random(shape).astype(real), (1.0 + 0.5 * rng.random(shape)).astype(real)
    options = peer_values.Options(n_iters=2, infinite_gauge=True, nonoscillatory=True, dtype=real)
    sides = {"halo": options.n_halo, "boundary_conditions": (periodic(), periodic(), periodic())}
    solver = peer_values.Solver(
        stepper=peer_values.Stepper(options=options, grid=shape, non_unit_g_factor=True),
        advectee=peer_values.ScalarField(start.copy(), **sides),
        advector=peer_values.VectorField(tuple(reversed(winds(shape, real))), **sides),
        g_factor=peer_values.ScalarField(h, **sides),
    )
    mass = float(np.sum(start * h, dtype=np.float64))

    def verified() -> str:
        change = abs(float(np.sum(solver.advectee.get() * h, dtype=np.float64)) / mass - 1.0)
        return f"mass {change:.1e}"

    return lambda: solver.advance(1), 1, verified


Shape = tuple[int, int, int]
GRIDS: tuple[Shape, ...] = (
    (16, 16, 16), (16, 32, 32), (16, 64, 64), (64, 64, 64), (64, 128, 128), (128, 128, 128), (64, 256, 256),
    (128, 256, 256), (256, 256, 256), (64, 512, 512),
)  # fmt: skip
"""Shapes (nz, ny, nx) of Table VII."""
CUBES: tuple[Shape, ...] = tuple((n, n, n) for n in range(64, 577, 64))
"""Shapes of Table IX."""
TESTS: tuple[Shape, ...] = tuple((n, n, n) for n in (64, 128, 192, 256))
"""Shapes for one iteration of GCR; the sizes of the paper are in a figure that is not available."""
TABLE = paper("rojek2015")


def _paper_seconds(shape: Shape) -> tuple[float, float]:
    """Return the seconds of Table VII on one core (NaN if not printed) and on a Tesla K40m."""
    row = "x".join(map(str, reversed(shape)))
    core = TABLE.select("table-VII", row, "T1")
    return float(core[0].value) if core else math.nan, TABLE.value("table-VII", row, "T4")


PAPER_SECONDS = {shape: _paper_seconds(shape) for shape in GRIDS}
"""Table VII, double precision, 100 steps: s on one core, and on a Tesla K40m."""
MOST_ON_CPU = 2**22  # maximum number of points; larger grids take minutes
WORDS = 24  # values per point of the part with the most arrays


class Part(NamedTuple):
    """Part of the suite: case, variant, shapes, set-up, and compulsory memory traffic in values per point."""

    case: str
    variant: str
    shapes: Sequence[Shape]
    make: Callable[[Device, str, Shape], tuple[Callable[[], None], int, Callable[[], str]]]
    words: int | None


PARTS = (
    Part("mpdata", "gauge, limiter", GRIDS, advection, 6),
    Part("laplacian", "flat, periodic", CUBES, laplacian, 2),
    Part("gcr, test 1", "cube, periodic, no preconditioner", TESTS, one_iteration(hill=False), None),
    Part("gcr, test 2", "hill, walls, columns", TESTS, one_iteration(hill=True), None),
)


def suite(
    device: str | Device = "auto",
    precision: str | None = None,
    *,
    cases: Sequence[str] | None = None,
    most: int | None = None,
    repeats: int = 5,
    seconds: float = 0.1,
    commit: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Verify and time every part for each size.

    Parameters
    ----------
    device : str or Device
    precision : {"single", "double"}, optional
        Both by default.
    cases : sequence of str, optional
        Cases of `PARTS`; by default all, and PyMPDATA on a CPU.
    most : int, optional
        Maximum number of points; on a CPU `MOST_ON_CPU` by default.
    repeats : int
        Number of timings; the median and the minimum are recorded.
    seconds : float, s
        Minimum duration of one timing.
    commit : str, optional
        Commit of the source; determined by git by default.

    Yields
    ------
    dict
        Records with the keys of `eagre.laboratory.bench.benchmark`; on a CPU for one thread and for all threads.

    Raises
    ------
    EagreError
        If a result is wrong.
    """
    chosen = select(device)
    if most is not None and most < math.prod(GRIDS[0]):
        raise InputError(f"most = {most}", allowed=f"{math.prod(GRIDS[0])} points, the smallest grid, or more")
    limit = most or (MOST_ON_CPU if chosen.kind == "cpu" else 2**62)
    origin, copies = machine.provenance(chosen, commit), machine.copy_speeds(chosen)
    selected = [one for one in PARTS if cases is None or one.case in cases]
    peers = [Part("pympdata", "gauge, limiter", GRIDS, peer, 6)] if _times_peer(chosen, cases) else []
    for real in (precision,) if precision else ("single", "double"):
        width = check_precision(real)(0).itemsize
        for benchmark_part in (*selected, *peers):
            for shape in benchmark_part.shapes:
                if math.prod(shape) > limit or 1.2 * WORDS * width * math.prod(shape) > chosen.free_memory():
                    continue
                work, steps, verified = benchmark_part.make(chosen, real, shape)
                for threads, copy in copies.items():
                    with machine.threads_limited(chosen, threads):
                        built, duration = _timed(chosen, work, steps, repeats, seconds)
                    result = _record(benchmark_part, chosen, real, shape, threads, copy, built, duration)
                    result["error"] = verified() + _beside_paper(benchmark_part, result)
                    yield {key: (result | origin)[key] for key in KEYS}
                del work, verified
                gc.collect()


def peer_is_there() -> bool:
    """Return whether PyMPDATA is installed."""
    from importlib.util import find_spec

    return find_spec("PyMPDATA") is not None


def _times_peer(device: Device, cases: Sequence[str] | None) -> bool:
    return cases is None and device.kind == "cpu" and peer_is_there()


def _timed(
    device: Device, work: Callable[[], None], steps: int, repeats: int, seconds: float
) -> tuple[int, list[float]]:
    """Return the number of timed steps, and seconds per step of each repeat; `work` makes `steps`."""
    once = min(times_of(device, work, repeats=2, warm_up=1))
    repetitions = max(1, math.ceil(seconds / max(once, 1e-7)))

    def many() -> None:
        for _ in range(repetitions):
            work()

    result = [one / (repetitions * steps) for one in times_of(device, many, repeats=repeats, warm_up=0)]
    return repetitions * steps * repeats, result


def _record(
    benchmark_part: Part,
    device: Device,
    precision: str,
    shape: Shape,
    threads: int,
    copy: float,
    steps: int,
    seconds: list[float],
) -> dict[str, Any]:
    cells, size = math.prod(shape), check_precision(precision)(0).itemsize
    speed = cells / median(seconds)
    traffic = None if benchmark_part.words is None else benchmark_part.words * size
    cached = WORDS * size * cells < cache_bytes(device)
    return {
        "model": "anelastic",
        "case": benchmark_part.case,
        "variant": benchmark_part.variant,
        "precision": precision,
        "device": machine.device_name(device),
        "threads": threads,
        "shape": list(shape),
        "steps": steps,
        "ms_per_step": 1e3 * median(seconds),
        "ms_best": 1e3 * min(seconds),
        "cell_steps_per_s": speed,
        "bytes_per_cell": traffic,
        "fraction_of_copy": None if cached or traffic is None else traffic * speed / copy,
        "copy_gb_per_s": copy / 1e9,
    }


def _beside_paper(benchmark_part: Part, record: dict[str, Any]) -> str:
    """Return the published time per step for this size, on a GPU or one core, and the speed-up."""
    if benchmark_part.case != "mpdata" or record["precision"] != "double" or record["threads"] > 1:
        return ""
    paper_value = 10.0 * PAPER_SECONDS[tuple(record["shape"])][record["threads"] == 0]  # type: ignore[index]
    if math.isnan(paper_value):
        return ""
    chip = "K40m" if record["threads"] == 0 else "core"
    return f"; paper {paper_value:g} ms ({chip}), {paper_value / record['ms_per_step']:.1f}x"
