"""Gauge series of a model run for a case, and the Monai Valley data for comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.laboratory.cases import monai
from eagre.laboratory.validation.comparison.setting import Check, Run


def surface_at(
    model: Model,
    gauges: Mapping[str, tuple[float, float]],
    times: np.ndarray,
    look: Callable[[], object] | None = None,
) -> dict[str, np.ndarray]:
    """Run `model` and return the surface elevation at gauges, m, at increasing times.

    Parameters
    ----------
    model
        Model at its start or later; it is run to the last of `times`.
    gauges : mapping of name to (x, y), m
    times : (n,) array
        s.
    look : callable, optional
        Called at each time.

    Returns
    -------
    dict
        (n,) arrays by name.
    """
    cells = [model.grid.cell_of(*point) for point in gauges.values()]
    rows = []
    for time in times:
        if time > model.time:
            model.advance(float(time))
        rows.append(np.asarray(model.sample(["surface_elevation"], cells)["surface_elevation"], np.float64))
        if look is not None:
            look()
    table = np.array(rows)
    return {name: table[:, k] for k, name in enumerate(gauges)}


def monai_data(run: Run) -> tuple[Path | None, list[Check]]:
    """Return the folder of the Monai Valley data; without data a "not run" check, or an error if requested."""
    try:
        return monai.find_data(), []
    except InputError as error:
        if run.setting.chosen:
            raise
        return None, [Check("not run: data not found", 0.0, detail=error.fix)]
