"""MPDATA's march on a GPU, in the simulator: against the stages, which the transcription holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eagre.advection.columns import ColumnPlan
from eagre.advection.mpdata import plan_of
from eagre.advection.plan import Advector, Options, StagedPlan
from eagre.advection.streaming.kernel import OTHERS, Block, Copy, StreamingPlan
from eagre.backend.device import PlainDevice
from eagre.backend.select import select
from eagre.backend.simulated import SimulatedDevice
from eagre.errors import DeviceError
from eagre.layouts.gpu_properties import GpuProperties
from kernels.recording import RecordingDevice, doubles_of
from mpdata_runs import SIDES, rough

ONE = Block(fields=1, warps=10, rows=1, columns=1, ahead=1, registers=128, blocks=1)
TWO_ROWS = Block(fields=1, warps=7, rows=2, columns=1, ahead=1, registers=128, blocks=1)
TWO_COLUMNS = Block(fields=1, warps=9, rows=1, columns=2, ahead=1, registers=128, blocks=1)
THREE = Block(fields=3, warps=9, rows=1, columns=1, ahead=1, registers=128, blocks=1)
LENDING = Block(fields=1, warps=12, rows=1, columns=1, ahead=2, registers=168, blocks=1, lending=1, held=2)
TWO_PLANES = ONE._replace(ahead=2, turns=2, held=1)
BASIC = Options(gauge=False)
FREE = Options(nonoscillatory=False)
DEVICE = SimulatedDevice()
DEVICE.multiprocessors = 3  # so that pieces of work begin and end within tiles


def marched(block, shape, sides, options=Options(), odd=(False,) * 3, given=True):  # noqa: B008
    """Differences of the march from the stages, a number for each field."""
    x, v, h = rough(shape, low=-1.0 if options.gauge else 0.0)
    advector = Advector(*v[::-1], h if given else None)
    fields = [x * (1.0 - 0.3 * n) for n in range(block.fields)]
    odds = [odd if n == 0 else (False,) * 3 for n in range(block.fields)]
    march = StreamingPlan(DEVICE, "double", shape, SIDES[sides], options)
    march.blocks = [block]
    outs = [np.full(shape, np.nan) for _ in fields]
    DEVICE.run(march.together(list(zip(fields, outs, odds, strict=True)), advector))
    stages = StagedPlan(PlainDevice(), "double", shape, SIDES[sides], options)
    known = np.zeros(shape)
    for field, out, one in zip(fields, outs, odds, strict=True):
        stages.device.run(stages.launches(field, known, advector, one))
        yield np.abs(out - known).max()


CASES = {
    "rings": (ONE, (5, 3, 4), "rings"),
    "walls, odd": (ONE, (3, 4, 5), "walls", Options(), (True, False, True)),
    "walls, odd along y": (ONE, (2, 4, 3), "walls", Options(), (False, True, False)),
    "mixed, two tiles along x": (ONE, (4, 3, 28), "mixed"),
    "sixteen bytes at once, two tiles along x": (ONE, (3, 4, 34), "rings"),
    "sixteen bytes at once, two tiles along x, walls": (ONE, (3, 2, 30), "walls", Options(), (True, False, True)),
    "sixteen bytes at once, two tiles along y": (TWO_PLANES, (2, 12, 2), "mixed"),
    "outside": (ONE, (3, 4, 5), "outside"),
    "open, not limited": (ONE, (4, 3, 3), "open", FREE),
    "walls, sign-preserving": (ONE, (3, 4, 5), "walls", BASIC),
    "copies two planes ahead": (TWO_PLANES, (5, 2, 4), "mixed"),
    "a plane, copies two planes ahead": (TWO_PLANES, (1, 3, 4), "rings"),
    "two rows a thread": (TWO_ROWS, (3, 5, 4), "mixed", BASIC),
    "warps that copy lend registers": (LENDING, (3, 4, 6), "mixed"),
    "two columns a thread": (TWO_COLUMNS, (3, 2, 5), "mixed"),
    "three fields": (THREE, (3, 2, 5), "mixed", Options(), (True, False, True)),
    "h of 1": (ONE, (3, 4, 5), "rings", Options(), (False,) * 3, False),
    "a plane": (ONE, (4, 1, 5), "mixed"),
    "a line": (ONE, (1, 1, 7), "walls", Options(), (False, False, True)),
    "a column": (ONE, (6, 1, 1), "outside"),
    "a point": (ONE, (1, 1, 1), "walls"),
}


@pytest.mark.simulator
@pytest.mark.parametrize("name", CASES)
def test_the_march_is_that_of_the_stages(name):
    assert max(marched(*CASES[name])) < 4e-16


@pytest.mark.simulator
def test_the_same_bits_however_work_is_cut(monkeypatch):
    """A plane has the same numbers at the begin of a piece and within it."""
    x, v, h = rough((7, 3, 4), low=-1.0)
    found = []
    for multiprocessors in (1, 3):
        monkeypatch.setattr(DEVICE, "multiprocessors", multiprocessors)
        march = StreamingPlan(DEVICE, "double", x.shape, SIDES["mixed"], Options())
        march.blocks = [ONE]
        out = np.zeros_like(x)
        [launch] = march.launches(x, out, Advector(*v[::-1], h))
        assert launch.grid == (multiprocessors,)
        DEVICE.run([launch])
        found.append(out)
    assert np.array_equal(*found)


def kernels_of(march, block, shape=(4, 5, 6)):
    """What the plan would run on a GPU."""
    x, v, h = rough(shape, dtype=march.dtype)
    march.blocks = [block]
    moved = [(x, np.zeros_like(x), (False,) * 3)] * block.fields
    march.device.run(march.together(moved, Advector(*v[::-1], h)))
    return march.device.found


@pytest.mark.parametrize(
    ("sides", "options", "fields"),
    [
        ("rings", Options(), 1),
        pytest.param("mixed", BASIC, 1, marks=pytest.mark.slow),
        pytest.param("walls", Options(), 3, marks=pytest.mark.slow),
    ],
)
def test_single_precision_has_no_doubles(sides, options, fields):
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    march = StreamingPlan(RecordingDevice(), "single", (4, 5, 6), SIDES[sides], options)
    for program, signature in kernels_of(march, ONE if fields == 1 else THREE).items():
        assert doubles_of(program, signature) == (0, False)


def test_warps_poll_at_meetings_on_cards_that_cannot_wait():
    """Compute capability 8.0 has barriers of two parts, 9.0 an instruction that waits for them."""
    pytest.importorskip("numba_cuda", reason="pip install 'eagre[sim]'")
    polled = []
    for capability in ((8, 0), (9, 0)):
        card = GpuProperties("some card", capability, 108, 2048, 65536, 166912, 167936, 40 * 2**20)
        march = StreamingPlan(RecordingDevice(card), "single", (4, 5, 6), SIDES["rings"], Options())
        [program] = kernels_of(march, ONE)
        polled.append("mbarrier_poll as mbarrier_wait" in Path(program.py_func.__code__.co_filename).read_text())
    assert polled == [True, False]


def aligned(n):
    """n doubles that begin at a multiple of 16 bytes."""
    a = np.zeros(n + 1)
    return a[a.ctypes.data % 16 // 8 :][:n]


@pytest.mark.parametrize(
    ("precision", "shape", "first", "words"),
    [
        ("double", (5, 4, 4), 0, 2),
        ("double", (5, 4, 5), 0, 1),
        ("double", (5, 3, 4), 0, 1),
        ("double", (5, 4, 4), 1, 1),
        ("single", (5, 4, 4), 0, 4),
        ("single", (5, 2, 4), 0, 1),
    ],
)
def test_sixteen_bytes_at_once_where_rows_and_planes_begin_at_them(precision, shape, first, words):
    march = StreamingPlan(DEVICE, precision, shape, SIDES["rings"], Options())
    assert march.values_per_copy([aligned(8), aligned(8)[first:]]) == words


@pytest.mark.parametrize("words", [1, 2, 4])
def test_as_few_warps_copy_as_hold_their_addresses(words):
    block = ONE._replace(warps=24, registers=80)
    copy = block.copied(words, 5)
    each = 2 * 5 + (words > 1)
    assert each * block.copies(copy) + OTHERS <= 80 < each * block.copies(Copy(copy.warps - 1, words)) + OTHERS
    with pytest.raises(DeviceError, match=r"has too few warps or registers\.\nallowed: 24 warps of 80"):
        block._replace(registers=24).copied(words, 5)


@pytest.mark.parametrize("words", [1, 2, 4])
def test_warps_that_copy_lend_what_they_do_not_need(words):
    """Registers of a block stay within those that it begins with; eight at once, as the instructions want them."""
    copy = LENDING.copied(words, 5)
    kept, taken = LENDING.lent(copy, 5)
    assert copy.warps == 4 and kept % 8 == taken % 8 == 0
    assert LENDING.needed(copy, 5) <= kept <= LENDING.registers < taken
    assert 0 <= 12 * 168 - (4 * kept + 8 * taken) < 8 * 8


# -- which plan serves what ---------------------------------------------------------------------------


def test_what_the_march_serves():
    shape, sides = (4, 5, 6), SIDES["rings"]

    def kind(device, *options, **more):
        return type(plan_of(device, "single", more.get("shape", shape), sides, Options(*options)))

    for options in ((), (2, False), (2, True, False, False)):
        assert kind(RecordingDevice(), *options) is StreamingPlan
    for options in ((1,), (3, False), (2, True, True)):
        assert kind(RecordingDevice(), *options) is ColumnPlan
    assert kind(RecordingDevice(), shape=(2048, 2048, 1024)) is ColumnPlan
    card = GpuProperties("Tesla T4", (7, 5), 40, 1024, 65536, 65536, 65536, 4 * 2**20)
    assert kind(RecordingDevice(card)) is ColumnPlan
    assert kind(select("cpu")) not in (StreamingPlan, StagedPlan)


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (2, [1, 1]), (3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
def test_fields_are_advected_together(count, expected):
    march = StreamingPlan(RecordingDevice(), "single", (4, 5, 6), SIDES["rings"], Options())
    march.blocks = [ONE, THREE]
    x, v, h = rough((4, 5, 6), dtype=np.float32)
    made = march.together([(x, np.zeros_like(x), (False,) * 3)] * count, Advector(*v[::-1], h))
    assert [len(launch.arguments[0]) for launch in made] == expected
