"""Tables of layouts: what they may hold, the rules for cards without one, a user's own."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from eagre.backend import layouts
from eagre.backend.device import loop_blocks
from eagre.errors import InputError
from eagre.layouts import solvers, store
from eagre.layouts.declared import PARAMETERS
from eagre.layouts.gpu_properties import MAX_BLOCKS, GpuProperties, properties_from
from eagre.layouts.kinds import as_measured
from eagre.solvers.poisson.box_cuda import Box, block_threads, column_shape, plan_for, registers
from eagre.solvers.tridiagonal import columns
from kernels.recording import RecordingDevice

KIB, MIB = 1024, 1024**2
H200 = layouts.reference()[0]
CARDS = {
    card.name: card
    for card in (
        H200,
        GpuProperties("NVIDIA H100 80GB HBM3", (9, 0), 132, 2048, 65536, 228 * KIB, 227 * KIB, 50 * MIB, 3.35e12),
        GpuProperties("NVIDIA H100 PCIe", (9, 0), 114, 2048, 65536, 228 * KIB, 227 * KIB, 50 * MIB, 2.0e12),
        GpuProperties("NVIDIA A100-SXM4-40GB", (8, 0), 108, 2048, 65536, 164 * KIB, 163 * KIB, 40 * MIB, 1.56e12),
        GpuProperties("NVIDIA GeForce RTX 4090", (8, 9), 128, 1536, 65536, 100 * KIB, 99 * KIB, 72 * MIB, 1.01e12),
        GpuProperties("Tesla V100-SXM2-16GB", (7, 0), 80, 2048, 65536, 96 * KIB, 96 * KIB, 6 * MIB, 0.9e12),
        GpuProperties("Tesla T4", (7, 5), 40, 1024, 65536, 64 * KIB, 64 * KIB, 4 * MIB, 0.32e12),
        GpuProperties("Orin", (8, 7), 16, 1536, 65536, 164 * KIB, 163 * KIB, 4 * MIB, 0.2e12),
        GpuProperties("NVIDIA GeForce GTX 1080", (6, 1), 20, 2048, 65536, 96 * KIB, 48 * KIB, 2 * MIB),
    )
}
every_card = pytest.mark.parametrize("card", CARDS.values(), ids=CARDS)


BY_USE = """{"space": "seams", "use": {"model": "barotropic", "scheme": "", "precision": "single", "size": "memory"},
 "values": {"solver:poisson.seams.threads": 64}, "same_bits": true, "seconds": {"before": 2.0, "after": 1.0}}"""


class Card(RecordingDevice):
    """A device that records, with what another card has."""

    def __init__(self, facts: GpuProperties) -> None:
        super().__init__(facts)
        self.starts_early = facts.compute_capability >= (9, 0)


# -- loops --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [(7,), (9, 65), (262_140, 4096), (262_144, 4096), (3, 262_144, 5), (500_000, 4, 4)])
def test_blocks_of_a_loop_cover_its_region_within_the_limits_of_cuda(region):
    usual = {1: (256,), 2: (64, 4), 3: (32, 4, 2)}[len(region)]
    grid, block = loop_blocks(region, usual)
    assert all(0 <= n * b - size < b for size, n, b in zip(reversed(region), grid, block, strict=True))
    assert max(grid[1:], default=0) <= MAX_BLOCKS and np.prod(block) == np.prod(usual)
    assert block == usual or -(-max(region) // min(usual[1:])) > MAX_BLOCKS


# -- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", store.stored_names())
def test_stored_tables_are_whole_and_fit_their_card(name):
    device, values, by_use = store.checked_table(store.stored(name), name)
    card, every = store.properties_of_table(device), {key for key in PARAMETERS if not key.startswith("cpu.")}
    assert values.keys() == every if name == store.REFERENCE else values.keys() <= every
    assert name == f"{layouts.slug(card.name)}.json"
    for some in (values, *(entry.values for entry in by_use)):
        assert not {key: problem for key, value in some.items() if (problem := PARAMETERS[key].fits(value, card))}
    assert len({(entry.space, entry.use) for entry in by_use}) == len(by_use)
    assert all(entry.found["source"] and entry.seconds["after"] < entry.seconds["before"] for entry in by_use)


def test_the_table_of_cpus_has_the_rest():
    _, values, _ = store.checked_table(store.stored(store.CPU), store.CPU)
    assert values.keys() == {key for key in PARAMETERS if key.startswith("cpu.")}


def test_parameters_stand_in_the_order_of_the_reference():
    _, values = layouts.reference()
    kernels = [key.rpartition(".")[0] for key in PARAMETERS]
    assert list(dict.fromkeys(kernels)) == list(dict.fromkeys(key.rpartition(".")[0] for key in values))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"solver:poison": {}}', 'unknown key solver:poison.*write:   "solver:poisson"'),
        ('{"solver:poisson": {"seam": {}}}', 'unknown key solver:poisson.seam.*write:   "seams"'),
        ('{"solver:poisson": {"seams": {"thread": 64}}}', 'unknown key solver:poisson.seams.thread.*"threads"'),
        ('{"solver:poisson": 5}', "solver:poisson = 5\nallowed: an object"),
        ('{"solver:poisson": {"seams": {"threads": 65}}}', "threads = 65\nallowed: .*32 to 1024, a multiple of 32"),
        ('{"solver:poisson": {"seams": {"threads": true}}}', "threads = true\nallowed"),
        ('{"solver:poisson": {"seams": {"threads": "64"}}}', 'threads = "64"\nallowed'),
        ('{"programs": {"registers": {"single": 96}}}', "programs.registers = .*\nallowed: for single and double"),
        ('{"programs": {"registers": {"single": 96, "double": 300}}}', "programs.registers.double = 300\nallowed"),
        ('{"programs": {"loop": {"plane": [32]}}}', r"programs.loop.plane = \[32\]"),
        ('{"solver:poisson": {"transform": {"threads": [{"length": 64}]}}}', r"transform.threads\[0\] = "),
        ('{"device": {"sms": 5}}', "unknown key device.sms"),
        ('{"device": {"l2": -5}}', "device.l2 = -5"),
        ('{"programs": {}, "programs": {}}', '"programs" twice'),
        ("[]", r"\[\]\nallowed"),
        ('{"by_use": {}}', r"by_use = \{\}\nallowed: a list"),
        ('{"by_use": [{"use": {}}]}', r"by_use\[0\] = .*keys space, use, values, same_bits, seconds"),
        (f'{{"by_use": [{BY_USE.replace("memory", "huge")}]}}', r'by_use\[0\].use.size = "huge"'),
        (f'{{"by_use": [{BY_USE.replace("threads", "thread")}]}}', r"by_use\[0\].values = .*parameters of"),
        (f'{{"by_use": [{BY_USE.replace("64", "65")}]}}', r"seams.threads = 65\nallowed: .*multiple of 32"),
        (f'{{"by_use": [{BY_USE}]}}', "by_use\nallowed: values for all runs"),
        ('{"programs": ', "line 1, column"),
    ],
)
def test_what_is_not_allowed_is_named(text, words, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"(?s)mine.json.*{words}"):
        store.read_table(path)


def test_bounds_of_rows_rise():
    rows = [{"up_to": 100, "registers": 64}, {"up_to": 50, "registers": 64}]
    text = json.dumps({"solver:poisson": {"transform": {"registers": {"single": rows, "double": rows}}}})
    with pytest.raises(InputError, match="increasing up_to"):
        store.checked_table(text, "mine.json")


# -- rules --------------------------------------------------------------------------------------------


@every_card
def test_rules_give_what_the_card_can_have(card):
    for key, value in layouts.by_rules(card).items():
        assert PARAMETERS[key].kind.problem(value, key) is None, key
        assert PARAMETERS[key].fits(value, card) == "", key


def test_rules_give_the_measured_card_its_table():
    assert layouts.by_rules(H200) == layouts.reference()[1]


def test_an_h100_differs_in_nothing_but_memory():
    """As many multiprocessors, registers and shared memory: the same layouts, from rules."""
    found = layouts.parameters_of(CARDS["NVIDIA H100 80GB HBM3"])
    assert found.source == "rules, which give the values of the H200" and found.values == layouts.reference()[1]
    assert found.shipped.name == "nvidia-h100-80gb-hbm3.json" and len(found.shipped.entries) == 8
    assert not layouts.parameters_of(CARDS["NVIDIA H100 PCIe"]).shipped.entries


def test_rules_follow_the_number_of_multiprocessors():
    small, large = (layouts.by_rules(CARDS[name]) for name in ("Orin", "NVIDIA A100-SXM4-40GB"))
    assert small["solver:tridiagonal.exact.blocks"] == 4 * 16 and large["solver:tridiagonal.exact.blocks"] == 4 * 108
    assert small["solver:tridiagonal.choice.few"] == 32 and large["solver:tridiagonal.choice.few"] == 96


def test_warps_lend_registers_on_cards_that_can():
    """Without lending as many warps compute, and some of them copy."""
    key = "solver:mpdata.march.blocks"
    before, now = (layouts.by_rules(CARDS[name])[key]["double"][0] for name in ("NVIDIA A100-SXM4-40GB", H200.name))
    assert now["lending"] == 1 and now["warps"] == 12 and now["registers"] == 168
    assert before == {**now, "lending": 0, "warps": 8, "registers": 255}
    fits = PARAMETERS[key].fits
    blocks = layouts.by_rules(H200)[key]
    for wrong in ({"warps": 11}, {"warps": 4}):
        assert "release registers" in fits({**blocks, "double": [{**now, **wrong}]}, H200)
    assert "release registers" in fits(blocks, CARDS["NVIDIA A100-SXM4-40GB"])


def test_a_fault_of_a_rule_would_be_seen(monkeypatch):
    card, key = CARDS["Tesla T4"], "solver:tridiagonal.reduction.shared"
    assert PARAMETERS[key].fits(as_measured(card, layouts.reference()[1][key], H200), card) != ""


@every_card
def test_transforms_and_columns_fit_the_card(card):
    device = Card(card)
    for precision, itemsize in (("single", 4), ("double", 8)):
        for nx in (16, 100, 513, 1024, 2048, 3000, 4096, 6144):
            plan = plan_for(device, nx)
            for update in (False, True):
                threads = block_threads(device, plan, precision, update)
                shared = plan.shared_bytes(itemsize) if Box.serves(device, nx, 64, precision) else 0
                assert card.fits(threads, registers(device, plan, precision, update), shared), (nx, precision)
        for ny in (8, 256, 1024, 1300, 2048, 4096):
            shape = column_shape(device, ny, precision)
            assert shape is not None and card.fits(shape.threads, shape.registers, 1024)
    assert Box.serves(device, 1024, 4096, "double")


def test_shared_memory_of_columns_is_that_of_the_kernel():
    for rows, threads, itemsize in ((8, 8, 4), (7, 8, 8), (10, 10, 8)):
        assert solvers.shared_of_columns(rows, threads, itemsize) == columns.shared_bytes(rows, threads, itemsize)


def test_a_transform_too_large_for_a_block_is_left_to_the_library():
    t4, h200 = (Card(CARDS[name]) for name in ("Tesla T4", "NVIDIA H200"))
    assert Box.serves(h200, 4096, 1024, "double") and not Box.serves(t4, 4096, 1024, "double")
    assert Box.serves(t4, 2048, 1024, "double")


# -- what is in use -----------------------------------------------------------------------------------


def test_a_part_of_a_card_has_no_table():
    assert layouts.stored_for(H200) == "nvidia-h200.json"
    assert layouts.stored_for(replace(H200, name="NVIDIA H200 NVL")) == "nvidia-h200.json"
    assert layouts.stored_for(replace(H200, name="NVIDIA H200 MIG 1g.18gb", multiprocessors=16)) is None
    assert layouts.stored_for(CARDS["NVIDIA H100 PCIe"]) is None


def test_a_users_table_replaces_single_values(own_layout, monkeypatch):
    path = own_layout(**{"solver:poisson": {"seams": {"threads": 128}}})
    found = layouts.parameters_of(H200)
    assert found.of("solver:poisson.seams").threads == 128 and found.of("solver:poisson.overlap").release == 2
    assert found.source == f"{path} (1 values), then nvidia-h200.json"
    monkeypatch.delenv("EAGRE_LAYOUTS")
    assert layouts.parameters_of(H200).of("solver:poisson.seams").threads == 256


def test_registers_of_programs_follow_the_table(own_layout):
    """Where a kernel sets no limit of its own, a card's limit is in the text of the program, unless it is the usual."""
    from pathlib import Path

    from eagre.solvers.tridiagonal.solve import thomas_cuda

    def text() -> str:
        program = RecordingDevice().program(thomas_cuda, "double")
        return Path(program.py_func.__code__.co_filename).read_text()

    assert "limited_driver" not in text() and "168" in text()
    own_layout(programs={"registers": {"single": 96, "double": 128}})
    assert "driver = limited_driver(128)" in text()


