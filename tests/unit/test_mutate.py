"""The tool that changes formulas one at a time."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("mutate", ROOT / "tools" / "mutate.py")
mutate = importlib.util.module_from_spec(SPEC)
sys.modules["mutate"] = mutate
SPEC.loader.exec_module(mutate)

SOURCE = '''"""A - B."""
LIMIT = 0.5


def slope(a: float, b: float, k: int = 3) -> float:
    """a - b."""
    if a < b:
        raise ValueError(f"got {a - b}")
    return min(a - b, -LIMIT * a) / values[k + 1]
'''


@pytest.fixture
def small(tmp_path):
    """A package of one file."""
    file = tmp_path / "src" / "eagre" / "slope.py"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE, encoding="utf-8")
    return file


def test_mutants_are_formulas_and_no_words(small):
    found = {(one.line, one.before, one.after) for one in mutate.mutants_of(small)}
    assert found == {
        (2, "0.5", "0.625"), (7, "<", ">="), (9, "min", "max"), (9, "-", "+"), (9, "-", ""), (9, "*", "/"),
        (9, "/", "*"), (9, "+", "-"), (9, "1", "2"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["boundaries/conditions/stage.py", "stepping/clock.py", "models/shallow_water_adi/kernels.py"]
)
def test_every_mutant_is_a_program(name):
    file = ROOT / "src" / "eagre" / name
    text, found = file.read_text(encoding="utf-8"), mutate.mutants_of(file)
    assert found
    for one in found:
        assert text[one.start : one.end] == one.before
        ast.parse(text[: one.start] + one.after + text[one.end :])


def test_a_mutant_lives_where_tests_do_not_look(small, tmp_path):
    package = small.parent
    (package / "__init__.py").touch()
    test = tmp_path / "test_slope.py"
    test.write_text("from eagre.slope import LIMIT\n\n\ndef test():\n    assert LIMIT == 0.5\n", encoding="utf-8")
    by_line = {one.line: one for one in mutate.mutants_of(small)}
    assert not mutate.survives(by_line[2], package, [str(test)], tmp_path / "cache", 60.0)
    assert mutate.survives(by_line[9], package, [str(test)], tmp_path / "cache", 60.0)
    assert "slope.py:9" in mutate.line_of(by_line[9], package)


def test_tests_that_fail_on_the_source_itself_choose_nothing(small, tmp_path, monkeypatch):
    test = tmp_path / "test_slope.py"
    test.write_text("def test():\n    assert False\n", encoding="utf-8")
    monkeypatch.setattr(mutate, "tests_of", lambda file, source: (str(test),))
    with pytest.raises(SystemExit, match="does not hold on the source as it is"):
        next(mutate.reports(mutate.mutants_of(small), small.parent, tmp_path, 60.0))


def test_the_chosen_tests_are_there():
    paths = [path for tests in mutate.TESTS.values() for path in tests.split()]
    assert [start for start in mutate.TESTS if not any((ROOT / "src" / "eagre").glob(f"{start}*"))] == []
    for start, (path, part) in mutate.SIMULATED.items():
        assert any((ROOT / "src" / "eagre").glob(f"{start}*")), start
        assert any(word in (ROOT / path).read_text() for word in part.split(" or ")), part
        paths.append(path)
    assert all((ROOT / path.split("::")[0]).exists() for path in paths)


def test_kernels_of_a_gpu_are_simulated():
    package = ROOT / "src" / "eagre"
    tests = mutate.tests_of(package / "models" / "shallow_water_adi" / "sweeps" / "sweep_cuda_x.py", package)
    assert tests == ("tests/kernels/test_adi_kernels.py", "-k", "simulated_sweeps", "-m", "simulator and not slow")
    assert "not slow and not gpu and not simulator" in mutate.tests_of(package / "time_varying" / "series.py", package)
