"""The store of what tuning found: which runs use it, and why others do not."""

from __future__ import annotations

import importlib.metadata
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from case_texts import still_water
from eagre import Grid, ShallowWater
from eagre.backend import tuned
from eagre.backend.compilation import origin
from eagre.backend.compilation.origin import cache_bytes, hash_of, origin_of
from eagre.backend.group import Group
from eagre.backend.select import select
from eagre.errors import InputError
from eagre.laboratory.bench.tuning.tuner import choose_scheme
from eagre.layouts import store
from eagre.layouts.gpu_properties import GpuProperties
from eagre.layouts.store import SCHEMA, Entry, Origin, Store, Use, stored
from eagre.models.registry import load_case
from kernels.recording import RecordingDevice

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
    where = origin_of(cpu, KIND)._replace(**other)
    return Entry("shallow-water: cpu", use, values, same_bits, SECONDS, found, origin=where)


SECONDS = {"before": 1.1e-3, "after": 1.0e-3}


def keep(*entries):
    path = tuned.file_of(select("cpu"))
    store.write(path, store.read(path).adding(*entries))
    return path


def choose(tuning="auto", scheme="rk2", cells=CELLS, precision="single"):
    return tuned.chosen("cpu", KIND, cells, precision, scheme, tuning)


def rows_of(found):
    return found.device.parameters("cpu.shallow-water").rows


def test_nothing_is_tuned_at_first():
    found = choose()
    assert found.device is select("cpu") and rows_of(found) == 64
    assert found.words == "shipped values (eagre tune measures this device for single precision, size small, rk2)"


def test_a_run_with_the_key_uses_the_values_and_says_why():
    path = keep(entry())
    found = choose()
    assert rows_of(found) == 16 and select("cpu").parameters("cpu.shallow-water").rows == 64
    assert found.words == f"tuned for single precision, size small, rk2: shallow-water: cpu: rows 16 +10% ({path})"


@pytest.mark.parametrize(
    ("part", "word"), [("device", "device"), ("driver", "driver"), ("versions", "version"), ("source", "source")]
)
def test_values_of_another_key_are_never_used(part, word):
    keep(entry(**{part: "OTHER"}))
    found = choose()
    assert rows_of(found) == 64
    assert found.words == f"shipped values; tuned values not used: measured with another {word} (OTHER) (eagre tune)"
    keep(entry())
    assert rows_of(choose()) == 16


def test_values_for_all_schemes_are_used_by_each():
    keep(entry(scheme=""))
    assert rows_of(choose(scheme="rk2")) == rows_of(choose(scheme="euler")) == 16


def test_another_use_has_none():
    keep(entry())
    for other in (choose(scheme="euler"), choose(cells=600 * 600), choose(precision="double")):
        assert rows_of(other) == 64 and "eagre tune measures this device" in other.words


def test_off_and_same_bits_leave_values_out():
    keep(entry(same_bits=False))
    assert rows_of(choose("off")) == 64 and choose("off").words == 'shipped values; tuning = "off"'
    assert rows_of(choose("same-bits")) == 64 and "no faster values found" in choose("same-bits").words
    assert rows_of(choose("auto")) == 16
    with pytest.raises(InputError, match=r"tuning = 'best'"):
        choose("best")


def test_a_table_of_the_user_comes_first(own_layout):
    keep(entry())
    own_layout(cpu={"shallow-water": {"rows": 24}})
    assert rows_of(choose()) == 24


def test_values_that_were_found_with_a_table_of_the_user_are_used_with_it_only(own_layout):
    """Another limit of registers may want other rows: the table is a part of the key."""
    keep(entry())
    own_layout(cpu={"barotropic": {"pieces": 3}})
    assert rows_of(choose()) == 64 and "tuned values not used: measured with another source" in choose().words
    keep(entry())
    assert rows_of(choose()) == 16
    own_layout(cpu={"barotropic": {"pieces": 5}})
    assert rows_of(choose()) == 64


