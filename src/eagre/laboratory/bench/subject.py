"""Base class of benchmarks, with published reference timings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.contract import Model
from eagre.errors import EagreError, InputError


class Benchmark(ABC):
    """Benchmark of a model: case, variants of the scheme, and verification."""

    case: ClassVar[str]
    variants: ClassVar[tuple[str, ...]]
    also: ClassVar[tuple[str, ...]] = ()  # variants that are measured on request only
    sizes: ClassVar[Mapping[str, Sequence[int]]]  # cells or points per side, by kind of device
    resident: ClassVar[float]  # values per cell used by a step
    steps_a_call: ClassVar[Mapping[str, int]]  # steps per call, enough to hide the call overhead, by kind of device
    largest_difference: ClassVar[Mapping[str, float]]  # relative difference of CUDA from the CPU, by precision

    @abstractmethod
    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return the model at its start, `size` cells or points per side."""

    def better_size(self, size: int, variant: str) -> int:
        """Return the smallest size from `size` on that the model always accepts; needs no memory."""
        return size

    def check_size(self, size: int, variant: str) -> None:
        """Raise `InputError` for a size with too few points for the scheme; needs no memory."""
        if size < 1:
            raise self.wrong_size(size, variant, "no points")

    def checked_model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return `model`; an error due to the size gives advice on ``--size`` instead of case keys."""
        self.check_size(size, variant)
        try:
            return self.model(size, device, precision, variant)
        except InputError as error:
            better = self.better_size(size, variant)
            if better == size:
                raise
            raise self.wrong_size(size, variant, error.what) from None

    def wrong_size(self, size: int, variant: str, what: str) -> InputError:
        """Return the error for a size that the model does not accept."""
        return InputError(
            f"--size {size} for {variant}: {what}",
            fix=f"--size {self.better_size(size, variant)}",
            problem="The benchmark cannot be run at this size.",
        )

    def shape(self, size: int, variant: str) -> tuple[int, ...]:
        """Return the shape (nz,) ny, nx of `model`."""
        return size, size

    @abstractmethod
    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Return the shape of the short run for verification of `size`; None if there is none."""

    @abstractmethod
    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return the relative difference of a short run from a reference."""

    @abstractmethod
    def verified(self, model: Model, difference: float | None) -> str:
        """Return a description of the checks after the timed steps; raise `EagreError` for wrong results."""

    def reference_precision(self, device: Device | Group, precision: str) -> str:
        """Return the precision of the reference of `difference`."""
        return "double"

    def against_paper(self, record: Mapping[str, Any]) -> str:
        """Return the published timing for the size of a record, on a GPU or on one core, if any."""
        return ""

    def compared(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Return `difference` after a check that it is finite and due to rounding."""
        result = self.difference(shape, device, precision, variant)
        other = self.reference_precision(device, precision)
        if not result <= max(self.largest_difference[precision], self.largest_difference[other]):
            raise EagreError(
                f"The result of {device} differs from its reference by {result:.2g} ({shape}, {variant}, {precision})."
            )
        return result


def paper_ms(paper: str, times: Mapping[int, tuple[float, float]], record: Mapping[str, Any]) -> str:
    """Return the published ms per step for the size of a record, on its GPU or one core, and the speed-up."""
    size, on_cpu = int(record["shape"][0]), record["threads"] > 0
    if size not in times:
        return ""
    paper_value = times[size][on_cpu]
    return f"; {paper} {paper_value:g} ms ({'core' if on_cpu else 'GPU'}), {paper_value / record['ms_per_step']:.1f}x"
