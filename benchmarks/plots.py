"""Pictures of the stored records: time of a step, speed and share of the copy bandwidth against the size.

``PYTHONPATH=src python benchmarks/plots.py [DEVICE]`` reads ``results/DEVICE.json`` (nvidia-h200 if left out) and
writes ``docs/images/scaling-models.png`` and ``docs/images/scaling-lines.png``; of ``results/adi-layouts-DEVICE.json``
(`tune_adi.py`), where there is one, it draws ``docs/images/block-sizes.png``. It needs Matplotlib.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
Record = Mapping[str, Any]
# what is drawn: model, variant, its name in the legend
MODELS = (
    ("shallow-water", "rk2", "shallow-water, RK2"),
    ("shallow-water-adi", "mike21", "shallow-water-adi"),
    ("barotropic", "default", "barotropic"),
)
LINES = (
    ("solver:tridiagonal", "partition", "pieces of lines"),
    ("solver:tridiagonal", "thomas", "a thread a line"),
    ("solver:tridiagonal", "cusparse gtsv2StridedBatch", "cuSPARSE"),
)
PANELS = (
    ("time of a step [us]", lambda record: 1e3 * record["ms_per_step"]),
    ("speed [Gcells/s]", lambda record: 1e-9 * record["cell_steps_per_s"]),
    ("share of the copy bandwidth", lambda record: record["fraction_of_copy"]),
)
TICKS = (32, 128, 512, 2048, 8192)


def curve(records: Sequence[Record], model: str, variant: str, precision: str, case: str = "") -> list[Record]:
    """The records of one curve by size: square grids whose sides, or intervals, come in 32s; of the most threads."""
    found: dict[int, Record] = {}
    for record in records:
        n = record["shape"][0]
        same = (record["model"], record["variant"], record["precision"]) == (model, variant, precision)
        if same and n == record["shape"][1] and n % 32 <= 1 and record["case"].startswith(case):
            if n not in found or record["threads"] > found[n]["threads"]:
                found[n] = record
    return [found[n] for n in sorted(found)]


def draw(records: Sequence[Record], chosen: Sequence[tuple[str, str, str]], path: Path, case: str = "") -> Path:
    """Three panels of the curves `chosen`: solid in single, dashed in double precision."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 3.4), layout="constrained")
    panels = figure.subplots(1, len(PANELS))
    for axes, (title, value) in zip(panels, PANELS, strict=True):
        for k, (model, variant, name) in enumerate(chosen):
            for precision, line in (("single", "-"), ("double", "--")):
                rows = [record for record in curve(records, model, variant, precision, case) if value(record)]
                sizes = [record["shape"][0] for record in rows]
                label = name if precision == "single" else None
                axes.plot(sizes, [value(record) for record in rows], f"C{k}o{line}", markersize=3.0, label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(TICKS, [str(n) for n in TICKS])
        axes.set(xlabel="cells, points or unknowns a side", title=title)
        axes.grid(True, linewidth=0.4)
    for axes in panels[:2]:
        axes.set_yscale("log")
    panels[2].set_ylim(0.0, 1.0)
    panels[0].plot([], [], "k--", label="double precision")
    panels[0].legend(fontsize=7.0)
    figure.savefig(path, dpi=90)
    return path


def best_by_block(records: Sequence[Record], sweep: str, precision: str) -> list[tuple[int, float]]:
    """Threads of a block and least microseconds of a sweep, over all layouts with blocks of that size."""
    best: dict[int, float] = {}
    for record in records:
        if (record["sweep"], record["precision"]) == (sweep, precision):
            best[record["block"]] = min(record["us"], best.get(record["block"], record["us"]))
    return sorted(best.items())


def draw_block_sizes(records: Sequence[Record], path: Path) -> Path:
    """Time of each sweep against the threads of a block: every layout a dot, the best of each size joined."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    for axes, sweep in zip(figure.subplots(1, 2, sharey=True), "xy", strict=True):
        for k, precision in enumerate(("single", "double")):
            chosen = [one for one in records if (one["sweep"], one["precision"]) == (sweep, precision)]
            axes.plot([one["block"] for one in chosen], [one["us"] for one in chosen], f"C{k}.", alpha=0.4)
            axes.plot(*zip(*best_by_block(records, sweep, precision), strict=True), f"C{k}o-", label=precision)
        axes.set(xlabel="threads of a block", title=f"sweep along {sweep}")
        axes.set_ylim(bottom=0.0)
        axes.grid(True, linewidth=0.4)
        axes.legend(fontsize=7.0)
    figure.axes[0].set_ylabel("microseconds")
    figure.savefig(path, dpi=90)
    return path


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "nvidia-h200"
    records = json.loads((ROOT / "benchmarks" / "results" / f"{device}.json").read_text(encoding="utf-8"))
    images = ROOT / "docs" / "images"
    for path in (
        draw(records, MODELS, images / "scaling-models.png"),
        draw(records, LINES, images / "scaling-lines.png", "axis 1"),
    ):
        print(path)
    layouts = ROOT / "benchmarks" / "results" / f"adi-layouts-{device}.json"
    if layouts.exists():
        large = [one for one in json.loads(layouts.read_text(encoding="utf-8")) if one["n"] == 4096]
        print(draw_block_sizes(large, images / "block-sizes.png"))


if __name__ == "__main__":
    main()
