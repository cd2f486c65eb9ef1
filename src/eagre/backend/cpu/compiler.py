"""CPU compiler: decorators that generated programs import, and thread control.

Formulas with the same content are compiled once per process (`shared`). Every program contains the source of all
formulas that it calls, and programs have most formulas in common. Numba takes most of the compilation time of a program
for the types and the LLVM code of its formulas. A formula of a later program with the same content is replaced with the
compiled formula. The instructions of the programs do not change (docs/development/decisions/0102-shared-formulas.md).

Functions that are inlined into other code get no machine code (`Whole`), for faster compilation. Numba generates
machine code for every function that it compiles, including functions that are inlined: formulas, the body of a parallel
loop, and two wrappers around it that contain and optimise all of it again. Only the code of the whole program is run.
Its instructions are the same with and without this module.
"""

from __future__ import annotations

import gc
import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

# Threads that wait must sleep: spinning, they slow one another down where cores are shared (8.6
# instead of 30 Mcell-steps/s concurrently with another job). Set before Numba starts its threads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numba
from numba import config, njit, prange

from eagre.backend.compilation import parallel as parallel_compilation
from eagre.backend.compilation.code_cache import sound
from eagre.backend.compilation.numba_internals import Compiler, JITCodeLibrary, caching, parallel, rtsys
from eagre.errors import EagreError

if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
    from eagre.backend.uncompiled import flush_subnormals, prefetch, put_back
else:
    from eagre.backend.cpu.intrinsics import flush_subnormals, prefetch, put_back

__all__ = [
    "check_threads",
    "driver",
    "few",
    "flush_subnormals",
    "formula",
    "prange",
    "prefetch",
    "put_back",
    "run_each",
    "serial_driver",
    "set_threads",
    "threads",
    "threads_limited",
    "unfused_driver",
    "unfused_formula",
]

OF_CODEGEN = ("_library_class", "_engine", "set_env", "create_library")
OF_LIBRARY = ("_optimize_final_module", "_finalize_dynamic_globals", "_verify_declare_only_symbols", "_finalized")


def is_as_known(codegen: Any) -> bool:
    """Return whether this Numba has the private names used here; otherwise compilation is not changed."""
    library = codegen.create_library("empty")
    return all(hasattr(codegen, name) for name in OF_CODEGEN) and all(hasattr(library, name) for name in OF_LIBRARY)


class InlinedLibrary(JITCodeLibrary):
    """Code that is linked into other code and never called directly."""

    def _optimize_final_module(self) -> None:
        if "wrapper" not in self.name.lower():  # wrapper of a loop body, which is already optimised
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class Whole(Compiler):
    """Compiler of a program whose other functions are all inlined; for ``njit(pipeline_class=...)``."""

    def _compile_bytecode(self) -> Any:
        state: Any = self.state
        codegen = state.targetctx.codegen()
        if not is_as_known(codegen) or codegen._library_class is not JITCodeLibrary:
            return super()._compile_bytecode()  # also during the compilation of another program
        state.library = codegen.create_library(state.func_id.func_qualname)
        state.library.enable_object_caching()
        with _inlined_libraries(codegen):
            return super()._compile_bytecode()


