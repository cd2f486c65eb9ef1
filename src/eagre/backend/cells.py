"""Cells: formulas written once as plain Python, rebuilt for each target and precision.

A *cell* is a plain function over scalars and arrays, marked with `cell`. It may use

* other cells, which are rebuilt with it;
* ``real(x)``, the constant x in the precision of the build (every constant needs it: in single
  precision a bare ``0.5 * x`` is double arithmetic);
* module-level numbers;
* switches, made with `switch` at module level, whose value (a number, a flag or another cell) is
  fixed when the cell is built, so that what is switched off costs nothing;
* ``math``.

Rules that keep cells fast (measured; see docs/development/decisions/0002-cells.md): every array index is a
low corner plus a non-negative constant; no bounds tests; min/max instead of branches.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any


class Switch:
    """A compile-time option of cells; `default` holds where a build does not set it."""

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __repr__(self) -> str:
        return f"Switch({self.name!r}, {self.default!r})"


def switch(name: str, default: Any) -> Any:
    """Declare a `Switch`; `Any`, because cells use it as what it stands for."""
    return Switch(name, default)


class Cell:
    """A formula that the backend can rebuild; calling it runs it as plain Python, switches at their defaults."""

    decorator = "formula"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._plain: Callable[..., Any] | None = None
        self.variants: dict[tuple[str | None, str | None], Cell] = {}
        self.source: str | None = None  # of a cell that was written (see `written`)
        self.texts: dict[Any, Any] = {}  # of programs, as `eagre.backend.program` makes them
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain is None:
            scope = self.function.__globals__
            defaults = {k: v.default for k, v in scope.items() if isinstance(v, Switch)}
            self._plain = types.FunctionType(self.function.__code__, {**scope, **defaults})
        return self._plain(*args, **kwargs)

    def __reduce__(self) -> str:
        """Sent to another process by the name that it has in its module, where that is the cell and no function."""
        return self.function.__qualname__

    def variant(self, target: str | None, precision: str | None = None) -> Callable[[Callable[..., Any]], Cell]:
        """Decorator: another body of the same formula for one target (and one precision).

        `target` is ``"cpu"``, ``"cuda"``, ``"simulator"`` (which falls back on ``"cuda"``), or None for all of them.
        """

        def register(function: Callable[..., Any]) -> Cell:
            plain = function.function if isinstance(function, Cell) else function
            self.variants[target, precision] = Cell(plain)
            return self.variants[target, precision]

        return register

    def body(self, target: str, precision: str) -> Cell:
        """The cell whose source serves `target` and `precision`."""
        for name in ("simulator", "cuda", None) if target == "simulator" else (target, None):
            for key in ((name, precision), (name, None)):
                if key in self.variants:
                    return self.variants[key]
        return self

    @functools.cached_property
    def text(self) -> str:
        """Source text of the plain function, which many programs ask for: finding it takes Python 1 ms."""
        return textwrap.dedent(inspect.getsource(self.function))

    @property
    def name(self) -> str:
        """Name of the plain function."""
        return self.function.__name__


def cell(function: Callable[..., Any]) -> Cell:
    """Mark a plain function as a cell."""
    return Cell(function)


def written(source: str, scope: dict[str, Any]) -> Cell:
    """A cell from its text, for compositions that are known when a run is set up; `scope` holds what it calls."""
    found: dict[str, Any] = dict(scope)
    exec(source, found)
    [function] = [value for name, value in found.items() if isinstance(value, types.FunctionType) and name not in scope]
    made = Cell(function)
    made.source = source
    return made


class Entry(Cell):
    """A cell that the host calls: a kernel on CUDA, a loop nest on the CPU (see `launch`)."""

    decorator = "driver"


class SerialEntry(Cell):
    """An entry that runs on one CPU thread: small work, where starting threads costs more."""

    decorator = "serial_driver"


def entry(function: Callable[..., Any]) -> Entry:
    """Mark a hand-written loop nest or kernel as callable from the host."""
    return Entry(function)


def serial_entry(function: Callable[..., Any]) -> SerialEntry:
    """Mark a loop nest for one CPU thread as callable from the host."""
    return SerialEntry(function)


def real(value: float) -> float:
    """`value` in the precision of the build; plain Python keeps it as it is."""
    return value


cplx: Any = complex
"""The complex type of the build's precision, for `cuda.local.array` in hand-tiled kernels."""

word: Any = float
"""The build's precision as a NumPy dtype, for `cuda.shared.array` in hand-tiled kernels."""


class CudaNames:
    """Stands for Numba's ``cuda`` module in hand-tiled kernels; programs bind the real one."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"cuda.{name} exists only inside a kernel built for CUDA")


cuda: Any = CudaNames()
rcp_seed: Any = cuda
"""1/x and 1/sqrt(x) to 20 bits in CUDA cells of double precision."""
rsqrt_seed: Any = cuda
select_smaller: Any = cuda
select_larger: Any = cuda
select_both: Any = cuda
select_by_sign: Any = cuda
load_ahead: Any = cuda
"""A load that the compiler leaves where it is; see `eagre.backend.cuda_seeds`."""

flat_load: Any = cuda
"""Loads and stores by one flat index, and several words at once; see `eagre.backend.cuda_memory`."""
flat_store: Any = cuda
load_volatile: Any = cuda
load_here: Any = cuda
load_beside: Any = cuda
store_beside: Any = cuda
two_in_word: Any = cuda
"""Two numbers of 16 bits in a word of 32; see `eagre.backend.cuda_memory`."""
two_of_word: Any = cuda
prefetch_l2: Any = cuda
load_two: Any = cuda
load_four: Any = cuda
store_two: Any = cuda
store_four: Any = cuda

named_barrier: Any = cuda
lend_registers: Any = cuda
take_registers: Any = cuda
address_at: Any = cuda
bytes_of: Any = cuda
copy_word_ahead: Any = cuda
copy_sixteen_ahead: Any = cuda
copies_arrived: Any = cuda
copies_in_group: Any = cuda
copies_arrived_but_last: Any = cuda
come: Any = cuda
meeting_of: Any = cuda
meeting_over: Any = cuda
"""Barriers of which coming and waiting are two things; see `eagre.backend.cuda_meetings`."""
launch_dependents: Any = cuda
"""Let the next kernel start; `grid_dependency_wait`: until all that the kernels before have stored can be seen."""
grid_dependency_wait: Any = cuda

prefetch: Any = cuda
"""A hint to a CPU that ``array[k, j, i]`` will be read; see `eagre.backend.prefetch`."""

prange: Any = range
"""Parallel range in CPU entries; plain Python sees `range`."""
