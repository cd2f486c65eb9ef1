"""The store of what tuning found: which runs use it, and why others do not."""

from __future__ import annotations

import json
import pickle

import pytest

from case_texts import still_water
from eagre.backend import origin, tuned
from eagre.backend.origin import cache_bytes, hash_of, origin_of
from eagre.backend.select import select
from eagre.bench.tuner import choose_scheme
from eagre.errors import InputError
from eagre.layouts import store
from eagre.layouts.store import Entry, Origin, Store, Use
from eagre.layouts.table import SCHEMA, stored
from eagre.models.registry import load_case

KIND, CELLS = "shallow-water", 64 * 64
ROWS = {"cpu.shallow-water.rows": 16}


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """A store of its own for each test."""
    monkeypatch.setenv("EAGRE_TUNING", str(tmp_path / "tuning"))
    monkeypatch.delenv("EAGRE_LAYOUTS", raising=False)


def entry(values=ROWS, same_bits=True, scheme="rk2", **other):
    """An entry for a run of 64 x 64 cells here."""
    cpu = select("cpu")
    use = Use(KIND, scheme, "single", "small")
    found = {"best": "shallow-water: cpu: rows 16"}
    return Entry("shallow-water: cpu", use, origin_of(cpu, KIND)._replace(**other), values, same_bits, SECONDS, found)


SECONDS = {"before": 1.1e-3, "after": 1.0e-3}


def keep(*entries):
    path = tuned.file_of(select("cpu"))
    store.write(path, store.read(path).adding(*entries))
    return path


def choose(tuning="auto", scheme="rk2", cells=CELLS, precision="single"):
    return tuned.chosen("cpu", KIND, cells, precision, scheme, tuning)


def rows_of(found):
    return found.device.layout("cpu.shallow-water").rows


def test_nothing_is_tuned_at_first():
    found = choose()
    assert found.device is select("cpu") and rows_of(found) == 64
    assert found.words == "shipped values; never tuned for single precision, size small, rk2 (eagre tune)"


def test_a_run_with_the_key_uses_the_values_and_says_why():
    path = keep(entry())
    found = choose()
    assert rows_of(found) == 16 and select("cpu").layout("cpu.shallow-water").rows == 64
    assert found.words == f"tuned for single precision, size small, rk2: shallow-water: cpu: rows 16 +10% ({path})"


@pytest.mark.parametrize(
    ("part", "word"), [("device", "device"), ("driver", "driver"), ("versions", "version"), ("source", "source")]
)
def test_values_of_another_key_are_never_used(part, word):
    keep(entry(**{part: "OTHER"}))
    found = choose()
    assert rows_of(found) == 64
    assert found.words == f"shipped values; tuned values are of another {word} (OTHER): not used (eagre tune)"
    keep(entry())
    assert rows_of(choose()) == 16


def test_another_use_has_none():
    keep(entry())
    for other in (choose(scheme="euler"), choose(cells=600 * 600), choose(precision="double")):
        assert rows_of(other) == 64 and "never tuned" in other.words


def test_off_and_same_bits_leave_values_out():
    keep(entry(same_bits=False))
    assert rows_of(choose("off")) == 64 and choose("off").words == 'shipped values; tuning = "off"'
    assert rows_of(choose("same-bits")) == 64 and "nothing that was tried" in choose("same-bits").words
    assert rows_of(choose("auto")) == 16
    with pytest.raises(InputError, match=r"tuning = 'best'"):
        choose("best")


def test_a_table_of_the_user_comes_first(own_layout):
    keep(entry())
    own_layout(cpu={"shallow-water": {"rows": 24}})
    assert rows_of(choose()) == 24


def test_devices_of_one_run_are_all_tuned():
    keep(entry())
    found = tuned.chosen("cpu,cpu", KIND, 2 * CELLS, "single", "rk2")
    assert [member.layout("cpu.shallow-water").rows for member in found.device.members] == [16, 16]


def test_a_tuned_device_is_pickled_with_its_values():
    keep(entry())
    again = pickle.loads(pickle.dumps(choose().device))
    assert again.layout("cpu.shallow-water").rows == 16 and pickle.loads(pickle.dumps(select("cpu"))) is select("cpu")


def test_classes_of_sizes():
    assert store.size_class(512 * 512, "double", 6e7) == "small"
    assert store.size_class(1024 * 1024, "single", 6e7) == "cache"
    assert store.size_class(1024 * 1024, "double", 6e7) == "memory"
    assert cache_bytes(select("cpu")) == 32e6


