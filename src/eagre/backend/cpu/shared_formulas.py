"""Formulas with the same content, compiled once per process.

Every program contains the source of all formulas that it calls, and programs have most formulas in common. Numba takes
most of the compilation time of a program for the types and the LLVM code of its formulas. A formula of a later program
with the same content is replaced with the compiled formula. The instructions of the programs do not change
(docs/development/decisions/0102-shared-formulas.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

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
