"""Validation of the potential-flow wave model by linear standing waves in a basin."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.grid import Grid
from eagre.laboratory.validation.comparison.setting import Check, Run, Validation, each
from eagre.models.potential_waves.model import PotentialWaves

GRAVITY = 9.81


def standing(run: Run, points: int, depth: float, **options: object) -> tuple[PotentialWaves, np.ndarray, float]:
    """Return a linear wave in a basin of 1 m, its shape, and its angular frequency, rad/s."""
    grid = Grid.from_points(points, 1, 0.5, 1.0)
    shape = np.cos(2.0 * math.pi * grid.x)[None]
    k = 2.0 * math.pi
    model = PotentialWaves(
        grid, depth, surface_elevation=1e-3 * shape, linear=True, gravity=GRAVITY,
        tolerance=1e-7 if run.precision == "double" else 2e-6, **{**run.options, **options},
    )  # fmt: skip  # pyright: ignore[reportArgumentType]
    return model, shape, math.sqrt(GRAVITY * k * math.tanh(k * depth))


def linear(run: Run) -> Iterator[Check]:
    """Ten periods of linear waves, shallow to deep: period and height against sqrt(g k tanh kh)."""
    for kh in (0.3, 1.0, 3.0, 6.0):
        model, shape, omega = standing(run, 33, kh / (2.0 * math.pi))
        period = 2.0 * math.pi / omega
        model.advance(10.0 * period)
        eta, phi = (model.field(name).astype(float) for name in ("surface_elevation", "surface_potential"))
        size = 1e-3 * (shape**2).sum()
        cosine, sine = (float((field * shape).sum() / size) for field in (eta, -phi * omega / GRAVITY))
        error = math.atan2(sine, cosine) / (2.0 * math.pi * 10.0)
        yield Check(f"period at kh {kh:g}, relative error", abs(error), 1e-4, detail="33 points, half a length")
        yield Check(f"height at kh {kh:g}, relative error", abs(math.hypot(cosine, sine) - 1.0), 1e-4)


STANDING: dict[str, Validation] = {"linear-standing-waves": each(linear)}