def test_the_key_has_all_that_kernels_are_made_with(monkeypatch):
    gpu, other = RecordingDevice(), RecordingDevice(replace(RecordingDevice().properties, multiprocessors=60))
    monkeypatch.setattr(origin, "driver_number", lambda: "570.1")
    first = origin_of(gpu, KIND)
    assert first.device == "recording cuda, 132 multiprocessors" and first.driver == "570.1"
    assert [part for part, theirs in zip(Origin._fields, origin_of(other, KIND), strict=True)
            if theirs != getattr(first, part)] == ["device"]  # fmt: skip
    cpu = select("cpu")
    assert origin_of(cpu, KIND).device.endswith(f", {cpu.threads} threads")
    for name in ("eagre", "numba", "llvmlite"):
        assert f"{name} {importlib.metadata.version(name)}" in first.versions
    assert first.source == origin.source_hash(KIND)


def test_the_hash_covers_all_kernels(root, monkeypatch):
    """Each module with a cell is in a folder that is hashed; those of a model count for that model."""
    source = root / "src" / "eagre"
    cells = [path for path in source.rglob("*.py") if re.search(r"^@cell|= written\(", path.read_text(), re.MULTILINE)]
    hashed = []
    monkeypatch.setattr(origin, "hash_of", lambda root, folders: (hashed.extend(folders), "0")[1])
    origin.source_hash.__wrapped__("potential-waves")
    assert set(hashed) == {*origin.SHARED, "models/potential_waves"}
    places = {path.relative_to(source).parts[0] for path in cells}
    # The cells of these two measure bandwidth and repeat kernels of papers; no model uses them.
    assert len(cells) > 100 and places - {*origin.SHARED, "models"} == {"laboratory", "tuning"}


def test_devices_of_one_run_are_all_tuned():
    keep(entry())
    found = tuned.chosen("cpu,cpu", KIND, 2 * CELLS, "single", "rk2")
    assert [member.parameters("cpu.shallow-water").rows for member in found.device.devices] == [16, 16]
    assert found.device.devices[0] is found.device.devices[1]
    for cells, small in ((2 * 512**2, True), (2 * 512**2 + 1, False)):  # the larger share counts
        assert ("size small" in tuned.chosen("cpu,cpu", KIND, cells, "single", "rk2").words) == small


def test_a_case_over_several_devices_is_tuned(tmp_path):
    keep(entry())
    case = case_of(tmp_path)
    members = case.build(device="cpu,cpu").device.devices
    assert [member.parameters("cpu.shallow-water").rows for member in members] == [16, 16]
    assert case.tuned.startswith("tuned for")


def test_a_tuned_device_is_pickled_with_its_values():
    keep(entry())
    again = pickle.loads(pickle.dumps(choose().device))
    assert again.parameters("cpu.shallow-water").rows == 16
    assert pickle.loads(pickle.dumps(select("cpu"))) is select("cpu")


def test_classes_of_sizes():
    assert store.size_class(512 * 512, "double", 6e7) == "small"
    assert store.size_class(1024 * 1024, "single", 6e7) == "cache"
    assert store.size_class(1024 * 1024, "double", 6e7) == "memory"
    assert store.size_class(4096 * 4096, "single", 6e7) == "memory"
    assert store.size_class(8192 * 8192, "single", 6e7) == "large"
    cells = 600**2  # ten words each, of four bytes or eight
    for precision, touched in (("single", 40.0 * cells), ("double", 80.0 * cells)):
        edges = [store.size_class(cells, precision, touched / caches) for caches in (1.0, 1.001, 16.0, 16.001)]
        assert edges == ["cache", "memory", "memory", "large"]
    assert cache_bytes(select("cpu")) == 32e6


