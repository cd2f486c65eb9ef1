"""Benchmark of the anelastic model: steps of the decaying turbulence of `eagre.laboratory.cases.atmosphere`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.laboratory.bench.subject import Benchmark
from eagre.laboratory.cases.atmosphere import decaying_turbulence

COMPARED_STEPS = 3
COMPARED = 16  # points along each axis of the short run for verification
COURANT = 0.3


class Turbulence(Benchmark):
    """Steps of the vortices in a triply periodic cube, `size` points along each axis.

    "fft" solves for the pressure directly; "stratified" is a Boussinesq atmosphere with N = 1 s-1 and one more field.
    """

    case = "turbulence"
    variants = ("fft", "stratified")
    sizes: ClassVar[Mapping[str, Sequence[int]]] = {"cpu": (64, 128), "cuda": (64, 128, 256, 512)}
    resident = 24.0
    steps_a_call: ClassVar[Mapping[str, int]] = {"cpu": 1, "cuda": 8}
    largest_difference: ClassVar[Mapping[str, float]] = {"single": 1e-5, "double": 1e-9}

    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the vortices at their start."""
        return _turbulence(size, variant, device=device, precision=precision)

    def shape(self, size: int, variant: str) -> tuple[int, ...]:
        """Return the shape of the cube."""
        return size, size, size

    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of a small cube, independent of the size."""
        return COMPARED, COMPARED

    def reference_precision(self, device: Device | Group, precision: str) -> str:
        """Return single for double precision on a CPU, which cannot be compared with itself, otherwise double."""
        return "single" if device.kind == "cpu" and precision == "double" else "double"

    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the largest difference of the wind, over its scale, from the CPU in another precision or device."""
        result = _turbulence(shape[0], variant, device=device, precision=precision)
        reference = _turbulence(shape[0], variant, device="cpu", precision=self.reference_precision(device, precision))
        for model in (result, reference):
            model.advance(1e6, max_steps=COMPARED_STEPS)
        return max(float(np.abs(result.field(name) - reference.field(name)).max()) for name in ("u", "v", "w"))

    def verified(self, model: Model, difference: float | None) -> str:
        """Check that the energy does not exceed the initial energy."""
        energy = model.diagnostics()["mean_kinetic_energy"]
        if not 0.0 < energy < 0.27:
            raise EagreError(f"The mean kinetic energy is {energy:.3g} m2/s2 after the timed steps on {model.device}.")
        left = f"dt div {model.diagnostics()['scaled_divergence']:.1e}"
        other = self.reference_precision(model.device, model.precision)
        return left if difference is None else f"{difference:.1e} from {other} precision, {left}"


def _turbulence(points: int, variant: str, **options: Any) -> Any:
    from eagre.models.anelastic.base.atmosphere import Atmosphere

    more = {"atmosphere": Atmosphere.boussinesq(buoyancy_frequency=1.0)} if variant == "stratified" else {}
    step = COURANT * 2.0 * np.pi / points / 3.0
    return decaying_turbulence(points, "solenoidal", time_step=step, **more, **options)
