"""Tuning landscape: time per step over each axis of a search space, all trials as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from eagre.plots.drawing.style import new_figure
from eagre.tuning.timings import relative

SHIPPED = "as shipped"


def draw_landscape(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw all trials of `eagre.laboratory.bench.tuning.tuner.dump`, one row of panels per search.

    The time of a trial is its ratio to that of the shipped values, which run alternately with it, times the shortest
    mean time of the shipped values. Disturbances that affect both cancel.

    Parameters
    ----------
    rows : sequence of dict
        Trials with the keys "space", "scheme", "shape", "precision", "choice", "seconds", "beside" (times of the
        shipped values) and "failed".
    path : Path
        Picture file: .png, .pdf or .svg.
    """
    searches: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        if not row["failed"]:
            name = f"{row['space']}{' ' + row['scheme'] if row['scheme'] else ''}"
            key = (name, row["precision"], " x ".join(map(str, row["shape"])))
            searches.setdefault(key, []).append(row)
    axes_of = {key: sorted({axis for one in trials for axis in one["choice"]}) for key, trials in searches.items()}
    wide = max((len(axes) for axes in axes_of.values()), default=1)
    figure = new_figure(2.6 * max(wide, 2), 2.4 * max(len(searches), 1))
    panels = figure.subplots(max(len(searches), 1), max(wide, 1), squeeze=False)
    for line, (key, trials) in zip(panels, searches.items(), strict=False):
        for panel, axis in zip(line, [*axes_of[key], *[""] * wide], strict=False):
            _panel(panel, axis, trials)
        line[0].set_title(", ".join(key), loc="left", fontsize=8)
        line[0].set_ylabel("us per step")
    figure.savefig(path)


def _panel(panel: Any, axis: str, trials: Sequence[Mapping[str, Any]]) -> None:
    if not axis:
        panel.set_axis_off()
        return
    names = [str(one["choice"].get(axis, SHIPPED)) for one in trials]
    positions = {name: n for n, name in enumerate(sorted(set(names), key=_order))}
    shipped = min(fmean(one["beside"] or one["seconds"]) for one in trials)
    times = [1e6 * shipped * relative(one["seconds"], one["beside"], "cuda") for one in trials]
    panel.plot([positions[name] for name in names], times, "o", alpha=0.5, markersize=4)
    best = [min(time for name, time in zip(names, times, strict=True) if name == one) for one in positions]
    panel.plot(list(positions.values()), best, "-", linewidth=1.0)
    panel.set_xticks(list(positions.values()), list(positions), rotation=45, ha="right", fontsize=7)
    panel.set_xlabel(axis)


def _order(name: str) -> tuple[int, float, str]:
    digits = "".join(sign for sign in name.partition(",")[0] if sign.isdigit())
    return (0, 0.0, "") if name == SHIPPED else (1, float(digits or 0), name)
