# pyright: reportPrivateImportUsage=false
"""Instructions of CPU programs: flushing of subnormal numbers to zero, and prefetch hints.

Recurrences along lines decay to values below 1e-38 (single precision). Intel cores process such values in microcode:
the sweeps of the ADI model ran at a quarter of their speed. The floating-point state of a thread flushes them to zero.
It belongs to a thread, and threads belong to the caller's process, so each parallel region sets the state and restores
it at its end.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from eagre.backend.compilation.numba_internals import cgutils

_BYTE = ir.IntType(8).as_pointer()
READ, KEEP, DATA = 0, 2, 1  # arguments of LLVM's prefetch: read, L2 cache, data


_WORD = ir.IntType(32)
_LONG = ir.IntType(64)
# x86: subnormal results become 0 (bit 15 of MXCSR), and so do subnormal operands (bit 6).
X86_FLUSH = 0x8040
# ARM: results and operands (bit 24 of FPCR).
ARM_FLUSH = 1 << 24
_ARCHITECTURE = llvm.get_process_triple().split("-")[0]
IS_X86 = _ARCHITECTURE in ("x86_64", "i386", "i686")
IS_ARM = _ARCHITECTURE in ("aarch64", "arm64")


def _x86(builder: Any, name: str, memory: Any) -> None:
    """Load or store MXCSR."""
    pointer = ir.IntType(8).as_pointer()
    function = builder.module.declare_intrinsic(f"llvm.x86.sse.{name}", (), ir.FunctionType(ir.VoidType(), [pointer]))
    builder.call(function, [builder.bitcast(memory, pointer)])


def _arm(builder: Any, name: str, returned: Any, *arguments: Any) -> Any:
    """Get or set FPCR."""
    signature = ir.FunctionType(returned, [value.type for value in arguments])
    return builder.call(builder.module.declare_intrinsic(f"llvm.aarch64.{name}.fpcr", (), signature), arguments)


def _read(builder: Any) -> Any:
    """Return the state as 64 bits; 0 on other machines."""
    if IS_X86:
        memory = builder.alloca(_WORD)
        _x86(builder, "stmxcsr", memory)
        return builder.zext(builder.load(memory), _LONG)
    return _arm(builder, "get", _LONG) if IS_ARM else ir.Constant(_LONG, 0)


def _write(builder: Any, value: Any) -> None:
    if IS_X86:
        memory = builder.alloca(_WORD)
        builder.store(builder.trunc(value, _WORD), memory)
        _x86(builder, "ldmxcsr", memory)
    elif IS_ARM:
        _arm(builder, "set", ir.VoidType(), value)


@intrinsic
def thread_state(typingctx: Any) -> Any:
    """Return the floating-point state of this thread."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _read(builder)

    return types.uint64(), generate


@intrinsic
def flush_subnormals(typingctx: Any) -> Any:
    """Flush subnormal numbers to zero on this thread, and return the previous state for `put_back`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        previous = _read(builder)
        _write(builder, builder.or_(previous, ir.Constant(_LONG, X86_FLUSH if IS_X86 else ARM_FLUSH)))
        return previous

    return types.uint64(), generate


@intrinsic
def put_back(typingctx: Any, previous: Any) -> Any:
    """Restore the state of this thread."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _write(builder, arguments[0])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@intrinsic
def prefetch(typingctx: Any, array: Any, k: Any, j: Any, i: Any) -> Any:
    """Prefetch the cache line of ``array[k, j, i]``; indices outside the array are allowed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, value=arguments[0])
        indices = [
            context.cast(builder, value, index_type, types.intp)
            for value, index_type in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        pointer = cgutils.get_item_pointer(context, builder, kind, view, indices)
        hint = builder.module.declare_intrinsic(
            "llvm.prefetch", (_BYTE,), ir.FunctionType(ir.VoidType(), [_BYTE, _WORD, _WORD, _WORD])
        )
        numbers = [ir.Constant(_WORD, number) for number in (READ, KEEP, DATA)]
        builder.call(hint, [builder.bitcast(pointer, _BYTE), *numbers])
        return context.get_dummy_value()

    return types.void(array, k, j, i), generate
