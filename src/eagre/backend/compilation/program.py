"""Programs: self-contained Python modules generated from kernel functions, one per target and precision.

A program file holds the source of all kernel functions of an entry point, for one precision and one set of switches. It
is stored in the user's cache folder under a name derived from its content, so that Numba's disk cache works and a
second start needs no compilation. The file is plain, readable Python.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from eagre.backend.compilation.cells import Cell, CudaNames, Switch, cplx, real, word
from eagre.backend.compilation.code_cache import check_private, stored
from eagre.errors import EagreError

PRECISIONS = {"single": "float32", "double": "float64"}
_COMPLEX = {"single": "complex64", "double": "complex128"}

_HEADERS = {
    "python": "from eagre.backend.uncompiled import driver, formula, prange, prefetch, serial_driver\n",
    "cpu": (
        "from eagre.backend.cpu.compiler import driver, formula, prange, serial_driver\n"
        "from eagre.backend.cpu.compiler import flush_subnormals, prefetch, put_back\n"
    ),
    "cuda": (
        "from eagre.backend.cuda.compiler import cuda, formula\n"
        "from eagre.backend.cuda.compiler import {precision}_driver as driver\n"
        "from eagre.backend.cuda.memory import flat_load, flat_store, load_offset32, load_here\n"
        "from eagre.backend.cuda.memory import load_volatile, prefetch_l2, store_offset32\n"
        "from eagre.backend.cuda.memory import load_four, load_two, store_four, store_two, two_in_word, two_of_word\n"
        "from eagre.backend.cuda.memory import grid_dependency_wait, launch_dependents, named_barrier\n"
        "from eagre.backend.cuda.memory import release_registers, acquire_registers\n"
        "from eagre.backend.cuda.memory import copies_arrived, copies_arrived_but_last, copies_in_group\n"
        "from eagre.backend.cuda.memory import address_at, bytes_of, copy_16_bytes_async, copy_element_async\n"
        "from eagre.backend.cuda.ptx_instructions import mbarrier_arrive, mbarrier_init, mbarrier_wait\n"
        "from eagre.backend.cuda.ptx_instructions import load_early, rcp_seed, rsqrt_seed\n"
        "from eagre.backend.cuda.ptx_instructions import select_both, select_by_sign, select_larger, select_smaller\n"
    ),
    "simulator": (
        "from eagre.backend.simulated import cuda, driver, formula\n"
        "from eagre.backend.simulated import load_early, prefetch_l2\n"
        "from eagre.backend.simulated import mbarrier_arrive, mbarrier_init, mbarrier_wait\n"
        "from eagre.backend.simulated import flat_load, flat_store, load_here, load_volatile\n"
        "from eagre.backend.simulated import load_offset32, store_offset32\n"
        "from eagre.backend.simulated import load_four, load_two, store_four, store_two\n"
        "from eagre.backend.simulated import two_in_word, two_of_word\n"
        "from eagre.backend.simulated import grid_dependency_wait, launch_dependents, named_barrier\n"
        "from eagre.backend.simulated import release_registers, acquire_registers\n"
        "from eagre.backend.simulated import copies_arrived, copies_arrived_but_last, copies_in_group\n"
        "from eagre.backend.simulated import address_at, bytes_of, copy_16_bytes_async, copy_element_async\n"
    ),
}


def source_of(entry: Cell, target: str, precision: str, switches: Mapping[str, Any]) -> str:
    """Return the source of `entry` and of all kernel functions it calls, callees first.

    The switch ``REGISTERS`` is the limit of registers per thread for the CUDA compiler. Without ``DEPENDENT_LAUNCHES``
    the program has no instructions of compute capability 9.0. Without ``FUSED`` a CPU program fuses no multiply-adds.
    """
    chosen = ((name, value if isinstance(value, Cell) else repr(value)) for name, value in sorted(switches.items()))
    key = target, precision, *chosen
    if key not in entry.sources or not entry.sources[key].holds():
        entry.sources[key] = _generated(entry, target, precision, switches)
    return entry.sources[key].text


class GeneratedSource(NamedTuple):
    """Generated source with the module values that its kernel functions used; generation takes 2 ms."""

    text: str
    used: list[tuple[dict[str, Any], str, Any]]

    def holds(self) -> bool:
        """Return whether the modules still have these values: tests change them."""
        return all(scope.get(name) is value for scope, name, value in self.used)


def _generated(entry: Cell, target: str, precision: str, switches: Mapping[str, Any]) -> GeneratedSource:
    definitions: dict[str, str] = {}
    constants: dict[str, str] = {}
    used: list[tuple[dict[str, Any], str, Any]] = []
    _collect(entry, target, precision, switches, definitions, constants, used, set())
    header = "import importlib\nimport math\n\nimport numpy as np\n"
    header += f"from numpy import {PRECISIONS[precision]} as real\n\n{_HEADERS[target].format(precision=precision)}"
    if target == "cuda" and "REGISTERS" in switches:
        header += "from eagre.backend.cuda.compiler import limited_driver\n\n"
        header += f"driver = limited_driver({switches['REGISTERS']!r})\n"
    if target == "cuda" and not switches.get("DEPENDENT_LAUNCHES", True):
        header += "from eagre.backend.cuda.memory import no_instruction as grid_dependency_wait\n"
        header += "from eagre.backend.cuda.memory import no_instruction as launch_dependents\n"
        header += "from eagre.backend.cuda.memory import keep_registers as release_registers\n"
        header += "from eagre.backend.cuda.memory import keep_registers as acquire_registers\n"
        header += "from eagre.backend.cuda.ptx_instructions import mbarrier_poll as mbarrier_wait\n"
    if target == "cpu" and not switches.get("FUSED", True):
        header += "from eagre.backend.cpu.compiler import unfused_driver as driver, unfused_formula as formula\n"
    if any("cplx" in definition for definition in definitions.values()):
        header += f"from numpy import {_COMPLEX[precision]} as cplx\n"
    if any("word" in definition for definition in definitions.values()):
        header += "word = np.dtype(real)\n"
    lines = [f"{name} = {value}" for name, value in constants.items()]
    return GeneratedSource(header + "\n" + "\n".join(lines) + "\n\n\n" + "\n\n".join(definitions.values()), used)


def _collect(
    entry: Cell,
    target: str,
    precision: str,
    switches: Mapping[str, Any],
    definitions: dict[str, str],
    constants: dict[str, str],
    bindings: list[tuple[dict[str, Any], str, Any]],
    open_names: set[str],
    alias: str | None = None,
) -> None:
    body = entry.body(target, precision)
    name = alias or entry.name
    if name in open_names:
        raise EagreError(f"The kernel function {name} calls itself; recursion is not supported.")
    open_names.add(name)
    scope = inspect.getclosurevars(body.function)
    used = {**scope.globals, **scope.nonlocals}
    bindings += [(body.function.__globals__, *one) for one in scope.globals.items()]
    for used_name, value in used.items():
        if isinstance(value, Switch):
            value = switches.get(value.name, value.default)
        if isinstance(value, Cell):
            _collect(value, target, precision, switches, definitions, constants, bindings, open_names, alias=used_name)
        elif isinstance(value, type) and issubclass(value, tuple):
            # Numba's types do not hold the names of fields: without them here, code in the cache could be stale.
            fields = ", ".join(getattr(value, "_fields", ()))
            origin = f"importlib.import_module({value.__module__!r}).{value.__qualname__}"
            _define(constants, used_name, f"{origin}  # {fields}")
        elif isinstance(value, (bool, int, float)):
            _define(constants, used_name, repr(value))
        elif value not in (real, range, cplx, word) and not isinstance(value, (ModuleType, CudaNames)):
            allowed = "cells, switches, numbers, named tuples, math"
            raise EagreError(f"The kernel function {name} uses {used_name} = {value!r}; allowed: {allowed}.")
    text = _renamed(body, name)
    _define(definitions, name, _flushed(text) if target == "cpu" else text)
    open_names.discard(name)


def _renamed(body: Cell, name: str) -> str:
    source = body.source or body.text
    start = source.index("def ")
    remainder = source[source.index("(", start) :]
    return f"@{body.decorator}\ndef {name}{remainder}\n"


def _flushed(text: str) -> str:
    """Return a CPU entry whose parallel loop flushes subnormal numbers to zero (see `eagre.backend.cpu.intrinsics`)."""
    if "in prange(" not in text:
        return text
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "prange":
            first, last = node.body[0].lineno - 1, node.body[-1].end_lineno
            space = " " * node.body[0].col_offset
            lines.insert(last or first, f"{space}put_back(state)")
            lines.insert(first, f"{space}state = flush_subnormals()")
    return "\n".join(lines) + "\n"


def _define(table: dict[str, str], name: str, text: str) -> None:
    if table.setdefault(name, text) != text:
        raise EagreError(f"Two different kernel functions or constants of one program have the name {name}.")


@cache
def _stamp() -> str:
    """Return the dependencies of compiled code besides its source: versions and options of Python and the compilers."""
    import llvmlite
    import numba

    from eagre.backend.cpu.compiler import FAST, OPTIONS
    from eagre.backend.layouts import usual_registers

    versions = f"python {sys.version.split()[0]}, numba {numba.__version__}, llvmlite {llvmlite.__version__}"
    registers = "/".join(str(usual_registers(precision)) for precision in PRECISIONS)
    return f"{versions}, {' '.join(sorted(FAST))}, {OPTIONS}, {registers} registers"


def load(source: str, label: str) -> ModuleType:
    """Write `source` to the cache folder (once) and import it."""
    stamped = f'"""Generated by Eagre for {_stamp()}. Do not edit: it is keyed by its content."""\n\n{source}'
    digest = hashlib.sha256(stamped.encode()).hexdigest()[:20]
    name = f"eagre_program_{label}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    return imported(name, stored(f"{name}.py", stamped))


def imported(name: str, path: Path) -> ModuleType:
    """Import the module of a program's file.

    Raises
    ------
    InputError
        If other users can write the file, its folder or Python's own bytecode of the file.
    """
    bytecode = Path(importlib.util.cache_from_source(path))
    for trusted in (path.parent, path, bytecode.parent, bytecode):
        check_private(trusted)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        try:
            spec.loader.exec_module(module)
        except (EOFError, ValueError):  # the Python bytecode file is truncated
            bytecode.unlink()
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


AXES = ("k", "j", "i")  # axes of a region, outermost first: levels, rows, columns


def axes_of(entry: Cell) -> int:
    """Return the number of dimensions of a kernel function's region: the leading arguments named as `AXES`.

    Raises
    ------
    EagreError
        If the kernel function has no index.
    """
    names = list(inspect.signature(entry.function).parameters)
    count = next((n for n, name in enumerate(names) if name not in AXES), len(names))
    if not 1 <= count <= len(AXES) or names[:count] != sorted(names[:count], key=AXES.index):
        raise EagreError(
            f"The kernel function {entry.name}({', '.join(names)}) does not begin with i, j, i or k, j, i."
        )
    return count


_CPU_LOOPS = {
    1: "    for {i} in prange(nx):\n        {call}\n",
    2: "    for j in prange(ny):\n        for i in range(nx):\n            {call}\n",
    3: (
        "    for row in prange(nz * ny):\n"
        "        k = row // ny\n"
        "        j = row - k * ny\n"
        "        for i in range(nx):\n"
        "            {call}\n"
    ),
}
_CUDA_LOOPS = {
    1: "    {i} = cuda.grid(1)\n    if {i} < nx:\n        {call}\n",
    2: "    i, j = cuda.grid(2)\n    if i < nx and j < ny:\n        {call}\n",
    3: "    i, j, k = cuda.grid(3)\n    if i < nx and j < ny and k < nz:\n        {call}\n",
}


def loop_source(entry: Cell, target: str, precision: str, switches: Mapping[str, Any]) -> str:
    """Return the source of a driver that runs ``entry(i, ...)``, ``entry(j, i, ...)`` or ``entry(k, j, i, ...)``."""
    parameters, axes = list(inspect.signature(entry.function).parameters), axes_of(entry)
    indices, names = parameters[:axes], ", ".join(parameters[axes:])
    if target in ("cuda", "simulator"):
        loops, indices = _CUDA_LOOPS, [f"np.uint32({name})" for name in indices]
    else:
        loops = _CPU_LOOPS
    call = f"{entry.name}({', '.join(indices)}, {names})"
    body = loops[axes].format(call=call, i=parameters[0])
    sizes = ", ".join(("nz", "ny", "nx")[-axes:])
    run = f"@driver\ndef run({sizes}, {names}):\n{body}"
    if target == "cpu" and axes > 1:  # a line of points is one parallel loop over them: no place, and no recurrence
        run = _flushed(run)
    return source_of(entry, target, precision, switches) + f"\n\n{run}"
