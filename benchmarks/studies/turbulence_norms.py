"""The decaying turbulence of Rojek et al. (2015) twice, and how far the size of the vorticity is apart.

    python benchmarks/studies/turbulence_norms.py
    python benchmarks/studies/turbulence_norms.py --runs cpu:double cuda:double cuda:single --start solenoidal

128 points, 200 and 400 steps; on a CPU and a GPU, without a GPU in double and single precision. Prints of each run its
seconds, energy, enstrophy, mean and largest |omega|, and of all but the first the norms of equations 4 to 6 of the
paper and the largest difference (`eagre.validation.compare`), beside those of its Table XI. These belong to a mean
|omega| of 4e-3, which no flow of this amplitude has: what can be compared is the norm over the mean.

K. A. Rojek et al., Concurrency Computat. Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from eagre.backend.select import cuda_problem
from eagre.cases.air import decaying_turbulence
from eagre.models.anelastic.diagnostics import enstrophy
from eagre.papers import paper
from eagre.validation.compare import difference

TABLE = paper("rojek2015")
PAPER = {
    steps: tuple(TABLE.value("table-XI", str(steps), norm) for norm in ("L1", "L2", "Linf")) for steps in (200, 400)
}
"""L1, L2 and Linf between CPU and GPU, by steps."""
MEAN = TABLE.value("section-7", "200 steps", "mean vorticity")  # its |omega| after 200 steps


def fields_of(
    points: int, start: str, dt: float, tolerance: float, run: str, counts: list[int]
) -> dict[int, np.ndarray]:
    """|omega| after each of `counts` steps; prints a line each."""
    device, precision = run.split(":")
    options = {"time_step": dt, "device": device, "precision": precision}
    model = decaying_turbulence(
        points, start, tolerance=max(tolerance, 1e-6 if precision == "single" else 0.0), **options
    )
    found, spent = {}, 0.0
    for count in counts:
        begin = time.perf_counter()
        model.advance(count * dt)
        model.field("w")
        spent += time.perf_counter() - begin
        found[count] = model.field("vorticity").astype(np.float64)
        energy, size = model.diagnostics()["mean_kinetic_energy"], found[count]
        facts = (
            f"energy {energy:.8f}  enstrophy {enstrophy(model.engine):.6f}  |omega| {size.mean():.6f} {size.max():.4f}"
        )
        print(f"{run:12} {count:4} steps  {spent:8.2f} s  {facts}", flush=True)
    iterations = model.engine.counts["iterations"] / max(counts)
    print(f"{run:12} {iterations:.2f} iterations a step, first step and compiling among the seconds", flush=True)
    return found


def main() -> None:
    other = "cpu:single" if cuda_problem() is not None else "cuda:double"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=128, help="distinct ones along an axis")
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--dt", type=float, default=0.01, help="s")
    parser.add_argument("--tolerance", type=float, default=1e-9, help="dt times the largest divergence")
    parser.add_argument("--start", choices=["printed", "solenoidal"], default="printed")
    parser.add_argument(
        "--runs", nargs="+", default=["cpu:double", other], help="device:precision; the first is what the others miss"
    )
    given = parser.parse_args()
    known = given.points, given.start, given.dt, given.tolerance
    first = fields_of(*known, given.runs[0], given.steps)
    for run in given.runs[1:]:
        second = fields_of(*known, run, given.steps)
        for count in given.steps:
            d = difference(second[count], first[count])
            print(f"{run} - {given.runs[0]}, {count} steps:")
            print(f"    L1 {d.l1:.4g}  L2 {d.l2:.4g}  Linf {d.largest_over_points:.4g} "
                  f"(largest {d.largest:.4g})  relative L1 {d.relative:.4g}")  # fmt: skip
            if count in PAPER:
                l1, l2, most = PAPER[count]
                print(
                    f"    paper, 128 points:  L1 {l1:.4g}  L2 {l2:.4g}  Linf {most:.4g}  over its mean {l1 / MEAN:.2g}"
                )


if __name__ == "__main__":
    main()
