"""Benchmark of the barotropic model: the double gyre of Bleichrodt (2011) at the sizes of its table B.1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.laboratory.bench.subject import Benchmark, paper_ms
from eagre.laboratory.cases.gyres import VARIANTS, double_gyre
from eagre.laboratory.papers import paper

TABLE = paper("bleichrodt2011")
PAPER_MS = {
    int(points): (TABLE.value("table-B.1", points, "GPU"), TABLE.value("table-B.1", points, "CPU"))
    for points in dict.fromkeys(number.row for number in TABLE.select("table-B.1"))
}
"""Table B.1: points per side, ms per step of the Tesla M1060 (single precision) and of one core (double)."""
COMPARED_STEPS = 40
LARGEST_COMPARED = 1100  # maximum points per side; larger CPU runs take too long


class DoubleGyre(Benchmark):
    """The double gyre from rest, Re = 20.83, dt = 1e-7, free slip.

    "bleichrodt2011" is the scheme of the source (AB2, advective Jacobian), "default" the default scheme.
    """

    case = "double-gyre"
    variants = tuple(VARIANTS)
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (257, 1025), "cuda": tuple(PAPER_MS)}
    resident = 6
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 2, "cuda": 200}
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 2e-5, "double": 1e-11}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the model; `variant` is a key of `eagre.laboratory.cases.gyres.VARIANTS`."""
        return double_gyre(size, device, precision, variant)

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of the short run: the size itself, except for the largest sizes."""
        return (size, size) if size <= LARGEST_COMPARED else None

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the L2 difference of psi after some steps from the reference kernels in double precision.

        They evaluate the same formulas per point, but have other loops and another Poisson solver.
        """
        device_result = double_gyre(shape[0], device, precision, variant)
        reference_result = double_gyre(shape[0], "cpu", "double", variant, kernels="reference")
        for model in (device_result, reference_result):
            model.advance(COMPARED_STEPS * model.time_step)
        expected = reference_result.field("streamfunction").astype(np.float64)
        return float(np.linalg.norm(device_result.field("streamfunction") - expected) / np.linalg.norm(expected))

    def verified(self, model: Model, difference: float | None) -> str:
        """Check that the energy has grown from rest, and that all values are finite."""
        diagnostics = model.diagnostics()
        if not (diagnostics["energy"] > 0.0 and math.isfinite(diagnostics["max_vorticity"])):
            raise EagreError(f"The energy is {diagnostics['energy']:.3g} after the timed steps on {model.device}.")
        return "energy" if difference is None else f"psi {difference:.1e} from reference kernels in double precision"

    def against_paper(self, record: Mapping[str, Any]) -> str:
        """Return the published time for this size, and the speed-up."""
        return paper_ms("bleichrodt2011", PAPER_MS, record)
