"""Loops written out: a thread's points as single variables, which stay in registers.

In the text of a kernel, ``for r in range(ROWS)`` over a count that is known becomes its turns, ``x[r, c]`` the variable
``x_0_1``, and what is chosen by numbers that are known is chosen here. Arrays of a thread's own (`cuda.local`) would
come to lie in memory wherever the compiler does not unroll a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def unrolled(text: str, counts: Mapping[str, int]) -> str:
    """The text of a function with its loops over `counts` written out; subscripts of parameters stay."""
    tree = ast.parse(text)
    [function] = tree.body
    assert isinstance(function, ast.FunctionDef)
    kept = {argument.arg for argument in function.args.args}
    function.body = _Writer(dict(counts), kept).block(function.body)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Writer(ast.NodeTransformer):
    """Writes statements out with numbers for names."""

    def __init__(self, known: dict[str, int], kept: set[str]) -> None:
        self.known, self.kept = known, kept

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements in place of statements."""
        found: list[ast.stmt] = []
        for one in statements:
            made = self.visit(ast.parse(ast.unparse(one)).body[0])
            found += made if isinstance(made, list) else [made]
        return found

    def visit_For(self, node: ast.For) -> Any:
        turns = None
        if isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range" and len(node.iter.args) == 1:
            turns = self._number(self.visit(node.iter.args[0]))
        if turns is None or not isinstance(node.target, ast.Name):
            node.iter = self.visit(node.iter)
            node.body = self.block(node.body)
            return node
        made: list[ast.stmt] = []
        for n in range(turns):
            made += _Writer({**self.known, node.target.id: n}, self.kept).block(node.body)
        return made

    def visit_While(self, node: ast.While) -> Any:
        node.test, node.body = self.visit(node.test), self.block(node.body)
        return node

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.block(node.body if test.value else node.orelse)
        node.test, node.body, node.orelse = test, self.block(node.body) or [ast.Pass()], self.block(node.orelse)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.Constant(self.known[node.id]) if node.id in self.known else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        index = self.visit(node.slice)
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if isinstance(node.value, ast.Name) and node.value.id not in self.kept:
            numbers = [self._number(part) for part in parts]
            if None not in numbers:
                return ast.Name("_".join([node.value.id, *map(str, numbers)]), node.ctx)
        node.value, node.slice = self.visit(node.value), index
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._folded(ast.BinOp(self.visit(node.left), node.op, self.visit(node.right)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._folded(ast.UnaryOp(node.op, self.visit(node.operand)))

    def visit_Compare(self, node: ast.Compare) -> Any:
        return self._folded(ast.Compare(self.visit(node.left), node.ops, [self.visit(one) for one in node.comparators]))

    def _folded(self, node: Any) -> Any:
        """The number that an expression of numbers is, or the expression."""
        if all(isinstance(part, ast.Constant) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)):
            return ast.Constant(eval(ast.unparse(node)))
        return node

    @staticmethod
    def _number(node: ast.AST) -> int | None:
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None
