# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
# pyright: reportIndexIssue=false
"""PTX instructions that Numba does not provide.

These are approximations of 1/sqrt(x) and 1/x in double precision to 20 bits, minimum and maximum in double precision by
selection, a load that the compiler does not move, and split barriers.

Numba's double-precision root and quotient are correctly rounded and cost 20 to 30 instructions with a slow branch; an
approximation with two Newton steps costs 8 and has 52 correct bits.

Split barriers have separate arrive and wait, so that a warp can work in between (PTX ISA, "mbarrier"). A barrier object
is 8 bytes of shared memory. Its phases alternate between 0 and 1. Stores of a thread before it arrives are visible to
threads that have waited. Requires compute capability 8.0.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from eagre.backend.compilation.numba_internals import cuda_cgutils as cgutils

DOUBLE = ir.DoubleType()


SHORT = ir.IntType(32)


def _unary(text: str) -> Any:
    @intrinsic
    def instruction(context: Any, x: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function = ir.InlineAsm(ir.FunctionType(DOUBLE, [DOUBLE]), text, "=d,d")
            return builder.call(function, arguments)

        return types.float64(types.float64), generate

    return instruction


def _binary(text: str) -> Any:
    @intrinsic
    def instruction(context: Any, a: Any, b: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function = ir.InlineAsm(ir.FunctionType(DOUBLE, [DOUBLE, DOUBLE]), text, "=d,d,d")
            return builder.call(function, arguments)

        return types.float64(types.float64, types.float64), generate

    return instruction


def _of_two(text: str) -> Any:
    """Return an instruction with two inputs and two results."""

    @intrinsic
    def instruction(context: Any, a: Any, b: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = ir.FunctionType(ir.LiteralStructType([DOUBLE, DOUBLE]), [DOUBLE, DOUBLE])
            results = builder.call(ir.InlineAsm(form, text, "=d,=d,d,d"), arguments)
            numbers = [builder.extract_value(results, n) for n in range(2)]
            return context_.make_tuple(builder, signature.return_type, numbers)

        return types.UniTuple(types.float64, 2)(types.float64, types.float64), generate

    return instruction


@intrinsic
def select_by_sign(context: Any, x: Any, a: Any, b: Any) -> Any:
    """Return a if x > 0, b if x < 0, and either if x is 0, from the upper half of x on integer units."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        text = "{.reg .pred t; .reg .b32 l, h; mov.b64 {l, h}, $1; setp.ge.s32 t, h, 0; selp.f64 $0, $2, $3, t;}"
        function = ir.InlineAsm(ir.FunctionType(DOUBLE, [DOUBLE] * 3), text, "=d,d,d,d")
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


rsqrt_seed = _unary("rsqrt.approx.ftz.f64 $0, $1;")
rcp_seed = _unary("rcp.approx.ftz.f64 $0, $1;")
select_smaller = _binary("{.reg .pred t; setp.lt.f64 t, $1, $2; selp.f64 $0, $1, $2, t;}")
select_larger = _binary("{.reg .pred t; setp.gt.f64 t, $1, $2; selp.f64 $0, $1, $2, t;}")
select_both = _of_two("{.reg .pred t; setp.gt.f64 t, $2, $3; selp.f64 $0, $2, $3, t; selp.f64 $1, $3, $2, t;}")
"""Return the maximum and the minimum by one comparison."""


@intrinsic
def load_early(context: Any, array: Any, plane: Any, j: Any, i: Any) -> Any:
    """Load array[plane, j, i] here; LLVM would move the load to its first use.

    A streaming kernel loads a value at the top of a row and uses it at the bottom; if the load is moved down, each row
    waits for device memory. All indices are non-negative.
    """

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        structure = context_.make_array(array_type)(context_, builder, value=arguments[0])
        indices = [
            context_.cast(builder, value, kind, types.int64)
            for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        pointer = cgutils.get_item_pointer(context_, builder, array_type, structure, indices, wraparound=False)
        bits = array_type.dtype.bitwidth
        letter = "f" if bits == 32 else "d"
        kind = context_.get_value_type(array_type.dtype)
        function = ir.InlineAsm(
            ir.FunctionType(kind, [pointer.type]), f"ld.global.f{bits} $0, [$1];", f"={letter},l", side_effect=True
        )
        return builder.call(function, [pointer])

    return array.dtype(array, plane, j, i), generate


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
