"""Speedups S = T_s / T_p as in tables B.1 and B.2 of Bleichrodt (2011), from the records in `benchmarks/results`.

From the root of the repository: ``python benchmarks/studies/barotropic_speedup.py`` (Markdown). T_s is one core in
double precision, T_p the GPU; the thesis's T_p is single precision, and so the last columns compare more than the
devices.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eagre.bench.barotropic import PAPER_MS

HEADS = (
    "points",
    "bleichrodt2011: GPU ms",
    "CPU ms",
    "S",
    "here: GPU single ms",
    "double ms",
    "one core ms",
    "S single",
    "S double",
    "their GPU / single",
)


def milliseconds(records: Sequence[dict[str, Any]], points: int, precision: str, threads: int) -> float | None:
    """Median step of a record with the thesis's scheme; threads = 0 is a GPU."""
    for record in records:
        of_model = (record["model"], record["variant"]) == ("barotropic", "bleichrodt2011")
        if of_model and (record["shape"][0], record["precision"], record["threads"]) == (points, precision, threads):
            return float(record["ms_per_step"])
    return None


def rows(records: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each of the thesis's sizes; what was not measured is "-"."""

    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.4g}"

    def ratio(above: float | None, below: float | None) -> str:
        return "-" if above is None or below is None else f"{above / below:.3g}"

    found = []
    for points, (gpu, cpu) in PAPER_MS.items():
        single, double = (milliseconds(records, points, precision, 0) for precision in ("single", "double"))
        core = milliseconds(records, points, "double", 1)
        ours = [text(single), text(double), text(core), ratio(core, single), ratio(core, double), ratio(gpu, single)]
        found.append([str(points), text(gpu), text(cpu), ratio(cpu, gpu), *ours])
    return found


def main() -> None:
    """Print the table."""
    folder = Path(__file__).resolve().parents[1] / "results"
    records = [record for file in sorted(folder.glob("*.json")) for record in json.loads(file.read_text("utf-8"))]
    print("| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|")
    for row in rows(records):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
