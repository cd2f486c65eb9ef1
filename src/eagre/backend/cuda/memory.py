# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""Loads and stores by flat index, vector and cache-bypassing access, and control of dependent kernels.

A flat index needs one address per field instead of one product per dimension, and constant offsets are free. All
indices are non-negative; the index of a vector must be a multiple of its length.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from eagre.backend.compilation.numba_internals import RequireLiteralValue

LONG, SHORT = ir.IntType(64), ir.IntType(32)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the pointer to element ``k + offset`` of an array's memory."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, value=arguments[0])
    indices = [
        context.cast(builder, value, kind, types.int64)
        for value, kind in zip(arguments[1:3], signature.args[1:3], strict=True)
    ]
    return builder.gep(array.data, [builder.add(*indices)])


@intrinsic
def flat_load(context: Any, array: Any, k: Any, offset: Any) -> Any:
    """Element ``k + offset`` of the array's memory."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context_, builder, signature, arguments))

    return array.dtype(array, k, offset), generate


@intrinsic
def flat_store(context: Any, array: Any, k: Any, offset: Any, value: Any) -> Any:
    """Set element ``k + offset`` of the array's memory."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value_ = context_.cast(builder, arguments[3], signature.args[3], signature.args[0].dtype)
        builder.store(value_, _pointer(context_, builder, signature, arguments))
        return context_.get_dummy_value()

    return types.void(array, k, offset, value), generate


def _kind_of(dtype: Any) -> tuple[str, str]:
    """Return the PTX type of a dtype and its register letter."""
    if isinstance(dtype, types.Integer):
        return "u32", "r"
    return f"f{dtype.bitwidth}", "f" if dtype.bitwidth == 32 else "d"


def _load_as(instruction: str) -> Any:
    @intrinsic
    def load(context: Any, array: Any, k: Any, offset: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context_, builder, signature, arguments)
            kind = context_.get_value_type(signature.args[0].dtype)
            suffix, letter = _kind_of(signature.args[0].dtype)
            text = f"{instruction}.{suffix} $0, [$1];"
            function = ir.InlineAsm(ir.FunctionType(kind, [pointer.type]), text, f"={letter},l", side_effect=True)
            return builder.call(function, [pointer])

        return array.dtype(array, k, offset), generate

    return load


load_volatile = _load_as("ld.volatile.global")
"""Load an element and bypass the L1 cache: stores of another block before its flag are visible."""
load_here = _load_as("ld.global")
"""Load an element here: the compiler does not move the load to its first use."""


def _base_and_offset(context: Any, builder: Any, signature: Any, arguments: Any) -> tuple[Any, Any, Any, str, str]:
    """Return the pointer to element k, the 32-bit offset, and the type, PTX name and register letter of an element."""
    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, value=arguments[0])
    k = context.cast(builder, arguments[1], signature.args[1], types.int64)
    offset = context.cast(builder, arguments[2], signature.args[2], types.uint32)
    kind = context.get_value_type(array_type.dtype)
    return builder.gep(array.data, [k]), offset, kind, *_kind_of(array_type.dtype)


@intrinsic
def load_offset32(context: Any, array: Any, k: Any, offset: Any) -> Any:
    """Load element ``k + offset`` like `load_here`, with a 32-bit offset: one instruction computes the address.

    k is an index shared by many loads. For a 64-bit offset LLVM needs four instructions.
    """

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, offset_, kind, suffix, letter = _base_and_offset(context_, builder, signature, arguments)
        size = signature.args[0].dtype.bitwidth // 8
        text = f"{{.reg .u64 place; mad.wide.u32 place, $2, {size}, $1; ld.global.{suffix} $0, [place];}}"
        kinds = ir.FunctionType(kind, [pointer.type, SHORT])
        return builder.call(ir.InlineAsm(kinds, text, f"={letter},l,r", side_effect=True), [pointer, offset_])

    return array.dtype(array, k, offset), generate


