"""Digests of generated programs that do not depend on the names of functions, parameters, constants and fields.

The digest of a function contains the digests of the functions that it calls, the values of the constants that it uses
and the positions of named-tuple fields. Renaming and moving kernel functions therefore leaves the digest unchanged.
Imported names are identified by their position in the import list of the generated header.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

FIELDS = re.compile(r"^(\w+) = importlib\.import_module\('[\w.]+'\)\.[\w.]+  # ([^\n]*)$", re.MULTILINE)


def digest_text(text: str) -> str:
    """Return a short hash of a string."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Program:
    """Source of a generated program; `digest` identifies one of its functions."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.values: dict[str, ast.expr] = {}
        self.imported: dict[str, str] = {}
        self.classes = {name: fields.split(", ") for name, fields in FIELDS.findall(text)}
        self._digests: dict[str, str] = {}
        for statement in ast.parse(text).body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            self.functions[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            self.values[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("eagre."):
            for alias in statement.names:
                name = alias.asname or alias.name
                meaning = name if name in ("cuda", "prange") else f"imported {len(self.imported)}"
                self.imported[name] = meaning

    def digest(self, name: str) -> str:
        """Return the digest of a function."""
        if name not in self._digests:
            copy = ast.parse(ast.unparse(self.functions[name])).body[0]
            self._digests[name] = digest_text(ast.dump(_Renamed(self, self.functions[name]).visit(copy)))
        return self._digests[name]

    def meaning(self, name: str) -> str:
        """Return a description of a global name that does not depend on the name."""
        if name in self.functions:
            return f"function {self.digest(name)}"
        if name in self.classes:
            return f"tuple of {len(self.classes[name])}"
        if name in self.values:
            value = ast.parse(ast.unparse(self.values[name]), mode="eval").body
            return f"value {ast.dump(_Renamed(self, None).visit(value))}"
        return self.imported.get(name, name)

    def field(self, name: str) -> str:
        """Return the positions of a field in all named tuples of the program; other attributes are unchanged."""
        positions = [
            f"{number}.{fields.index(name)}" for number, fields in enumerate(self.classes.values()) if name in fields
        ]
        return f"field {' '.join(positions)}" if positions else name


class _Renamed(ast.NodeTransformer):
    """Replace local names by numbers and global names by their meanings."""

    def __init__(self, program: Program, function: ast.FunctionDef | None) -> None:
        self.program, self.locals = program, {}
        if function is not None:
            parameters = [one.arg for one in (*function.args.args, *function.args.kwonlyargs)]
            stored = [
                node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ]
            in_order = sorted(stored, key=lambda node: (node.lineno, node.col_offset))
            for name in [*parameters, *(node.id for node in in_order)]:
                self.locals.setdefault(name, f"local {len(self.locals)}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Omit the name and the docstring."""
        node.name = "function"
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        """Replace the name of a parameter."""
        node.arg = self.locals[node.arg]
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        """Replace a name."""
        node.id = self.locals.get(node.id) or self.program.meaning(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Replace the name of a field of a named tuple."""
        node.attr = self.program.field(node.attr)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Replace keywords of kernel functions by the positions of the parameters."""
        called = self.program.functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
        parameters = [one.arg for one in (*called.args.args, *called.args.kwonlyargs)] if called else []
        for keyword in node.keywords:
            if keyword.arg in parameters:
                keyword.arg = f"argument {parameters.index(keyword.arg)}"
        return self.generic_visit(node)


_PROGRAMS: dict[str, Program] = {}


def program_digest(program: Any) -> str:
    """Return the digest of a generated program; one that was not generated is identified by its name."""
    function = getattr(program, "py_func", program)
    module = sys.modules[function.__module__]
    if not module.__name__.startswith("eagre_program_"):
        return f"{module.__name__}.{function.__name__}"
    if module.__name__ not in _PROGRAMS:
        _PROGRAMS[module.__name__] = Program(Path(str(module.__file__)).read_text())
    return _PROGRAMS[module.__name__].digest(function.__name__)
