"""Several runs of the implicit model at once: cell-steps a second of all members beside those of one alone.

``PYTHONPATH=src python benchmarks/studies/adi_ensemble.py --device cuda`` steps 1, 4, 16 and 64 members of 256 x 256
cells of the MIKE 21 pool, each with a hump of its own height; every member is compared with a run of its own first.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.backend.timing import times_of
from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.laboratory.cases.mike21 import DT, DX, STILL_DEPTH, STRICKLER, VARIANTS, hump
from eagre.models.shallow_water_adi.ensemble import ShallowWaterADIEnsemble

CLOSE = {"single": 1e-5, "double": 1e-13}  # of the largest surface
STEPS = 64


def pools(members: int, n: int, device: Any, precision: str) -> ShallowWaterADIEnsemble:
    """Members with humps of 1 m, 1/2 m, 1/3 m .. at the start."""
    surface = hump(n) * hump(n)[:, None] / np.arange(1, members + 1)[:, None, None]
    return ShallowWaterADIEnsemble(
        Grid(n, n, DX, DX), -STILL_DEPTH, DT, members, surface_elevation=surface, manning=1.0 / STRICKLER,
        device=device, precision=precision, **VARIANTS["mike21"],
    )  # fmt: skip


def check(n: int, device: Any, precision: str) -> None:
    """Three members against runs of their own."""
    together = pools(3, n, device, precision)
    together.advance(20.0 * DT)
    for member, surface in enumerate(together.field("surface_elevation")):
        alone = pools(member + 1, n, device, precision)
        alone.advance(20.0 * DT)
        expected = alone.field("surface_elevation")[member]
        apart = np.abs(surface.astype(float) - expected).max() / np.abs(expected).max()
        if not apart <= CLOSE[precision]:
            raise EagreError(f"member {member}, {precision}: {apart:.1e} from a run with fewer members")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--members", nargs="+", type=int, default=[1, 4, 16, 64])
    asked = parser.parse_args()
    device: Any = select(asked.device)
    for precision in ("single", "double"):
        check(min(asked.size, 64), device, precision)
        for members in asked.members:
            engine = pools(members, asked.size, device, precision).model._engine
            best = min(times_of(device, lambda engine=engine: engine.run(STEPS, 0.0, 0), repeats=5, warm_up=2)) / STEPS
            print(
                f"{precision} {members:4} x {asked.size}^2 {1e6 * best:10.2f} us a step "
                f"{members * asked.size**2 / best / 1e9:8.2f} Gcell-steps/s", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
