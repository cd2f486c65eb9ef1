"""Arithmetic operations of a step per cell, and the rate and share of the roofline of a measurement.

The constants are counted on the kernels of a CPU in double precision (`tests/unit/test_bench_operations.py`), without
the edges of tiles. Comparisons, minima, maxima, signs and |x| are not counted. The potential-flow waves, whose steps
iterate, and the anelastic model, whose tiles overlap, have no constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from eagre.tuning.roofline import Operations, Routine

OPERATIONS = {
    ("shallow-water", "rk2"): Operations(213, 221, 8, 16),
    ("shallow-water", "euler"): Operations(105, 109, 4, 8),
    ("shallow-water", "srk2"): Operations(235, 249, 10, 18),
    ("shallow-water", "ds1"): Operations(129, 152, 6, 14),
    ("shallow-water", "ds2"): Operations(264, 310, 12, 28),
    ("shallow-water-adi", "mike21"): Operations(150, 83, 19, 4),
    ("shallow-water-adi", "default"): Operations(248, 219, 29, 6),
    ("barotropic", "bleichrodt2011"): Operations(24, 12, 1, 0),
    ("barotropic", "default"): Operations(41, 20, 1, 0),
}
"""Operations per cell and step, by model and variant of its benchmark; without the transforms of the barotropic model.

An open boundary, rain, wind or a varying roughness add operations.
"""

TRANSFORMS = {"barotropic": 2}
"""Sine transforms of every row per step; 5/2 log2(n) operations per point each, the usual count of real transforms."""

SOURCE_OPERATIONS = {"shallow-water-adi": ("mike21", 422)}
"""Operations per cell and step that the source of a model counts, with its name."""


def operations_of_step(record: Mapping[str, Any]) -> float | None:
    """Return the operations per cell and step of a benchmark record; None if they were not counted."""
    counted = OPERATIONS.get((record["model"], record["variant"]))
    if counted is None:
        return None
    return counted.total + TRANSFORMS.get(record["model"], 0) * 2.5 * math.log2(record["shape"][-1])


def rate_text(record: Mapping[str, Any], peak: float) -> str:
    """Return the rate of operations of a record and its fraction of the roofline, or an empty text.

    The roofline is the smaller of `peak`, operations/s, and the rate at the copy bandwidth, which limits grids larger
    than the cache only.
    """
    operations, speed = operations_of_step(record), record["cell_steps_per_s"]
    if operations is None:
        return ""
    limited = record["fraction_of_copy"] is not None
    bandwidth = 1e9 * record["copy_gb_per_s"] if limited else math.inf
    rates = Routine(record["model"], operations, record["bytes_per_cell"]).measured(speed, 1.0, bandwidth, peak)
    text = f"; {rates.operations / 1e9:.3g} Gflop/s, {rates.fraction:.0%} of the roofline"
    if record["model"] not in SOURCE_OPERATIONS:
        return text
    name, number = SOURCE_OPERATIONS[record["model"]]
    return f"{text}; {number * speed / 1e9:.3g} Gflop/s as {name} counts"
