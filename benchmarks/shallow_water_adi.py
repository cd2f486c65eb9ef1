"""Speed of the implicit shallow-water model; needs only numpy and numba, and on a GPU numba-cuda and cupy.

From the root of the repository: ``PYTHONPATH=src python benchmarks/shallow_water_adi.py --device cuda``.
Results go to ``benchmarks/results/<device>.json``; a record of the same measurement is replaced.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from shallow_water import COLUMNS, RESULTS, line, write

from eagre.cases.bench_adi import VARIANTS, bench_adi


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--precision", choices=("single", "double"), help="else both")
    parser.add_argument("--variant", choices=tuple(VARIANTS), help="else both")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="cells a side")
    parser.add_argument("--commit", help="what the records say where there is no git")
    parser.add_argument("--output", type=Path, help="JSON file, or a folder for <device>.json; else benchmarks/results")
    parser.add_argument("--no-compare", action="store_true", help="no comparison with the CPU")
    asked = parser.parse_args()
    variants = (asked.variant,) if asked.variant else tuple(VARIANTS)
    records = bench_adi(
        asked.device, asked.precision, asked.sizes, variants=variants, commit=asked.commit,
        compare=not asked.no_compare,
    )  # fmt: skip
    print(f"{records[0]['device']}, commit {records[0]['commit']}\n{COLUMNS}")
    for record in records:
        print(line(record))
    print("wrote", write(asked.output or RESULTS, records))


if __name__ == "__main__":
    main()
