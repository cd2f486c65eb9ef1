"""Values that take the place of those in a case file."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import numpy as np
import pytest

from eagre import load_case
from eagre.config.changes import changed, key_of, parse_change
from eagre.config.problems import ConfigError
from eagre.errors import InputError

CASE = """\
model = "shallow-water"
[run]
end_time = "1 s"
[grid]
nx = 10
ny = 8
dx = 5.0
[bed]
value = -1.0
[[output]]
file = "a.nc"
[[output]]
file = "b.nc"
"""


@pytest.fixture
def case(tmp_path) -> Path:
    """A case file."""
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    return path


def test_values_are_replaced_added_and_taken_out(case):
    changes = {
        "run.end_time": "2 min",
        "friction.manning": np.float64(0.04),
        "output[2].file": Path("rough.nc"),
        "boundaries.west": {"kind": "stage", "level": {"times": np.array([0, 200]), "values": (0.0, 1.0)}},
        "bed.value": None,
        "bed.expression": "-2",
    }
    made = load_case(case, changes)
    assert made.run.end_time == 120.0
    assert [section.file.name for _, section in made.outputs] == ["a.nc", "rough.nc"]
    model = made.build(device="cpu")
    assert model.settings()["manning"] == pytest.approx(0.04)
    assert model.field("bed").max() == -2.0
    assert case.read_text() == CASE


def test_the_text_of_a_case_tells_its_changes_and_is_still_a_case(case):
    made = load_case(case, {"run.end_time": "2 min", "title": None})
    assert made.text.startswith(CASE)
    assert made.text.splitlines()[-2:] == ['#   run.end_time = "2 min"', "#   title = (removed)"]
    assert tomllib.loads(made.text) == tomllib.loads(CASE)
    assert load_case(case).text == CASE


def test_problems_of_changed_keys_name_no_line_of_the_file(case):
    with pytest.raises(ConfigError) as caught:
        load_case(case, {"run.end_time": "2 parsec", "grid.nx": 0.5})
    assert [(problem.key, problem.line) for problem in caught.value.problems] == [
        (("run", "end_time"), None),
        (("grid", "nx"), None),
    ]
    with pytest.raises(ConfigError, match=r"run.end_time \(line 3\)"):
        load_case(_with(case, 'end_time = "1 s"', 'end_time = "1 parsec"'), {"grid.nx": 20})


def _with(path: Path, old: str, new: str) -> Path:
    path.write_text(path.read_text().replace(old, new))
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("output[3].file", r"the list has no item \[3\]\nallowed: \[1\] to \[2\]"),
        ("output.file", "no key 'file'"),
        ("grid.nx.more", "the value there is 10"),
        ("grid[1]", r"the list has no item \[1\]\nallowed: one of nx"),
        ("friction manning", "names with dots"),
        ("", "names with dots"),
        ("output[0].file", "names with dots"),
    ],
)
def test_keys_that_lead_nowhere(name, words):
    with pytest.raises(InputError, match=words):
        changed(tomllib.loads(CASE), {name: 1})


def test_changes_that_are_no_table(case):
    with pytest.raises(InputError, match=r"changes = \['grid.nx=3'\](.|\n)*friction.manning"):
        load_case(case, ["grid.nx=3"])


def test_keys_are_spelt_as_messages_spell_them():
    assert key_of("boundaries.north[1].rate") == ("boundaries", "north", 0, "rate")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b = 0.5", 0.5),
        ("a.b=2 h", "2 h"),
        ('a.b="2 h"', "2 h"),
        ('a.b=["x", "y"]', ["x", "y"]),
        ("a.b={ kind = 'wall' }", {"kind": "wall"}),
        ("a.b=true", True),
        ("a.b=2026-01-31", datetime.date(2026, 1, 31)),
        ("a.b=x = y", "x = y"),
        ("a.b=1\nc = 2", "1\nc = 2"),
    ],
)
def test_changes_on_a_command_line(text, value):
    assert parse_change(text) == ("a.b", value)


@pytest.mark.parametrize("text", ["a.b", "a.b=", "a.b= "])
def test_changes_without_a_value(text):
    with pytest.raises(InputError, match="a key, = and a value"):
        parse_change(text)
