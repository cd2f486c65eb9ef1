"""Speed of a model; needs only numpy, scipy and numba, and on a GPU numba-cuda and cupy.

From the root of the repository: ``PYTHONPATH=src python benchmarks/speed.py shallow-water --device cuda``.
Every record is printed and kept as it comes, in ``benchmarks/results/<device>.json``; one of the same
measurement is replaced.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from records import COLUMNS, RESULTS, keep, line

from eagre.errors import EagreError
from eagre.laboratory.bench.benchmark import SUBJECTS, measurements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=tuple(SUBJECTS))
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--precision", choices=("single", "double"), help="else both")
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="else all")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="cells or points a side")
    parser.add_argument("--commit", help="what the records say where there is no git")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file, or a folder for <device>.json")
    parser.add_argument("--no-compare", action="store_true", help="without the comparison with the CPU")
    asked = parser.parse_args()
    found = measurements(
        asked.model, asked.device, asked.precision, asked.sizes, variants=asked.variants, commit=asked.commit,
        compare=not asked.no_compare,
    )  # fmt: skip
    try:
        for number, record in enumerate(found):
            if number == 0:
                print(f"{record['device']}, commit {record['commit']}\n{COLUMNS}")
            target = keep(asked.output, record)
            print(line(record), flush=True)
    except EagreError as error:
        raise SystemExit(f"error: {error}") from None
    print("kept in", target)


if __name__ == "__main__":
    main()
