"""Times of the single kernels of a barotropic step on a GPU, and of variants of how they are cut.

From the root of the repository: ``PYTHONPATH=src python benchmarks/barotropic_kernels.py [points ...]``.
"""

from __future__ import annotations

import sys

import numpy as np

from eagre.backend.device import Launch, select
from eagre.backend.timing import times_of
from eagre.cases.bench_barotropic import model_of
from eagre.models.barotropic.passes_cuda import update_strips_cuda
from eagre.solvers.poisson.box_cuda import COLUMNS
from eagre.solvers.poisson.columns import column_table
from eagre.solvers.poisson.columns_cuda import solve_columns_cuda

REPEATS = 20
STRIPS = ((4, 128), (16, 128), (32, 128), (8, 256), (8, 64))
COLUMN_CUTS = {"single": ((32, 64), (32, 128), (64, 128)), "double": ((16, 64), (16, 96), (32, 128), (64, 168))}


def microseconds(device, launches) -> float:
    """Best time of a list of launches within a graph."""
    device.run(launches)
    device.synchronize()
    return 1e6 * min(times_of(device, device.repeated(launches, REPEATS), repeats=8)) / REPEATS


def column_variants(model) -> list[str]:
    """Other cuts of the column systems."""
    engine = model._engine
    box = engine._inversion.box
    width, told = COLUMNS[model.precision], []
    spectrum = engine._inversion.work(0, None)
    flat = spectrum.reshape(-1)
    for own, registers in COLUMN_CUTS[model.precision]:
        threads = -(-(-(-(box.ny - 1) // own) * width) // 32) * 32
        if threads > 1024 or -(-threads // 128) * registers > 512:
            continue
        switches = {"OWN": own, "COLUMNS": width, "REGISTERS": registers}
        program = model.device.program(solve_columns_cuda, model.precision, switches)
        table = column_table(box.nx, box.ny, box.dx, box.dy, 0.0, own).astype(box.real)
        arguments = (flat, flat, model.device.array(table), np.int32(box.ny + 1))
        launch = Launch(program, arguments, (-(-box.nx // width),), (threads,))
        told.append(f"own {own} regs {registers}: {microseconds(model.device, [launch]):.2f}")
    return told


def strip_variants(model, launch) -> list[str]:
    """Other strips of the update."""
    my, mx = model._engine._inner
    told = []
    for strip, threads in STRIPS:
        switches = {"HISTORY": 1, "WIND": 1, "STRIP": strip, "STRIP_THREADS": threads}
        program = model.device.program(update_strips_cuda, model.precision, switches)
        other = Launch(program, launch.arguments, (-(-mx // threads), -(-my // strip)), (threads,))
        told.append(f"{strip} x {threads}: {microseconds(model.device, [other]):.2f}")
    return told


def main() -> None:
    device = select("cuda")
    for points in [int(word) for word in sys.argv[1:]] or [1025, 2049, 4097]:
        for precision in ("single", "double"):
            model = model_of(points, device, precision, "seed")
            model._engine.advance(4)
            step = model._engine._alternate[0]
            each = [microseconds(device, [launch]) for launch in step]
            print(f"{points} {precision}: " + " + ".join(f"{time:.2f}" for time in each) + f" = {sum(each):.2f} us")
            print("  columns:", "; ".join(column_variants(model)))
            if not model._engine._fused and hasattr(model._engine._inversion, "box"):
                print("  strips:", "; ".join(strip_variants(model, step[0])), flush=True)


if __name__ == "__main__":
    main()
