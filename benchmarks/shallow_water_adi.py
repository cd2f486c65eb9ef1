"""Speed of the implicit shallow-water model; needs only numpy and numba, and on a GPU numba-cuda and cupy.

From the root of the repository: ``PYTHONPATH=src python benchmarks/shallow_water_adi.py --device cuda``.
Results go to ``benchmarks/results/<device>.json``; a record of the same measurement is replaced.
``--no-compare`` leaves out the comparison with the CPU.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from records import run

from eagre.cases.bench_adi import VARIANTS, bench_adi


def measure(asked: Namespace) -> list[dict[str, Any]]:
    """Records as the options ask."""
    return bench_adi(
        asked.device, asked.precision, asked.sizes, variants=asked.variants, commit=asked.commit,
        compare=not asked.no_compare,
    )  # fmt: skip


if __name__ == "__main__":
    run(__doc__.splitlines()[0], tuple(VARIANTS), measure, "--no-compare")
