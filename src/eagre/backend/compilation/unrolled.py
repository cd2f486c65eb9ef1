"""Loop unrolling of kernel source: array elements of a thread become scalar variables, which stay in registers.

``for r in range(ROWS)`` with a known count is replaced by its iterations, ``x[r, c]`` becomes the variable ``x_0_1``,
and conditions on known numbers are evaluated. Thread-local arrays (`cuda.local`) would be stored in memory wherever the
compiler does not unroll a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def unrolled(text: str, counts: Mapping[str, int]) -> str:
    """Return the source of a function with its loops over `counts` unrolled; subscripts of parameters remain."""
    tree = ast.parse(text)
    [function] = tree.body
    assert isinstance(function, ast.FunctionDef)
    parameters = {argument.arg for argument in function.args.args}
    function.body = _Writer(dict(counts), parameters).block(function.body)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Writer(ast.NodeTransformer):
    """Transformer that unrolls statements and replaces names by numbers."""

    def __init__(self, known: dict[str, int], parameters: set[str]) -> None:
        self.known, self.parameters = known, parameters

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the transformed statements."""
        transformed: list[ast.stmt] = []
        for one in statements:
            result = self.visit(ast.parse(ast.unparse(one)).body[0])
            transformed += result if isinstance(result, list) else [result]
        return transformed

    def visit_For(self, node: ast.For) -> Any:
        count = None
        if isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range" and len(node.iter.args) == 1:
            count = self._number(self.visit(node.iter.args[0]))
        if count is None or not isinstance(node.target, ast.Name):
            node.iter = self.visit(node.iter)
            node.body = self.block(node.body)
            return node
        statements: list[ast.stmt] = []
        for n in range(count):
            statements += _Writer({**self.known, node.target.id: n}, self.parameters).block(node.body)
        return statements

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
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        if isinstance(node.value, ast.Name) and node.value.id not in self.parameters:
            numbers = [self._number(axis_index) for axis_index in indices]
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
        """Return the value of a constant expression, or the expression."""
        operands = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
        if all(isinstance(operand, ast.Constant) for operand in operands):
            return ast.Constant(eval(ast.unparse(node)))
        return node

    @staticmethod
    def _number(node: ast.AST) -> int | None:
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None
