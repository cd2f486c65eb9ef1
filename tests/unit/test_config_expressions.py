"""Safe arithmetic expressions: values, and everything that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.config.values.expressions import FUNCTIONS, Expression
from eagre.errors import InputError

X = np.linspace(-2.0, 3.0, 7)
Y = np.linspace(0.5, 4.0, 5)[:, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1*x", 0.1 * X + 0 * Y),
        ("x + 2*y - 1", X + 2 * Y - 1),
        ("-x**2 / y", -(X**2) / Y),
        ("x // 2 + x % 2", X // 2 + X % 2 + 0 * Y),
        ("sin(pi*x) + cos(y) * exp(-x**2)", np.sin(np.pi * X) + np.cos(Y) * np.exp(-(X**2))),
        ("where(hypot(x, y) < 2.5, 2.5, 0.5)", np.where(np.hypot(X, Y) < 2.5, 2.5, 0.5)),
        ("2.5 if x**2 + y**2 <= 6 else 0", np.where(X**2 + Y**2 <= 6, 2.5, 0.0)),
        ("minimum(x, y) + maximum(x, 0) + min(x, 1)", np.minimum(X, Y) + np.maximum(X, 0) + np.minimum(X, 1)),
        ("clip(x, -1, 1) * tanh(y)", np.clip(X, -1, 1) * np.tanh(Y)),
        ("(0 < x < 2) * 1.5", ((X > 0) & (X < 2)) * 1.5 + 0 * Y),
        ("(x > 0 and y > 1) + (x < -1 or not y > 1)", ((X > 0) & (Y > 1)) * 1.0 + ((X < -1) | ~(Y > 1))),
        ("e + 3", np.full((5, 7), math.e + 3)),
        ("+7", np.full((5, 7), 7.0)),
        ("  1.5  ", np.full((5, 7), 1.5)),
    ],
)
def test_value(text, expected):
    result = Expression(text)(x=X[None, :], y=Y)
    assert result.shape == (5, 7)
    assert result.dtype == np.float64
    assert result.flags.writeable
    np.testing.assert_allclose(result, np.broadcast_to(expected, (5, 7)), rtol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_can_be_called(name):
    arguments = ", ".join(["0.5", "0.25", "0.75"][: FUNCTIONS[name][1]])
    assert np.isfinite(Expression(f"{name}({arguments})")(x=0.0, y=0.0))


def test_scalar_values_give_a_scalar_array():
    assert Expression("x + y")(x=1.0, y=2.0) == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "(lambda: 1)()",
        "[x for x in y]",
        "x[0]",
        "open('a')",
        "f'{x}'",
        "'text'",
        "x := 3",
        "sin(x=1)",
        "sin(*x)",
        "1j",
        "None",
        "{1: 2}",
        "x if y",
        "x y",
        "",
        "1 +",
        "x; y",
        "x\ny",
        "sin",
        "x in y",
        "x is y",
        "x @ y",
        "x << 2",
        "~x",
        "sin(x)(y)",
        "getattr(x, y)",
        "x\0",
        "(" * 300 + "x" + ")" * 300,
        "+".join(["x"] * 3000),
    ],
)
def test_anything_but_arithmetic_is_refused(text):
    with pytest.raises(InputError):
        Expression(text)


def test_deep_nesting_is_refused_and_not_a_crash():
    with pytest.raises(InputError):
        Expression("-" * 1990 + "x")(x=1.0, y=1.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sim(x)", ('"sim"', 'did you mean "sin"', "cos")),
        ("xx + 1", ('"xx"', 'did you mean "x"', "pi")),
        ("2 * z", ('"z"', "x, y, pi")),
        ("x^2", ("**, not ^",)),
        ("x + ) 3", ("character 5",)),
        ("where(x < 1, 2)", ("where takes 3", "not 2")),
        ("0,03", ("decimal comma", "0.03")),
        ("my n.tif", ("the name of a file", '{ file = "my n.tif" }')),
        ("x.real", ('"x.real"', "not plain arithmetic")),
    ],
)
def test_message(text, words):
    with pytest.raises(InputError) as caught:
        Expression(text)
    for word in words:
        assert word in str(caught.value)


def test_result_that_is_not_finite_names_the_point():
    with pytest.raises(InputError) as caught:
        Expression("1 / (x - 1)")(x=np.array([[0.0, 1.0, 2.0]]), y=np.array([[5.0]]))
    assert "inf at x = 1, y = 5 (1 of 3 points)" in str(caught.value)


def test_huge_powers_cost_nothing():
    with pytest.raises(InputError, match="inf"):
        Expression("9**9**9**9")(x=0.0, y=0.0)


def test_other_variables():
    expression = Expression("0.5 * sin(2 * pi * t / 44712)", ("t",))
    assert expression(t=11178.0) == pytest.approx(0.5)
    with pytest.raises(InputError, match='"x" is not known'):
        Expression("x", ("t",))
