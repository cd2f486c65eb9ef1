"""Speed of the explicit shallow-water model; needs only numpy and numba, and on a GPU numba-cuda and cupy.

From the root of the repository: ``PYTHONPATH=src python benchmarks/shallow_water.py --device cuda``.
Results go to ``benchmarks/results/<device>.json``; a record of the same measurement is replaced.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from records import run

from eagre.cases import bench


def measure(asked: Namespace) -> list[dict[str, Any]]:
    """Records as the options ask."""
    return bench(
        "shallow-water", asked.device, asked.precision, asked.sizes, variants=asked.variants, commit=asked.commit
    )


if __name__ == "__main__":
    run(__doc__.splitlines()[0], ("rk2", "euler"), measure)