@intrinsic
def store_offset32(context: Any, array: Any, k: Any, offset: Any, value: Any) -> Any:
    """Set element ``k + offset`` like `flat_store`, with indices as in `load_offset32`."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, offset_, kind, suffix, letter = _base_and_offset(context_, builder, signature, arguments)
        value_ = context_.cast(builder, arguments[3], signature.args[3], signature.args[0].dtype)
        size = signature.args[0].dtype.bitwidth // 8
        text = f"{{.reg .u64 place; mad.wide.u32 place, $1, {size}, $0; st.global.{suffix} [place], $2;}}"
        kinds = ir.FunctionType(ir.VoidType(), [pointer.type, SHORT, kind])
        builder.call(
            ir.InlineAsm(kinds, text, f"l,r,{letter},~{{memory}}", side_effect=True), [pointer, offset_, value_]
        )
        return context_.get_dummy_value()

    return types.void(array, k, offset, value), generate


@intrinsic
def two_in_word(context: Any, low: Any, high: Any) -> Any:
    """Pack two numbers as the upper halves of their single-precision values, rounded to nearest (bfloat16).

    Compute capability 8.0; PTX ISA, "cvt".
    """

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = ir.FunctionType(SHORT, [ir.FloatType(), ir.FloatType()])
        low_, high_ = (
            context_.cast(builder, value, kind, types.float32)
            for value, kind in zip(arguments, signature.args, strict=True)
        )
        return builder.call(ir.InlineAsm(form, "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f"), [low_, high_])

    return types.uint32(low, high), generate


@intrinsic
def two_of_word(context: Any, both: Any) -> Any:
    """Unpack the two numbers of `two_in_word`."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context_.cast(builder, arguments[0], signature.args[0], types.uint32)
        low = builder.shl(word, ir.Constant(SHORT, 16))
        high = builder.and_(word, ir.Constant(SHORT, 0xFFFF0000))
        values = [builder.bitcast(half, ir.FloatType()) for half in (low, high)]
        return context_.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(types.float32, 2)(both), generate


@intrinsic
def prefetch_l2(context: Any, array: Any, k: Any, offset: Any) -> Any:
    """Prefetch element ``k + offset`` into the L2 cache without waiting."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context_, builder, signature, arguments)
        function = ir.InlineAsm(
            ir.FunctionType(ir.VoidType(), [pointer.type]), "prefetch.global.L2 [$0];", "l", side_effect=True
        )
        builder.call(function, [pointer])
        return context_.get_dummy_value()

    return types.void(array, k, offset), generate


def _vector_load(count: int) -> Any:
    @intrinsic
    def load(context: Any, array: Any, k: Any, offset: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element = context_.get_data_type(signature.args[0].dtype)
            vector = ir.VectorType(element, count)
            pointer = _pointer(context_, builder, signature, arguments)
            loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
            loaded.align = count * signature.args[0].dtype.bitwidth // 8
            elements = [builder.extract_element(loaded, ir.Constant(ir.IntType(32), n)) for n in range(count)]
            return context_.make_tuple(builder, signature.return_type, elements)

        return types.UniTuple(array.dtype, count)(array, k, offset), generate

    return load


def _vector_store(count: int) -> Any:
    @intrinsic
    def store(context: Any, array: Any, k: Any, offset: Any, values: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element = context_.get_data_type(signature.args[0].dtype)
            vector = ir.VectorType(element, count)
            packed = ir.Constant(vector, ir.Undefined)
            for n in range(count):
                item = builder.extract_value(arguments[3], n)
                packed = builder.insert_element(packed, item, ir.Constant(ir.IntType(32), n))
            pointer = _pointer(context_, builder, signature, arguments)
            stored = builder.store(packed, builder.bitcast(pointer, vector.as_pointer()))
            stored.align = count * signature.args[0].dtype.bitwidth // 8
            return context_.get_dummy_value()

        return types.void(array, k, offset, values), generate

    return store


load_two, load_four = _vector_load(2), _vector_load(4)
store_two, store_four = _vector_store(2), _vector_store(4)


@intrinsic
def bytes_of(context: Any, array: Any, count: Any) -> Any:
    """Return the size of `count` elements of an array, bytes."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = ir.Constant(LONG, signature.args[0].dtype.bitwidth // 8)
        return builder.mul(context_.cast(builder, arguments[1], signature.args[1], types.int64), size)

    return types.int64(array, count), generate


