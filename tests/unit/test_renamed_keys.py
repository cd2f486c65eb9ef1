"""Old names of the rename table of the changelog are errors that name the new key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eagre.config.problems import Problems
from eagre.config.section import Section, check
from eagre.errors import InputError
from eagre.models.registry import KINDS, load_case

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
KEYS = (
    "absorber absorbs cfl clustered compensated convection courant early_exit fixed_time_step ground height inside "
    "land layers limit lines paddles predicted_part sides sides_x sides_y sides_z steepest theta "
    "viscous vorticity vorticity_lower zones"
).split()
"""Old case-file keys of the table."""


def pairs_of_table():
    """Pairs (old, new) of the table."""
    text = CHANGELOG.read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", text[text.index("#### Renames") : text.index("#### Changed")], re.M)
    for part in (part for row in rows for part in row.split(";") if "`" in part and "->" in part):
        old, new = (
            list(dict.fromkeys(re.sub(r".*\.|[\[\]]", "", name) for name in re.findall(r"`([^`]+)`", side)))
            for side in part.split("->")
        )
        stem = new[0].rpartition("_")[0]
        yield from zip(old, [stem + name if name.startswith("_") else name for name in new], strict=False)


def sections_of(section=Section):
    """All tables of case files."""
    for kind in KINDS:
        __import__(f"eagre.models.{kind.replace('-', '_')}.config")
    for one in section.__subclasses__():
        yield from (one, *sections_of(one))


def uses():
    """Old name, new name and table of every key that was renamed."""
    tables = set(sections_of())
    for old, new in sorted(set(pairs_of_table())):
        for table in sorted(tables, key=lambda one: one.__qualname__):
            if new in table.keys() and old not in table.keys():
                yield old, new, table


USES = list(uses())


def test_the_table_is_read_to_its_end():
    pairs = dict(pairs_of_table())
    assert pairs["take_layouts"] == "use_tuning" and pairs["sides_z"] == "boundaries_z" and len(pairs) > 60
    assert {old for old, _, _ in USES} == set(KEYS)


@pytest.mark.parametrize(("old", "new", "table"), USES, ids=lambda one: getattr(one, "__name__", one))
def test_an_old_key_names_the_new_one(old, new, table):
    with pytest.raises(Problems) as error:
        check(table, {old: 1.0})
    found = [problem for problem in error.value.problems if problem.problem == f'Unknown key "{old}".']
    assert len(found) == 1 and f'(did you mean "{new}"?)' in found[0].what and found[0].fix.startswith(new)


def test_values_that_moved_to_another_key_name_it(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(
        'model = "shallow-water"\nrun.end_time = 1.0\ngrid = { nx = 4, ny = 3, dx = 1.0 }\nbed.value = -1.0\n'
        'numerics.time_step = "exact"\n'
    )
    with pytest.raises(InputError, match='time_step_control = "exact"'):
        load_case(case)
