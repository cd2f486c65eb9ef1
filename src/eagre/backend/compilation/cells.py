"""Kernel functions: formulas written once in Python and rebuilt for each target and precision.

A kernel function is a Python function of scalars and arrays, decorated with `cell`. It may use

* other kernel functions, which are rebuilt with it;
* ``real(x)``, the constant x in the precision of the build (required for every constant: in single precision a plain
  ``0.5 * x`` is double-precision arithmetic);
* module-level numbers;
* switches, created by `switch` at module level, whose value (a number, a flag or another kernel function) is fixed at
  build time, so that disabled code costs nothing;
* ``math``.

Performance rules (measured; see docs/development/decisions/0002-cells.md): every array index is a low corner plus a
non-negative constant; no bounds tests; min/max instead of branches.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any


class Switch:
    """Compile-time option of kernel functions; `default` applies if a build does not set it."""

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __repr__(self) -> str:
        return f"Switch({self.name!r}, {self.default!r})"


def switch(name: str, default: Any) -> Any:
    """Declare a `Switch`; the type is `Any` because kernel functions use it as its value."""
    return Switch(name, default)


class Cell:
    """Kernel function that the backend can rebuild; calling it runs plain Python with default switches."""

    decorator = "formula"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._plain: Callable[..., Any] | None = None
        self.variants: dict[tuple[str | None, str | None], Cell] = {}
        self.source: str | None = None  # source of a generated function (see `written`)
        self.sources: dict[Any, Any] = {}  # generated program sources (`eagre.backend.compilation.program`)
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain is None:
            scope = self.function.__globals__
            defaults = {k: v.default for k, v in scope.items() if isinstance(v, Switch)}
            self._plain = types.FunctionType(self.function.__code__, {**scope, **defaults})
        return self._plain(*args, **kwargs)

    def __reduce__(self) -> str:
        """Pickle by name if the module attribute is this kernel function."""
        return self.function.__qualname__

    def variant(self, target: str | None, precision: str | None = None) -> Callable[[Callable[..., Any]], Cell]:
        """Decorator: register another body of the formula for a target (and a precision).

        `target` is ``"cpu"``, ``"cuda"``, ``"simulator"`` (which falls back to ``"cuda"``), or None for all.
        """

        def register(function: Callable[..., Any]) -> Cell:
            plain = function.function if isinstance(function, Cell) else function
            self.variants[target, precision] = Cell(plain)
            return self.variants[target, precision]

        return register

    def body(self, target: str, precision: str) -> Cell:
        """Return the kernel function whose source is used for `target` and `precision`."""
        for name in ("simulator", "cuda", None) if target == "simulator" else (target, None):
            for key in ((name, precision), (name, None)):
                if key in self.variants:
                    return self.variants[key]
        return self

    @functools.cached_property
    def text(self) -> str:
        """Source code of the function, cached because reading it takes 1 ms."""
        return textwrap.dedent(inspect.getsource(self.function))

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__


def cell(function: Callable[..., Any]) -> Cell:
    """Decorate a function as a kernel function."""
    return Cell(function)


def written(source: str, scope: dict[str, Any]) -> Cell:
    """Return a kernel function from source code, for compositions known at set-up; `scope` : called functions."""
    namespace: dict[str, Any] = dict(scope)
    exec(source, namespace)
    new = (value for name, value in namespace.items() if name not in scope)
    [function] = [value for value in new if isinstance(value, types.FunctionType)]
    generated = Cell(function)
    generated.source = source
    return generated


class Entry(Cell):
    """Kernel function called by the host: a kernel on CUDA, a loop nest on the CPU (see `launch`)."""

    decorator = "driver"


class SerialEntry(Cell):
    """Entry that runs on one CPU thread: small work for which starting threads is too expensive."""

    decorator = "serial_driver"


def entry(function: Callable[..., Any]) -> Entry:
    """Decorate a loop nest or kernel as callable from the host."""
    return Entry(function)


def serial_entry(function: Callable[..., Any]) -> SerialEntry:
    """Decorate a loop nest for one CPU thread as callable from the host."""
    return SerialEntry(function)


def real(value: float) -> float:
    """Return `value` in the precision of the build; unchanged in plain Python."""
    return value


cplx: Any = complex
"""Complex type of the build precision, for `cuda.local.array` in CUDA kernels."""

word: Any = float
"""Build precision as a NumPy dtype, for `cuda.shared.array` in CUDA kernels."""


class CudaNames:
    """Placeholder for Numba's ``cuda`` module in CUDA kernels; programs bind the real module."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"cuda.{name} exists only inside a kernel built for CUDA")


cuda: Any = CudaNames()
rcp_seed: Any = cuda
"""Approximations of 1/x and 1/sqrt(x) to 20 bits in double-precision CUDA functions."""
rsqrt_seed: Any = cuda
select_smaller: Any = cuda
select_larger: Any = cuda
select_both: Any = cuda
select_by_sign: Any = cuda
load_early: Any = cuda
"""Load that the compiler does not move; see `eagre.backend.cuda.ptx_instructions`."""

flat_load: Any = cuda
"""Loads and stores by flat index, and of several values at once; see `eagre.backend.cuda.memory`."""
flat_store: Any = cuda
load_volatile: Any = cuda
load_here: Any = cuda
load_offset32: Any = cuda
store_offset32: Any = cuda
two_in_word: Any = cuda
"""Two 16-bit numbers in a 32-bit word; see `eagre.backend.cuda.memory`."""
two_of_word: Any = cuda
prefetch_l2: Any = cuda
load_two: Any = cuda
load_four: Any = cuda
store_two: Any = cuda
store_four: Any = cuda

named_barrier: Any = cuda
release_registers: Any = cuda
acquire_registers: Any = cuda
address_at: Any = cuda
bytes_of: Any = cuda
copy_element_async: Any = cuda
copy_16_bytes_async: Any = cuda
copies_arrived: Any = cuda
copies_in_group: Any = cuda
copies_arrived_but_last: Any = cuda
mbarrier_arrive: Any = cuda
mbarrier_init: Any = cuda
mbarrier_wait: Any = cuda
"""Split barriers with separate arrive and wait; see `eagre.backend.cuda.ptx_instructions`."""
launch_dependents: Any = cuda
"""Allow the next kernel to start; `grid_dependency_wait`: wait until all stores of previous kernels are visible."""
grid_dependency_wait: Any = cuda

prefetch: Any = cuda
"""Prefetch hint for ``array[k, j, i]`` on a CPU; see `eagre.backend.cpu.intrinsics`."""

prange: Any = range
"""Parallel range in CPU entries; `range` in plain Python."""
