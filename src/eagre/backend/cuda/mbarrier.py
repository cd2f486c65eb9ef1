# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""Split barriers with separate arrive and wait, so that a warp can work in between (PTX ISA, "mbarrier").

A barrier object is 8 bytes of shared memory. Its phases alternate between 0 and 1. Stores of a thread before it arrives
are visible to threads that have waited. Requires compute capability 8.0.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

SHORT = ir.IntType(32)


def _address(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """Return the shared-memory address of element n."""
    array = context.make_array(kinds[0])(context, builder, value=arguments[0])
    first = builder.gep(array.data, [context.cast(builder, arguments[1], kinds[1], types.int64)])
    inner = builder.addrspacecast(first, ir.PointerType(context.get_data_type(kinds[0].dtype), 3))
    return builder.ptrtoint(inner, SHORT)


def _barrier_instruction(text: str) -> Any:
    """Return an instruction on a barrier object and a number."""

    @intrinsic
    def instruction(context: Any, shared: Any, n: Any, number: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _address(context_, builder, signature.args, arguments)
            value = context_.cast(builder, arguments[2], signature.args[2], types.int32)
            call = ir.InlineAsm(ir.FunctionType(ir.VoidType(), [SHORT, SHORT]), text, "r,r,~{memory}", side_effect=True)
            builder.call(call, [address, value])
            return context_.get_dummy_value()

        return types.void(shared, n, number), generate

    return instruction


@intrinsic
def mbarrier_arrive(context: Any, shared: Any, n: Any) -> Any:
    """Arrive at the barrier at element n of shared memory."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(ir.VoidType(), [SHORT])
        call = ir.InlineAsm(form, "mbarrier.arrive.shared.b64 _, [$0];", "r,~{memory}", side_effect=True)
        builder.call(call, [_address(context_, builder, signature.args, arguments)])
        return context_.get_dummy_value()

    return types.void(shared, n), generate


_OVER = "{{.reg .pred over; AGAIN: mbarrier.{}.parity.shared.b64 over, [$0], $1; @!over bra AGAIN;}}"
mbarrier_init = _barrier_instruction("mbarrier.init.shared.b64 [$0], $1;")
"""Initialise a barrier at element n of shared memory with the number of arrivals per phase."""
mbarrier_wait = _barrier_instruction(_OVER.format("try_wait"))
"""Wait until a phase has completed. Compute capability 9.0."""
mbarrier_poll = _barrier_instruction(_OVER.format("test_wait"))
"""The same for older devices."""
