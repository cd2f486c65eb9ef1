# pyright: reportPrivateImportUsage=false
"""Prefetch hint: a cache line is loaded during other computations."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from eagre.backend.compilation.numba_internals import cgutils

_WORD, _BYTE = ir.IntType(32), ir.IntType(8).as_pointer()
READ, KEEP, DATA = 0, 2, 1  # arguments of LLVM's prefetch: read, L2 cache, data


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
