"""Declaration of a launch parameter: meaning, unit, and value for a device without measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from eagre.layouts.gpu_properties import GpuProperties
from eagre.layouts.kinds import Kind

Rule = Callable[[GpuProperties, Any, GpuProperties], Any]


def as_measured(gpu: GpuProperties, value: Any, on: GpuProperties) -> Any:
    """Return the measured value: it depends on the number of registers, which is the same on all devices."""
    return value


def by_multiprocessors(gpu: GpuProperties, value: int, on: GpuProperties) -> int:
    """Return the measured value per multiprocessor times the number of multiprocessors."""
    return max(1, round(value * gpu.multiprocessors / on.multiprocessors))


class Parameter(NamedTuple):
    """Launch parameter.

    Attributes
    ----------
    key : str
        Path in a table: model or solver, kernel, name, separated by dots.
    kind : Kind
        Allowed values.
    unit : str
        Unit.
    neutral : bool
        Whether results are bitwise independent of the value.
    meaning : str
    rule : callable (gpu, value, on)
        Value for a device without measurements, from the value measured on another device.
    fits : callable (value, gpu), optional
        Reason why a device cannot have the value, or "".
    """

    key: str
    kind: Kind
    unit: str
    neutral: bool
    meaning: str
    rule: Rule = as_measured
    fits: Callable[[Any, GpuProperties], str] = lambda value, gpu: ""
