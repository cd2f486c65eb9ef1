"""Loop unrolling of kernel source: array elements of a thread become scalar variables, which stay in registers.

``for r in range(ROWS)`` with a known count is replaced by its iterations, ``x[r, c]`` becomes the variable ``x_0_1``,
and conditions on known numbers are evaluated. Thread-local arrays (`cuda.local`) would be stored in memory wherever the
compiler does not unroll a loop.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
"""Operators of expressions whose operands are known."""


def unrolled(text: str, counts: Mapping[str, int]) -> str:
    """Return the source of a function with its loops over `counts` unrolled; subscripts of parameters remain."""
    tree = ast.parse(text)
    [function] = tree.body
    assert isinstance(function, ast.FunctionDef)
    parameters = {argument.arg for argument in function.args.args}
    function.body = _Writer(dict(counts), parameters).block(function.body)
    return ast.unparse(tree) + "\n"


class _Writer(ast.NodeTransformer):
    """Transformer that unrolls statements and replaces names by numbers; it makes new nodes, as loops repeat theirs."""

    def __init__(self, known: dict[str, int], parameters: set[str]) -> None:
        self.known, self.parameters = known, parameters

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not node._fields:
            return node
        generated: Any = type(node)(*(self._field(getattr(node, name)) for name in node._fields))
        generated.lineno = 0  # `ast.unparse` reads it
        return generated

    def _field(self, value: Any) -> Any:
        """Return the transformed value of a field of a node."""
        if isinstance(value, list):
            return self.block(value)
        return self.visit(value) if isinstance(value, ast.AST) else value

    def block(self, nodes: list[Any]) -> list[Any]:
        """Return the transformed statements, or expressions."""
        transformed: list[Any] = []
        for one in nodes:
            result = self._field(one)
            transformed += result if isinstance(result, list) else [result]
        return transformed

    def visit_For(self, node: ast.For) -> Any:
        count = None
        if isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range" and len(node.iter.args) == 1:
            count = self._number(self.visit(node.iter.args[0]))
        if count is None or not isinstance(node.target, ast.Name):
            return ast.For(node.target, self.visit(node.iter), self.block(node.body), [], lineno=0)
        statements: list[ast.stmt] = []
        for n in range(count):
            statements += _Writer({**self.known, node.target.id: n}, self.parameters).block(node.body)
        return statements

    def visit_If(self, node: ast.If) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.block(node.body if test.value else node.orelse)
        return ast.If(test, self.block(node.body) or [ast.Pass()], self.block(node.orelse))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.Constant(self.known[node.id]) if node.id in self.known else node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        index = self.visit(node.slice)
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        if isinstance(node.value, ast.Name) and node.value.id not in self.parameters:
            numbers = [self._number(axis_index) for axis_index in indices]
            if None not in numbers:
                return ast.Name("_".join([node.value.id, *map(str, numbers)]), node.ctx)
        return ast.Subscript(self.visit(node.value), index, node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._folded(ast.BinOp(self.visit(node.left), node.op, self.visit(node.right)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._folded(ast.UnaryOp(node.op, self.visit(node.operand)))

    def visit_Compare(self, node: ast.Compare) -> Any:
        return self._folded(ast.Compare(self.visit(node.left), node.ops, [self.visit(one) for one in node.comparators]))

    def _folded(self, node: Any) -> Any:
        """Return the value of a constant expression, or the expression."""
        operands: list[Any] = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        [*_, symbol] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
        if all(isinstance(operand, ast.Constant) for operand in operands) and len(operands) < 3:
            return ast.Constant(_OPERATORS[type(symbol)](*(operand.value for operand in operands)))
        return node

    @staticmethod
    def _number(node: ast.AST) -> int | None:
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None
