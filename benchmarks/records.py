"""What the benchmark scripts share: their options, the table that they print and the file that they keep."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eagre.cases.bench import merged

RESULTS = Path(__file__).resolve().parent / "results"
COLUMNS = f"{'variant':8}{'precision':10}{'threads':>8}{'cells':>14}{'us/step':>12}{'best':>12}"
COLUMNS += f"{'Mcell/s':>10}{'of copy':>9}{'GB/s':>8}  verified"


def run(
    what: str, variants: Sequence[str], measure: Callable[[argparse.Namespace], list[dict[str, Any]]], *flags: str
) -> None:
    """Read the options, measure, print the records as a table and keep them; `flags` are further options."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument("--precision", choices=("single", "double"), help="else both")
    parser.add_argument("--variant", choices=tuple(variants), help="else all")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help="cells or points a side")
    parser.add_argument("--commit", help="what the records say where there is no git")
    parser.add_argument("--output", type=Path, help="JSON file, or a folder for <device>.json; else benchmarks/results")
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    asked = parser.parse_args()
    asked.variants = (asked.variant,) if asked.variant else tuple(variants)
    records = measure(asked)
    print(f"{records[0]['device']}, commit {records[0]['commit']}\n{COLUMNS}")
    for record in records:
        print(line(record))
    print("wrote", write(asked.output or RESULTS, records))


def line(record: dict[str, Any]) -> str:
    """One record as a row of the table."""
    share = record["fraction_of_copy"]
    cells = " x ".join(str(count) for count in reversed(record["shape"]))
    return (
        f"{record['variant']:8}{record['precision']:10}{record['threads'] or '-':>8}{cells:>14}"
        f"{1e3 * record['ms_per_step']:12.2f}{1e3 * record['ms_best']:12.2f}{record['cell_steps_per_s'] / 1e6:10.0f}"
        f"{'-' if share is None else format(share, '.0%'):>9}{record['copy_gb_per_s']:8.1f}  {record['error']}"
    )


def write(target: Path, records: list[dict[str, Any]]) -> Path:
    """Put records into the JSON list at `target`, or into the device's file if it is a folder."""
    if target.suffix != ".json":
        slug = re.sub(r"[^a-z0-9]+", "-", records[0]["device"].lower().replace("(r)", "")).strip("-")
        target = target / f"{slug}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else []
    target.write_text(json.dumps(merged(known, records), indent=1) + "\n", encoding="utf-8")
    return target