@intrinsic
def address_at(context: Any, array: Any, k: Any) -> Any:
    """Return the address of element k of an array's memory; `bytes_of` can be added to it."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, k_type = signature.args
        data = builder.ptrtoint(context_.make_array(array_type)(context_, builder, value=arguments[0]).data, LONG)
        size = ir.Constant(LONG, array_type.dtype.bitwidth // 8)
        return builder.add(data, builder.mul(context_.cast(builder, arguments[1], k_type, types.int64), size))

    return types.int64(array, k), generate


def _copy(sixteen_bytes: bool) -> Any:
    """Return an asynchronous copy to shared memory of one value or of 16 bytes."""

    @intrinsic
    def copy(context: Any, shared: Any, n: Any, address: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target_type, size = signature.args[0], signature.args[0].dtype.bitwidth // 8
            target = context_.make_array(target_type)(context_, builder, value=arguments[0])
            first = builder.gep(target.data, [context_.cast(builder, arguments[1], signature.args[1], types.int64)])
            inner = builder.addrspacecast(first, ir.PointerType(context_.get_data_type(target_type.dtype), 3))
            form = ir.FunctionType(ir.VoidType(), [SHORT, LONG])
            operator, count = ("cg", 16) if sixteen_bytes else ("ca", size)
            text = f"cp.async.{operator}.shared.global [$0], [$1], {count};"
            call = ir.InlineAsm(form, text, "r,l,~{memory}", side_effect=True)
            builder.call(call, [builder.ptrtoint(inner, SHORT), arguments[2]])
            return context_.get_dummy_value()

        return types.void(shared, n, address), generate

    return copy


copy_element_async = _copy(False)
"""Copy an element from an `address_at` to element n of shared memory, before `copies_arrived` returns.

No instruction waits for the copy, but the address register is occupied for 100 cycles. Compute capability 8.0; PTX ISA,
"cp.async".
"""
copy_16_bytes_async = _copy(True)
"""The same for 16 bytes; both addresses are multiples of 16 bytes."""


@intrinsic
def named_barrier(context: Any, barrier: Any, threads: Any) -> Any:
    """Wait at one of the 16 barriers of a block until `threads` threads, in full warps, have arrived."""

    def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers = [
            context_.cast(builder, value, kind, types.int32)
            for value, kind in zip(arguments, signature.args, strict=True)
        ]
        form = ir.FunctionType(ir.VoidType(), [number.type for number in numbers])
        builder.call(ir.InlineAsm(form, "bar.sync $0, $1;", "r,r,~{memory}", side_effect=True), numbers)
        return context_.get_dummy_value()

    return types.void(barrier, threads), generate


def _instruction(text: str) -> Any:
    @intrinsic
    def emit(context: Any) -> Any:
        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", side_effect=True)
            builder.call(function, [])
            return context_.get_dummy_value()

        return types.void(), generate

    return emit


# Programmatic dependent launch, compute capability 9.0 (PTX ISA, "griddepcontrol").
launch_dependents = _instruction("griddepcontrol.launch_dependents;")
grid_dependency_wait = _instruction("griddepcontrol.wait;")
copies_arrived = _instruction("cp.async.wait_all;")
"""Wait until all copies of this thread have arrived; a barrier makes them visible to other threads."""
copies_in_group = _instruction("cp.async.commit_group;")
"""Commit the copies of this thread since the last group as a group, which may be empty."""
copies_arrived_but_last = _instruction("cp.async.wait_group 1;")
"""Wait until all groups of this thread except the last one have arrived."""
no_instruction = _instruction("")
"""Replacement of the two instructions on older devices."""


def _registers(text: str) -> Any:
    """Return an instruction on a number of registers known at compile time."""

    @intrinsic
    def emit(context: Any, count: Any) -> Any:
        if not isinstance(count, types.IntegerLiteral):
            raise RequireLiteralValue(count)

        def generate(context_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form, known = ir.FunctionType(ir.VoidType(), []), text.format(count.literal_value)
            builder.call(ir.InlineAsm(form, known, "~{memory}", side_effect=True), [])
            return context_.get_dummy_value()

        return types.void(count), generate

    return emit


# Compute capability 9.0 (PTX ISA, "setmaxnreg"): groups of four warps, aligned to multiples of four.
release_registers = _registers("setmaxnreg.dec.sync.aligned.u32 {};")
"""Release registers down to `count` per thread, a multiple of 8 from 24 on, for other warps of the block."""
acquire_registers = _registers("setmaxnreg.inc.sync.aligned.u32 {};")
"""Acquire registers up to `count` per thread, once other warps have released enough."""
keep_registers = _registers("")
"""Replacement of the two instructions on older devices."""
