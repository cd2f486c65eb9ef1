"""Roofline model: operation counts and memory traffic of routines, and rates of a device."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.compilation.program import PRECISIONS
from eagre.backend.device import Device
from eagre.backend.timing import copied, copy_bandwidth, times_of


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


class Operations(NamedTuple):
    """Numbers of arithmetic operations; a power of a number is a root."""

    additions: float = 0.0
    multiplications: float = 0.0
    divisions: float = 0.0
    roots: float = 0.0

    @property
    def total(self) -> float:
        """Sum of all kinds."""
        return sum(self)


class Counted:
    """Number that counts the operations made with it and its results, by kind; see `operations_of`."""

    __array_ufunc__ = None  # NumPy scalars leave operators to this class

    def __init__(self, value: float, count: Counter[str]) -> None:
        self.value, self.count = value, count

    def _result(self, value: float, kind: str) -> Counted:
        self.count[kind] += 1
        return Counted(value, self.count)

    def __add__(self, other: object) -> Counted:
        return self._result(self.value + _value(other), "additions")

    def __sub__(self, other: object) -> Counted:
        return self._result(self.value - _value(other), "additions")

    def __rsub__(self, other: object) -> Counted:
        return self._result(_value(other) - self.value, "additions")

    def __mul__(self, other: object) -> Counted:
        return self._result(self.value * _value(other), "multiplications")

    def __truediv__(self, other: object) -> Counted:
        return self._result(self.value / _value(other), "divisions")

    def __rtruediv__(self, other: object) -> Counted:
        return self._result(_value(other) / self.value, "divisions")

    def __pow__(self, other: object) -> Counted:
        return self._result(self.value ** _value(other), "roots")

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.count)

    def __abs__(self) -> Counted:
        return self._result(abs(self.value), "magnitudes")

    def _compared(self, result: bool) -> bool:
        self.count["comparisons"] += 1
        return result

    def __lt__(self, other: object) -> bool:
        return self._compared(self.value < _value(other))

    def __gt__(self, other: object) -> bool:
        return self._compared(self.value > _value(other))

    def __le__(self, other: object) -> bool:
        return self._compared(self.value <= _value(other))

    def __ge__(self, other: object) -> bool:
        return self._compared(self.value >= _value(other))

    def __eq__(self, other: object) -> bool:
        return self._compared(self.value == _value(other))

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    __radd__, __rmul__ = __add__, __mul__


def _value(number: Any) -> float:
    return number.value if isinstance(number, Counted) else float(number)


def operations_of(formula: Callable[..., Any], *arguments: Any) -> int:
    """Return the number of operations of a call of a formula: sums, products, quotients, |x| and comparisons.

    ``min`` and ``max`` of two numbers count as one comparison. Changes of sign, conversions, powers and functions of
    `math` are not counted. Floats and arrays of floats are counted; integers are indices.
    """
    count = count_of(formula, *arguments)
    return sum(number for kind, number in count.items() if kind not in ("roots", "functions"))


def count_of(formula: Callable[..., Any], *arguments: Any) -> Counter[str]:
    """Return the operations of a call by kind: the fields of `Operations`, "magnitudes" and "comparisons".

    Floats, arrays of floats and tuples of both are counted; the arrays keep their values. `math.sqrt` counts as a root.
    """
    count: Counter[str] = Counter()

    def counting(one: Any) -> Any:
        if isinstance(one, np.ndarray) and one.dtype.kind == "f":
            numbers = np.empty(one.shape, object)
            numbers.ravel()[:] = [Counted(x, count) for x in one.flat]
            return numbers
        if isinstance(one, tuple):
            items = [counting(item) for item in one]
            return type(one)._make(items) if hasattr(one, "_make") else tuple(items)  # type: ignore[attr-defined]
        return Counted(one, count) if isinstance(one, float) else one

    with _counted_functions(), _counted_constants(formula, count):
        formula(*(counting(one) for one in arguments))
    return count


@contextmanager
def _counted_constants(formula: Callable[..., Any], count: Counter[str]) -> Iterator[None]:
    """Let ``real(x)`` of a generated program return a `Counted` number, within the context.

    Otherwise a limiter that returns its constant bound would end the count.
    """
    scope = getattr(formula, "__globals__", {})
    plain = scope.get("real")
    if plain is None:
        yield
        return
    scope["real"] = lambda x: x if isinstance(x, Counted) else Counted(float(x), count)
    try:
        yield
    finally:
        scope["real"] = plain


@contextmanager
def _counted_functions() -> Iterator[None]:
    """Let the functions of `math` that kernels use accept `Counted` numbers, within the context."""
    plain = {name: getattr(math, name) for name in ("sqrt", "copysign", "exp")}

    def counting(name: str) -> Callable[..., Any]:
        def call(*numbers: Any) -> Any:
            value, first = plain[name](*map(_value, numbers)), numbers[0]
            if not isinstance(first, Counted):
                return value
            return first._result(value, "roots" if name == "sqrt" else "functions")

        return call

    try:
        for name in plain:
            setattr(math, name, counting(name))
        yield
    finally:
        for name, function in plain.items():
            setattr(math, name, function)


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


COLUMNS = 4096
CHAIN = 32  # length of a chain of dependent multiply-adds
REPEATS = switch("REPEATS", 1)  # chains behind each other
REPEATS_CUDA = 64  # hide the times of a launch and of the memory, which are those of hundreds of multiply-adds


@cell
def added(j, i, a, b, target):
    """Add one element of two arrays."""
    target[j, i] = a[j, i] + b[j, i]


@cell
def chained(j, i, a):
    """Apply two chains of CHAIN multiply-adds to one element, REPEATS times."""
    x = a[j, i]
    y = x + real(1.0)
    for _ in range(REPEATS):
        for _ in range(CHAIN):
            x = x * real(0.999) + real(0.001)
            y = y * real(0.998) + real(0.001)
    a[j, i] = x + y


def peak_operations(device: Device, precision: str, rows: int = 0) -> float:
    """Return the rate of multiply-adds in a compiled loop, operations per second (two each): best of several runs.

    rows : of 1024 elements; by default enough for all threads, and few enough for the cache of a CPU.
    """
    on_gpu = device.kind == "cuda"
    repeats = REPEATS_CUDA if on_gpu else 1
    shape = (rows or (2**14 if on_gpu else 512), 1024)
    array = device.array(np.ones(shape, np.dtype(PRECISIONS[precision])))
    launch = device.over(device.loop(chained, precision, {"REPEATS": repeats}), shape, (array,))
    seconds = min(times_of(device, lambda: device.run([launch])))
    return 4.0 * CHAIN * repeats * shape[0] * shape[1] / seconds


def bandwidths(device: Device, precision: str = "single", megabytes: int = 0) -> dict[str, float]:
    """Return bandwidths in bytes per second, read plus written, as the best of several runs.

    Parameters
    ----------
    device : Device
        From `eagre.backend.select.select`.
    precision : {"single", "double"}
        Precision of the elements of the loops.
    megabytes : int
        Size of one array; the default exceeds any cache.

    Returns
    -------
    dict
        ``device copy`` (by the driver, on a GPU), ``copy`` and ``sum`` (two arrays read, one written) by loops.
    """
    size = megabytes or (4096 if device.kind == "cuda" else 256)
    dtype = np.dtype(PRECISIONS[precision])
    shape = (max(1, size * 2**20 // (dtype.itemsize * COLUMNS)), COLUMNS)
    arrays = [device.zeros(shape, dtype) for _ in range(3)]
    for array in arrays:
        array[...] = 1.0  # untouched zeros may all be one page of memory
    rates = {"device copy": copy_bandwidth(device, size)}
    for name, formula, used in (("copy", copied, arrays[1:]), ("sum", added, arrays)):
        launch = device.over(device.loop(formula, precision), shape, tuple(used))
        seconds = times_of(device, lambda launch=launch: device.run([launch]), repeats=7)
        rates[name] = len(used) * dtype.itemsize * shape[0] * shape[1] / min(seconds)
    return rates