@contextmanager
def _inlined_libraries(codegen: Any) -> Iterator[None]:
    """Create `Part` libraries within the context; the compiler lock is held."""
    set_now, later = codegen.set_env, []

    def set_env(name: str, environment: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            set_now(name, environment)
        else:
            later.append((name, environment))

    collects = gc.isenabled()
    gc.disable()  # garbage collection would take a tenth of the time
    codegen._library_class, codegen.set_env = InlinedLibrary, set_env
    try:
        yield
    finally:
        del codegen._library_class, codegen.set_env
        if collects:
            gc.enable()
    for name, environment in later:
        if codegen._engine.is_symbol_defined(name):  # part of the program
            set_now(name, environment)


_formulas: dict[tuple[str, tuple[int, ...]], Any] = {}
_digests: dict[int, str] = {}  # of the formulas in `_formulas`, by id


def shared(compiled: Callable[[Any], Any], options: str) -> Callable[[FunctionType], Any]:
    """Return a decorator that compiles a function, or returns the compiled formula with the same content.

    Parameters
    ----------
    compiled : callable
        Decorator of the compiler.
    options : str
        Description of the compiler options.
    """

    def decorator(function: FunctionType) -> Any:
        """Compile a function, or return the compiled formula."""
        used = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
        texts = {name: _text(value) for name, value in used.items()}
        if function.__closure__ or not all(texts.values()):
            return compiled(function)
        content = options, _content(function.__code__), repr(function.__defaults__), sorted(texts.items())
        digest = hashlib.sha256(repr(content).encode()).hexdigest()[:20]
        objects = (used[name] for name in sorted(used))
        key = digest, tuple(id(value) for value in objects if not isinstance(value, (bool, int, float)))
        if key not in _formulas:
            formula = _formulas[key] = compiled(_detached(function, used, digest))
            _digests[id(formula)] = digest
        return _formulas[key]

    return decorator


def _detached(function: FunctionType, used: dict[str, Any], digest: str) -> FunctionType:
    """Return a copy of a function that does not belong to a program.

    Numba derives symbols from the name, which must differ for different contents, and stores the module's name with
    compiled code, which must be importable when another process loads the code.
    """
    name = f"{function.__name__}_{digest}"
    scope = {**used, "__name__": __name__, "__builtins__": function.__globals__["__builtins__"]}
    copy = FunctionType(function.__code__, scope, name, function.__defaults__)
    copy.__qualname__ = name
    copy.__doc__ = function.__doc__
    return copy


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for one in _codes(code) for name in one.co_names}


def _content(code: CodeType) -> list[Any]:
    """Return what a function computes: its code without line numbers and file."""
    return [
        (
            one.co_name,
            one.co_code,
            [constant for constant in one.co_consts if not isinstance(constant, CodeType)],
            (one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars),
            (one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount, one.co_flags),
        )
        for one in _codes(code)
    ]


def _text(value: Any) -> str:
    """Return a string that identifies a value used by a formula; empty if the value has no stable name."""
    if id(value) in _digests:
        return _digests[id(value)]
    if isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, ModuleType):
        return value.__name__
    if hasattr(value, "overloads") or not hasattr(value, "__qualname__"):  # a formula that is not shared
        return ""
    return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"


# error_model="numpy" leaves out the ZeroDivisionError branch and forceinline the call: either one
# stops LLVM's loop vectoriser (4.4 -> 213 Mcell/s; docs/development/decisions/0002-cells.md).
# All of fast-math but reassociation: code that was just compiled and the same code from the disk cache are
# optimised differently, and would add in another order (3 % of the shallow-water step's speed).
FAST = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}
# Formulas are called by compiled code only: without the doors for Python they compile in four fifths of the time.
_NO_C_WRAPPER: dict[str, Any] = {"no_cfunc_wrapper": True}
_NO_DOORS: dict[str, Any] = {"no_cpython_wrapper": True, **_NO_C_WRAPPER}
# Programs get all arrays as arguments and allocate none. Numba's run-time system would count references to the arrays
# of a tuple in every iteration and prevent vectorisation (docs/development/decisions/0099-no-reference-counts.md).
OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}


def _formula(fastmath: set[str]) -> Callable[[Any], Any]:
    """Return the decorator of formulas with these fast-math flags (`eagre.backend.cpu.compiler`)."""
    compiled = njit(fastmath=fastmath, forceinline=True, **_NO_DOORS, **OPTIONS)
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return compiled
    return shared(compiled, " ".join(sorted(fastmath)))


formula = _formula(FAST)
# Without fused multiply-adds and shared reciprocals, a value does not depend on what else its loop computes.
UNFUSED = FAST - {"contract", "arcp"}
unfused_formula = _formula(UNFUSED)


