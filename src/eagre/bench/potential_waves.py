"""What is timed of the potential-flow waves: a nonlinear standing wave in a square basin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.bench.subject import Benchmark
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.models.potential_waves.model import PotentialWaves

COMPARED_STEPS = 4
LARGEST_COMPARED = 129
LAYERS, ORDER, DEPTH, HEIGHT = 9, 6, 0.5, 0.02  # of a basin one length wide, m


def standing_wave(points: int, device: Any, precision: str) -> PotentialWaves:
    """A wave of 1 m along x times one along y, between walls 1 m apart, 9 layers, order 6."""
    grid = Grid.of_points(points, points, 1.0, 1.0)
    shape = np.cos(2.0 * math.pi * grid.x) * np.cos(2.0 * math.pi * grid.y)[:, None]
    return PotentialWaves(
        grid, DEPTH, surface_elevation=0.5 * HEIGHT * shape, order=ORDER, layers=LAYERS, device=device,
        precision=precision,
    )  # fmt: skip


class StandingWave(Benchmark):
    """A nonlinear standing wave, order 6, 9 layers, at the default tolerance."""

    case = "standing-wave"
    variants = ("default",)
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (129,), "cuda": (129, 257, 513, 1025, 2049, 3457)}
    resident = 8.0 * LAYERS
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 1, "cuda": 4}
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 1e-4, "double": 1e-8}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """`size` points a side."""
        return standing_wave(size, device, precision)

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """The smallest sizes by themselves; the CPU takes too long for others."""
        return (size, size) if size <= LARGEST_COMPARED else None

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Largest difference of the elevation after some steps from the CPU's in double precision, over the height."""
        ours, theirs = standing_wave(shape[0], device, precision), standing_wave(shape[0], "cpu", "double")
        for model in (ours, theirs):
            model.advance(1e6, max_steps=COMPARED_STEPS)
        apart = ours.field("surface_elevation") - theirs.field("surface_elevation")
        return float(np.abs(apart).max()) / HEIGHT

    def verified(self, model: Model, difference: float | None) -> str:
        """The water is kept, and waves are no higher than at the start."""
        found = model.diagnostics()
        high = found["max_surface_elevation"]
        if not (abs(found["volume_error"]) < 1e-5 and high < 1.5 * HEIGHT):
            raise EagreError(f"{model.device}: volume error {found['volume_error']:.2g}, crest {high:.3g} m")
        iterations = f"{model.statistics()['iterations_a_solve']:.1f} iterations"
        return iterations if difference is None else f"{difference:.1e} from the CPU, {iterations}"