def test_the_hash_follows_text_and_names(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1\n")
    first = hash_of(tmp_path, ["a"])
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    second = hash_of(tmp_path, ["a"])
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    assert len({first, second, hash_of(tmp_path, ["a"]), hash_of(tmp_path, [])}) == 4
    assert origin.source_hash("shallow-water") != origin.source_hash("barotropic")


# -- the file -----------------------------------------------------------------------------------------


def test_a_file_that_is_edited_by_hand_takes_effect_and_missing_keys_fall_back():
    path = keep(entry())
    content = json.loads(path.read_text())
    content["entries"][0]["values"] = {"cpu.shallow-water.rows": 40}
    path.write_text(json.dumps(content))
    assert rows_of(choose()) == 40
    content["entries"][0]["values"] = {}
    path.write_text(json.dumps(content))
    assert rows_of(choose()) == 64 and "nothing that was tried" in choose().words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(format=2), '"format" is not 1'),
        (lambda c: c["entries"][0].pop("space"), r"entries\[0\] = .*\n?.*keys space"),
        (lambda c: c["entries"][0].update(extra=1), r"entries\[0\] = "),
        (lambda c: c["entries"][0].update(values={"cpu.rows": 5}), r"values = \"cpu.rows\"\nallowed: parameters of"),
        (lambda c: c["entries"][0].update(values={"cpu.shallow-water.rows": 1}), r"rows = 1\nallowed: a whole number"),
        (lambda c: c["entries"][0]["use"].update(size="huge"), 'size = "huge"'),
        (lambda c: c["entries"][0]["use"].update(precision="half"), 'precision = "half"'),
        (lambda c: c["entries"][0]["origin"].pop("driver"), r"origin = "),
        (lambda c: c["entries"][0].update(seconds={"before": "fast"}), r"seconds = "),
    ],
)
def test_what_is_wrong_in_a_file_is_named(change, words):
    path = keep(entry())
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"(?s){words}"):
        choose()


def test_a_file_that_is_no_json_is_an_error_with_its_line():
    path = keep(entry())
    path.write_text("{\n]")
    with pytest.raises(InputError, match="line 2, column 1"):
        choose()


def test_the_schema_has_the_keys_that_files_have():
    schema = json.loads(stored(SCHEMA))
    kept = json.loads(keep(entry()).read_text())
    one, defined = kept["entries"][0], schema["$defs"]
    assert set(kept) == set(schema["properties"]) and kept["format"] == schema["properties"]["format"]["const"]
    assert set(one) == set(defined["entry"]["properties"])
    assert set(one["use"]) == set(defined["use"]["required"]) == set(Use._fields)
    assert set(one["origin"]) == set(defined["origin"]["required"]) == set(Origin._fields)
    assert defined["use"]["properties"]["size"]["enum"] == list(store.SIZES)


def test_an_entry_replaces_that_of_its_key():
    held = Store().adding(entry(), entry(values={}), entry(driver="other"))
    assert [one.values for one in held.entries] == [{}, ROWS]


# -- cases --------------------------------------------------------------------------------------------


def case_of(tmp_path, run="", numerics=""):
    path = tmp_path / "case.toml"
    path.write_text(still_water("1 s", run, f"[numerics]\n{numerics}"))
    return load_case(path)


def test_a_case_uses_the_store_unless_it_says_off(tmp_path):
    keep(entry())
    case = case_of(tmp_path)
    assert case.build().device.layout("cpu.shallow-water").rows == 16 and case.tuned.startswith("tuned for")
    assert case.tuned_threads == 0
    keep(entry({**ROWS, "cpu.programs.threads": 1}))
    case.build()
    assert case.tuned_threads == 1
    case = case_of(tmp_path, run='tuning = "off"')
    assert case.build().device is select("cpu") and 'tuning = "off"' in case.tuned


def test_the_scheme_auto_is_the_fastest_that_was_measured(tmp_path):
    """A slow scheme is not chosen, nor one that gains less than noise (F40)."""
    case = case_of(tmp_path, numerics='scheme = "auto"')
    assert case.build().setup.scheme == "rk2"
    cpu = select("cpu")
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 0.99}, CELLS).scheme == "rk2"
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 3.0}, CELLS).scheme == "rk2"
    assert case.build().setup.scheme == "rk2"
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 0.5}, CELLS).scheme == "euler"
    assert case.build().setup.scheme == "euler"
    held = store.read(tuned.file_of(cpu))
    assert len(held.schemes) == 1 and held.schemes[0].seconds == {"rk2": 1.0, "euler": 0.5}