def test_the_users_data_folder_has_tables_by_card(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = tmp_path / "eagre" / "layouts" / "orin.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"programs": {"loop": {"plane": [64, 2]}}}')
    assert layouts.parameters_of(CARDS["Orin"]).of("programs.loop").plane == [64, 2]
    assert layouts.parameters_of(H200).of("programs.loop").plane == [32, 4]


def test_a_table_of_another_card_does_not_count(own_layout):
    own_layout(device={"name": "NVIDIA A100"}, programs={"loop": {"plane": [64, 2]}})
    assert layouts.parameters_of(H200).of("programs.loop").plane == [32, 4]
    assert layouts.parameters_of(H200).source == "nvidia-h200.json"


def test_what_a_card_does_not_have_is_refused(own_layout):
    own_layout(**{"solver:tridiagonal": {"reduction": {"shared": 200 * KIB}}})
    assert layouts.parameters_of(H200).of("solver:tridiagonal.reduction").shared == 200 * KIB
    with pytest.raises(InputError, match=r"(?s)reduction\.shared: 204800 bytes.*the limits of Tesla T4"):
        layouts.parameters_of(CARDS["Tesla T4"])


def test_a_file_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("EAGRE_LAYOUTS", str(tmp_path / "none.json"))
    with pytest.raises(InputError, match=r"EAGRE_LAYOUTS=.*none\.json"):
        layouts.parameters_of(H200)


def test_facts_come_from_the_card():
    properties = {
        "name": b"NVIDIA H200", "major": 9, "minor": 0, "multiProcessorCount": 132, "maxThreadsPerMultiProcessor": 2048,
        "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 228 * KIB, "sharedMemPerBlockOptin": 227 * KIB,
        "l2CacheSize": 60 * MIB,
    }  # fmt: skip
    found = properties_from(properties, {36: 3_201_000, 37: 6144}.get)
    assert replace(found, bandwidth=0.0) == replace(H200, bandwidth=0.0)
    assert found.bandwidth == pytest.approx(H200.bandwidth, rel=0.05)


def test_occupancy():
    assert [H200.warps_for(registers) for registers in (64, 80, 96, 112, 128, 168)] == [32, 24, 20, 16, 16, 12]
    assert [H200.registers_for(warps) for warps in (4, 9, 12, 16, 20, 32)] == [512, 168, 168, 128, 96, 64]
    assert H200.blocks(256, 64) == 4 and H200.blocks(256, 64, 100 * KIB) == 2
    assert CARDS["Tesla T4"].warps_for(32) == 32
