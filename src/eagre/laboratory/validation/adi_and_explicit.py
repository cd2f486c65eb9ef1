"""Comparison of the ADI and the explicit shallow-water model: case, gauges, run-up and time to solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.laboratory.cases import monai
from eagre.laboratory.validation.adi_flows import adi_model
from eagre.laboratory.validation.comparison.gauges import monai_data, surface_at
from eagre.laboratory.validation.comparison.norms import root_mean_square
from eagre.laboratory.validation.comparison.pictures import draw_gauges
from eagre.laboratory.validation.comparison.setting import Check, Run, Validation, each

BAY_CELL, BAY_STEP = 40.0, 1.0  # m, s: Courant number 0.95 in the deepest water
WET = 0.1  # depth from which a cell counts as flooded, m


def monai_valley(run: Run, coarsen: int = 1) -> Iterator[Check]:
    """Gauges of Monai Valley: both models on the cells of the flume, the explicit one also on cells 3 times as large.

    The last run shows the time to solution at equal error.
    """
    folder, missing = monai_data(run)
    if folder is None:
        yield from missing
        return
    measured = monai.read_measurement(folder)
    fine, coarse = (monai.monai_valley(folder, coarsen * factor) for factor in (1, 3))
    options = {"manning": fine.manning, "boundaries": fine.boundaries, "dry_depth": 1e-4, "surface_elevation": 0.0}
    makers: dict[str, Callable[[], Model]] = {
        "explicit": partial(fine.model, **run.options),
        "explicit, large cells": partial(coarse.model, **run.options),
        "implicit": partial(adi_model, run, fine.grid, fine.bed_elevation, 0.0125, **options),
    }
    series: dict[str, dict[str, np.ndarray]] = {}
    for name, make in makers.items():
        make().advance(0.02)  # compilation
        model, start = make(), perf_counter()
        series[name] = surface_at(model, fine.gauges, measured.times)
        detail = f"{model.grid.nx} x {model.grid.ny} cells, {model.steps} steps, {perf_counter() - start:.1f} s"
        for gauge, values in measured.elevation.items():
            yield Check(
                f"{name}, {gauge}: RMS [m]", root_mean_square(series[name][gauge] - values), 0.008, detail=detail
            )
    title = f"Monai Valley, implicit, {run.precision}"
    run.picture(draw_gauges, title, measured.times, series["implicit"], measured.times, measured.elevation)


class Bay(NamedTuple):
    """Results of the demo bay: surface at the gauges, flooded land, steps, seconds."""

    gauges: dict[str, np.ndarray]  # (n,), m
    flooded: float  # m2
    steps: int
    seconds: float


def demo_case() -> Path:
    """Return the case file of `make demo`, next to the source of the package or below the current folder.

    Raises
    ------
    InputError
        If it is not found.
    """
    for root in (Path(__file__).resolve().parents[4], Path.cwd()):
        path = root / "examples" / "demo" / "case.toml"
        if path.is_file():
            return path
    raise InputError(
        "no examples/demo/case.toml next to the package or in this folder",
        allowed="a clone of the project",
        fix="eagre validate shallow-water-adi --case demo-bay (in the root folder of the clone)",
        problem="The case file of this validation was not found.",
    )


def run_bay(times: np.ndarray, cell: float, step: float | None, device: Any, precision: str) -> Bay:
    """Run the demo with cells of `cell` m: explicit without `step`, s, otherwise ADI; compilation is not timed."""
    from eagre.models.shallow_water.config import ShallowWaterCase
    from eagre.models.shallow_water_adi.config import ShallowWaterADICase

    path = demo_case()
    text = path.read_text(encoding="utf-8").replace("dx = 20.0", f"dx = {cell}")
    kind = ShallowWaterCase
    if step is not None:
        kind = ShallowWaterADICase
        text = text.replace('model = "shallow-water"', f'model = "{kind.kind}"')
        text += f"\n[numerics]\ntime_step = {step}\n"
    case = kind.loads(text, path.parent)
    assert case.gauges is not None
    case.build(device, precision).advance(1.0)
    model = case.build(device, precision)
    dry = model.field("depth") < WET
    max_depth, start = np.zeros(model.grid.shape), perf_counter()

    def look() -> None:
        np.maximum(max_depth, model.field("depth"), out=max_depth)

    gauges = surface_at(model, case.gauges.on(model.grid), times, look)
    seconds = perf_counter() - start
    return Bay(gauges, float((dry & (max_depth > WET)).sum()) * model.grid.cell_area, model.steps, seconds)


def demo_bay(run: Run) -> Iterator[Check]:
    """Tsunami of the demo in a bay, on cells of 40 m: gauges and flooded land of both models.

    The incoming wave and the flooded area are checked; the hour at the gauges, with bores reflected from the coast, is
    only reported.
    """
    try:
        demo_case()
    except InputError as error:
        if run.setting.chosen:
            raise
        yield Check("not run: case file not found", 0.0, detail=error.fix)
        return
    times = np.arange(0.0, 3601.0, 10.0)
    explicit, implicit = (run_bay(times, BAY_CELL, step, **run.options) for step in (None, BAY_STEP))
    incoming = times < 840.0
    crest = float(explicit.gauges["bay_mouth"].max())
    for name, values in implicit.gauges.items():
        apart = values - explicit.gauges[name]
        if name == "bay_mouth":
            yield Check(f"{name}, 14 min: RMS / crest", root_mean_square(apart[incoming]) / crest, 0.01)
        yield Check(f"{name}, 1 h: RMS [m]", root_mean_square(apart))
    for name, bay in (("explicit", explicit), ("implicit", implicit)):
        yield Check(f"{name}, flooded [ha]", 1e-4 * bay.flooded, detail=f"{bay.steps} steps, {bay.seconds:.1f} s")
    yield Check("flooded: |implicit / explicit - 1|", abs(implicit.flooded / explicit.flooded - 1.0), 0.1)
    title = f"Tsunami in a bay, implicit and explicit model, {run.precision}"
    run.picture(draw_gauges, title, times, implicit.gauges, times, explicit.gauges, "explicit")


BESIDE: dict[str, Validation] = {"monai": each(monai_valley), "demo-bay": each(demo_bay)}