def test_the_hash_follows_text_and_names(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1\n")
    first = hash_of(tmp_path, ["a"])
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    second = hash_of(tmp_path, ["a"])
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    assert len({first, second, hash_of(tmp_path, ["a"]), hash_of(tmp_path, [])}) == 4
    with pytest.raises(FileNotFoundError, match="no source in absent"):
        hash_of(tmp_path, ["a", "absent"])
    assert origin.source_hash("shallow-water") != origin.source_hash("barotropic")


# -- shipped for some runs ----------------------------------------------------------------------------


class Gpu(RecordingDevice):
    """A card that can have other layouts."""

    def __init__(self, facts=None):
        super().__init__(facts)
        self.name = f"cuda:0 ({self.properties.name})"


def march_of(device):
    march = device.parameters("shallow-water.march")
    return march.longest, march.registers["single"]["first"]


GENERAL, SOME = (64, 88), (64, 80)
H100 = GpuProperties("NVIDIA H100 80GB HBM3", (9, 0), 132, 2048, 65536, 228 * 1024, 227 * 1024, 50 * 2**20, 3.35e12)


def told(device, size, precision="single", scheme="rk2", kind=KIND, tuning="auto"):
    found = tuned.chosen(device, kind, size * size, precision, scheme, tuning)
    return march_of(found.device), found.words


@pytest.mark.parametrize(
    ("card", "name", "general"),
    [(None, "nvidia-h200.json", "shipped values"), (H100, "nvidia-h100-80gb-hbm3.json", "values by rules")],
)
def test_a_card_has_values_for_a_class_of_sizes(card, name, general):
    """Of two schemes in single precision between 1 and 16 caches; every other class has what is for all."""
    for scheme in ("rk2", "euler"):
        for size in (2048, 4096):
            march, words = told(Gpu(card), size, scheme=scheme)
            assert march == SOME and f"({name})" in words
            assert words.startswith(
                f"values shipped for single precision, size memory, {scheme}: shallow-water.march: "
            )
            assert "march: registers 80, and 16 rows for 64 +" in words and "eagre tune measures this device" in words
    others = [told(Gpu(card), size) for size in (512, 1024, 8192)]
    others += [told(Gpu(card), 2048, "double"), told(Gpu(card), 2048, scheme="ds1")]
    others += [told(Gpu(card), 2048, kind="shallow-water-adi", scheme="")]
    assert all(march == GENERAL and words.startswith(general) for march, words in others)


@pytest.mark.parametrize(
    ("size", "precision", "scheme", "kernel", "expected"),
    [
        (400, "double", "rk2", "march", {"early_cells": 0}),
        (700, "double", "rk2", "march", {"early_cells": 0}),
        (256, "double", "euler", "march", {"early_cells": 0}),
        (700, "double", "euler", "march", {"early_cells": 600000}),
        (512, "single", "rk2", "march", {"early_cells": 600000}),
        (2048, "double", "ds2", "sweeps", {"longest": 4, "shortest": 4}),
        (2048, "single", "ds2", "sweeps", {"longest": 8, "shortest": 4}),
        (2048, "single", "srk2", "sweeps", {"longest": 4, "shortest": 4}),
    ],
)
def test_an_h100_has_what_was_measured_on_it(size, precision, scheme, kernel, expected):
    layout = tuned.chosen(Gpu(H100), KIND, size * size, precision, scheme).device.parameters(f"shallow-water.{kernel}")
    assert {name: getattr(layout, name) for name in expected} == expected


def test_what_ships_for_grids_of_few_waves_names_no_rows():
    """Rows of a march that suit 1024 cells a side take 1.8 times as long on 640: there the rule finds them."""
    for card in (None, H100):
        for one in Gpu(card).table.shipped.entries:
            assert one.use.size not in store.PARTICULAR or not any(
                "est" in key.rpartition(".")[2] for key in one.values
            )


def on(size, values, gpu, made="small"):
    """An entry that was found on so many cells a side."""
    use = Use(KIND, "rk2", "single", made)
    found = {"best": "mine", "shape": [size, size]}
    return Entry("shallow-water.march", use, values, True, SECONDS, found, origin=origin_of(gpu, KIND))


def test_what_was_found_on_a_small_grid_counts_for_grids_of_as_many_cells():
    gpu = Gpu()
    path = tuned.file_of(gpu)
    store.add(path, on(400, {"shallow-water.march.longest": 16}, gpu), on(402, {"shallow-water.march.longest": 8}, gpu))
    assert [told(gpu, size)[0][0] for size in (399, 400, 402, 403)] == [16, 16, 8, 8]
    march, words = told(gpu, 440)
    assert march == GENERAL
    assert words == (
        "shipped values (nvidia-h200.json); tuned for single precision, size small, rk2 on 400 x 400, 402 x 402: "
        "not used: the grid sizes differ too much (eagre tune case.toml)"
    )
    store.add(path, on(2048, {"shallow-water.march.longest": 32}, gpu, "memory"))
    store.add(path, on(3000, {"shallow-water.march.longest": 16}, gpu, "memory"))
    assert (
        told(gpu, 2500)[0][0] == 16 and len(store.read(path).entries) == 3
    )  # of a class of many waves the last counts


def test_threads_that_suit_a_small_grid_are_not_for_others_of_its_class():
    keep(replace(entry(), found={"shape": [64, 64]}), replace(entry({}), found={"shape": [400, 400]}))
    assert [rows_of(choose(cells=cells)) for cells in (CELLS, 64 * 100, 400 * 400)] == [16, 64, 64]
    assert "on 64 x 64, 400 x 400: not used: the grid sizes differ too much" in choose(cells=64 * 100).words


def test_cards_that_nobody_measured_have_values_for_all_sizes():
    other = Gpu(replace(H100, name="NVIDIA A100-SXM4-40GB", compute_capability=(8, 0), multiprocessors=108))
    values, words = told(other, 2048)
    assert words.startswith("values by rules (eagre tune measures this device") and values[0] == 64


def test_what_was_tuned_here_lies_over_what_is_shipped_for_the_class():
    gpu = Gpu()
    use = tuned.use_of(gpu, KIND, "rk2", "single", 2048**2)
    own = {"shallow-water.march.longest": 32}
    one = Entry("shallow-water.march", use, own, True, SECONDS, {"best": "mine"}, origin=origin_of(gpu, KIND))
    store.write(tuned.file_of(gpu), Store((one,)))
    words = f"tuned for single precision, size memory, rk2: mine +10% ({tuned.file_of(gpu)})"
    assert told(gpu, 2048) == ((32, 80), words)
    assert told(gpu, 8192)[0] == GENERAL
    march, words = told(gpu, 2048, tuning="off")
    assert march == SOME and words.startswith("values shipped for") and words.endswith('tuning = "off"')


def test_a_users_table_comes_before_what_is_shipped_for_a_class(own_layout):
    own_layout(**{"shallow-water": {"march": {"longest": 8}}})
    assert told(Gpu(), 2048)[0] == (8, 80)


def test_a_device_with_layouts_of_its_own_keeps_them():
    """A trial of a search, or what a case chose, is not changed by the model that is made on it."""
    gpu = Gpu().with_parameters({"shallow-water.march.longest": 128}, "a trial")
    assert march_of(tuned.device_for(gpu, KIND, 2048**2, "single", "rk2")) == (128, 88)
    assert march_of(tuned.device_for(Gpu(), KIND, 2048**2, "single", "rk2")) == SOME
    assert tuned.device_for("cpu", KIND, 2048**2, "single", "rk2") is select("cpu")


def test_a_group_takes_the_class_of_a_share_and_one_card_stays_one():
    gpu = Gpu()
    group = tuned.device_for(Group([gpu, gpu]), KIND, 2 * 2048**2, "single", "rk2")
    assert march_of(group) == SOME and group.devices[0] is group.devices[1]
    found = tuned.chosen(Group([gpu] * 4), KIND, 4 * 4096**2, "single", "rk2")  # of a single card that would be large
    assert found.words.startswith("values shipped for single precision, size memory")
    group = Group([gpu] * 4)
    assert tuned.device_for(group, KIND, 2048**2, "single", "rk2") is group


def test_a_model_has_what_is_shipped_for_its_class(monkeypatch):
    """Made from Python as from a case; of another scheme it has what is for all."""
    monkeypatch.setattr(store, "SMALL_CELLS_A_SIDE", 8)
    monkeypatch.setattr(tuned, "cache_bytes", lambda device: 40.0 * 100)
    for scheme, expected in (("rk2", SOME), ("srk2", GENERAL)):
        model = ShallowWater(Grid(12, 12, 1.0, 1.0), 0.0, depth=1.0, device=Gpu(), precision="single", scheme=scheme)
        assert march_of(model.device) == expected


# -- the file -----------------------------------------------------------------------------------------


def test_a_file_that_is_edited_by_hand_takes_effect_and_missing_keys_fall_back():
    path = keep(entry())
    content = json.loads(path.read_text())
    content["entries"][0]["values"] = {"cpu.shallow-water.rows": 40}
    path.write_text(json.dumps(content))
    assert rows_of(choose()) == 40
    content["entries"][0]["values"] = {}
    path.write_text(json.dumps(content))
    assert rows_of(choose()) == 64 and "no faster values found" in choose().words


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


@pytest.mark.parametrize("shape", [[0, 5], "512 x 512", [2.5, 3], 512])
def test_a_shape_that_is_none_is_named(shape):
    path = keep(entry())
    content = json.loads(path.read_text())
    content["entries"][0]["found"]["shape"] = shape
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"entries\[0\].found.shape"):
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
    assert set(one) == set(defined["entry"]["properties"]) == {*defined["shipped"]["properties"], "origin"}
    assert set(one) - {"found"} == set(defined["entry"]["required"]) == {*defined["shipped"]["required"], "origin"}
    assert set(one["use"]) == set(defined["use"]["required"]) == set(Use._fields)
    assert set(one["origin"]) == set(defined["origin"]["required"]) == set(Origin._fields)
    assert defined["use"]["properties"]["size"]["enum"] == list(store.SIZES)


