"""Arithmetic expressions in x and y, parsed with the `ast` module and evaluated with NumPy.

``"0.05 * x + 0.2 * exp(-((x - 50)**2 + y**2) / 100)"`` is parsed once into a tree of a few allowed
node types, which is then evaluated; no code is executed. Comparisons are 1 or 0 per point:
``"where(hypot(x, y) < 5, 2.5, 0.5)"`` is a circular dam.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import numpy as np

from eagre.config.toml import literal
from eagre.config.values.units import decimal_point
from eagre.errors import InputError
from eagre.names import did_you_mean

CONSTANTS = {"pi": math.pi, "e": math.e}
"""Named constants."""

_FUNCTIONS_OF_ONE = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log", "log10"),
    *("sqrt", "cbrt", "abs", "sign", "floor", "ceil", "radians", "degrees"),
)
_FUNCTIONS_OF_TWO = ("minimum", "maximum", "hypot", "arctan2")

FUNCTIONS: dict[str, tuple[Callable[..., np.ndarray], int]] = {
    **{name: (getattr(np, name), 1) for name in _FUNCTIONS_OF_ONE},
    **{name: (getattr(np, name), 2) for name in _FUNCTIONS_OF_TWO},
    "min": (np.minimum, 2),
    "max": (np.maximum, 2),
    "where": (np.where, 3),
    "clip": (np.clip, 3),
}
"""Functions by name, with their number of arguments."""

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MAX_LENGTH = 2000
_FILE = re.compile(r"[^()*]+\.(?:tiff?|asc|nc|csv|geojson|gpkg|shp)", re.IGNORECASE)
_LARGEST = 1e308


class Expression:
    """Arithmetic expression in named variables.

    Parameters
    ----------
    text : str
        Expression such as ``"0.1 * x"`` with the operators ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``,
        ``a if c else b``, the functions in `FUNCTIONS` and the constants ``pi`` and ``e``.
    variables : sequence of str
        Names of the variables, whose values are arguments of the call.

    Raises
    ------
    InputError
        If the expression is invalid; for unknown names the message suggests the nearest valid name.
    """

    def __init__(self, text: str, variables: Sequence[str] = ("x", "y")) -> None:
        self.text = text
        self.variables = tuple(variables)
        if decimal_point(text) is not None:
            raise InputError(
                f'"{_short(text)}" with a decimal comma', allowed="a decimal point", fix=str(decimal_point(text))
            )
        if _FILE.fullmatch(text):
            what = f'"{_short(text)}", the name of a file'
            raise InputError(what, allowed="a table with the file", fix=f"{{ file = {literal(text)} }}")
        if len(text) > _MAX_LENGTH:
            raise InputError(f"an expression of {len(text)} characters", allowed=f"at most {_MAX_LENGTH}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                self._tree = ast.parse(text.strip(), mode="eval").body
            self._check(self._tree)
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except (RecursionError, MemoryError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise self._refuse("nested too deeply, or a null character") from None

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __call__(self, **values: np.ndarray | float) -> np.ndarray:
        """Evaluate the expression.

        Parameters
        ----------
        **values : array or float
            Value of each variable; arrays must be broadcastable.

        Returns
        -------
        array of float64
            Result with the broadcast shape of all values.

        Raises
        ------
        InputError
            If the result is not finite everywhere; the message states the first such point.
        """
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
        with np.errstate(all="ignore"):
            result = np.asarray(self._value(self._tree, arrays), dtype=np.float64)
        shape = np.broadcast_shapes(result.shape, *(array.shape for array in arrays.values()))
        result = np.array(np.broadcast_to(result, shape))
        if not np.isfinite(result).all():
            raise self._not_finite(result, arrays)
        return result

    def _check(self, node: ast.AST) -> None:
        """Raise `InputError` for nodes that are not plain arithmetic."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                if abs(value) > _LARGEST:
                    raise self._refuse("a number beyond 1e308")
            case ast.Name(id=name):
                if name not in CONSTANTS and name not in self.variables:
                    raise self._unknown(name, (*self.variables, *CONSTANTS), "name")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                if name not in FUNCTIONS:
                    raise self._unknown(name, FUNCTIONS, "function")
                if len(arguments) != FUNCTIONS[name][1]:
                    raise self._refuse(f"{name} takes {FUNCTIONS[name][1]} argument(s), not {len(arguments)}")
                self._check_all(arguments)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                self._check_all((left, right))
            case ast.BinOp(op=ast.BitXor()):
                raise self._refuse("powers are written **, not ^")
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not(), operand=operand):
                self._check(operand)
            case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARE for op in ops):
                self._check_all((left, *others))
            case ast.BoolOp(values=values):
                self._check_all(values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._check_all((test, body, orelse))
            case _:
                raise self._refuse(f'"{ast.unparse(node)}" is not plain arithmetic')

    def _check_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self._check(node)

    def _value(self, node: ast.AST, names: Mapping[str, np.ndarray]) -> np.ndarray:
        """Evaluate a checked node; integers become floats, which limits the size of powers."""
        match node:
            case ast.Constant(value=value):
                return np.float64(value)  # type: ignore[arg-type, return-value]
            case ast.Name(id=name):
                return names[name] if name in self.variables else np.float64(CONSTANTS[name])  # type: ignore[return-value]
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return FUNCTIONS[name][0](*(self._value(argument, names) for argument in arguments))
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self._value(left, names), self._value(right, names))
            case ast.UnaryOp(op=op, operand=operand):
                value = self._value(operand, names)
                if isinstance(op, ast.Not):
                    return _one_or_zero(np.logical_not(value))
                return -value if isinstance(op, ast.USub) else value
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self._value(item, names) for item in (left, *others)]
                pairs = zip(ops, values, values[1:], strict=False)
                return _one_or_zero(reduce(np.logical_and, [_COMPARE[type(op)](a, b) for op, a, b in pairs]))
            case ast.BoolOp(op=op, values=items):
                combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
                result = self._value(items[0], names)
                for item in items[1:]:
                    result = combine(result, self._value(item, names))
                return _one_or_zero(result)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return np.where(*(self._value(item, names) for item in (test, body, orelse)))
        raise AssertionError(f"unchecked node {node!r}")

    def _refuse(self, why: str) -> InputError:
        return InputError(
            f'the expression "{_short(self.text)}": {why}',
            allowed=f"arithmetic in {', '.join(self.variables)} and pi, with + - * / ** < > and functions such as "
            "sin, exp, sqrt, where, minimum",
            fix=f'"where({self.variables[0]} < 10, 1.0, 0.0)"',
        )

    def _unknown(self, name: str, allowed: Sequence[str] | Mapping[str, object], what: str) -> InputError:
        return InputError(
            f'the expression "{_short(self.text)}": the {what} "{name}" is not known{did_you_mean(name, allowed)}',
            allowed=", ".join(allowed),
        )

    def _syntax_error(self, error: SyntaxError) -> InputError:
        column = min(error.offset or 1, len(self.text) + 1)
        return self._refuse(f"syntax error at character {column} ({error.msg})")

    def _not_finite(self, result: np.ndarray, arrays: Mapping[str, np.ndarray]) -> InputError:
        first = tuple(int(index) for index in np.argwhere(~np.isfinite(result))[0])
        point = ", ".join(f"{name} = {np.broadcast_to(array, result.shape)[first]:g}" for name, array in arrays.items())
        count = int((~np.isfinite(result)).sum())
        return InputError(
            f'the expression "{_short(self.text)}" is {result[first]} at {point} ({count} of {result.size} points)',
            allowed="an expression that is finite everywhere",
        )


def _one_or_zero(truth: np.ndarray) -> np.ndarray:
    """Convert booleans to floats, which can be added and subtracted."""
    return np.asarray(truth, np.float64)


def _short(text: str) -> str:
    """Shorten a string to at most 80 characters."""
    return text if len(text) <= 80 else text[:77] + "..."
