"""Numbers that a card chose stand in tables of layouts and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eagre.backend.layouts import reference

SOURCE = Path(__file__).resolve().parents[2] / "src" / "eagre"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "layouts" not in path.relative_to(SOURCE).parts)
NAMES = re.compile(
    r"THREADS|REGISTERS|MULTIPROCESSORS|LOOK_STEPS|GRAPH|ROUNDS|WARPS|TILED|SMALL_CELLS|\bEARLY|FULL_|BLOCKS|QUARTER|BATCH"
)
ELSEWHERE = {
    "MAX_WARPS": "1024 threads of a block, on all cards",
    "SIMULATED_WARPS": "of the simulator",
    "WARPS_AROUND": "what a tile has around it",
    "MAX_STORED_WARPS": "48 KiB of static shared memory per block, on all cards",
    "laplacian_blocks.MIN_THREADS": "the smallest block of a published search",
    "memory_access.THREADS": "a kernel of a paper",
    "mike21_sweeps.THREADS": "a kernel of a paper",
    "kernel.MIN_REGISTERS": "limit of the instruction that releases registers",
    "kernel.MAX_REGISTERS": "limit of the instruction that acquires registers",
    "engine.GRAPH_SIZES": "steps of a graph, the same on all cards",
    "engine.MAX_GRAPH_LAUNCHES": "launches of a graph, the same on all cards",
    "gpu_exchange.THREADS": "copies of an exchange, bound by the link and not by the card",
    "convergence_loop.THREADS": "the order in which a norm is added up, the same on all cards",
}


def numbers(node: ast.AST) -> bool:
    """Whether an expression is made of numbers alone."""
    found = list(ast.walk(node))
    return any(isinstance(one, ast.Constant) and isinstance(one.value, (int, float)) for one in found) and not any(
        isinstance(one, (ast.Call, ast.Name, ast.Attribute)) for one in found
    )


def faults(text: str, module: str) -> Iterator[str]:
    """Constants of a card, and blocks of launches with their number of threads in the code."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.Assign) and numbers(node.value):
            for name in (one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)):
                of_cpu = "CPU" in name
                if NAMES.search(name) and not of_cpu and not {name, f"{module}.{name}"} & ELSEWHERE.keys():
                    yield f"line {node.lineno}: {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value == reference()[0].multiprocessors:
            yield f"line {node.lineno}: {node.value}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Launch":
            block = [*node.args[3:4], *(word.value for word in node.keywords if word.arg == "block")]
            for one in block:
                if isinstance(one, ast.Tuple) and numbers(one) and ast.unparse(one) != "(1,)":
                    yield f"line {node.lineno}: a block of {ast.unparse(one)}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_number_of_a_card(path):
    found = list(faults(path.read_text(encoding="utf-8"), path.stem))
    assert not found, "put it into a table of layouts (docs/development/layouts.md): " + "; ".join(found)


@pytest.mark.parametrize(
    "text", ["THREADS = 64", 'REGISTERS = {"single": (72, 96)}', "SOME = 16 * 132", "Launch(f, (), (5,), (64,))"]
)
def test_numbers_of_a_card_are_noticed(text):
    assert list(faults(text, "module"))


@pytest.mark.parametrize("text", ["CPU_LOOK_STEPS = 50", "Launch(f, (), (5,), (n,))", "Launch(f, (), (5,), (1,))"])
def test_other_numbers_are_not(text):
    assert not list(faults(text, "module"))