def test_several_may_put_something_into_a_file_at_a_time():
    path = tuned.file_of(select("cpu"))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.add(path, entry(driver=str(n))), range(16)))
    assert {one.origin.driver for one in store.read(path).entries} == set(map(str, range(16)))
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_write_that_fails_leaves_the_file_and_nothing_beside_it(monkeypatch):
    path = keep(entry())
    monkeypatch.setattr(store.os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.add(path, entry(driver="other"))
    assert len(store.read(path).entries) == 1 and [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_process_that_was_killed_does_not_block_others(monkeypatch):
    path = keep(entry())
    path.with_suffix(".lock").touch()
    monkeypatch.setattr(store.time, "sleep", lambda seconds: None)
    store.add(path, entry(driver="other"))
    assert len(store.read(path).entries) == 2


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
    assert case.build().device.parameters("cpu.shallow-water").rows == 16 and case.tuned.startswith("tuned for")
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
    assert case.tuned.startswith("scheme rk2: schemes not timed for single precision, size small (eagre tune shallow")
    cpu = select("cpu")
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 0.99}, CELLS).scheme == "rk2"
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 3.0}, CELLS).scheme == "rk2"
    assert case.build().setup.scheme == "rk2"
    assert choose_scheme(KIND, cpu, "single", {"rk2": 1.0, "euler": 0.5}, CELLS).scheme == "euler"
    assert case.build().setup.scheme == "euler"
    assert tuned.scheme_for("cpu,cpu", KIND, 2 * 512**2, "single", "rk2")[0] == "euler"  # of the size of a share
    told = "scheme euler: fastest in whole runs (rk2 1 s, euler 0.5 s); shipped values (eagre tune"
    assert case.tuned.startswith(told)
    for mode in ("off", "same-bits"):
        still = case_of(tmp_path, run=f'tuning = "{mode}"', numerics='scheme = "auto"')
        assert still.build().setup.scheme == "rk2" and still.tuned.startswith(f'scheme rk2: tuning = "{mode}"; ')
    held, path = store.read(tuned.file_of(cpu)), tuned.file_of(cpu)
    other = replace(held.schemes[0], origin=held.schemes[0].origin._replace(driver="2"))
    store.write(path, Store(schemes=(other,)))
    assert case.build().setup.scheme == "rk2"  # with another driver, another one may be the fastest
    store.write(path, held)
    assert "scheme" not in case_of(tmp_path, numerics='scheme = "euler"').tuned
    held = store.read(tuned.file_of(cpu))
    assert len(held.schemes) == 1 and held.schemes[0].seconds == {"rk2": 1.0, "euler": 0.5}


def test_what_the_store_has_for_a_device_is_told():
    """Searches that count as things are, and those that do not."""
    cpu = select("cpu")
    assert tuned.kept_for(cpu) == "shipped values (eagre tune --all measures this device)"
    path = keep(entry(), entry(values={}, driver="other"))
    others = "1 of another driver, version or source are ignored"
    assert tuned.kept_for(cpu) == f"1 of 1 searches found faster values; {others} ({path})"
    store.write(path, Store((entry(driver="other"),)))
    assert tuned.kept_for(cpu) == f"no valid results for this device; {others} ({path})"
