"""Operation counts and memory traffic of routines, and the roofline model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Routine:
    """Routine with its operations and bytes per cell: reads and writes without constants."""

    name: str
    operations: float
    bytes: float

    @property
    def intensity(self) -> float:
        """Operations per byte, Q in the paper."""
        return self.operations / self.bytes

    def attainable(self, bandwidth: float, peak: float = float("inf")) -> float:
        """Return the attainable operations per second for a bandwidth, bytes/s, and a peak, operations/s."""
        return min(self.intensity * bandwidth, peak)

    def measured(self, cells: float, seconds: float, bandwidth: float, peak: float = float("inf")) -> Measured:
        """Return the rates of a run over `cells` cells in `seconds` seconds."""
        rate = cells / seconds
        speed = rate * self.operations
        return Measured(self, rate, speed, rate * self.bytes, speed / self.attainable(bandwidth, peak))


@dataclass(frozen=True)
class Measured:
    """Measured rates of a routine."""

    routine: Routine
    cells: float  # per second
    operations: float  # per second
    bytes: float  # per second
    fraction: float  # fraction of the roofline


class Counted:
    """Number that counts the operations made with it and its results; see `operations_of`."""

    def __init__(self, value: float, count: list[int]) -> None:
        self.value, self.count = value, count

    def _made(self, value: float) -> Counted:
        self.count[0] += 1
        return Counted(value, self.count)

    def __add__(self, other: object) -> Counted:
        return self._made(self.value + _value(other))

    def __sub__(self, other: object) -> Counted:
        return self._made(self.value - _value(other))

    def __rsub__(self, other: object) -> Counted:
        return self._made(_value(other) - self.value)

    def __mul__(self, other: object) -> Counted:
        return self._made(self.value * _value(other))

    def __truediv__(self, other: object) -> Counted:
        return self._made(self.value / _value(other))

    def __rtruediv__(self, other: object) -> Counted:
        return self._made(_value(other) / self.value)

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.count)

    def __abs__(self) -> Counted:
        return self._made(abs(self.value))

    def __lt__(self, other: object) -> bool:
        self.count[0] += 1
        return self.value < _value(other)

    def __gt__(self, other: object) -> bool:
        self.count[0] += 1
        return self.value > _value(other)

    __radd__, __rmul__ = __add__, __mul__


def _value(number: Any) -> float:
    return number.value if isinstance(number, Counted) else float(number)


def operations_of(formula: Callable[..., Any], *arguments: Any) -> int:
    """Return the number of operations of a call of a formula: sums, products, quotients, |x| and comparisons.

    ``min`` and ``max`` of two numbers count as one comparison. Changes of sign, conversions and functions of `math` are
    not counted. Floats and arrays of floats are counted; integers are indices.
    """
    count = [0]

    def counting(one: Any) -> Any:
        if isinstance(one, np.ndarray) and one.dtype.kind == "f":
            return np.array([Counted(x, count) for x in one.flat], dtype=object).reshape(one.shape)
        return Counted(one, count) if isinstance(one, float) else one

    formula(*(counting(one) for one in arguments))
    return count[0]


def report(found: Iterable[Measured]) -> str:
    """Return a table of measured routines."""
    titles = ("op/cell", "B/cell", "op/B", "Gcell/s", "GFlop/s", "GB/s", "roof")
    lines = [f"{'routine':16s}" + "".join(f" {title:>8s}" for title in titles)]
    for one in found:
        routine = one.routine
        lines.append(
            f"{routine.name:16s} {routine.operations:8g} {routine.bytes:8g} {routine.intensity:8.3f} "
            f"{one.cells / 1e9:8.3f} {one.operations / 1e9:8.1f} {one.bytes / 1e9:8.1f} {one.fraction:8.0%}"
        )
    return "\n".join(lines)
