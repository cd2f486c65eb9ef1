"""What is measured of a model, and what the paper that it goes back to measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.contract import Model
from eagre.errors import EagreError, InputError


class Benchmark(ABC):
    """What is measured of a model: a case, variants of the scheme, and how its answer is verified."""

    case: ClassVar[str]
    variants: ClassVar[tuple[str, ...]]
    also: ClassVar[tuple[str, ...]] = ()  # variants that are measured only where they are named
    sizes: ClassVar[Mapping[str, Sequence[int]]]  # cells or points a side, by kind of device
    resident: ClassVar[float]  # words a cell that a step touches
    steps_a_call: ClassVar[Mapping[str, int]]  # enough to hide a call from Python, by kind of device
    largest_difference: ClassVar[Mapping[str, float]]  # CUDA against the CPU, relative, by precision

    @abstractmethod
    def model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """The model at its start, `size` cells or points a side."""

    def better_size(self, size: int, variant: str) -> int:
        """Return the smallest size from `size` on that the model accepts in any case; needs no memory."""
        return size

    def check_size(self, size: int, variant: str) -> None:
        """Raise `InputError` for a size with too few points for the scheme; needs no memory."""
        if size < 1:
            raise self.wrong_size(size, variant, "no points")

    def checked_model(self, size: int, device: Device, precision: str, variant: str) -> Model:
        """Return `model`; an error that is due to the size gives advice on ``--size`` instead of keys of a case."""
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
        """(nz,) ny, nx of `model`."""
        return size, size

    @abstractmethod
    def compared_shape(self, size: int) -> tuple[int, int] | None:
        """Shape of the short run that is compared before `size` is timed; None if none is."""

    @abstractmethod
    def difference(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """Relative difference of a short run from a reference."""

    @abstractmethod
    def verified(self, model: Model, difference: float | None) -> str:
        """What was verified after the timed steps, in words; raises `EagreError` if it is wrong."""

    def against_paper(self, record: Mapping[str, Any]) -> str:
        """What the paper measured at the record's size, if it did, on a GPU or on one core as the record is."""
        return ""

    def compared(self, shape: tuple[int, int], device: Device, precision: str, variant: str) -> float:
        """`difference`, refused if it is larger than rounding explains, or not a number."""
        found = self.difference(shape, device, precision, variant)
        other = reference_precision(device, precision)
        if not found <= max(self.largest_difference[precision], self.largest_difference[other]):
            raise EagreError(
                f"The result of {device} differs from its reference by {found:.2g} ({shape}, {variant}, {precision})."
            )
        return found


def reference_precision(device: Device | Group, precision: str) -> str:
    """Return the precision of the reference on the CPU: the other one for double precision on a CPU, else double."""
    return "single" if device.kind == "cpu" and precision == "double" else "double"


def paper_ms(paper: str, times: Mapping[int, tuple[float, float]], record: Mapping[str, Any]) -> str:
    """A paper's ms a step at the record's size, of its GPU or of one core, and how many times faster the record is."""
    size, on_cpu = int(record["shape"][0]), record["threads"] > 0
    if size not in times:
        return ""
    theirs = times[size][on_cpu]
    return f"; {paper} {theirs:g} ms ({'core' if on_cpu else 'GPU'}), {theirs / record['ms_per_step']:.1f}x"
