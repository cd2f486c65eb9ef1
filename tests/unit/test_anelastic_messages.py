"""Messages of the anelastic model begin with a sentence that names the problem."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import eagre
from eagre.errors import _NAME_AND_VALUE

FOLDER = Path(eagre.__file__).parent / "models" / "anelastic"


def errors_without_sentence(text):
    """Line numbers of `InputError` calls without `problem` whose description gives no default sentence."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "InputError":
            what = node.args[0]
            start = what.values[0] if isinstance(what, ast.JoinedStr) else what
            description = getattr(start, "value", "") if isinstance(start, ast.Constant) else "key = "
            if all(word.arg != "problem" for word in node.keywords) and not _NAME_AND_VALUE.match(str(description)):
                yield node.lineno


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_every_error_states_its_problem(path):
    assert list(errors_without_sentence(path.read_text("utf-8"))) == []


def test_an_error_without_a_sentence_is_found():
    assert list(errors_without_sentence('InputError("no levels")\nInputError("n = 3")')) == [1]
    assert list(errors_without_sentence('InputError("no levels", problem="The levels are missing.")')) == []
