"""Internal names of Numba and numba-cuda that Eagre uses, in one module.

These names are not public and may change with any release. They were tested with numba 0.62.0 and 0.68.1 and with
numba-cuda 0.30.4 (`make test-lowest` runs the lower bounds of pyproject.toml). If a name is missing, the code that uses
it falls back to Numba's own behaviour where that affects only speed (`rtsys`, `accelerate_ssa`).
`eagre.backend.cpu.compiler` also uses the option `_nrt` of `njit`.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

from numba.core import caching, cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import RequireLiteralValue
from numba.np.ufunc import parallel

try:
    from numba.core.runtime.nrt import rtsys
except ImportError:
    rtsys = None

__all__ = ["Compiler", "JITCodeLibrary", "RequireLiteralValue", "caching", "cgutils", "parallel", "rtsys"]

_CUDA = {
    "CUDACache": "numba.cuda.dispatcher",
    "CUDACodeLibrary": "numba.cuda.codegen",
    "cuda_cgutils": "numba.cuda.cgutils",
    "cuda_dispatcher": "numba.cuda.dispatcher",
    "cuda_ssa": "numba.cuda.core.ssa",
}
"""Modules of the names of numba-cuda, which is optional."""


def __getattr__(name: str) -> Any:
    """Return a name of numba-cuda, imported at first use."""
    if name not in _CUDA:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_CUDA[name])
    return module if name.startswith("cuda_") else getattr(module, name)


def accelerate_ssa(ssa: Any) -> None:
    """Let the pass of Numba that gives every assignment its own variable visit only the statements with a variable.

    The pass visits all statements twice for each variable that has several assignments: 45 % of the compilation of a
    long unrolled kernel with 450 such variables. The result is the same.

    ssa : the module ``ssa`` of Numba, or of numba-cuda
    """
    if not all(hasattr(ssa, name) for name in ("_run_ssa", "_run_block_rewrite", "_run_ssa_block_pass")):
        return
    original = ssa._run_ssa

    def run_ssa(blocks: Any) -> Any:
        rewritten = original(blocks)
        for block in rewritten.values():  # later passes change the statements
            vars(block).pop("statements_of", None)
        return rewritten

    def rewrite(blocks: Any, states: dict[str, Any], handler: Any) -> dict[int, Any]:
        rewritten: dict[int, Any] = {}
        for label, block in blocks.items():
            new = rewritten[label] = ssa.ir.Block(scope=block.scope, loc=block.loc)
            new.statements_of = count, positions = getattr(block, "statements_of", None) or _statements_of(block)
            new.body = list(block.body)
            states["label"], states["block"] = label, block
            first = len(block.body) - count  # phi nodes of other variables precede
            numbers = [first + number for number in positions.get(states["varname"], ())]
            selected = SimpleNamespace(body=[block.body[number] for number in numbers])
            results = ssa._run_ssa_block_pass(states, selected, handler)
            for number, statement in zip(numbers, results, strict=True):
                new.body[number] = statement
        return rewritten

    ssa._run_ssa, ssa._run_block_rewrite = run_ssa, rewrite


def _statements_of(block: Any) -> tuple[int, dict[str, list[int]]]:
    """Return the number of statements of a block, and the positions of those with a variable, by its name."""
    positions: dict[str, list[int]] = {}
    for number, statement in enumerate(block.body):
        for name in {variable.name for variable in statement.list_vars()}:
            positions.setdefault(name, []).append(number)
    return len(block.body), positions
