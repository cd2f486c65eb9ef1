"""What the benchmark scripts share: a record as a line of a table, and the file that keeps the records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from eagre.laboratory.bench.benchmark import merged

RESULTS = Path(__file__).resolve().parent / "results"
COLUMNS = f"{'variant':8}{'precision':10}{'threads':>8}{'cells':>14}{'us/step':>12}{'best':>12}"
COLUMNS += f"{'Mcell/s':>10}{'of copy':>9}{'GB/s':>8}  verified"


def line(record: dict[str, Any]) -> str:
    """One record as a row of the table."""
    share = record["fraction_of_copy"]
    cells = " x ".join(str(count) for count in reversed(record["shape"]))
    return (
        f"{record['variant']:8}{record['precision']:10}{record['threads'] or '-':>8}{cells:>14}"
        f"{1e3 * record['ms_per_step']:12.2f}{1e3 * record['ms_best']:12.2f}{record['cell_steps_per_s'] / 1e6:10.0f}"
        f"{'-' if share is None else format(share, '.0%'):>9}{record['copy_gb_per_s']:8.1f}  {record['error']}"
    )


def keep(target: Path, record: dict[str, Any]) -> Path:
    """Put a record into the JSON list at `target`, or into the device's file if it is a folder."""
    if target.suffix != ".json":
        slug = re.sub(r"[^a-z0-9]+", "-", record["device"].lower().replace("(r)", "")).strip("-")
        target = target / f"{slug}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(target.read_text(encoding="utf-8")) if target.exists() else []
    target.write_text(json.dumps(merged(known, [record]), indent=1) + "\n", encoding="utf-8")
    return target
