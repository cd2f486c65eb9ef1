"""What Eagre replaces inside Numba gives the results of Numba."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from types import SimpleNamespace

import pytest

from eagre.backend.compilation.numba_internals import accelerate_ssa


def branches(a, b):
    x = a
    if a > b:
        x = x + b
        y = x * 2
        x = y
    elif a < -b:
        x = -x
        y = x
    else:
        y = b
    x, y = y, x
    return x * y


def loops(a, n):
    total, step = 0, 1
    for i in range(n):
        for j in range(i):
            if j % 3 == 0:
                continue
            step = step + j
            total = total + step * a
            if total > 100:
                break
        else:
            total = total - 1
        step = total
        while step > 10:
            step = step // 2
            last = step
        total = total + step
    return total, last


def copy_of(name):
    """Return a module of Numba, executed once more, so that changes have no effect on other tests."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks_of(package, function):
    bytecode, interpreter = import_module(f"{package}.bytecode"), import_module(f"{package}.interpreter")
    identity = bytecode.FunctionIdentity.from_function(function)
    return interpreter.Interpreter(identity).interpret(bytecode.ByteCode(identity)).blocks


def text_of(blocks):
    return [(label, [str(statement) for statement in block.body]) for label, block in blocks.items()]


@pytest.mark.filterwarnings("ignore::Warning")  # `last` has no value without an iteration
@pytest.mark.parametrize("function", [branches, loops])
@pytest.mark.parametrize("package", ["numba.core", "numba.cuda.core"])
def test_an_accelerated_pass_gives_the_same_statements(package, function):
    pytest.importorskip("numba_cuda") if package == "numba.cuda.core" else None
    slow, quick = (copy_of(f"{package}.ssa") for _ in range(2))
    accelerate_ssa(quick)
    assert quick._run_block_rewrite is not slow._run_block_rewrite
    rewritten = quick._run_ssa(blocks_of(package, function))
    expected = text_of(slow._run_ssa(blocks_of(package, function)))
    assert text_of(rewritten) == expected
    assert expected != text_of(blocks_of(package, function))
    assert not any(hasattr(block, "statements_of") for block in rewritten.values())


def test_a_pass_with_other_names_remains():
    module = SimpleNamespace(_run_ssa=len)
    accelerate_ssa(module)
    assert vars(module) == {"_run_ssa": len}
