"""Hold modules and functions to the sizes of the house style.

| what | limit, lines |
|---|---|
| module | 600, docstrings counted; a warning above 400 |
| function | 40, docstring not counted |
| function decorated with `@cell` | 30, docstring not counted |
| hand-tiled CUDA kernel (`@kernel`, or a file of `KERNEL_FILES`) | 80, docstring not counted |

A call has at most 30 arguments: Numba cannot compile a call with more if an argument has a condition.

Usage: ``python tools/check_sizes.py PATH ...``; exit code 1 when a limit is broken.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

MODULE_LIMIT = 600
MODULE_WARNING = 400
FUNCTION_LIMIT = 40
CELL_LIMIT = 30
KERNEL_LIMIT = 80
ARGUMENT_LIMIT = 30
KERNEL_FILES = ("*_cuda*.py", "sweep_*.py", "columns.py", "partition.py")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Finding:
    """One thing that is too long.

    Parameters
    ----------
    path : Path
        The module.
    line : int
        Where it begins.
    what : str
        ``"module"``, or the qualified name of a function with its kind.
    size, limit : int
        Lines (or `unit`) counted and allowed.
    is_error : bool
        False for a warning.
    unit : str
        What is counted.
    """

    path: Path
    line: int
    what: str
    size: int
    limit: int
    is_error: bool = True
    unit: str = "lines"

    def __str__(self) -> str:
        level = "error" if self.is_error else "warning"
        return f"{self.path}:{self.line}: {level}: {self.what} has {self.size} {self.unit}, {self.limit} allowed"


def decorator_names(function: Function) -> set[str]:
    """Last parts of the names of the decorators: ``@backend.cell(halo=2)`` gives ``{"cell"}``."""
    names = set()
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return names


def function_lines(function: Function) -> int:
    """Lines from ``def`` to the last statement, decorators and docstring not counted."""
    # A signature counts as one line, however many parameters it lists.
    lines = (function.end_lineno or function.lineno) - function.body[0].lineno + 2
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def function_limit(function: Function, path: Path) -> tuple[str, int]:
    """Kind of a function in words, and the lines that it may have."""
    names = decorator_names(function)
    if "kernel" in names or any(fnmatch(path.name, pattern) for pattern in KERNEL_FILES):
        return "kernel", KERNEL_LIMIT
    if "cell" in names:
        return "cell", CELL_LIMIT
    return "function", FUNCTION_LIMIT


def walk_functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below `node` with its qualified name, outer ones first."""
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}.{child.name}" if prefix else child.name
        if isinstance(child, Function):
            yield name, child
        yield from walk_functions(child, name)


def check_module(path: Path, source: str) -> list[Finding]:
    """Findings of one module, the module's own first."""
    findings = []
    size = len(source.splitlines())
    if size > MODULE_LIMIT:
        findings.append(Finding(path, 1, "module", size, MODULE_LIMIT))
    elif size > MODULE_WARNING:
        findings.append(Finding(path, 1, "module", size, MODULE_WARNING, is_error=False))
    tree = ast.parse(source, filename=str(path))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        count = len(call.args) + len(call.keywords)
        if count > ARGUMENT_LIMIT:
            findings.append(Finding(path, call.lineno, "call", count, ARGUMENT_LIMIT, unit="arguments"))
    for name, function in walk_functions(tree):
        kind, limit = function_limit(function, path)
        lines = function_lines(function)
        if lines > limit:
            findings.append(Finding(path, function.lineno, f"{kind} {name}", lines, limit))
    return findings


def python_files(paths: Iterable[Path]) -> list[Path]:
    """Every ``.py`` file among and below `paths`, sorted."""
    files: set[Path] = set()
    for path in paths:
        files.update(path.rglob("*.py") if path.is_dir() else [path])
    return sorted(files)


def main(arguments: list[str] | None = None) -> int:
    """Check the paths of the command line and print what is too long.

    Returns
    -------
    int
        0 if every limit is kept, 1 if not, 2 if there was nothing to check.
    """
    parser = argparse.ArgumentParser(description="Hold modules and functions to the sizes of the house style.")
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    files = python_files(options.paths)
    if not files:
        print(f"no Python files in {', '.join(map(str, options.paths))}", file=sys.stderr)
        return 2
    findings = [finding for path in files for finding in check_module(path, path.read_text(encoding="utf-8"))]
    for finding in findings:
        print(finding)
    errors = sum(finding.is_error for finding in findings)
    print(f"sizes: {len(files)} modules, {errors} too long, {len(findings) - errors} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
