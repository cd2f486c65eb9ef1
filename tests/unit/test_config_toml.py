"""Reading TOML: syntax errors with their place, missing files with their path, lines of keys."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import pytest

from eagre.config.problems import problem_of
from eagre.config.toml import existing_file, line_of, literal, parse_toml, read_toml
from eagre.errors import InputError


def message(function, *arguments) -> str:
    """What a call says when it is refused."""
    with pytest.raises(InputError) as caught:
        function(*arguments)
    return str(caught.value)


def test_syntax_error_tells_line_column_and_marks_the_place(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text('model = "shallow-water"\n[run]\nend_time = 2 h\n')
    text = message(read_toml, path)
    assert "line 3, column 14" in text
    shown, mark = text.splitlines()[1:3]
    assert shown == "end_time = 2 h"
    assert mark == " " * 13 + "^"


def test_syntax_error_at_the_end():
    assert "at the end" in message(parse_toml, "a = [1, 2")


def test_missing_file_tells_the_full_path_and_the_nearest_name(tmp_path, monkeypatch):
    (tmp_path / "case.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    text = message(read_toml, "cas.toml")
    assert str(tmp_path / "cas.toml") in text
    assert '"case.toml"' in text
    (tmp_path / "dem.tif").write_text("")
    assert '"dem.tif"' in message(existing_file, Path("den.tif"))
    assert "write" not in message(existing_file, Path("cas.tif"))  # neither another kind nor an unrelated name
    assert "there is no folder" in message(read_toml, "nowhere/case.toml")
    assert "which is a folder" in message(existing_file, tmp_path)


def test_unreadable_files(tmp_path):
    path = tmp_path / "case.toml"
    path.write_bytes(b"title = '\xff'")
    assert "byte 9 is not UTF-8" in message(read_toml, path)
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_toml(path)[0] == {"a": 1}


TEXT = """\
model = "shallow-water"
[run]
end_time = "2 h"

[boundaries]
west = {kind = "wall"}
[[boundaries.north]]   # first
kind = "stage"
[[boundaries.north]]
kind = "discharge"
"rate" = 3
[gauges.points]
harbour = [1, 2]
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("model",), 1),
        (("run",), 2),
        (("run", "end_time"), 3),
        (("run", "device"), 2),
        (("boundaries", "west", "kind"), 6),
        (("boundaries", "north", 0, "level"), 7),
        (("boundaries", "north", 1, "rate"), 11),
        (("gauges", "points", "harbour"), 13),
        (("bed",), None),
        ((), None),
    ],
)
def test_line_of_a_key(key, line):
    assert line_of(TEXT, key) == line


@pytest.mark.parametrize(
    "value",
    [True, 3, 0.1, 1e-11, 'say "a"', [1, [2.5]], {"a": 1, "b": [True]}, datetime.datetime(2026, 1, 2, 3, 4, 5)],
)
def test_literals_are_toml(value):
    assert tomllib.loads(f"key = {literal(value)}")["key"] == value


def test_the_problem_sentence_of_an_error_leads_its_message_and_that_of_a_case_file():
    error = InputError(
        "courant_number = 3.0",
        allowed="a number in (0, 1]",
        fix="courant_number = 0.25",
        problem="The courant_number is unstable.",
    )
    assert str(error).splitlines()[0] == "The courant_number is unstable."
    (problem,) = problem_of(error, ("numerics", "courant_number"))
    assert str(problem).splitlines()[:3] == [
        "numerics.courant_number",
        "  The courant_number is unstable.",
        "  got:     courant_number = 3.0",
    ]
