"""Benchmark of the ADI shallow-water model: the pool of `eagre.laboratory.cases.mike21`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.laboratory.bench.subject import Benchmark, paper_ms
from eagre.laboratory.cases.mike21 import VARIANTS, pool
from eagre.laboratory.papers import paper

LARGEST_VOLUME_ERROR = {"single": 1e-5, "double": 1e-12}
COMPARED_SHAPE, COMPARED_TIME = (171, 300), 200.0


def _paper_ms(table: str, version: str, column: str) -> float:
    """Return the ms per step of a duration of 100 steps."""
    return 1e3 * paper("mike21").value(table, version, column) / 100


FASTEST = {256: ("table-8.25", "S24 CR-PCR"), 2048: ("table-8.13", "S14")}
PAPER_MS = {
    size: (_paper_ms(*version, "duration"), _paper_ms(*version, "duration of one core"))
    for size, version in FASTEST.items()
}
"""Cells per side, ms per step of the GPU (GTX 590, best version) and of one core in the source, in double precision."""
PAPER_WORDS, PAPER_GB = 160, 1000 * 2**20  # values per cell and step, and bytes of a GB in the source


class Pool(Benchmark):
    """Cells of 100 m, steps of 20 s, Manning number 32, a hump of 1 m on 50 m of water: Courant number 4.4.

    "mike21" is the scheme of the source, "default" also has dissipation and drying.
    """

    case = "pool"
    variants = tuple(VARIANTS)
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (1024,), "cuda": (256, 512, 1024, 2048, 4096, 8192)}
    resident = 7
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 2, "cuda": 64}
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 2e-5, "double": 1e-12}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the model; `variant` is a key of `eagre.laboratory.cases.mike21.VARIANTS`."""
        return pool((size, size), device, precision, variant)

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of the short run, the same for all sizes."""
        return COMPARED_SHAPE

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the maximum difference of surface and discharges from the CPU; 0 on the CPU."""
        if device.kind == "cpu":
            return 0.0
        states = []
        for where in (device, "cpu"):
            model = pool(shape, where, precision, variant)
            model.advance(COMPARED_TIME)
            states.append(model.state())
        device_result, reference_result = states
        names = ("z", "p", "q_after")
        apart = [
            np.abs(device_result[k].astype(float) - reference_result[k]).max() / np.abs(reference_result[k]).max()
            for k in names
        ]
        return float(np.max(apart))

    def verified(self, model: Model, difference: float | None) -> str:
        """Check that the volume is conserved and all values are finite."""
        diagnostics = model.diagnostics()
        error = abs(diagnostics["volume_error"])
        if not (error <= LARGEST_VOLUME_ERROR[model.precision] and math.isfinite(diagnostics["kinetic_energy"])):
            raise EagreError(
                f"The relative change of the volume is {error:.2g} ({model.precision} precision, {model.device})."
            )
        if model.device.kind == "cpu":
            return f"volume {error:.1e}"
        compared = "" if difference is None else f", against the CPU {difference:.1e}"
        return f"volume {error:.1e}{compared}; coupling left out {model.statistics()['coupling_left_out']:.1e}"

    def against_paper(self, record: Mapping[str, Any]) -> str:
        """Return the bandwidth as defined in the source (160 values per cell and step), and its time for this size."""
        itemsize = 4 if record["precision"] == "single" else 8
        rate = PAPER_WORDS * itemsize * record["cell_steps_per_s"] / PAPER_GB
        return f"; {rate:.3g} GB/s as mike21 counts{paper_ms('mike21', PAPER_MS, record)}"