def _quick(cache: Any, signature: Any, context: Any) -> Any:
    """Load code from disk without the parts of Numba that only compilation needs (saves 0.5 s)."""
    parallel_compilation.wait(cache.module)
    if rtsys is None or not hasattr(cache, "_load_overload"):
        return None
    rtsys.initialize(context)  # symbols used by the code
    return cache._load_overload(signature, context)


_Cache = sound(caching.FunctionCache, (caching.UserProvidedCacheLocator, caching.InTreeCacheLocator), _quick)


def _cached(function: Any, **options: Any) -> Any:
    """Compile `function`, or load its code from disk."""
    dispatcher: Any = njit(nogil=True, pipeline_class=Whole, **_NO_C_WRAPPER, **OPTIONS, **options)(function)
    dispatcher._cache = _Cache(function)
    return dispatcher


driver = partial(_cached, fastmath=FAST, parallel=True)
unfused_driver = partial(_cached, fastmath=UNFUSED, parallel=True)
serial_driver = _cached


def threads() -> int:
    """Return the number of threads of CPU programs; set ``NUMBA_NUM_THREADS`` to change it."""
    return numba.get_num_threads()


def set_threads(count: int) -> None:
    """Set the number of threads of CPU programs, at most the number with which Numba was started."""
    numba.set_num_threads(count)


@contextmanager
def threads_limited(count: int) -> Iterator[None]:
    """Limit CPU programs to `count` threads within the context."""
    previous = threads()
    set_threads(count)
    try:
        yield
    finally:
        set_threads(previous)


MAX_SERIAL_ELEMENTS = 65_536
"""Maximum number of elements of the largest array of a launch that runs on one thread: starting threads takes longer.

Measured on idle cores with 2, 4 and 16 threads, all models at 64 to 512 points per side (`benchmarks/NOTES.md`).
"""


def few(value: Any) -> bool:
    """Return whether all arguments of a launch have fewer elements than the limit; scratch arrays are ignored."""
    rows = config.NUMBA_NUM_THREADS  # pyright: ignore[reportAttributeAccessIssue]
    return _largest(value, rows) < MAX_SERIAL_ELEMENTS


def _largest(value: Any, rows: int) -> int:
    if isinstance(value, tuple):
        return max((_largest(item, rows) for item in value), default=0)
    shape = getattr(value, "shape", ())
    return 0 if not shape or (len(shape) == 2 and shape[0] <= rows) else math.prod(shape)


@cache
def without_locks() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Return unchecked functions that get and set the number of threads, for use around every launch.

    Numba's public functions acquire two locks per call, some per cent of the smallest steps.
    """
    numba.get_num_threads()  # starts the threads
    get, put = (getattr(parallel, f"_{name}_num_threads", None) for name in ("get", "set"))
    return get or numba.get_num_threads, put or numba.set_num_threads


def run_each(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...], bool]], times: int = 1) -> None:
    """Run programs in order, `times` times, each with its arguments, and on one thread if it is `few`."""
    count, switch = without_locks()
    max_threads = current = count()
    try:
        for _ in range(times):
            for program, arguments, is_few in calls:
                requested = 1 if is_few else max_threads
                if requested != current:
                    switch(requested)
                    current = requested
                program(*arguments)
    finally:
        if current != max_threads:
            switch(max_threads)


_lost = False  # whether this process was forked after its parent had started OpenMP threads


def _forget_threads() -> None:
    global _lost
    try:
        _lost = numba.threading_layer() == "omp"  # pyright: ignore[reportPrivateImportUsage]
    except ValueError:  # no threads were started
        _lost = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def check_threads() -> None:
    """Raise `EagreError` in a process forked after threads were started; OpenMP would terminate it."""
    if _lost:
        raise EagreError(
            "The process was forked after its parent had started compute threads.\n"
            "allowed: spawned processes, or a fork before the first computation\n"
            'write:   multiprocessing.get_context("spawn").Pool(4)   (models can be sent there: they pickle)'
        )
