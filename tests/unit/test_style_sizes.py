"""tools/check_sizes.py finds what is too long, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import check_sizes

DOCSTRING = '    """One.\n\n    Two.\n    """\n'


def function(lines: int, decorator: str = "", docstring: str = "") -> str:
    """Source of a function `f` with `lines` lines, decorator and docstring not counted."""
    return f"{decorator}def f(x):\n{docstring}" + "    x += 1\n" * (lines - 1)


def check(source: str, name: str = "module.py") -> list[str]:
    """What is reported about `source` in a file called `name`."""
    return [f"{finding.what} {finding.size}" for finding in check_sizes.check_module(Path(name), source)]


@pytest.mark.parametrize(
    ("decorator", "name", "kind", "limit"),
    [
        ("", "module.py", "function", 40),
        ("@cell\n", "module.py", "cell", 30),
        ("@backend.cell(halo=2)\n", "module.py", "cell", 30),
        ("@kernel\n", "module.py", "kernel", 80),
        ("@kernel(\n    block=(32, 4),\n)\n", "module.py", "kernel", 80),
        ("", "march_cuda.py", "kernel", 80),
        ("", "march_cuda_double.py", "kernel", 80),
    ],
)
@pytest.mark.parametrize("docstring", ["", DOCSTRING])
def test_function_at_its_limit_passes_and_one_line_more_fails(decorator, name, kind, limit, docstring):
    assert check(function(limit, decorator, docstring), name) == []
    assert check(function(limit + 1, decorator, docstring), name) == [f"{kind} f {limit + 1}"]


@pytest.mark.parametrize(("lines", "is_error"), [(400, None), (401, False), (600, False), (601, True)])
def test_module_limits(lines, is_error):
    findings = check_sizes.check_module(Path("module.py"), "x = 1\n" * lines)
    assert [finding.is_error for finding in findings] == ([] if is_error is None else [is_error])


def test_methods_and_nested_functions_have_qualified_names():
    body = "            x = 1\n" * 40
    source = f"class A:\n    def f(self):\n        def g():\n{body}        return g\n"
    assert check(source) == ["function A.f 43", "function A.f.g 41"]


def test_string_that_is_not_a_docstring_counts():
    tree = ast.parse('def f():\n    x = 1\n    """a\n    b"""\n')
    assert check_sizes.function_lines(tree.body[0]) == 4


def test_command_line(tmp_path, capsys):
    good, bad = tmp_path / "good.py", tmp_path / "deeper" / "bad.py"
    bad.parent.mkdir()
    good.write_text(function(40))
    assert check_sizes.main([str(tmp_path)]) == 0
    bad.write_text(function(41))
    assert check_sizes.main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert f"{bad}:1: error: function f has 41 lines, 40 allowed" in printed
    assert "2 modules, 1 too long, 0 warnings" in printed


def test_nothing_to_check_is_not_a_pass(tmp_path, capsys):
    assert check_sizes.main([str(tmp_path)]) == 2
    assert "no Python files" in capsys.readouterr().err


@pytest.mark.parametrize(("count", "findings"), [(30, []), (31, ["call 31"])])
def test_calls_have_at_most_thirty_arguments(count, findings):
    assert check(f"f({', '.join('x' for _ in range(count - 1))}, last=x)\n") == findings
