"""Benchmark of the explicit shallow-water model: a wet basin with friction between walls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.laboratory.bench.subject import Benchmark

LARGEST_VOLUME_ERROR = {"single": 2e-5, "double": 1e-12}  # for 10,000 steps; proportional to steps beyond
COMPARED_SHAPE, COMPARED_TIME = (171, 200), 10.0


class WetBasin(Benchmark):
    """A hump of water over a varying bed, N x N cells, wet everywhere, Manning 0.03."""

    case = "wet-basin"
    variants = ("rk2", "euler")
    also = ("srk2", "ds1", "ds2")
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (1024,), "cuda": (256, 1024, 2048, 8192)}
    resident = 10
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 1, "cuda": 1}  # steps are made in batches
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 2e-5, "double": 1e-11}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the model; `variant` is the scheme."""
        return basin((size, size), device, precision, variant)

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of the short run, the same for all sizes."""
        return COMPARED_SHAPE

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the maximum difference of depths and discharges from the CPU; 0 on the CPU."""
        if device.kind == "cpu":
            return 0.0
        device_result, reference_result = (basin(shape, where, precision, variant) for where in (device, "cpu"))
        apart = []
        for model in (device_result, reference_result):
            model.advance(COMPARED_TIME)
        for names in (("depth",), ("discharge_x", "discharge_y")):
            expected = np.stack([reference_result.field(name).astype(np.float64) for name in names])
            result = np.stack([device_result.field(name).astype(np.float64) for name in names])
            apart.append(np.abs(result - expected).max() / np.abs(expected).max())
        return float(np.max(apart))

    def verified(self, model: Model, difference: float | None) -> str:
        """Check that the volume is conserved."""
        error = abs(model.diagnostics()["volume_error"])
        if not error <= LARGEST_VOLUME_ERROR[model.precision] * max(1.0, model.steps / 10_000):
            raise EagreError(
                f"The relative change of the volume is {error:.2g} ({model.precision} precision, {model.device})."
            )
        compared = "" if model.device.kind == "cpu" or difference is None else f", against the CPU {difference:.1e}"
        return f"volume {error:.1e}{compared}"


@lru_cache(maxsize=2)  # for the timed grid and the smaller one for verification
def initial(shape: tuple[int, int]) -> tuple[Grid, np.ndarray, np.ndarray]:
    """Return grid, bed at the corners and initial surface."""
    ny, nx = shape
    grid = Grid(nx, ny, 1.0, 1.0)
    x, y, x_corner, y_corner = grid.x, grid.y[:, None], grid.x_corner, grid.y_corner[:, None]
    bed = 0.1 * np.sin(7.0 * x_corner / nx) * np.cos(5.0 * y_corner / ny)
    hump = 0.2 * np.exp(-(((x - nx / 2) / (nx / 4)) ** 2)) * np.exp(-(((y - ny / 2) / (ny / 4)) ** 2))
    return grid, bed, 1.0 + hump + 1e-3 * np.sin(x) * np.cos(y)


def basin(shape: tuple[int, int], device: str | Device, precision: str, scheme: str) -> Model:
    """Return the model at its start."""
    from eagre.models.shallow_water.model import ShallowWater

    grid, bed, surface = initial(shape)
    return ShallowWater(
        grid, bed, surface_elevation=surface, manning=0.03, device=device, precision=precision, scheme=scheme
    )
