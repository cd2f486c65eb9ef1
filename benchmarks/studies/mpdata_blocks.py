"""Blocks of MPDATA's march on a GPU: speed of a step, gauge and limiter, h an array, verified against the stages.

    PYTHONPATH=src:benchmarks python benchmarks/studies/mpdata_blocks.py double 256,256,256 1,12,2,1,2,168,1,2,1 ...

After the precision and the grids, which end in ``w`` for walls, the blocks to try, each as the numbers of
`eagre.advection.streaming.kernel.Block`. Prints cell-steps a second, us a step and the difference from the stages. With
``--compile`` each program runs once on a small grid.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpdata import Problem

from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Options
from eagre.advection.streaming.kernel import Block
from eagre.backend.select import select

SMALL = {0: (16, 16, 16), 1: (17, 17, 17)}  # copied 16 bytes at once, and a word


class Trial(Problem):
    """A problem whose march has a block that is tried."""

    block: Block
    sides: tuple[str, str, str] = ("periodic",) * 3

    def launches(self, source: list[Any], target: list[Any], kernels: str = "fast") -> list[Any]:
        plan: Any = plan_of(self.device, self.precision, self.shape, self.sides, Options(), kernels)
        if kernels == "fast":
            plan.blocks = [self.block]
        return plan.together([(x, out, (False,) * 3) for x, out in zip(source, target, strict=True)], self.advector)


def main() -> None:
    only_compile = "--compile" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--compile"]
    precision, texts = words[0], words[1:]
    grids = [text for text in texts if text.rstrip("w").count(",") == 2]
    blocks = [Block(*map(int, text.split(","))) for text in texts if text not in grids]
    device = select("cuda")
    for grid in grids:
        shape: Any = tuple(map(int, grid.rstrip("w").split(",")))
        if only_compile:
            shape = SMALL[shape[-1] % 2]
        for fields in sorted({block.fields for block in blocks}):
            trial = Trial(device, precision, shape, fields)
            trial.sides = ("wall",) * 3 if grid.endswith("w") else trial.sides
            tried = [block for block in blocks if block.fields == fields]
            errors = {}
            for trial.block in tried:  # all before fields change
                errors[trial.block] = trial.difference() if np.prod(shape) <= 2**25 else float("nan")
            for trial.block in tried:
                seconds, error = [0.0] if only_compile else trial.seconds(3), errors[trial.block]
                speed = np.prod(shape) / max(np.median(seconds), 1e-9)
                print(
                    f"{precision} {grid:12} {','.join(map(str, trial.block)):24} {speed / 1e9:6.1f} G "
                    f"{1e6 * np.median(seconds):8.1f} us, best {1e6 * min(seconds):8.1f}; {error:.1e} from the stages",
                    flush=True,
                )


if __name__ == "__main__":
    main()
